/*
 * Rendezvous scores: of all servers the one with the best score has the key,
 * and each wins in proportion to its weight. The cost -log2(u) / weight of a
 * uniform u is computed in whole numbers but for one multiplication, so that it
 * is the same on every machine. Pure.
 */
#ifndef RING_SCORE_H
#define RING_SCORE_H

#include "ring/hash.h"

enum { SCORE_STEPS = 1024 };

/* log2 of 1 + i / SCORE_STEPS, in units of 2^-32. */
struct score_table {
    uint64_t log2_of[SCORE_STEPS + 1];
};

struct score {
    double cost;   /* the least is best */
    uint64_t draw; /* decides between equal costs: the greatest */
    uint32_t rank; /* and then: the least */
};

void score_table_init(struct score_table *table);

static inline struct score score_of(const struct score_table *table, uint64_t seed,
                                    double inverse_weight, uint32_t rank)
{
    const uint64_t draw = hash_mix(seed);
    const uint64_t u = draw | 1; /* 0 has no logarithm */
    const int zeros = __builtin_clzll(u);
    const uint64_t mantissa = u << zeros << 1;    /* without its leading 1 */
    const uint64_t step = mantissa >> 54;         /* the top 10 bits */
    const uint64_t within = mantissa << 10 >> 32; /* the next 32 */
    const uint64_t from = table->log2_of[step];
    const uint64_t log2 = from + ((table->log2_of[step + 1] - from) * within >> 32);
    const uint64_t cost = ((uint64_t)(zeros + 1) << 32) - log2;

    return (struct score){(double)cost * inverse_weight, draw, rank};
}

static inline bool score_is_better(const struct score *a, const struct score *b)
{
    if (a->cost != b->cost) {
        return a->cost < b->cost;
    }
    return a->draw != b->draw ? a->draw > b->draw : a->rank < b->rank;
}

#endif
