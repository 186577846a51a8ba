/*
 * Building a placement, behind placement_new and its like: see placement.h for
 * what each does. Pure.
 */
#ifndef RING_BUILD_H
#define RING_BUILD_H

#include "ring/placement.h"
#include "ring/recipe.h"

/* Finds the row and puts into it, and into seed, what the options change. */
MUST_CHECK bool build_read_options(const struct placement_options *options, struct recipe *recipe,
                                   uint64_t *seed, char *error, size_t size);

MUST_CHECK struct placement *build_listed(const struct placement_options *options,
                                          const struct placement_server *servers, size_t count,
                                          char *error, size_t error_size);

MUST_CHECK struct placement *build_drawn(const struct placement_point *points, size_t count,
                                         size_t servers);

#endif
