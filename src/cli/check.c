/*
 * The same loading as the proxy's, and advice on top.
 */
#include "cli/check.h"

#include "cli/advice.h"
#include "cli/json.h"

#include <stdio.h>

enum { DESCRIPTION_MAX = 256 };

static void print_advice(void *arg, const char *sentence)
{
    const struct config_pool *config = arg;

    printf("pool %s: note: %s\n", config->name, sentence);
}

static void add_advice(void *arg, const char *sentence)
{
    json_text(arg, NULL, sentence);
}

static void print_pools(const struct cli_pools *pools, const char *path)
{
    char text[DESCRIPTION_MAX];

    for (size_t i = 0; i < pools->count; i++) {
        const struct cli_pool *pool = &pools->pools[i];

        printf("pool %s: %zu server%s, %s\n", pool->config->name, pool->config->server_count,
               pool->config->server_count == 1 ? "" : "s",
               placement_describe(pool->placement, text, sizeof(text)));
        advice_give(pool, print_advice, (void *)pool->config);
    }
    printf("%s is good\n", path);
}

static void add_pools(const struct cli_pools *pools, struct json *json)
{
    char text[DESCRIPTION_MAX];

    json_array(json, "pools");
    for (size_t i = 0; i < pools->count; i++) {
        const struct cli_pool *pool = &pools->pools[i];

        json_object(json, NULL);
        json_text(json, "name", pool->config->name);
        json_count(json, "servers", pool->config->server_count);
        json_text(json, "placement", pool->config->placement);
        json_text(json, "description", placement_describe(pool->placement, text, sizeof(text)));
        json_array(json, "notes");
        advice_give(pool, add_advice, json);
        json_end(json);
        json_end(json);
    }
    json_end(json);
}

/* With --json the mistakes are told there, not on standard error. */
static enum cli_exit check_as_json(const char *path, const char *name)
{
    struct config_errors errors = {0};
    struct config *config = config_load(path, &errors);
    struct cli_pools pools = {0};
    enum cli_exit status = config != NULL ? CLI_DONE : CLI_NO;
    struct json json;

    if (config != NULL) {
        status = cli_pools_load(&pools, path, name);
    }
    json_init(&json, stdout);
    json_object(&json, NULL);
    json_text(&json, "file", path);
    json_bool(&json, "good", status == CLI_DONE);
    json_array(&json, "errors");
    for (size_t i = 0; i < errors.count; i++) {
        json_text(&json, NULL, errors.lines[i]);
    }
    json_end(&json);
    if (status == CLI_DONE) {
        add_pools(&pools, &json);
    }
    json_end(&json);
    config_errors_fini(&errors);
    config_free(config);
    cli_pools_fini(&pools);
    return status;
}

enum cli_exit check_run(const struct cli_arguments *arguments)
{
    struct cli_pools pools;
    enum cli_exit status;

    if (arguments->as_json) {
        return check_as_json(arguments->words[1], arguments->pool);
    }
    status = cli_pools_load(&pools, arguments->words[1], arguments->pool);
    if (status == CLI_DONE) {
        print_pools(&pools, arguments->words[1]);
    }
    cli_pools_fini(&pools);
    return status;
}
