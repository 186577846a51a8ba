/*
 * A log-linear histogram, as HdrHistogram's: values below 128 exactly, larger
 * ones within 1 %, up to four minutes in microseconds. One thread adds, any
 * thread may read meanwhile. Its memory comes in pages as values need them.
 */
#ifndef PROXY_HISTOGRAM_H
#define PROXY_HISTOGRAM_H

#include "proxy/cell.h"

#include <stddef.h>

enum {
    HISTOGRAM_HALF_BITS = 6, /* buckets of one octave, as a power of two */
    HISTOGRAM_VALUE_BITS = 28,
    HISTOGRAM_VALUE_MAX = (1 << HISTOGRAM_VALUE_BITS) - 1, /* larger ones count as this */
    HISTOGRAM_BUCKETS = (HISTOGRAM_VALUE_BITS - HISTOGRAM_HALF_BITS + 1) << HISTOGRAM_HALF_BITS,
    HISTOGRAM_PAGE_BITS = 7,
    HISTOGRAM_PAGE = 1 << HISTOGRAM_PAGE_BITS,
    HISTOGRAM_PAGES = (HISTOGRAM_BUCKETS + HISTOGRAM_PAGE - 1) / HISTOGRAM_PAGE,
};

struct histogram_page {
    _Atomic uint64_t counts[HISTOGRAM_PAGE];
};

/* Zeroed is empty. */
struct histogram {
    uint64_t last; /* the value counted last, and 1; its cell is at hand. 0: none */
    _Atomic uint64_t *cell;
    _Atomic(struct histogram_page *) pages[HISTOGRAM_PAGES];
};

/* What one or several histograms held when they were read. Zeroed is empty. */
struct histogram_sum {
    uint64_t counts[HISTOGRAM_BUCKETS];
    uint64_t total;
};

/* Frees the pages; nobody reads it any more. */
void histogram_fini(struct histogram *histogram);

/* Adds value so many times. */
void histogram_add(struct histogram *histogram, uint64_t value, uint64_t times);

/* Adds value once; the next one is compared with it. */
void histogram_add_other(struct histogram *histogram, uint64_t value);

/* Nothing is the same as the last value. */
void histogram_forget_last(struct histogram *histogram);

/* Adds what histogram holds now. */
void histogram_read(const struct histogram *histogram, struct histogram_sum *sum);

/* sum becomes sum - before, which was read earlier from the same histograms. */
void histogram_subtract(struct histogram_sum *sum, const struct histogram_sum *before);

/* The value that the part (0 to 1) of all is not above; 0 where it is empty. */
uint64_t histogram_percentile(const struct histogram_sum *sum, double part);

/* The mean within 1 %; 0 where it is empty. */
double histogram_mean(const struct histogram_sum *sum);

/* How many are below value, a power of two up to the largest value. */
uint64_t histogram_below(const struct histogram_sum *sum, uint64_t value);

/* The bucket of a value, which is at most HISTOGRAM_VALUE_MAX. */
static inline unsigned histogram_bucket(uint32_t value)
{
    const uint32_t low = (2 << HISTOGRAM_HALF_BITS) - 1;
    unsigned shift = (unsigned)(31 - HISTOGRAM_HALF_BITS - __builtin_clz(value | low));

    return (shift << HISTOGRAM_HALF_BITS) + (value >> shift);
}

/* The bucket's least value. */
static inline uint64_t histogram_bucket_start(unsigned bucket)
{
    const unsigned half = 1 << HISTOGRAM_HALF_BITS;
    unsigned shift = bucket < 2 * half ? 0 : (bucket >> HISTOGRAM_HALF_BITS) - 1;

    return (uint64_t)(bucket - (shift << HISTOGRAM_HALF_BITS)) << shift;
}

/*
 * Adds value, for values that often equal the last one: replies that come together took equally
 * long. False: it is another value, and not added.
 */
MUST_CHECK static inline bool histogram_add_same(struct histogram *histogram, uint64_t value)
{
    if (unlikely(histogram->last != value + 1)) {
        return false;
    }
    cell_add(histogram->cell, 1);
    return true;
}

#endif
