/*
 * Waits for many descriptors: an epoll, and what is called when one is ready.
 * Level-triggered. Owns no descriptor but its own. Owned by one thread.
 */
#ifndef BASE_POLLER_H
#define BASE_POLLER_H

#include "base/slice.h"

#include <stdint.h>
#include <sys/epoll.h>

enum { POLLER_BATCH = 1024 }; /* ready descriptors of one turn; the others are next */

/*
 * One descriptor waited for. Lives within what it belongs to, which must stay until poller_call has
 * returned, but for poller_drop.
 */
struct watch {
    void (*on_ready)(struct watch *watch, uint32_t events);
    int fd;
    uint32_t events; /* waited for: EPOLLIN, EPOLLOUT; 0: none, and the kernel does not know it */
    uint32_t turn;   /* in which it was added: what was ready before was another descriptor */
};

/* The struct that holds the watch member. */
#define watch_owner(watch_ptr, type, member) ((type *)((char *)(watch_ptr)-offsetof(type, member)))

struct poller {
    int fd;
    int count; /* of ready */
    uint32_t turn;
    struct watch timer;
    uint64_t timer_at_us; /* when it goes off, by clock_us; UINT64_MAX once that was seen */
    struct epoll_event ready[POLLER_BATCH];
};

/* False: no descriptor is left, or no memory. */
MUST_CHECK bool poller_init(struct poller *poller);
void poller_fini(struct poller *poller);

/*
 * Waits for these events from now on, with one system call where they differ from before. After a
 * hang-up or an error on_ready is called with all of them. False: the kernel has no memory for it.
 * EPOLLEXCLUSIVE may be added, and cannot be changed without 0 between.
 */
MUST_CHECK bool poller_set(struct poller *poller, struct watch *watch, uint32_t events);

/* Closes the descriptor, which is all the kernel needs to know. */
void watch_close(struct watch *watch);

/* The same, and the watch's memory may go at once. */
void poller_drop(struct poller *poller, struct watch *watch);

/*
 * Sleeps until a descriptor is ready or until_us is reached by clock_us; not where until_us is 0.
 * May wake early: what is due is for the caller's clock to tell. poller_call then calls those that
 * are ready. Watches may be set and closed by what is called.
 *
 * The kernel is told the time only where it is earlier than it was told before: a deadline that
 * moves on with each request costs nothing, but one wake for the oldest.
 */
void poller_wait(struct poller *poller, uint64_t until_us);

/* True where the watch was closed, or was given another descriptor, since poller_wait returned. */
static inline bool poller_was_changed(const struct poller *poller, const struct watch *watch)
{
    return watch->events == 0 || watch->turn == poller->turn;
}

void poller_call(struct poller *poller);

#endif
