#include "proxy/linger.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINGER_MAX_US = 10000000 };

struct given_up {
    struct list link;
    struct event event;
    uint64_t since_us;
    int fd;
};

static void end(struct given_up *linger)
{
    event_del(&linger->event);
    close(linger->fd);
    list_remove(&linger->link);
    free(linger);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    char dropped[16 * 1024];
    ssize_t n = read(fd, dropped, sizeof(dropped));

    (void)what;
    if (n == 0 || (n == -1 && errno != EAGAIN && errno != EINTR)) {
        end(arg);
    }
}

void linger_start(struct backend_set *set, int fd)
{
    struct given_up *linger = malloc(sizeof(*linger));

    if (linger == NULL) {
        close(fd);
        return;
    }
    shutdown(fd, SHUT_WR);
    linger->fd = fd;
    linger->since_us = set->worker->now_us;
    event_assign(&linger->event, set->worker->base, fd, EV_READ | EV_PERSIST, on_readable, linger);
    event_add(&linger->event, NULL);
    list_add_tail(&set->lingering, &linger->link);
}

void linger_stop_old(struct backend_set *set)
{
    const struct linger at_once = {.l_onoff = 1};

    list_each_safe(at, after, &set->lingering)
    {
        struct given_up *linger = list_entry(at, struct given_up, link);

        if (set->worker->now_us - linger->since_us >= LINGER_MAX_US) {
            setsockopt(linger->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
            end(linger);
        }
    }
}

void linger_stop_all(struct backend_set *set)
{
    list_each_safe(at, after, &set->lingering)
    {
        end(list_entry(at, struct given_up, link));
    }
}
