#include "histogram.h"

#include <math.h>

#define SUB (1u << HISTOGRAM_SUB_BITS)

static uint32_t bucket_of(uint64_t value)
{
    if (value < SUB) {
        return (uint32_t)value;
    }
    uint32_t shift = 63u - (uint32_t)__builtin_clzll(value) - HISTOGRAM_SUB_BITS;
    return ((shift + 1) << HISTOGRAM_SUB_BITS) + (uint32_t)((value >> shift) - SUB);
}

static uint64_t bucket_top(uint32_t bucket)
{
    if (bucket < SUB) {
        return bucket;
    }
    uint32_t shift = (bucket >> HISTOGRAM_SUB_BITS) - 1;
    return ((((uint64_t)bucket & (SUB - 1)) + SUB + 1) << shift) - 1;
}

void histogram_add(struct histogram *histogram, uint64_t value)
{
    histogram->buckets[bucket_of(value)]++;
    histogram->count++;
    histogram->sum += (double)value;
    if (value > histogram->max) {
        histogram->max = value;
    }
}

uint64_t histogram_quantile(const struct histogram *histogram, double quantile)
{
    uint64_t rank = (uint64_t)ceil(quantile * (double)histogram->count);
    uint64_t seen = 0;

    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += histogram->buckets[i];
        if (seen > 0 && seen >= rank) {
            uint64_t top = bucket_top(i);
            return top < histogram->max ? top : histogram->max;
        }
    }
    return 0;
}

double histogram_mean(const struct histogram *histogram)
{
    return histogram->count == 0 ? 0 : histogram->sum / (double)histogram->count;
}
