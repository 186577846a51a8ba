/*
 * From weights to numbers of points. The rounding is part of each ring's
 * format, so it is done as the imitated program does it. Pure.
 */
#ifndef RING_WEIGHT_H
#define RING_WEIGHT_H

#include "ring/recipe.h"

#include <stdint.h>

/*
 * Writes each server's number of points, `count` being the points of a server of
 * average weight (WEIGHT_TIMES: of weight 1). digest: points come in fours.
 * Returns the sum, capped at UINT32_MAX.
 */
uint64_t weight_points(enum weight_rule rule, bool digest, unsigned count, const double *weights,
                       size_t servers, uint32_t *points);

#endif
