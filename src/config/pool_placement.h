/*
 * From a configured pool to its placement. Server numbers of the placement are
 * indexes into pool->servers. Pure; any thread.
 */
#ifndef CONFIG_POOL_PLACEMENT_H
#define CONFIG_POOL_PLACEMENT_H

#include "config/config.h"
#include "ring/placement.h"

/* The pool's placement settings; the texts are pool's. */
struct placement_options pool_placement_options(const struct config_pool *pool);

/* NULL on a mistake, with one sentence in error. Nothing of pool is kept. */
MUST_CHECK struct placement *pool_placement_new(const struct config_pool *pool, char *error,
                                                size_t error_size);

#endif
