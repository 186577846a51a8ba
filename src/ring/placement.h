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
    const char *hash_skip; /* a prefix not hashed, or NULL: the placement's own */
    const char *hash_stop; /* only what stands before this text is hashed, or NULL */
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

/*
 * Writes up to max distinct servers in the key's order, ejected or not; returns how many: 0 out of
 * memory.
 */
size_t placement_list(const struct placement *placement, struct slice key, uint32_t *servers,
                      size_t max);

/*
 * Everything that placement_new would find wrong with the options alone (not with the
 * servers): true, or false with a sentence that begins with the key at fault.
 */
MUST_CHECK bool placement_options_check(const struct placement_options *options, char *error,
                                        size_t error_size);

/* The i-th word that placement = takes, and what it is; NULL past the last. */
const char *placement_word(size_t i);
const char *placement_word_help(size_t i);

size_t placement_bytes(const struct placement *placement);  /* of memory */
size_t placement_points(const struct placement *placement); /* points, or cells of a table */

/* How many points, or cells, this server has; 0 where a placement has none. */
size_t placement_points_of(const struct placement *placement, uint32_t server);

/* False: the weights of servers do not count. */
bool placement_takes_weights(const struct placement *placement);

/* One line: placement, hash, points. Returns out. */
char *placement_describe(const struct placement *placement, char *out, size_t size);

/* A point of a ring that is drawn by hand, as in worked examples. */
struct placement_point {
    uint64_t place;
    uint32_t server;
};

/* A ring of these points and none other; NULL: out of memory. */
MUST_CHECK struct placement *placement_from_points(const struct placement_point *points,
                                                   size_t count, size_t servers);

/* placement_find and placement_list for a key that hashes to this place of a ring. */
uint32_t placement_find_at(const struct placement *placement, uint64_t place, const uint8_t *live);
size_t placement_list_at(const struct placement *placement, uint64_t place, uint32_t *servers,
                         size_t max);

#endif
