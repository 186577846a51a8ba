/*
 * One line that says what matters, then the warnings, then who gives how much
 * to whom.
 */
#include "cli/plan.h"

#include "cli/edit.h"
#include "cli/edit_warning.h"
#include "cli/json.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROWS_MAX = 40, MANY_SERVERS = 1000 };

static void print_warning(void *arg, const char *sentence)
{
    (void)arg;
    printf("warning: %s\n", sentence);
}

static void add_warning(void *arg, const char *sentence)
{
    json_text(arg, NULL, sentence);
}

static void print_flows(const struct edit *edit)
{
    const struct config_pool *before = edit->before->config;
    const struct config_pool *after = edit->after->config;
    const int from_width = cli_name_width(before);
    const int to_width = cli_name_width(after);
    double rest = 0;

    if (edit->flow_count > 0) {
        printf("%-*s     %-*s  %9s\n", from_width, "from", to_width, "to", "of all");
    }
    for (size_t i = 0; i < edit->flow_count; i++) {
        const struct edit_flow *flow = &edit->flows[i];

        if (i < ROWS_MAX) {
            printf("%-*s  -> %-*s  %7.3f %%\n", from_width, before->servers[flow->from].label,
                   to_width, after->servers[flow->to].label, 100 * flow->part);
        } else {
            rest += flow->part;
        }
    }
    if (edit->flow_count > ROWS_MAX) {
        printf("and %zu pairs more with %.3f %% together; --json has them all\n",
               edit->flow_count - ROWS_MAX, 100 * rest);
    }
}

/* Where pairs are too many: what each server gives or gets. */
static void print_sums(const struct edit *edit)
{
    const struct config_pool *before = edit->before->config;
    const struct config_pool *after = edit->after->config;
    size_t rows = 0;

    for (size_t i = 0; i < before->server_count && rows < ROWS_MAX; i++) {
        if (edit->stays[i] == PLACEMENT_NONE) {
            printf("%s gives %.3f %%\n", before->servers[i].label, 100 * edit->gives[i]);
            rows++;
        }
    }
    for (size_t i = 0; i < after->server_count && rows < ROWS_MAX; i++) {
        if (edit->same[i] == PLACEMENT_NONE) {
            printf("%s gets %.3f %%\n", after->servers[i].label, 100 * edit->gets[i]);
            rows++;
        }
    }
    printf("pairs of servers are too many to list\n");
}

static void print_edit(const struct edit *edit)
{
    printf("pool %s: moves %.1f %% of keys; the least possible is %.1f %%%s\n",
           edit->after->config->name, 100 * edit->moved, 100 * edit->least,
           edit->is_exact ? "" : " (counted over a sample of keys)");
    edit_warn(edit, print_warning, NULL);
    if (edit->flows != NULL) {
        print_flows(edit);
    } else {
        print_sums(edit);
    }
}

static void add_servers(const struct edit *edit, struct json *json)
{
    const struct config_pool *before = edit->before->config;
    const struct config_pool *after = edit->after->config;

    json_array(json, "servers");
    for (size_t i = 0; i < before->server_count; i++) {
        const uint32_t now = edit->stays[i];

        json_object(json, NULL);
        json_text(json, "name", before->servers[i].label);
        json_bool(json, "before", true);
        json_bool(json, "after", now != PLACEMENT_NONE);
        json_number(json, "gives", edit->gives[i]);
        json_number(json, "gets", now != PLACEMENT_NONE ? edit->gets[now] : 0);
        json_end(json);
    }
    for (size_t i = 0; i < after->server_count; i++) {
        if (edit->same[i] == PLACEMENT_NONE) {
            json_object(json, NULL);
            json_text(json, "name", after->servers[i].label);
            json_bool(json, "before", false);
            json_bool(json, "after", true);
            json_number(json, "gives", 0);
            json_number(json, "gets", edit->gets[i]);
            json_end(json);
        }
    }
    json_end(json);
}

static void add_edit(const struct edit *edit, struct json *json)
{
    json_object(json, NULL);
    json_text(json, "name", edit->after->config->name);
    json_number(json, "moved", edit->moved);
    json_number(json, "least", edit->least);
    json_bool(json, "exact", edit->is_exact);
    json_array(json, "warnings");
    edit_warn(edit, add_warning, json);
    json_end(json);
    json_array(json, "flows");
    for (size_t i = 0; i < edit->flow_count; i++) {
        const struct edit_flow *flow = &edit->flows[i];

        json_object(json, NULL);
        json_text(json, "from", edit->before->config->servers[flow->from].label);
        json_text(json, "to", edit->after->config->servers[flow->to].label);
        json_number(json, "part", flow->part);
        json_end(json);
    }
    json_end(json);
    add_servers(edit, json);
    json_end(json);
}

static const struct cli_pool *pool_named(const struct cli_pools *pools, const char *name)
{
    for (size_t i = 0; i < pools->count; i++) {
        if (strcmp(pools->pools[i].config->name, name) == 0) {
            return &pools->pools[i];
        }
    }
    return NULL;
}

/* The same pool in the old file: of that name, or the only one there and here. */
static const struct cli_pool *counterpart(const struct cli_pools *before,
                                          const struct cli_pools *after,
                                          const struct cli_pool *pool)
{
    if (before->count == 1 && after->count == 1) {
        return &before->pools[0];
    }
    return pool_named(before, pool->config->name);
}

static bool plan_pool(const struct cli_pool *before, const struct cli_pool *after,
                      struct json *json)
{
    struct edit edit;
    bool is_done;

    if (before->config->server_count + after->config->server_count > MANY_SERVERS) {
        fprintf(stderr, "ketamactl: comparing %zu servers with %zu ...\n",
                before->config->server_count, after->config->server_count);
    }
    is_done = edit_init(&edit, before, after);
    if (!is_done) {
        fprintf(stderr, "ketamactl: out of memory\n");
    } else if (json != NULL) {
        add_edit(&edit, json);
    } else {
        print_edit(&edit);
    }
    edit_fini(&edit);
    return is_done;
}

/* Pools that are in one file only are named; there is nothing to compare them with. */
static void name_alone(const struct cli_pools *here, const struct cli_pools *there,
                       const char *what, struct json *json)
{
    if (here->count == 1 && there->count == 1) {
        return;
    }
    for (size_t i = 0; i < here->count; i++) {
        const char *name = here->pools[i].config->name;

        if (pool_named(there, name) != NULL) {
            continue;
        }
        if (json != NULL) {
            json_text(json, NULL, name);
        } else {
            printf("pool %s: %s\n", name, what);
        }
    }
}

static enum cli_exit plan_pools(const struct cli_pools *before, const struct cli_pools *after,
                                bool as_json)
{
    struct json json = {0};
    struct json *used = as_json ? &json : NULL;
    bool is_first = true;

    json_init(&json, stdout);
    if (as_json) {
        json_object(&json, NULL);
        json_array(&json, "pools");
    }
    for (size_t i = 0; i < after->count; i++) {
        const struct cli_pool *old = counterpart(before, after, &after->pools[i]);

        if (old == NULL) {
            continue;
        }
        printf("%s", as_json || is_first ? "" : "\n");
        is_first = false;
        if (!plan_pool(old, &after->pools[i], used)) {
            return CLI_NO;
        }
    }
    if (as_json) {
        json_end(&json);
        json_array(&json, "added");
    }
    name_alone(after, before, "new", used);
    if (as_json) {
        json_end(&json);
        json_array(&json, "removed");
    }
    name_alone(before, after, "removed", used);
    if (as_json) {
        json_end(&json);
        json_end(&json);
    }
    return CLI_DONE;
}

enum cli_exit plan_run(const struct cli_arguments *arguments)
{
    struct cli_pools before;
    struct cli_pools after = {0};
    enum cli_exit status;

    status = cli_pools_load(&before, arguments->words[1], arguments->pool);
    if (status == CLI_DONE) {
        status = cli_pools_load(&after, arguments->words[2], arguments->pool);
    }
    if (status == CLI_DONE) {
        status = plan_pools(&before, &after, arguments->as_json);
    }
    cli_pools_fini(&before);
    cli_pools_fini(&after);
    return status;
}
