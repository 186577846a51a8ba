/*
 * Keys come from the command line as they are, from standard input encoded,
 * one a line.
 */
#include "cli/locate.h"

#include "cli/json.h"
#include "cli/keytext.h"
#include "cli/pools.h"

#include <stdio.h>
#include <stdlib.h>

struct locate {
    struct cli_pools pools;
    bool as_json;
    struct json json;
    char *encoded; /* room for the longest key so far */
    size_t encoded_max;
    enum cli_exit status;
};

/* Of several pools the one whose prefix fits best, as the proxy chooses. */
static const struct cli_pool *choose_pool(const struct locate *locate, struct slice key)
{
    const struct cli_pool *best = NULL;
    size_t best_len = 0;

    if (locate->pools.count == 1) {
        return &locate->pools.pools[0];
    }
    for (size_t i = 0; i < locate->pools.count; i++) {
        const struct cli_pool *pool = &locate->pools.pools[i];
        const struct slice prefix = slice_text(pool->config->prefix);

        if (key.len >= prefix.len && memcmp(key.data, prefix.data, prefix.len) == 0 &&
            (best == NULL || prefix.len > best_len)) {
            best = pool;
            best_len = prefix.len;
        }
    }
    return best;
}

/* Without --pool the prefixes have to tell pools apart. */
static bool prefixes_differ(const struct cli_pools *pools)
{
    for (size_t i = 0; i < pools->count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (strcmp(pools->pools[i].config->prefix, pools->pools[j].config->prefix) == 0) {
                fprintf(stderr, "ketamactl: pools %s and %s have the same prefix; say --pool\n",
                        pools->pools[j].config->name, pools->pools[i].config->name);
                return false;
            }
        }
    }
    return true;
}

static void locate_key(struct locate *locate, struct slice key)
{
    const struct cli_pool *pool = choose_pool(locate, key);
    const size_t wanted = keytext_encoded_max(key);
    char address[CLI_ADDRESS_MAX];

    if (wanted > locate->encoded_max) {
        free(locate->encoded);
        locate->encoded = malloc(wanted);
        locate->encoded_max = locate->encoded != NULL ? wanted : 0;
    }
    if (locate->encoded == NULL) {
        fprintf(stderr, "ketamactl: out of memory\n");
        locate->status = CLI_NO;
        return;
    }
    keytext_encode(key, locate->encoded);
    if (pool == NULL) {
        fprintf(stderr, "ketamactl: %s has the prefix of no pool\n", locate->encoded);
        locate->status = CLI_NO;
        return;
    }
    const uint32_t number = placement_find(pool->placement, key, NULL);
    const struct config_server *server = &pool->config->servers[number];

    if (!locate->as_json) {
        printf("%s\t%s\t%s\n", locate->encoded, server->label, cli_address(server, address));
        return;
    }
    json_object(&locate->json, NULL);
    json_text(&locate->json, "key", locate->encoded);
    json_text(&locate->json, "pool", pool->config->name);
    json_text(&locate->json, "server", server->label);
    json_text(&locate->json, "address", cli_address(server, address));
    json_end(&locate->json);
}

static void locate_input(struct locate *locate)
{
    char *line = NULL;
    size_t size = 0;
    size_t number = 0;
    ssize_t len;

    while ((len = getline(&line, &size, stdin)) != -1) {
        struct slice key;

        number++;
        while (len > 0 && (line[len - 1] == '\n' || line[len - 1] == '\r')) {
            len--;
        }
        if (len == 0) {
            continue;
        }
        if (!keytext_decode(line, (size_t)len, &key)) {
            fprintf(stderr, "standard input:%zu: a %% without two hexadecimal digits behind it\n",
                    number);
            locate->status = CLI_NO;
            continue;
        }
        locate_key(locate, key);
    }
    free(line);
}

enum cli_exit locate_run(const struct cli_arguments *arguments)
{
    struct locate locate = {.as_json = arguments->as_json};

    locate.status = cli_pools_load(&locate.pools, arguments->words[1], arguments->pool);
    if (locate.status == CLI_DONE && !prefixes_differ(&locate.pools)) {
        locate.status = CLI_USAGE;
    }
    if (locate.status == CLI_DONE) {
        json_init(&locate.json, stdout);
        if (locate.as_json) {
            json_array(&locate.json, NULL);
        }
        for (size_t i = 2; i < arguments->word_count; i++) {
            if (strcmp(arguments->words[i], "-") == 0) {
                locate_input(&locate);
            } else {
                locate_key(&locate, slice_text(arguments->words[i]));
            }
        }
        if (locate.as_json) {
            json_end(&locate.json);
        }
    }
    free(locate.encoded);
    cli_pools_fini(&locate.pools);
    return locate.status;
}
