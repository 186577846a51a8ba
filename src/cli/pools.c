/*
 * Every command loads through here, so that each complains in the same words.
 */
#include "cli/pools.h"

#include "config/pool_placement.h"

#include <stdio.h>
#include <stdlib.h>

enum { ERROR_TEXT_MAX = 4096 };

static enum cli_exit add_pool(struct cli_pools *pools, const char *path,
                              const struct config_pool *config)
{
    char error[ERROR_TEXT_MAX] = "";
    struct cli_pool *pool = &pools->pools[pools->count++];

    pool->config = config;
    pool->placement = pool_placement_new(config, error, sizeof(error));
    if (pool->placement == NULL) {
        fprintf(stderr, "%s:%u: pool %s: %s\n", path, config->line, config->name, error);
        return CLI_NO;
    }
    for (size_t i = 0; i < config->server_count; i++) {
        pool->weight_sum += config->servers[i].weight;
    }
    return CLI_DONE;
}

static void say_no_pool(const struct config *config, const char *path, const char *name)
{
    fprintf(stderr, "ketamactl: %s has no pool %s, but:", path, name);
    for (size_t i = 0; i < config->pool_count; i++) {
        fprintf(stderr, " %s", config->pools[i].name);
    }
    fputc('\n', stderr);
}

enum cli_exit cli_pools_load(struct cli_pools *pools, const char *path, const char *name)
{
    struct config_errors errors = {0};

    *pools = (struct cli_pools){.config = config_load(path, &errors)};
    for (size_t i = 0; i < errors.count; i++) {
        fprintf(stderr, "%s\n", errors.lines[i]);
    }
    config_errors_fini(&errors);
    if (pools->config == NULL) {
        return CLI_NO;
    }
    pools->pools = calloc(pools->config->pool_count + 1, sizeof(*pools->pools));
    if (pools->pools == NULL) {
        fprintf(stderr, "ketamactl: out of memory\n");
        return CLI_NO;
    }
    for (size_t i = 0; i < pools->config->pool_count; i++) {
        const struct config_pool *config = &pools->config->pools[i];

        if (name == NULL || strcmp(name, config->name) == 0) {
            const enum cli_exit status = add_pool(pools, path, config);

            if (status != CLI_DONE) {
                return status;
            }
        }
    }
    if (pools->count == 0) {
        say_no_pool(pools->config, path, name);
        return CLI_USAGE;
    }
    return CLI_DONE;
}

void cli_pools_fini(struct cli_pools *pools)
{
    for (size_t i = 0; i < pools->count; i++) {
        placement_free(pools->pools[i].placement);
    }
    free(pools->pools);
    config_free(pools->config);
    *pools = (struct cli_pools){0};
}

double cli_pool_ideal(const struct cli_pool *pool, size_t server)
{
    return pool->config->servers[server].weight / pool->weight_sum;
}

char *cli_address(const struct config_server *server, char *out)
{
    return address_format(&server->address, out, CLI_ADDRESS_MAX);
}

int cli_name_width(const struct config_pool *pool)
{
    size_t width = strlen("server");

    for (size_t i = 0; i < pool->server_count; i++) {
        const size_t len = strlen(pool->servers[i].label);

        width = len > width ? len : width;
    }
    return (int)width;
}

int cli_address_width(const struct config_pool *pool)
{
    size_t width = strlen("address");
    char text[CLI_ADDRESS_MAX];

    for (size_t i = 0; i < pool->server_count; i++) {
        const size_t len = strlen(cli_address(&pool->servers[i], text));

        width = len > width ? len : width;
    }
    return (int)width;
}
