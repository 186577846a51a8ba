/* See proxy/linger.h. */
#include "proxy/linger.h"

#include "base/socket.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINGER_MAX_US = 10000000 };

struct given_up {
    struct list link;
    struct poller *poller;
    struct watch watch;
    uint64_t since_us;
};

static void end(struct given_up *linger)
{
    socket_drop_unsent(linger->watch.fd);
    poller_drop(linger->poller, &linger->watch);
    list_remove(&linger->link);
    free(linger);
}

static void on_ready(struct watch *watch, uint32_t events)
{
    char dropped[16 * 1024];
    ssize_t n = read(watch->fd, dropped, sizeof(dropped));

    (void)events;
    if (n == 0 || (n == -1 && errno != EAGAIN && errno != EINTR)) {
        end(watch_owner(watch, struct given_up, watch));
    }
}

void linger_start(struct backend_set *set, int fd)
{
    struct given_up *linger = malloc(sizeof(*linger));

    if (linger == NULL) {
        socket_drop_unsent(fd);
        close(fd);
        return;
    }
    shutdown(fd, SHUT_WR);
    linger->since_us = set->worker->now_us;
    linger->watch = (struct watch){.on_ready = on_ready, .fd = fd};
    linger->poller = &set->worker->poller;
    if (!poller_set(linger->poller, &linger->watch, EPOLLIN)) {
        socket_drop_unsent(fd);
        close(fd);
        free(linger);
        return;
    }
    list_add_tail(&set->lingering, &linger->link);
}

void linger_stop_old(struct backend_set *set)
{
    list_each_safe (at, after, &set->lingering) {
        struct given_up *linger = list_entry(at, struct given_up, link);

        if (set->worker->now_us - linger->since_us >= LINGER_MAX_US) {
            end(linger);
        }
    }
}

void linger_stop_all(struct backend_set *set)
{
    list_each_safe (at, after, &set->lingering) {
        end(list_entry(at, struct given_up, link));
    }
}
