/*
 * Building is one counting pass into buckets and a sort inside each: hashed
 * points fill them evenly, so that this is linear.
 */
#include "ring/ring.h"

#include <stdlib.h>

static uint32_t bucket_count(size_t points)
{
    uint32_t buckets = 2; /* one would be 32 bits wide, too far to shift */

    while (buckets <= points && buckets < 1u << 30) {
        buckets *= 2;
    }
    return buckets;
}

static size_t rounded_up(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

size_t ring_bytes(size_t count)
{
    return rounded_up((count + RING_LOOK_AT) * sizeof(struct ring_entry)) +
           rounded_up((count + RING_LOOK_AT) * sizeof(uint32_t)) +
           rounded_up((bucket_count(count) + 1) * sizeof(uint32_t));
}

static bool comes_before(const struct ring_point *a, const struct ring_point *b,
                         const uint32_t *rank)
{
    return a->place != b->place ? a->place < b->place : rank[a->server] < rank[b->server];
}

static int compare_points(const void *left, const void *right, void *rank)
{
    if (comes_before(left, right, rank)) {
        return -1;
    }
    return comes_before(right, left, rank) ? 1 : 0;
}

static void sort_bucket(struct ring_point *points, size_t count, const uint32_t *rank)
{
    enum { FEW = 24 };

    if (count > FEW) {
        qsort_r(points, count, sizeof(*points), compare_points, (void *)rank);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        const struct ring_point moved = points[i];
        size_t at = i;

        for (; at > 0 && comes_before(&moved, &points[at - 1], rank); at--) {
            points[at] = points[at - 1];
        }
        points[at] = moved;
    }
}

/* Fills index with where each bucket begins, and puts the points there in sorted order. */
static bool sort_points(const struct ring *ring, uint32_t *index, struct ring_point *points,
                        const uint32_t *rank)
{
    struct ring_point *scattered = calloc(ring->count + 1ull, sizeof(*scattered));

    if (scattered == NULL) {
        return false;
    }
    memset(index, 0, (ring->buckets + 1) * sizeof(*index));
    for (uint32_t i = 0; i < ring->count; i++) {
        index[(uint32_t)(points[i].place >> 32) >> ring->shift]++;
    }
    for (uint32_t bucket = 0, sum = 0; bucket <= ring->buckets; bucket++) {
        const uint32_t here = index[bucket];

        index[bucket] = sum;
        sum += here;
    }
    for (uint32_t i = 0; i < ring->count; i++) {
        scattered[index[(uint32_t)(points[i].place >> 32) >> ring->shift]++] = points[i];
    }
    /* each entry has moved on to its bucket's end, which is the next one's beginning */
    memmove(index + 1, index, ring->buckets * sizeof(*index));
    index[0] = 0;
    for (uint32_t bucket = 0; bucket < ring->buckets; bucket++) {
        sort_bucket(scattered + index[bucket], index[bucket + 1] - index[bucket], rank);
    }
    memcpy(points, scattered, ring->count * sizeof(*points));
    free(scattered);
    return true;
}

/* Chooses how many buckets cover the places from 0 to the last point, and their width. */
static void choose_buckets(struct ring *ring, const struct ring_point *points)
{
    uint32_t highest = 0;
    unsigned bits = 0;

    for (uint32_t i = 0; i < ring->count; i++) {
        const uint32_t high = (uint32_t)(points[i].place >> 32);

        highest = high > highest ? high : highest;
    }
    /* not always 32: some hashes have 15 bits */
    while (bits < 32 && highest >> bits != 0) {
        bits++;
    }
    ring->buckets = bucket_count(ring->count);
    ring->shift = 0;
    while (ring->buckets > 1ull << bits) {
        ring->buckets /= 2;
    }
    while ((uint64_t)ring->buckets << ring->shift < 1ull << bits) {
        ring->shift++;
    }
}

bool ring_build(struct ring *ring, void *memory, struct ring_point *points, size_t count,
                const uint32_t *rank, bool is_64)
{
    const size_t slots = count + RING_LOOK_AT;
    struct ring_entry *entries = memory;
    uint32_t *low = (uint32_t *)((char *)memory + rounded_up(slots * sizeof(*entries)));
    uint32_t *index = (uint32_t *)((char *)low + rounded_up(slots * sizeof(*low)));

    *ring = (struct ring){
        .entries = entries, .low = is_64 ? low : NULL, .index = index, .count = (uint32_t)count};
    choose_buckets(ring, points);
    if (!sort_points(ring, index, points, rank)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        entries[i] = (struct ring_entry){(uint32_t)(points[i].place >> 32), points[i].server};
        low[i] = (uint32_t)points[i].place;
    }
    /* no place is after these, so that every search ends here */
    for (size_t i = count; i < slots; i++) {
        entries[i] = (struct ring_entry){UINT32_MAX, entries[0].server};
        low[i] = UINT32_MAX;
    }
    return true;
}

uint32_t ring_seek_further(const struct ring *ring, uint32_t entry, uint32_t bucket, uint64_t place)
{
    uint32_t to = ring->index[bucket + 1];

    while (entry < to) {
        const uint32_t middle = entry + (to - entry) / 2;

        if (ring_is_before(ring, middle, place)) {
            entry = middle + 1;
        } else {
            to = middle;
        }
    }
    return entry;
}
