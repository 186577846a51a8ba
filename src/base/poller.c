/* See base/poller.h. */
#include "base/poller.h"

#include <unistd.h>

enum { PREFETCH_AHEAD = 4 };

bool poller_init(struct poller *poller)
{
    poller->count = 0;
    poller->turn = 0;
    poller->fd = epoll_create1(EPOLL_CLOEXEC);
    return poller->fd != -1;
}

void poller_fini(struct poller *poller)
{
    if (poller->fd != -1) {
        close(poller->fd);
    }
    poller->fd = -1;
}

bool poller_set(struct poller *poller, struct watch *watch, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};
    int operation = EPOLL_CTL_MOD;

    if (watch->events == events) {
        return true;
    }
    if (watch->events == 0) {
        operation = EPOLL_CTL_ADD;
        watch->turn = poller->turn;
    } else if (events == 0) {
        operation = EPOLL_CTL_DEL;
    }
    if (epoll_ctl(poller->fd, operation, watch->fd, &event) == -1) {
        return false;
    }
    watch->events = events;
    return true;
}

void watch_close(struct watch *watch)
{
    close(watch->fd);
    watch->events = 0;
    watch->fd = -1;
}

void poller_drop(struct poller *poller, struct watch *watch)
{
    watch_close(watch);
    for (int i = 0; i < poller->count; i++) {
        if (poller->ready[i].data.ptr == watch) {
            poller->ready[i].data.ptr = NULL;
        }
    }
}

void poller_wait(struct poller *poller, int timeout_ms)
{
    int count = epoll_wait(poller->fd, poller->ready, POLLER_BATCH, timeout_ms);

    poller->count = count > 0 ? count : 0; /* else interrupted */
    poller->turn++;
}

void poller_call(struct poller *poller)
{
    for (int i = 0; i < poller->count; i++) {
        struct watch *watch = poller->ready[i].data.ptr;
        uint32_t events = poller->ready[i].events;

        if (i + PREFETCH_AHEAD < poller->count) {
            __builtin_prefetch(poller->ready[i + PREFETCH_AHEAD].data.ptr);
        }
        if (events & (EPOLLHUP | EPOLLERR)) {
            events |= EPOLLIN | EPOLLOUT;
        }
        if (watch != NULL && (events & watch->events) != 0 && watch->turn != poller->turn) {
            watch->on_ready(watch, events & watch->events);
        }
    }
    poller->count = 0;
}
