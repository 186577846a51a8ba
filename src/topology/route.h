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

/*
 * Routes key as seen through listener. avoid (or PLACEMENT_NONE) is a server of
 * the pool that just failed and is passed over.
 */
struct route route_key(const struct topology *topology, const struct topology_listener *listener,
                       struct slice key, const struct server *avoid);

#endif
