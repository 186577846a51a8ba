/* See topology/route.h. */
#include "topology/route.h"

enum { LIST_MAX = 16 };

static const struct topology_pool *
pool_of(const struct topology *topology, const struct topology_listener *listener, struct slice key)
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

/* The first live server of the key's list that is not the one to avoid. */
static uint32_t next_best(const struct topology_pool *pool, struct slice key,
                          const struct server *avoid)
{
    uint32_t list[LIST_MAX];
    size_t count = placement_list(pool->placement, key, list, LIST_MAX);

    for (size_t i = 0; i < count; i++) {
        if (pool->live[list[i]] == STANDING_LIVE && pool->servers[list[i]].server != avoid) {
            return list[i];
        }
    }
    return PLACEMENT_NONE;
}

struct route route_key(const struct topology *topology, const struct topology_listener *listener,
                       struct slice key, const struct server *avoid)
{
    struct route route = {pool_of(topology, listener, key), PLACEMENT_NONE, STANDING_OUT};

    if (route.pool == NULL) {
        return route;
    }
    route.server = placement_find(route.pool->placement, key, route.pool->live);
    if (avoid != NULL && route.server != PLACEMENT_NONE &&
        route.pool->servers[route.server].server == avoid) {
        route.server = next_best(route.pool, key, avoid);
    }
    if (route.server != PLACEMENT_NONE) {
        route.standing = (enum server_standing)route.pool->live[route.server];
    }
    return route;
}
