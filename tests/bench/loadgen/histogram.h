/*
 * Counts of latencies in log-linear buckets: 64 a power of two, so a quantile is at most 1.6 % too
 * high. Pure.
 */
#ifndef LOADGEN_HISTOGRAM_H
#define LOADGEN_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_SUB_BITS 6
#define HISTOGRAM_BUCKETS  ((64 - HISTOGRAM_SUB_BITS + 1) << HISTOGRAM_SUB_BITS)

struct histogram {
    uint64_t count;
    uint64_t max;
    double sum;
    uint64_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *histogram, uint64_t value);

/* The upper edge of the bucket that holds the quantile (0 to 1); 0 if nothing was counted. */
uint64_t histogram_quantile(const struct histogram *histogram, double quantile);

double histogram_mean(const struct histogram *histogram);

#endif
