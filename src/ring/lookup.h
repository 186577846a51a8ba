/*
 * From a key to its servers, for the files of this folder: the steps of
 * placement_find. Pure.
 */
#ifndef RING_LOOKUP_H
#define RING_LOOKUP_H

#include "ring/layout.h"

/* The bytes of key that count. */
struct slice placement_hashed_part(const struct placement *placement, struct slice key);

/* A key's hash after the rule that the placement has for it. */
uint64_t placement_hash(const struct placement *placement, struct slice key);

/* How many values placement_hash can have, as a power of two. */
unsigned placement_hash_bits(const struct placement *placement);

/* The list's head for a hash: not for pymemcache, which has none. */
uint32_t placement_owner(const struct placement *placement, uint64_t hash, const uint8_t *live);

static inline bool is_live(const uint8_t *live, uint32_t server)
{
    return live == NULL || live[server] != 0;
}

/* Where a hash falls on the ring. 1024 buckets: the owner of the first place of each has it. */
static inline uint64_t placement_place(const struct placement *placement, uint64_t hash)
{
    enum { BUCKET_WIDTH = 4194303 };

    return placement->recipe.key == KEY_BUCKETS ? (hash * BUCKET_WIDTH) << 32
                                                : hash << placement->place_shift;
}

#endif
