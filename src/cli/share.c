/*
 * A line a server, and what matters, the busiest, at the end.
 */
#include "cli/share.h"

#include "cli/advice.h"
#include "cli/json.h"
#include "ring/compare.h"

#include <stdio.h>
#include <stdlib.h>

enum { DESCRIPTION_MAX = 256, BAR_MAX = 20, BAR_AT_ONE = 10 };

/* A server's share, and what its weight says it should be. */
struct shared {
    const struct cli_pool *pool;
    double *shares;
    bool is_exact;
};

static double of_ideal(const struct shared *shared, size_t server)
{
    return shared->shares[server] / cli_pool_ideal(shared->pool, server);
}

static size_t busiest(const struct shared *shared)
{
    size_t best = 0;

    for (size_t i = 1; i < shared->pool->config->server_count; i++) {
        if (of_ideal(shared, i) > of_ideal(shared, best)) {
            best = i;
        }
    }
    return best;
}

/* As long as the share is beside its ideal: ten marks are what the weight says. */
static const char *bar(double of, char out[BAR_MAX + 1])
{
    const double exact = of * BAR_AT_ONE + 0.5;
    const int marks = exact > BAR_MAX ? BAR_MAX : (int)exact;

    memset(out, '#', (size_t)marks);
    out[marks] = '\0';
    return out;
}

static void print_advice(void *arg, const char *sentence)
{
    (void)arg;
    printf("note: %s\n", sentence);
}

static void print_shares(const struct shared *shared)
{
    const struct config_pool *config = shared->pool->config;
    const int name_width = cli_name_width(config);
    const int address_width = cli_address_width(config);
    const size_t best = busiest(shared);
    char text[DESCRIPTION_MAX];
    char address[CLI_ADDRESS_MAX];
    char marks[BAR_MAX + 1];

    printf("pool %s: %s%s\n", config->name,
           placement_describe(shared->pool->placement, text, sizeof(text)),
           shared->is_exact ? "" : "; shares are what it comes to over many keys");
    printf("%-*s  %-*s %8s  %9s  %9s  %9s\n", name_width, "server", address_width, "address",
           "weight", "ideal", "share", "of ideal");
    for (size_t i = 0; i < config->server_count; i++) {
        printf("%-*s  %-*s %8g  %7.3f %%  %7.3f %%  %9.3f  %s\n", name_width,
               config->servers[i].label, address_width, cli_address(&config->servers[i], address),
               config->servers[i].weight, 100 * cli_pool_ideal(shared->pool, i),
               100 * shared->shares[i], of_ideal(shared, i), bar(of_ideal(shared, i), marks));
    }
    printf("busiest: %s with %.3f times its ideal\n", config->servers[best].label,
           of_ideal(shared, best));
    advice_give(shared->pool, print_advice, NULL);
}

static void add_shares(const struct shared *shared, struct json *json)
{
    const struct config_pool *config = shared->pool->config;
    char text[DESCRIPTION_MAX];
    char address[CLI_ADDRESS_MAX];

    json_object(json, NULL);
    json_text(json, "name", config->name);
    json_text(json, "placement", config->placement);
    json_text(json, "description", placement_describe(shared->pool->placement, text, sizeof(text)));
    json_bool(json, "exact", shared->is_exact);
    json_number(json, "busiest_of_ideal", of_ideal(shared, busiest(shared)));
    json_array(json, "servers");
    for (size_t i = 0; i < config->server_count; i++) {
        json_object(json, NULL);
        json_text(json, "name", config->servers[i].label);
        json_text(json, "address", cli_address(&config->servers[i], address));
        json_number(json, "weight", config->servers[i].weight);
        json_number(json, "ideal", cli_pool_ideal(shared->pool, i));
        json_number(json, "share", shared->shares[i]);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

static enum cli_exit share_pools(const struct cli_pools *pools, bool as_json)
{
    struct json json;

    json_init(&json, stdout);
    if (as_json) {
        json_object(&json, NULL);
        json_array(&json, "pools");
    }
    for (size_t i = 0; i < pools->count; i++) {
        const struct cli_pool *pool = &pools->pools[i];
        struct shared shared = {.pool = pool,
                                .shares = calloc(pool->config->server_count, sizeof(double))};

        if (shared.shares == NULL) {
            fprintf(stderr, "ketamactl: out of memory\n");
            return CLI_NO;
        }
        shared.is_exact = placement_shares(pool->placement, NULL, shared.shares);
        if (as_json) {
            add_shares(&shared, &json);
        } else {
            printf("%s", i > 0 ? "\n" : "");
            print_shares(&shared);
        }
        free(shared.shares);
    }
    if (as_json) {
        json_end(&json);
        json_end(&json);
    }
    return CLI_DONE;
}

enum cli_exit share_run(const struct cli_arguments *arguments)
{
    struct cli_pools pools;
    enum cli_exit status = cli_pools_load(&pools, arguments->words[1], arguments->pool);

    if (status == CLI_DONE) {
        status = share_pools(&pools, arguments->as_json);
    }
    cli_pools_fini(&pools);
    return status;
}
