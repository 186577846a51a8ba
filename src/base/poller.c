/* See base/poller.h. */
#include "base/poller.h"

#include "base/io.h"

#include <sys/timerfd.h>
#include <unistd.h>

enum { PREFETCH_AHEAD = 4 };

static void on_timer(struct watch *watch, uint32_t events)
{
    (void)events;
    watch_owner(watch, struct poller, timer)->timer_at_us = UINT64_MAX;
}

bool poller_init(struct poller *poller)
{
    poller->count = 0;
    poller->turn = 0;
    poller->fd = epoll_create1(EPOLL_CLOEXEC);
    poller->timer = (struct watch){.on_ready = on_timer};
    poller->timer.fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    poller->timer_at_us = UINT64_MAX;
    /* an edge need not be read */
    return poller->fd != -1 && poller->timer.fd != -1 &&
           poller_set(poller, &poller->timer, EPOLLIN | EPOLLET);
}

void poller_fini(struct poller *poller)
{
    if (poller->fd != -1) {
        close(poller->fd);
    }
    if (poller->timer.fd != -1) {
        watch_close(&poller->timer);
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

/* Has the timer go off at until_us or before. False: the kernel would not. */
static bool set_timer(struct poller *poller, uint64_t until_us)
{
    struct itimerspec at = {.it_value = {.tv_sec = (time_t)(until_us / 1000000),
                                         .tv_nsec = (long)(until_us % 1000000 * 1000)}};

    if (poller->timer_at_us <= until_us) {
        return true;
    }
    if (timerfd_settime(poller->timer.fd, TFD_TIMER_ABSTIME, &at, NULL) == -1) {
        poller->timer_at_us = UINT64_MAX; /* what was set before may still go off: no harm */
        return false;
    }
    poller->timer_at_us = until_us;
    return true;
}

void poller_wait(struct poller *poller, uint64_t until_us)
{
    int timeout_ms = until_us == 0 ? 0 : set_timer(poller, until_us) ? -1 : 1;
    int count = io_wait(poller->fd, poller->ready, POLLER_BATCH, timeout_ms);

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
            events |= EPOLLIN | EPOLLOUT | EPOLLRDHUP;
        }
        if (watch != NULL && (events & watch->events) != 0 && watch->turn != poller->turn) {
            watch->on_ready(watch, events & watch->events);
        }
    }
    poller->count = 0;
}
