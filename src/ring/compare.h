/*
 * How much of the key space each server has, and how much of it moves from one
 * placement to another. Pure.
 */
#ifndef RING_COMPARE_H
#define RING_COMPARE_H

#include "ring/placement.h"

/*
 * Writes each server's share of the key space, all of it adding up to 1 (or to 0
 * where none is live). live as in placement_find. True: exact. False: what it
 * comes to on average, or counted over a sample of keys.
 */
bool placement_shares(const struct placement *placement, const uint8_t *live, double *shares);

/* Takes one part of the key space: who had it, who has it; PLACEMENT_NONE: nobody live. */
typedef void placement_flow_fn(void *arg, uint32_t from, uint32_t to, double part);

/*
 * Goes through the key space and says for each part its server before and after;
 * the parts add up to 1, and a pair may come many times. True: exact; false:
 * counted over a sample of keys. O(points) where both are rings of one key hash.
 */
bool placement_compare(const struct placement *before, const uint8_t *before_live,
                       const struct placement *after, const uint8_t *after_live,
                       placement_flow_fn *flow, void *arg);

/*
 * The part of the key space whose server is another one. same: for each server
 * of after the number it has in before, or PLACEMENT_NONE; NULL: the same numbers.
 */
double placement_moved(const struct placement *before, const uint8_t *before_live,
                       const struct placement *after, const uint8_t *after_live,
                       const uint32_t *same);

#endif
