/* See topology/route.h. */
#include "topology/route.h"

enum { LIST_MAX = 16 };

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

struct route route_key_avoiding(const struct topology *topology,
                                const struct topology_listener *listener, struct slice key,
                                const struct server *avoid)
{
    struct route route = route_key(topology, listener, key);

    if (avoid != NULL && route.server != PLACEMENT_NONE &&
        route.pool->servers[route.server].server == avoid) {
        route.server = next_best(route.pool, key, avoid);
        route.standing = route.server != PLACEMENT_NONE ? STANDING_LIVE : STANDING_OUT;
    }
    return route;
}
