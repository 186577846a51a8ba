/*
 * What a placement says of itself, and the ends of its life.
 */
#include "ring/placement.h"

#include "ring/build.h"
#include "ring/layout.h"

#include <stdio.h>
#include <stdlib.h>

struct placement *placement_new(const struct placement_options *options,
                                const struct placement_server *servers, size_t count, char *error,
                                size_t error_size)
{
    return build_listed(options, servers, count, error, error_size);
}

struct placement *placement_from_points(const struct placement_point *points, size_t count,
                                        size_t servers)
{
    return build_drawn(points, count, servers);
}

bool placement_options_check(const struct placement_options *options, char *error,
                             size_t error_size)
{
    struct recipe recipe;
    uint64_t seed;

    return build_read_options(options, &recipe, &seed, error, error_size);
}

const char *placement_word(size_t i)
{
    return recipe_name(i);
}

const char *placement_word_help(size_t i)
{
    return recipe_summary(i);
}

void placement_free(struct placement *placement)
{
    free(placement);
}

size_t placement_bytes(const struct placement *placement)
{
    return placement->bytes;
}

size_t placement_points(const struct placement *placement)
{
    return placement->ring.count + placement->cell_count;
}

size_t placement_points_of(const struct placement *placement, uint32_t server)
{
    size_t points = 0;

    for (uint32_t i = 0; i < placement->ring.count; i++) {
        points += placement->ring.entries[i].server == server;
    }
    for (uint32_t i = 0; i < placement->cell_count; i++) {
        points += placement->cells[i] == server;
    }
    return points;
}

bool placement_takes_weights(const struct placement *placement)
{
    return placement->recipe.weight != WEIGHT_IGNORED;
}

char *placement_describe(const struct placement *placement, char *out, size_t size)
{
    const struct recipe *recipe = &placement->recipe;

    size_t used = (size_t)snprintf(out, size, "%s, keys by %s", recipe->name,
                                   hash_name(recipe->key_hash, recipe->family));

    if (placement_points(placement) > 0 && used < size) {
        snprintf(out + used, size - used, ", %zu %s", placement_points(placement),
                 recipe->kind == KIND_TABLE ? "cells" : "points");
    }
    return out;
}
