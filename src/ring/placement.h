/*
 * Placement: maps a key's bytes to an ordered list of distinct servers, a pure
 * function of (options, servers, key). Immutable after placement_new; any
 * number of threads may look up at once.
 */
#ifndef RING_PLACEMENT_H
#define RING_PLACEMENT_H

#include "base/slice.h"

#include <stdint.h>

#define PLACEMENT_NONE UINT32_MAX

struct placement_server {
    const char *host; /* as configured, no brackets; the path for a unix socket */
    uint16_t port;    /* 0 for a unix socket */
    bool is_unix;
    const char *name; /* explicit name, or NULL */
    double weight;    /* > 0 */
};

struct placement_options {
    const char *placement; /* "ketama", "ketama:twemproxy", "jump", ... */
    const char *key_hash;  /* NULL: the placement's own */
    const char *hash_tag;  /* two characters, or NULL */
    const char *hash_skip; /* a prefix not hashed, or NULL */
    unsigned points;       /* 0: the placement's own */
};

struct placement;

/*
 * Builds; one allocation. NULL on a mistake, with one sentence in error. Server
 * numbers are indexes into servers. Nothing of the arguments is kept.
 */
MUST_CHECK struct placement *placement_new(const struct placement_options *options,
                                           const struct placement_server *servers, size_t count,
                                           char *error, size_t error_size);
void placement_free(struct placement *placement); /* NULL is fine */

/*
 * Returns the first server of the key's list that is live, or PLACEMENT_NONE.
 * live: one byte a server, not 0 = live; NULL: all are.
 */
uint32_t placement_find(const struct placement *placement, struct slice key, const uint8_t *live);

/* Writes up to max distinct servers in the key's order, ejected or not; returns how many. */
size_t placement_list(const struct placement *placement, struct slice key, uint32_t *servers,
                      size_t max);

#endif
