/*
 * What one write takes: small pieces copied together, large ones in place. The kernel spends more
 * on each part of a writev than a copy of a few words costs. For one call at a time; owns nothing.
 */
#ifndef BASE_GATHERING_H
#define BASE_GATHERING_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

enum {
    GATHERING_SMALL_MAX = 1024, /* bytes; a longer piece is written from where it lies */
    GATHERING_PARTS = 64,
};

struct gathering {
    struct iovec parts[GATHERING_PARTS];
    int count;
    char *at; /* in the caller's buffer */
    const char *end;
    size_t total;    /* bytes of all parts */
    bool meets_tube; /* what follows is in a tube: its owner's to set */
};

/*
 * Makes *g empty; small pieces will be copied into buffer, which has room for one of them at least.
 * (The parts need no clearing.)
 */
static inline void gathering_begin(struct gathering *g, char *buffer, size_t bytes)
{
    g->count = 0;
    g->at = buffer;
    g->end = buffer + bytes;
    g->total = 0;
    g->meets_tube = false;
}

/* Adds the next piece, which stays where it is until it is written. False: no room, not added. */
static inline bool gathering_add(struct gathering *g, const char *data, size_t len)
{
    struct iovec *last = g->count > 0 ? &g->parts[g->count - 1] : NULL;
    bool is_small = len <= GATHERING_SMALL_MAX;
    bool joins = is_small && last != NULL && (char *)last->iov_base + last->iov_len == g->at;

    if (len == 0) {
        return true;
    }
    if ((is_small && len > (size_t)(g->end - g->at)) || (!joins && g->count == GATHERING_PARTS)) {
        return false;
    }
    g->total += len;
    if (is_small) {
        memcpy(g->at, data, len);
        data = g->at;
        g->at += len;
    }
    if (joins) {
        last->iov_len += len;
    } else {
        g->parts[g->count++] = (struct iovec){(void *)(uintptr_t)data, len};
    }
    return true;
}

#endif
