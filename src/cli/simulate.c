/*
 * Counts generated keys, key:0, key:1, ... With a second file it also counts
 * which of them would move, to hold beside what plan computes.
 */
#include "cli/simulate.h"

#include "cli/json.h"
#include "cli/pools.h"
#include "cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { AT_ONCE = 1 << 12 };

struct simulation {
    const struct cli_pool *pool;
    const struct cli_pool *after; /* of the second file, or NULL */
    uint64_t keys;
    uint64_t *counts; /* by server of pool */
    uint64_t moved;
};

static bool is_same_server(const struct simulation *simulation, uint32_t before, uint32_t after)
{
    return strcmp(simulation->pool->config->servers[before].label,
                  simulation->after->config->servers[after].label) == 0;
}

static void count_keys(struct simulation *simulation)
{
    const char *prefix = simulation->pool->config->prefix;
    struct progress progress;
    char text[256 + 32];

    progress_begin(&progress, simulation->keys);
    for (uint64_t i = 0; i < simulation->keys; i++) {
        const int len = snprintf(text, sizeof(text), "%skey:%" PRIu64, prefix, i);
        const struct slice key = slice_make(text, (size_t)len);
        const uint32_t server = placement_find(simulation->pool->placement, key, NULL);

        simulation->counts[server]++;
        if (simulation->after != NULL) {
            const uint32_t after = placement_find(simulation->after->placement, key, NULL);

            simulation->moved += !is_same_server(simulation, server, after);
        }
        if (i % AT_ONCE == 0) {
            progress_at(&progress, i);
        }
    }
    progress_end(&progress);
}

/* The busiest over the mean; of_weight: over what its weight says. */
static double busiest(const struct simulation *simulation, bool of_weight, size_t *which)
{
    const size_t count = simulation->pool->config->server_count;
    double most = 0;

    for (size_t i = 0; i < count; i++) {
        const double ideal = of_weight ? cli_pool_ideal(simulation->pool, i) : 1.0 / (double)count;
        const double times = (double)simulation->counts[i] / (double)simulation->keys / ideal;

        if (times > most) {
            most = times;
            *which = i;
        }
    }
    return most;
}

static void print_simulation(const struct simulation *simulation)
{
    const struct config_pool *config = simulation->pool->config;
    const int name_width = cli_name_width(config);
    const int address_width = cli_address_width(config);
    char address[CLI_ADDRESS_MAX];
    size_t which = 0;

    printf("pool %s: %" PRIu64 " keys\n", config->name, simulation->keys);
    printf("%-*s  %-*s %8s  %12s  %9s\n", name_width, "server", address_width, "address", "weight",
           "keys", "part");
    for (size_t i = 0; i < config->server_count; i++) {
        printf("%-*s  %-*s %8g  %12" PRIu64 "  %7.3f %%\n", name_width, config->servers[i].label,
               address_width, cli_address(&config->servers[i], address), config->servers[i].weight,
               simulation->counts[i],
               100.0 * (double)simulation->counts[i] / (double)simulation->keys);
    }
    const double over_mean = busiest(simulation, false, &which);

    printf("busiest over the mean: %.3f (%s)\n", over_mean, config->servers[which].label);
    const double over_weight = busiest(simulation, true, &which);

    printf("busiest over its weight's part: %.3f (%s)\n", over_weight,
           config->servers[which].label);
    if (simulation->after != NULL) {
        printf("moved: %" PRIu64 " keys, %.2f %%\n", simulation->moved,
               100.0 * (double)simulation->moved / (double)simulation->keys);
    }
}

static void add_simulation(const struct simulation *simulation, struct json *json)
{
    const struct config_pool *config = simulation->pool->config;
    char address[CLI_ADDRESS_MAX];
    size_t which;

    json_object(json, NULL);
    json_text(json, "name", config->name);
    json_count(json, "keys", simulation->keys);
    json_number(json, "busiest_over_mean", busiest(simulation, false, &which));
    json_number(json, "busiest_over_weight", busiest(simulation, true, &which));
    if (simulation->after != NULL) {
        json_number(json, "moved", (double)simulation->moved / (double)simulation->keys);
    }
    json_array(json, "servers");
    for (size_t i = 0; i < config->server_count; i++) {
        json_object(json, NULL);
        json_text(json, "name", config->servers[i].label);
        json_text(json, "address", cli_address(&config->servers[i], address));
        json_number(json, "weight", config->servers[i].weight);
        json_count(json, "keys", simulation->counts[i]);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

/* The pool of that name in the second file, or its only one. */
static const struct cli_pool *pool_after(const struct cli_pools *after, const char *name)
{
    for (size_t i = 0; i < after->count; i++) {
        if (after->count == 1 || strcmp(after->pools[i].config->name, name) == 0) {
            return &after->pools[i];
        }
    }
    return NULL;
}

static enum cli_exit simulate_pools(const struct cli_pools *pools, const struct cli_pools *after,
                                    const struct cli_arguments *arguments)
{
    struct json json;

    json_init(&json, stdout);
    if (arguments->as_json) {
        json_object(&json, NULL);
        json_array(&json, "pools");
    }
    for (size_t i = 0; i < pools->count; i++) {
        struct simulation simulation = {
            .pool = &pools->pools[i],
            .after = pool_after(after, pools->pools[i].config->name),
            .keys = arguments->keys,
            .counts = calloc(pools->pools[i].config->server_count, sizeof(uint64_t)),
        };

        if (simulation.counts == NULL) {
            fprintf(stderr, "ketamactl: out of memory\n");
            return CLI_NO;
        }
        count_keys(&simulation);
        if (arguments->as_json) {
            add_simulation(&simulation, &json);
        } else {
            printf("%s", i > 0 ? "\n" : "");
            print_simulation(&simulation);
        }
        free(simulation.counts);
    }
    if (arguments->as_json) {
        json_end(&json);
        json_end(&json);
    }
    return CLI_DONE;
}

enum cli_exit simulate_run(const struct cli_arguments *arguments)
{
    struct cli_pools pools;
    struct cli_pools after = {0};
    enum cli_exit status;

    if (arguments->keys == 0) {
        fprintf(stderr, "ketamactl: simulate needs --keys N\n");
        return CLI_USAGE;
    }
    status = cli_pools_load(&pools, arguments->words[1], arguments->pool);
    if (status == CLI_DONE && arguments->word_count > 2) {
        status = cli_pools_load(&after, arguments->words[2], arguments->pool);
    }
    if (status == CLI_DONE) {
        status = simulate_pools(&pools, &after, arguments);
    }
    cli_pools_fini(&pools);
    cli_pools_fini(&after);
    return status;
}
