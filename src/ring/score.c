/*
 * The table of logarithms, by squaring: each square that reaches 2 is one more
 * bit.
 */
#include "ring/score.h"

/* log2 of x, which is 1 <= x < 2 in units of 2^-31; the result in units of 2^-32. */
static uint64_t log2_by_squares(uint64_t x)
{
    uint64_t result = 0;

    for (int bit = 0; bit < 32; bit++) {
        x = x * x >> 31;
        result <<= 1;
        if (x >= 1ull << 32) {
            x >>= 1;
            result |= 1;
        }
    }
    return result;
}

void score_table_init(struct score_table *table)
{
    for (uint64_t i = 0; i < SCORE_STEPS; i++) {
        table->log2_of[i] = log2_by_squares((1ull << 31) + (i << 31) / SCORE_STEPS);
    }
    table->log2_of[SCORE_STEPS] = 1ull << 32;
}
