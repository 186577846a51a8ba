/*
 * A placement shown to people: why a key is where it is, and who has which
 * part of the circle. Pure; any thread.
 */
#ifndef RING_EXPLAIN_H
#define RING_EXPLAIN_H

#include "ring/placement.h"

/* One line: what of the key is hashed, and to what. Control bytes are escaped. Returns out. */
char *placement_explain(const struct placement *placement, struct slice key, char *out,
                        size_t size);

/*
 * Cuts the key space into count equal steps, in the order of the circle or
 * table, and writes who has each. live as in placement_find.
 */
void placement_sample(const struct placement *placement, const uint8_t *live, uint32_t *owners,
                      size_t count);

#endif
