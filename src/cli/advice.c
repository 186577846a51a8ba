/*
 * One function a piece of advice; each looks at the whole pool and speaks once.
 */
#include "cli/advice.h"

#include "ring/compare.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

enum { SENTENCE_MAX = 1024 };

static void about_ignored_weights(const struct cli_pool *pool, advice_fn *fn, void *arg)
{
    const struct config_pool *config = pool->config;
    char sentence[SENTENCE_MAX];

    for (size_t i = 1; i < config->server_count; i++) {
        if (config->servers[i].weight != config->servers[0].weight &&
            !placement_takes_weights(pool->placement)) {
            snprintf(sentence, sizeof(sentence),
                     "placement %s has no weights: every server is treated alike",
                     config->placement);
            fn(arg, sentence);
            return;
        }
    }
}

static void about_servers_without_points(const struct cli_pool *pool, advice_fn *fn, void *arg)
{
    const size_t count = pool->config->server_count;
    double *shares = calloc(count, sizeof(*shares));
    char sentence[SENTENCE_MAX];

    if (shares == NULL) {
        return;
    }
    placement_shares(pool->placement, NULL, shares);
    for (size_t i = 0; i < count; i++) {
        if (shares[i] <= 0) {
            snprintf(sentence, sizeof(sentence),
                     "server %s gets no key: its weight is too small beside the others",
                     pool->config->servers[i].label);
            fn(arg, sentence);
        }
    }
    free(shares);
}

static void about_resolved_names(const struct cli_pool *pool, advice_fn *fn, void *arg)
{
    static const char resolving[] = "ketama:spymemcached";
    const struct config_pool *config = pool->config;
    char sentence[SENTENCE_MAX];
    unsigned char bytes[sizeof(struct in6_addr)];

    if (strcmp(config->placement, resolving) != 0 &&
        strcmp(config->placement, "ketama:spymemcached-weighted") != 0) {
        return;
    }
    for (size_t i = 0; i < config->server_count; i++) {
        const struct config_server *server = &config->servers[i];

        if (server->name == NULL && !server->address.is_unix &&
            inet_pton(AF_INET, server->address.host, bytes) != 1 &&
            inet_pton(AF_INET6, server->address.host, bytes) != 1) {
            snprintf(sentence, sizeof(sentence),
                     "spymemcached's ring holds the address that %s resolves to: write "
                     "name=%s/ADDRESS:%u",
                     server->address.host, server->address.host, server->address.port);
            fn(arg, sentence);
            return;
        }
    }
}

void advice_give(const struct cli_pool *pool, advice_fn *fn, void *arg)
{
    about_ignored_weights(pool, fn, arg);
    about_servers_without_points(pool, fn, arg);
    about_resolved_names(pool, fn, arg);
}
