/*
 * Points in order, and a flat search over them. A place on the ring is 64 bits;
 * 32-bit points are its upper half. Lives in memory that the caller provides,
 * immutable once built. Pure.
 *
 * The places are cut into equal buckets, a little more than there are points, and
 * an index says where each bucket's points begin, so that a search looks at one
 * index entry and the next few points, however many there are.
 */
#ifndef RING_RING_H
#define RING_RING_H

#include "base/slice.h"

#include <stdint.h>

/* A point before it is sorted. */
struct ring_point {
    uint64_t place;
    uint32_t server;
};

struct ring_entry {
    uint32_t high; /* the place's upper half */
    uint32_t server;
};

struct ring {
    const struct ring_entry *entries; /* count of them, and copies of the first to wrap to */
    const uint32_t *low;              /* lower halves, or NULL where all are 0 */
    const uint32_t *index;            /* first entry of each bucket, and the count */
    uint32_t count;
    uint32_t buckets;
    unsigned shift; /* from a place's upper half to its bucket */
};

/* How many bytes ring_build wants for that many points. */
size_t ring_bytes(size_t count);

/*
 * Sorts points into memory (aligned for uint64_t). On equal places the server
 * of least rank comes first. points is scratch afterwards. count >= 1. is_64:
 * places differ, or are looked for, in the lower half too. False: out of memory.
 */
MUST_CHECK bool ring_build(struct ring *ring, void *memory, struct ring_point *points, size_t count,
                           const uint32_t *rank, bool is_64);

enum { RING_LOOK_AT = 4 };

/* ring_seek's second half, for crowded buckets and places that share an upper half. */
uint32_t ring_seek_further(const struct ring *ring, uint32_t entry, uint32_t bucket,
                           uint64_t place);

static inline uint64_t ring_place(const struct ring *ring, uint32_t entry)
{
    return (uint64_t)ring->entries[entry].high << 32 | (ring->low != NULL ? ring->low[entry] : 0);
}

/* True where the entry's place is before place. */
static inline bool ring_is_before(const struct ring *ring, uint32_t entry, uint64_t place)
{
    return ring_place(ring, entry) < place;
}

/* The first entry at or after place; ring->count where there is none, an entry like the first. */
static inline uint32_t ring_seek(const struct ring *ring, uint64_t place)
{
    const uint32_t wanted = (uint32_t)(place >> 32);
    const uint32_t bucket = wanted >> ring->shift;

    if (unlikely(bucket >= ring->buckets)) {
        return ring->count;
    }
    uint32_t entry = ring->index[bucket];
    const struct ring_entry *look = &ring->entries[entry];
    /* added up instead of looped over: no branch depends on where in the bucket it is */
    const uint32_t passed = (look[0].high < wanted) + (look[1].high < wanted) +
                            (look[2].high < wanted) + (look[3].high < wanted);

    entry += passed;
    if (unlikely(passed == RING_LOOK_AT || ring->entries[entry].high == wanted)) {
        return ring_seek_further(ring, entry, bucket, place);
    }
    return entry;
}

#endif
