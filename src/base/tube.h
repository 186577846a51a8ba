/*
 * Pipes through which the kernel moves bytes from one socket to another, so that nobody copies
 * them. A pool keeps some for reuse; it belongs to one thread.
 */
#ifndef BASE_TUBE_H
#define BASE_TUBE_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    TUBES_MAX = 32,           /* of a pool: two descriptors each */
    TUBE_PIPE_BYTES = 1 << 19 /* asked for: a pipe holds as many parts of packets as pages */
};

struct tube {
    struct tube *next; /* kept for reuse */
    int to;            /* the pipe's end that takes bytes */
    int from;          /* the one that gives them */
    uint64_t held;     /* bytes in it */
};

struct tube_pool {
    struct tube *kept; /* empty */
    uint32_t kept_count;
    uint32_t spare; /* the fewest that were kept since tube_pool_age */
    uint32_t count; /* kept, and in somebody's hands */
    uint32_t max;   /* that there may be, at most TUBES_MAX; 0: none */
    bool is_off;    /* the system has none to give, or cannot move bytes so: until tube_pool_age */
};

/*
 * How many tubes each of so many pools may have: of the descriptors that the process may open they
 * take an eighth at most, since who does not read may hold one for long.
 */
uint32_t tube_pool_share(unsigned pools);

/* Makes pool empty. */
void tube_pool_init(struct tube_pool *pool, uint32_t max);

/* Closes what is kept; every tube must have been put back. Zeroed, a pool is empty. */
void tube_pool_fini(struct tube_pool *pool);

/* Closes those that were not used for a while; to be called now and then. */
void tube_pool_age(struct tube_pool *pool);

/* Returns an empty tube, or NULL: bytes are to be copied for now. */
struct tube *tube_get(struct tube_pool *pool);

/* Takes tube back; what it still holds is lost. */
void tube_put(struct tube_pool *pool, struct tube *tube);

/* Moves up to len bytes from the socket fd. As read; EAGAIN also where the tube is full. */
ssize_t tube_fill(struct tube *tube, int fd, size_t len);

/* Copies data behind what it holds. False: it has no room for all of it. */
MUST_CHECK bool tube_add(struct tube *tube, const char *data, size_t len);

/* Moves up to len of its bytes to the socket fd; has_more: others follow soon. As write. */
ssize_t tube_drain(struct tube *tube, int fd, size_t len, bool has_more);

/* True for an error of the two that says: not here, and not in this way; but copy them. */
bool tube_is_refused(int error);

/* Copies its first len bytes, which it holds, to data. False with errno set. */
MUST_CHECK bool tube_copy(struct tube *tube, char *data, size_t len);

#endif
