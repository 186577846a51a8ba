/*
 * Servers are the same where their name is, or their address where they have
 * none. Pairs are summed in a plain matrix.
 */
#include "cli/edit.h"

#include "ring/compare.h"

#include <stdlib.h>

enum { PAIRS_MAX = 1 << 22 };

/* Sums of parts while the key space is gone through. */
struct sums {
    struct edit *edit;
    double *pairs; /* of before x after, or NULL */
};

static void add_part(void *arg, uint32_t from, uint32_t to, double part)
{
    struct sums *sums = arg;
    struct edit *edit = sums->edit;

    if (edit->same[to] == from) {
        return;
    }
    edit->moved += part;
    edit->gives[from] += part;
    edit->gets[to] += part;
    if (sums->pairs != NULL) {
        sums->pairs[from * edit->after->config->server_count + to] += part;
    }
}

/* A label and whose it is, to sort and search. */
struct labelled {
    const char *label;
    uint32_t server;
};

static int compare_labels(const void *left, const void *right)
{
    return strcmp(((const struct labelled *)left)->label, ((const struct labelled *)right)->label);
}

static bool match_servers(struct edit *edit)
{
    const struct config_pool *before = edit->before->config;
    const struct config_pool *after = edit->after->config;
    struct labelled *sorted = calloc(before->server_count, sizeof(*sorted));

    if (sorted == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < before->server_count; i++) {
        sorted[i] = (struct labelled){before->servers[i].label, i};
        edit->stays[i] = PLACEMENT_NONE;
    }
    qsort(sorted, before->server_count, sizeof(*sorted), compare_labels);
    for (uint32_t i = 0; i < after->server_count; i++) {
        const struct labelled wanted = {after->servers[i].label, 0};
        const struct labelled *found =
            bsearch(&wanted, sorted, before->server_count, sizeof(*sorted), compare_labels);

        edit->same[i] = found != NULL ? found->server : PLACEMENT_NONE;
        if (found != NULL) {
            edit->stays[found->server] = i;
        }
    }
    free(sorted);
    return true;
}

static double wanted_part(const struct cli_pool *pool, uint32_t server)
{
    return placement_takes_weights(pool->placement) ? cli_pool_ideal(pool, server)
                                                    : 1.0 / (double)pool->config->server_count;
}

static double least_moved(const struct edit *edit)
{
    double least = 0;

    for (uint32_t i = 0; i < edit->after->config->server_count; i++) {
        const double had =
            edit->same[i] != PLACEMENT_NONE ? wanted_part(edit->before, edit->same[i]) : 0;
        const double more = wanted_part(edit->after, i) - had;

        least += more > 1e-12 ? more : 0;
    }
    return least;
}

static int compare_flows(const void *left, const void *right)
{
    const struct edit_flow *a = left;
    const struct edit_flow *b = right;

    if (a->part != b->part) {
        return a->part > b->part ? -1 : 1;
    }
    return a->from != b->from ? (a->from < b->from ? -1 : 1) : a->to < b->to ? -1 : a->to > b->to;
}

static bool list_flows(struct edit *edit, const double *pairs)
{
    const size_t width = edit->after->config->server_count;
    const size_t count = edit->before->config->server_count * width;

    for (size_t i = 0; i < count; i++) {
        edit->flow_count += pairs[i] > 0;
    }
    edit->flows = calloc(edit->flow_count + 1, sizeof(*edit->flows));
    if (edit->flows == NULL) {
        return false;
    }
    for (size_t i = 0, used = 0; i < count; i++) {
        if (pairs[i] > 0) {
            edit->flows[used++] =
                (struct edit_flow){(uint32_t)(i / width), (uint32_t)(i % width), pairs[i]};
        }
    }
    qsort(edit->flows, edit->flow_count, sizeof(*edit->flows), compare_flows);
    return true;
}

bool edit_init(struct edit *edit, const struct cli_pool *before, const struct cli_pool *after)
{
    const size_t old_count = before->config->server_count;
    const size_t new_count = after->config->server_count;
    struct sums sums = {.edit = edit};
    bool is_done = false;

    *edit = (struct edit){
        .before = before,
        .after = after,
        .same = calloc(new_count, sizeof(*edit->same)),
        .stays = calloc(old_count, sizeof(*edit->stays)),
        .gives = calloc(old_count, sizeof(*edit->gives)),
        .gets = calloc(new_count, sizeof(*edit->gets)),
    };
    if (edit->same == NULL || edit->stays == NULL || edit->gives == NULL || edit->gets == NULL ||
        !match_servers(edit)) {
        return false;
    }
    edit->least = least_moved(edit);
    if (old_count <= PAIRS_MAX / new_count) {
        sums.pairs = calloc(old_count * new_count, sizeof(*sums.pairs));
        if (sums.pairs == NULL) {
            return false;
        }
    }
    edit->is_exact =
        placement_compare(before->placement, NULL, after->placement, NULL, add_part, &sums);
    is_done = sums.pairs == NULL || list_flows(edit, sums.pairs);
    free(sums.pairs);
    return is_done;
}

void edit_fini(struct edit *edit)
{
    free(edit->same);
    free(edit->stays);
    free(edit->gives);
    free(edit->gets);
    free(edit->flows);
    *edit = (struct edit){0};
}
