/*
 * Each kind of placement has a first server for a hash and an order of the
 * others; an ejected server is passed over in that order, so that its keys move
 * and no others.
 */
#include "ring/lookup.h"

#include "ring/pymemcache.h"
#include "ring/table.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct slice placement_hashed_part(const struct placement *placement, struct slice key)
{
    const struct slice skip = placement->skip;
    const struct slice stop = placement->stop;

    if (skip.len > 0 && key.len >= skip.len && memcmp(key.data, skip.data, skip.len) == 0) {
        key = slice_make(key.data + skip.len, key.len - skip.len);
    }
    if (stop.len > 0) {
        const char *end = memmem(key.data, key.len, stop.data, stop.len);

        key.len = end != NULL ? (size_t)(end - key.data) : key.len;
    }
    if (placement->has_tag) {
        const char *open = memchr(key.data, placement->tag[0], key.len);
        const char *end = key.data + key.len;
        const char *close =
            open != NULL ? memchr(open + 1, placement->tag[1], (size_t)(end - open - 1)) : NULL;

        if (close != NULL && (close > open + 1 || placement->recipe.empty_tag_counts)) {
            key = slice_make(open + 1, (size_t)(close - open - 1));
        }
    }
    return key;
}

static inline uint64_t hash_key(const struct placement *placement, struct slice key)
{
    uint64_t hash;

    if (unlikely(!placement->takes_whole_key)) {
        key = placement_hashed_part(placement, key);
    }
    if (placement->recipe.key_hash == HASH_XXH3) {
        return XXH3_64bits(key.data, key.len);
    }
    hash = hash_value(placement->recipe.key_hash, placement->seed, key);
    switch (placement->recipe.key) {
    case KEY_AS_IS:
        break;
    case KEY_BUCKETS:
        hash &= 1023;
        break;
    case KEY_UPPER_15:
        hash = hash >> 16 & 0x7fff;
        break;
    case KEY_UPPER_15_NOT0:
        hash = hash >> 16 & 0x7fff;
        hash += hash == 0;
        break;
    }
    return hash;
}

uint64_t placement_hash(const struct placement *placement, struct slice key)
{
    return hash_key(placement, key);
}

unsigned placement_hash_bits(const struct placement *placement)
{
    switch (placement->recipe.key) {
    case KEY_BUCKETS:
        return 10;
    case KEY_UPPER_15:
    case KEY_UPPER_15_NOT0:
        return 15;
    case KEY_AS_IS:
        break;
    }
    return hash_bits(placement->recipe.key_hash);
}

static bool any_live(const struct placement *placement, const uint8_t *live)
{
    for (uint32_t i = 0; i < placement->servers; i++) {
        if (live[i] != 0) {
            return true;
        }
    }
    return false;
}

/* The owner of the first entry from this one on whose server is live. */
static uint32_t ring_next_live(const struct placement *placement, uint32_t entry,
                               const uint8_t *live)
{
    enum { DOUBTFUL = 64 };
    const struct ring *ring = &placement->ring;

    for (uint32_t passed = 0; passed < ring->count; passed++) {
        if (entry >= ring->count) {
            entry = 0;
        }
        if (live[ring->entries[entry].server] != 0) {
            return ring->entries[entry].server;
        }
        if (passed == DOUBTFUL && !any_live(placement, live)) {
            break; /* or a dead pool would cost a walk over all points for each key */
        }
        entry++;
    }
    return PLACEMENT_NONE;
}

static inline uint32_t find_at(const struct placement *placement, uint64_t place,
                               const uint8_t *live)
{
    const uint32_t entry = ring_seek(&placement->ring, place);
    const uint32_t server = placement->ring.entries[entry].server;

    if (likely(live == NULL || live[server] != 0)) {
        return server;
    }
    return ring_next_live(placement, entry, live);
}

uint32_t placement_find_at(const struct placement *placement, uint64_t place, const uint8_t *live)
{
    return find_at(placement, place, live);
}

/* The cell of the attempt-th server of a hash: the first by the rule, the others drawn. */
static inline uint32_t table_cell(const struct placement *placement, uint64_t hash,
                                  uint32_t attempt)
{
    if (attempt > 0) {
        const uint64_t drawn = hash_mix(hash + attempt * 0x9e3779b97f4a7c15u);

        return (uint32_t)((unsigned __int128)drawn * placement->cell_count >> 64);
    }
    if (placement->recipe.table == TABLE_JUMP) {
        return jump_bucket(hash, placement->cell_count);
    }
    return (uint32_t)(hash % placement->cell_count);
}

/* After this many draws the rest of a list is whoever is missing, by rank. */
static uint32_t draws_max(const struct placement *placement)
{
    return 64 + 4 * placement->servers;
}

static uint32_t table_find(const struct placement *placement, uint64_t hash, const uint8_t *live)
{
    const uint32_t first = placement->cells[table_cell(placement, hash, 0)];

    if (likely(live == NULL || live[first] != 0)) {
        return first;
    }
    if (!any_live(placement, live)) {
        return PLACEMENT_NONE;
    }
    for (uint32_t attempt = 1; attempt <= draws_max(placement); attempt++) {
        const uint32_t server = placement->cells[table_cell(placement, hash, attempt)];

        if (live[server] != 0) {
            return server;
        }
    }
    for (uint32_t i = 0; i < placement->servers; i++) {
        if (live[placement->by_rank[i]] != 0) {
            return placement->by_rank[i];
        }
    }
    return PLACEMENT_NONE;
}

static inline struct score server_score(const struct placement *placement, uint64_t hash,
                                        uint32_t rank)
{
    return score_of(&placement->scores, hash ^ placement->label_hash[rank],
                    placement->inverse_weight[rank], rank);
}

static uint32_t rendezvous_find(const struct placement *placement, uint64_t hash,
                                const uint8_t *live)
{
    struct score best = {0};
    uint32_t winner = PLACEMENT_NONE;

    for (uint32_t rank = 0; rank < placement->servers; rank++) {
        if (live != NULL && live[placement->by_rank[rank]] == 0) {
            continue;
        }
        const struct score score = server_score(placement, hash, rank);

        if (winner == PLACEMENT_NONE || score_is_better(&score, &best)) {
            winner = rank;
            best = score;
        }
    }
    return winner != PLACEMENT_NONE ? placement->by_rank[winner] : PLACEMENT_NONE;
}

uint32_t placement_owner(const struct placement *placement, uint64_t hash, const uint8_t *live)
{
    switch (placement->recipe.kind) {
    case KIND_RING:
        return placement_find_at(placement, placement_place(placement, hash), live);
    case KIND_TABLE:
        return table_find(placement, hash, live);
    case KIND_RENDEZVOUS:
        return rendezvous_find(placement, hash, live);
    case KIND_PYMEMCACHE:
        break;
    }
    return PLACEMENT_NONE;
}

uint32_t placement_find(const struct placement *placement, struct slice key, const uint8_t *live)
{
    if (likely(placement->recipe.kind == KIND_RING)) {
        return find_at(placement, placement_place(placement, hash_key(placement, key)), live);
    }
    if (placement->recipe.kind == KIND_PYMEMCACHE) {
        return pymemcache_find(placement, key, live);
    }
    return placement_owner(placement, placement_hash(placement, key), live);
}

/* A list while it is written: whom it has, and where it goes. */
struct listing {
    uint8_t *has; /* one byte a server */
    uint32_t *servers;
    size_t count;
    size_t max;
};

/* False once the list is full. */
static bool listing_add(struct listing *listing, uint32_t server)
{
    if (listing->count < listing->max && listing->has[server] == 0) {
        listing->has[server] = 1;
        listing->servers[listing->count++] = server;
    }
    return listing->count < listing->max;
}

static void list_ring(const struct placement *placement, uint64_t place, struct listing *listing)
{
    const uint32_t count = placement->ring.count;
    uint32_t entry = ring_seek(&placement->ring, place);

    for (uint32_t passed = 0; passed < count; passed++, entry++) {
        if (entry >= count) {
            entry = 0;
        }
        if (!listing_add(listing, placement->ring.entries[entry].server)) {
            return;
        }
    }
}

static void list_table(const struct placement *placement, uint64_t hash, struct listing *listing)
{
    for (uint32_t attempt = 0; attempt <= draws_max(placement); attempt++) {
        if (!listing_add(listing, placement->cells[table_cell(placement, hash, attempt)])) {
            return;
        }
    }
    for (uint32_t i = 0; i < placement->servers; i++) {
        if (!listing_add(listing, placement->by_rank[i])) {
            return;
        }
    }
}

/* A server's score, whichever kind has scores. */
struct scored {
    struct score score;
    uint32_t server;
};

static int compare_scored(const void *left, const void *right)
{
    const struct scored *a = left;
    const struct scored *b = right;

    return score_is_better(&a->score, &b->score) ? -1 : score_is_better(&b->score, &a->score);
}

static void list_scores(const struct placement *placement, struct slice key,
                        struct listing *listing)
{
    const uint32_t count = placement->servers;
    struct scored *scored = calloc(count, sizeof(*scored));
    uint32_t *scores = calloc(count, sizeof(*scores));

    if (scored != NULL && scores != NULL) {
        const bool is_text = placement->recipe.kind == KIND_PYMEMCACHE;
        const uint64_t hash = is_text ? 0 : placement_hash(placement, key);

        if (is_text) {
            pymemcache_scores(placement, key, scores);
        }
        for (uint32_t rank = 0; rank < count; rank++) {
            const uint32_t server = placement->by_rank[rank];

            scored[rank].server = server;
            scored[rank].score = is_text ? (struct score){0, scores[server], count - rank}
                                         : server_score(placement, hash, rank);
        }
        qsort(scored, count, sizeof(*scored), compare_scored);
        for (uint32_t i = 0; i < count && listing_add(listing, scored[i].server); i++) {
        }
    }
    free(scored);
    free(scores);
}

size_t placement_list(const struct placement *placement, struct slice key, uint32_t *servers,
                      size_t max)
{
    struct listing listing = {calloc(placement->servers, 1), servers, 0, max};

    if (listing.has != NULL && max > 0) {
        switch (placement->recipe.kind) {
        case KIND_RING:
            list_ring(placement, placement_place(placement, placement_hash(placement, key)),
                      &listing);
            break;
        case KIND_TABLE:
            list_table(placement, placement_hash(placement, key), &listing);
            break;
        case KIND_RENDEZVOUS:
        case KIND_PYMEMCACHE:
            list_scores(placement, key, &listing);
            break;
        }
    }
    free(listing.has);
    return listing.count;
}

size_t placement_list_at(const struct placement *placement, uint64_t place, uint32_t *servers,
                         size_t max)
{
    struct listing listing = {calloc(placement->servers, 1), servers, 0, max};

    if (listing.has != NULL && max > 0) {
        list_ring(placement, place, &listing);
    }
    free(listing.has);
    return listing.count;
}
