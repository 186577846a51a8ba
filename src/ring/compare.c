/*
 * Shares of the key space and what of it moves. Between two rings of one key
 * hash both are sums of arcs; where hashes differ the two owners of a key have
 * nothing to do with each other and parts are products of shares; what is left
 * is counted over a sample of keys, the same in every run.
 */
#include "ring/compare.h"

#include "ring/lookup.h"
#include "ring/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SAMPLE_KEYS = 1 << 17,
    DISCRETE_BITS = 15,   /* so few values are simply gone through */
    PERIOD_MAX = 1 << 24, /* of two tables by remainder */
};

/* 2 to the power of a ring's or a hash's bits, as what lengths are divided by. */
static double hash_space(unsigned bits)
{
    return ldexp(1, (int)bits);
}

/* A ring walked from its end to its beginning, with the live owner of each arc. */
struct arc_walk {
    const struct placement *placement;
    const uint8_t *live;
    uint32_t entry; /* the arc from the entry before to this one; count: to the end */
    uint32_t owner;
};

static void arc_walk_init(struct arc_walk *walk, const struct placement *placement,
                          const uint8_t *live)
{
    *walk = (struct arc_walk){placement, live, placement->ring.count,
                              placement_find_at(placement, 0, live)};
}

/* The least hash of the current arc. */
static uint64_t arc_start(const struct arc_walk *walk)
{
    uint64_t before;

    if (walk->entry == 0) {
        return 0;
    }
    before = ring_place(&walk->placement->ring, walk->entry - 1);
    return before == UINT64_MAX ? before : before + 1;
}

static void arc_walk_on(struct arc_walk *walk)
{
    const uint32_t server = walk->placement->ring.entries[--walk->entry].server;

    if (is_live(walk->live, server)) {
        walk->owner = server;
    }
}

/* Passes arcs that begin after last: they were told, or are beyond what the hash can reach. */
static void arc_walk_below(struct arc_walk *walk, uint64_t last)
{
    while (walk->entry > 0 && arc_start(walk) > last) {
        arc_walk_on(walk);
    }
}

static void compare_arcs(const struct placement *before, const uint8_t *before_live,
                         const struct placement *after, const uint8_t *after_live,
                         placement_flow_fn *flow, void *arg)
{
    const unsigned bits = placement_hash_bits(before);
    const unsigned shift = before->place_shift;
    uint64_t last = UINT64_MAX; /* hashes up to here are still to be told */
    struct arc_walk old;
    struct arc_walk new;

    arc_walk_init(&old, before, before_live);
    arc_walk_init(&new, after, after_live);
    for (;;) {
        arc_walk_below(&old, last);
        arc_walk_below(&new, last);
        const uint64_t old_start = arc_start(&old);
        const uint64_t new_start = arc_start(&new);
        const uint64_t start = old_start > new_start ? old_start : new_start;
        /* a 32-bit hash reaches the places that are multiples of 2^32 only */
        const double length = (double)((last >> shift) - (start >> shift)) +
                              (((start >> shift) << shift) == start ? 1 : 0);

        flow(arg, old.owner, new.owner, length / hash_space(bits));
        if (start == 0) {
            return;
        }
        last = start - 1;
    }
}

static void compare_each_hash(const struct placement *before, const uint8_t *before_live,
                              const struct placement *after, const uint8_t *after_live,
                              placement_flow_fn *flow, void *arg)
{
    const uint32_t count = 1u << placement_hash_bits(before);
    /* where 0 stands for 1, 1 counts twice and 0 never comes */
    const bool not0 = before->recipe.key == KEY_UPPER_15_NOT0;

    for (uint32_t hash = 0; hash < count; hash++) {
        const uint32_t used = not0 && hash == 0 ? 1 : hash;

        flow(arg, placement_owner(before, used, before_live),
             placement_owner(after, used, after_live), 1.0 / count);
    }
}

static uint64_t common_period(uint64_t a, uint64_t b)
{
    uint64_t x = a;
    uint64_t y = b;

    while (y != 0) {
        const uint64_t rest = x % y;

        x = y;
        y = rest;
    }
    return a / x * b;
}

static bool is_by_remainder(const struct placement *placement)
{
    return placement->recipe.kind == KIND_TABLE && placement->recipe.table != TABLE_JUMP;
}

static void compare_remainders(const struct placement *before, const struct placement *after,
                               uint64_t period, placement_flow_fn *flow, void *arg)
{
    const unsigned bits = placement_hash_bits(before);
    const double space = hash_space(bits);
    const double whole = floor(space / (double)period);
    const double rest = space - whole * (double)period;

    for (uint64_t hash = 0; hash < period; hash++) {
        const double times = whole + ((double)hash < rest ? 1 : 0);

        flow(arg, before->cells[hash % before->cell_count], after->cells[hash % after->cell_count],
             times / space);
    }
}

static void compare_jumps(const struct placement *before, const struct placement *after,
                          placement_flow_fn *flow, void *arg)
{
    const uint32_t old_count = before->cell_count;
    const uint32_t new_count = after->cell_count;
    const uint32_t fewer = old_count < new_count ? old_count : new_count;
    const double more = old_count < new_count ? new_count : old_count;

    /* a bucket of the smaller table keeps fewer/more of itself and gives the others alike */
    for (uint32_t i = 0; i < fewer; i++) {
        flow(arg, before->cells[i], after->cells[i], 1 / more);
        for (uint32_t j = fewer; j < old_count || j < new_count; j++) {
            flow(arg, before->cells[old_count > fewer ? j : i],
                 after->cells[new_count > fewer ? j : i], 1 / more / fewer);
        }
    }
}

static void compare_samples(const struct placement *before, const uint8_t *before_live,
                            const struct placement *after, const uint8_t *after_live,
                            placement_flow_fn *flow, void *arg)
{
    for (uint32_t i = 0; i < SAMPLE_KEYS; i++) {
        char text[24];
        const int len = snprintf(text, sizeof(text), "key:%u", i);
        const struct slice key = slice_make(text, (size_t)len);

        flow(arg, placement_find(before, key, before_live), placement_find(after, key, after_live),
             1.0 / SAMPLE_KEYS);
    }
}

/* Owners by unrelated hashes: each pair has the product of its shares. */
static bool compare_products(const struct placement *before, const uint8_t *before_live,
                             const struct placement *after, const uint8_t *after_live,
                             placement_flow_fn *flow, void *arg)
{
    double *old_shares = calloc(before->servers, sizeof(double));
    double *new_shares = calloc(after->servers, sizeof(double));
    bool is_exact = false;

    if (old_shares != NULL && new_shares != NULL) {
        is_exact = placement_shares(before, before_live, old_shares) &&
                   placement_shares(after, after_live, new_shares);
        if (is_exact) {
            for (uint32_t i = 0; i < before->servers; i++) {
                for (uint32_t j = 0; j < after->servers && old_shares[i] > 0; j++) {
                    if (new_shares[j] > 0) {
                        flow(arg, i, j, old_shares[i] * new_shares[j]);
                    }
                }
            }
        }
    }
    free(old_shares);
    free(new_shares);
    return is_exact;
}

static bool slices_agree(const struct placement *a, const struct placement *b)
{
    return slice_equals(a->skip, b->skip) && slice_equals(a->stop, b->stop) &&
           a->has_tag == b->has_tag &&
           (!a->has_tag || (memcmp(a->tag, b->tag, sizeof(a->tag)) == 0 &&
                            a->recipe.empty_tag_counts == b->recipe.empty_tag_counts));
}

/* True where a key has the same hash in both. */
static bool hashes_agree(const struct placement *a, const struct placement *b)
{
    return a->recipe.key_hash == b->recipe.key_hash && a->recipe.key == b->recipe.key &&
           a->seed == b->seed && a->recipe.kind != KIND_PYMEMCACHE &&
           b->recipe.kind != KIND_PYMEMCACHE && slices_agree(a, b);
}

/* True where no one could tell anything of a key's hash in one from that in the other. */
static bool hashes_are_unrelated(const struct placement *a, const struct placement *b)
{
    static const uint8_t kin[] = {
        [HASH_XXH3] = 1,          [HASH_XXH3_32] = 1,       [HASH_MD5] = 2,
        [HASH_MD5_64] = 2,        [HASH_ONE_AT_A_TIME] = 3, [HASH_CRC15] = 4,
        [HASH_CRC32] = 4,         [HASH_CRC16] = 5,         [HASH_FNV1_32] = 6,
        [HASH_FNV1A_32] = 6,      [HASH_FNV1_64] = 6,       [HASH_FNV1A_64] = 6,
        [HASH_HSIEH] = 7,         [HASH_MURMUR] = 8,        [HASH_MURMUR3] = 9,
        [HASH_JENKINS] = 10,      [HASH_JAVA_STRING] = 11,  [HASH_JAVA_FNV1_32] = 6,
        [HASH_JAVA_FNV1A_32] = 6, [HASH_JAVA_FNV1_64] = 6,  [HASH_JAVA_FNV1A_64] = 6,
    };

    return kin[a->recipe.key_hash] != kin[b->recipe.key_hash] && slices_agree(a, b) && !a->has_tag;
}

bool placement_compare(const struct placement *before, const uint8_t *before_live,
                       const struct placement *after, const uint8_t *after_live,
                       placement_flow_fn *flow, void *arg)
{
    if (hashes_agree(before, after)) {
        const bool any_table_ejects = before_live != NULL || after_live != NULL;

        if (placement_hash_bits(before) <= DISCRETE_BITS &&
            before->recipe.kind != KIND_RENDEZVOUS) {
            compare_each_hash(before, before_live, after, after_live, flow, arg);
            return true;
        }
        if (before->recipe.kind == KIND_RING && after->recipe.kind == KIND_RING) {
            compare_arcs(before, before_live, after, after_live, flow, arg);
            return true;
        }
        if (is_by_remainder(before) && is_by_remainder(after) && !any_table_ejects) {
            const uint64_t period = common_period(before->cell_count, after->cell_count);

            if (period <= PERIOD_MAX) {
                compare_remainders(before, after, period, flow, arg);
                return true;
            }
        }
        if (before->recipe.table == TABLE_JUMP && after->recipe.table == TABLE_JUMP &&
            before->recipe.kind == KIND_TABLE && after->recipe.kind == KIND_TABLE &&
            !any_table_ejects) {
            compare_jumps(before, after, flow, arg);
            return true;
        }
    } else if (hashes_are_unrelated(before, after) &&
               compare_products(before, before_live, after, after_live, flow, arg)) {
        return true;
    }
    compare_samples(before, before_live, after, after_live, flow, arg);
    return false;
}

static void add_share(void *arg, uint32_t from, uint32_t to, double part)
{
    double *shares = arg;

    (void)from;
    if (to != PLACEMENT_NONE) {
        shares[to] += part;
    }
}

/* Of a table, or by weight: what each has of the whole before any is ejected. */
static void base_shares(const struct placement *placement, double *shares)
{
    if (placement->recipe.kind == KIND_TABLE) {
        for (uint32_t i = 0; i < placement->cell_count; i++) {
            shares[placement->cells[i]] += 1.0 / placement->cell_count;
        }
        return;
    }
    for (uint32_t rank = 0; rank < placement->servers; rank++) {
        shares[placement->by_rank[rank]] =
            placement->inverse_weight != NULL ? 1 / placement->inverse_weight[rank] : 1;
    }
}

bool placement_shares(const struct placement *placement, const uint8_t *live, double *shares)
{
    const bool is_ring = placement->recipe.kind == KIND_RING;
    const bool is_few = placement_hash_bits(placement) <= DISCRETE_BITS;
    double sum = 0;

    for (uint32_t i = 0; i < placement->servers; i++) {
        shares[i] = 0;
    }
    if (is_ring || (is_few && placement->recipe.kind == KIND_TABLE) ||
        (is_by_remainder(placement) && live == NULL)) {
        return placement_compare(placement, live, placement, live, add_share, shares);
    }
    /* an ejected server's keys are drawn by the others in proportion to what they have */
    base_shares(placement, shares);
    for (uint32_t i = 0; i < placement->servers; i++) {
        shares[i] = is_live(live, i) ? shares[i] : 0;
        sum += shares[i];
    }
    for (uint32_t i = 0; i < placement->servers && sum > 0; i++) {
        shares[i] /= sum;
    }
    return placement->recipe.kind == KIND_TABLE;
}

/* What placement_moved counts. */
struct moved {
    const uint32_t *same;
    double part;
};

static void add_moved(void *arg, uint32_t from, uint32_t to, double part)
{
    struct moved *moved = arg;

    if (to != PLACEMENT_NONE && moved->same != NULL) {
        to = moved->same[to];
    }
    if (from != to || from == PLACEMENT_NONE) {
        moved->part += part;
    }
}

double placement_moved(const struct placement *before, const uint8_t *before_live,
                       const struct placement *after, const uint8_t *after_live,
                       const uint32_t *same)
{
    struct moved moved = {same, 0};

    placement_compare(before, before_live, after, after_live, add_moved, &moved);
    return moved.part < 1 ? moved.part : 1;
}
