/*
 * Placements that are an array of owners: filling the array. Pure.
 */
#ifndef RING_TABLE_H
#define RING_TABLE_H

#include "ring/label.h"

#include <stdint.h>

enum { TABLE_CELLS_MAX = 1 << 24 };

/*
 * How many cells the table of these servers has; 0 where weights make it larger than
 * TABLE_CELLS_MAX. cells: the recipe's count, which slots go by.
 */
size_t table_cells(enum table_rule rule, unsigned cells, const double *weights, size_t servers);

/* Writes each cell's owner. False: out of memory. */
MUST_CHECK bool table_fill(enum table_rule rule, uint32_t *cells, size_t count,
                           const struct labels *labels, const double *weights);

/* Jump hash: which of count buckets this hash is in. count >= 1. */
uint32_t jump_bucket(uint64_t hash, uint32_t count);

#endif
