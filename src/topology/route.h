/*
 * Which server gets a key: the pool by its prefix, the server by placement and
 * what is live. Pure; any thread.
 */
#ifndef TOPOLOGY_ROUTE_H
#define TOPOLOGY_ROUTE_H

#include "topology/topology.h"

struct route {
    const struct topology_pool *pool; /* NULL: no pool takes this key */
    uint32_t server;                  /* index in pool, or PLACEMENT_NONE: none is live */
    enum server_standing standing;    /* of server: LIVE, DOWN or GATED */
};

/* The pool that takes key as seen through listener, or NULL. */
static inline const struct topology_pool *route_pool(const struct topology *topology,
                                                     const struct topology_listener *listener,
                                                     struct slice key)
{
    for (uint32_t i = 0; i < listener->pool_count; i++) {
        const struct topology_pool *pool = &topology->pools[listener->pools[i]];

        if (pool->prefix_len == 0 || (key.len >= pool->prefix_len &&
                                      memcmp(key.data, pool->prefix, pool->prefix_len) == 0)) {
            return pool;
        }
    }
    return NULL;
}

/* Routes key as seen through listener. */
static inline struct route route_key(const struct topology *topology,
                                     const struct topology_listener *listener, struct slice key)
{
    struct route route = {route_pool(topology, listener, key), PLACEMENT_NONE, STANDING_OUT};

    if (likely(route.pool != NULL)) {
        route.server = placement_find(route.pool->placement, key, route.pool->live);
        if (likely(route.server != PLACEMENT_NONE)) {
            route.standing = (enum server_standing)route.pool->live[route.server];
        }
    }
    return route;
}

/* Routes key to another server than avoid, which just failed; NULL: to whichever it is. */
struct route route_key_avoiding(const struct topology *topology,
                                const struct topology_listener *listener, struct slice key,
                                const struct server *avoid);

#endif
