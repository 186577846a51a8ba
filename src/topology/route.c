/* See topology/route.h. */
#include "topology/route.h"

#include <stdlib.h>

enum { LIST_FIRST = 16 }; /* servers of a key's list that are looked at before all are */

static bool is_choice(const struct topology_pool *pool, uint32_t server, const struct server *avoid)
{
    return pool->live[server] == STANDING_LIVE && pool->servers[server].server != avoid;
}

/* The same of the whole list: most servers are out. PLACEMENT_NONE out of memory too. */
static uint32_t best_of_all(const struct topology_pool *pool, struct slice key,
                            const struct server *avoid)
{
    uint8_t *choices = malloc(pool->server_count);
    uint32_t best;

    if (choices == NULL) {
        return PLACEMENT_NONE;
    }
    for (uint32_t i = 0; i < pool->server_count; i++) {
        choices[i] = is_choice(pool, i, avoid);
    }
    best = placement_find(pool->placement, key, choices);
    free(choices);
    return best;
}

/* The first live server of the key's list that is not the one to avoid. */
static uint32_t next_best(const struct topology_pool *pool, struct slice key,
                          const struct server *avoid)
{
    uint32_t list[LIST_FIRST];
    size_t count = placement_list(pool->placement, key, list, LIST_FIRST);

    for (size_t i = 0; i < count; i++) {
        if (is_choice(pool, list[i], avoid)) {
            return list[i];
        }
    }
    return count == LIST_FIRST ? best_of_all(pool, key, avoid) : PLACEMENT_NONE;
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
