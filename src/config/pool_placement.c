/*
 * Copies the placement settings and the servers of a pool into the form that
 * ring/placement.h takes.
 */
#include "config/pool_placement.h"

#include <stdio.h>
#include <stdlib.h>

struct placement_options pool_placement_options(const struct config_pool *pool)
{
    return (struct placement_options){
        .placement = pool->placement,
        .key_hash = pool->key_hash,
        .hash_tag = pool->hash_tag,
        .hash_skip = pool->hash_skip,
        .points = pool->points,
    };
}

struct placement *pool_placement_new(const struct config_pool *pool, char *error, size_t error_size)
{
    const struct placement_options options = pool_placement_options(pool);
    struct placement_server *servers =
        calloc(pool->server_count > 0 ? pool->server_count : 1, sizeof(*servers));

    if (servers == NULL) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    for (size_t i = 0; i < pool->server_count; i++) {
        const struct config_server *from = &pool->servers[i];

        servers[i] = (struct placement_server){
            .host = from->address.host,
            .port = from->address.port,
            .is_unix = from->address.is_unix,
            .name = from->name,
            .weight = from->weight,
        };
    }
    struct placement *placement =
        placement_new(&options, servers, pool->server_count, error, error_size);

    free(servers);
    return placement;
}
