/*
 * Making a server's points from its label. Pure.
 */
#ifndef RING_POINTS_H
#define RING_POINTS_H

#include "ring/recipe.h"
#include "ring/ring.h"

/* True where points come four at a time. */
bool points_are_digests(const struct recipe *recipe);

/* True where places use both halves of their number. */
bool points_are_64(const struct recipe *recipe);

/* Writes count points of server, from its label (up to LABEL_MAX bytes; see label.h). */
void points_make(const struct recipe *recipe, struct slice label, uint32_t server, uint32_t count,
                 struct ring_point *points);

#endif
