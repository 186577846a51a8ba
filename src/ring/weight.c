/*
 * The steps of the two float rules are assigned one by one: the compiler may
 * then neither keep more precision nor fuse them.
 */
#include "ring/weight.h"

#include <math.h>

/* libmemcached, twemproxy and others: everything in binary32. */
static uint32_t single_points(double weight, uint64_t sum, size_t servers, unsigned count,
                              unsigned at_once)
{
    float t = (float)(uint64_t)weight;

    t = t / (float)sum;
    t = t * (float)count;
    t = t / (float)at_once;
    t = t * (float)servers;
    t = t + 1e-10f;
    return (uint32_t)floorf(t) * at_once;
}

/* libketama: the share in binary32, the product in binary64, rounded back. */
static uint32_t libketama_points(double weight, uint64_t sum, size_t servers, unsigned count,
                                 unsigned at_once)
{
    float share = (float)(uint64_t)weight;
    double product;
    float rounded;

    share = share / (float)sum;
    product = (double)share * ((double)count / at_once);
    product = product * (double)servers;
    rounded = (float)product;
    return (uint32_t)floorf(rounded) * at_once;
}

uint64_t weight_points(enum weight_rule rule, bool digest, unsigned count, const double *weights,
                       size_t servers, uint32_t *points)
{
    const unsigned at_once = digest ? 4 : 1;
    uint64_t sum = 0;
    uint64_t total = 0;

    for (size_t i = 0; i < servers; i++) {
        sum += (uint64_t)weights[i];
    }
    for (size_t i = 0; i < servers; i++) {
        switch (rule) {
        case WEIGHT_IGNORED:
            points[i] = count;
            break;
        case WEIGHT_SINGLE:
            points[i] = single_points(weights[i], sum, servers, count, at_once);
            break;
        case WEIGHT_LIBKETAMA:
            points[i] = libketama_points(weights[i], sum, servers, count, at_once);
            break;
        case WEIGHT_TIMES: {
            const double exact = floor(count * weights[i] + 0.5);

            points[i] = exact < 1 ? 1 : exact > UINT32_MAX ? UINT32_MAX : (uint32_t)exact;
            break;
        }
        }
        total += points[i];
    }
    return total < UINT32_MAX ? total : UINT32_MAX;
}
