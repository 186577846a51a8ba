/*
 * What a placement is inside. For the files of this folder that build, look up
 * and compare; others use placement.h.
 */
#ifndef RING_LAYOUT_H
#define RING_LAYOUT_H

#include "ring/placement.h"
#include "ring/recipe.h"
#include "ring/ring.h"
#include "ring/score.h"

struct placement {
    struct recipe recipe; /* the row, with what the options and the weights changed */
    size_t bytes;
    uint32_t servers;
    uint64_t seed;        /* of the key hash */
    unsigned place_shift; /* from a hash to a place on the ring */
    bool takes_whole_key; /* no tag, prefix or stop to look for */
    bool has_tag;
    char tag[2];
    struct slice skip; /* these point into this allocation */
    struct slice stop;
    struct ring ring;
    const uint32_t *cells; /* of a table */
    uint32_t cell_count;
    const uint32_t *by_rank;      /* servers in the order that decides draws */
    const uint64_t *label_hash;   /* rendezvous, by rank */
    const double *inverse_weight; /* the same */
    const struct slice *labels;   /* pymemcache: "label-" */
    struct score_table scores;
};

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
