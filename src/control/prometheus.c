/* See prometheus.h. */
#include "control/prometheus.h"

#include "base/clock.h"
#include "control/metrics.h"
#include "control/server_status.h"
#include "control/text.h"
#include "ring/compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    LE_FIRST_BITS = 4, /* upper bounds of histograms, powers of two: 16 us ... */
    LE_LAST_BITS = 26, /* ... to 67 s */
    BATCH_LAST_BITS = 12,
};

static void add_head(struct evbuffer *out, const char *name, enum counter_kind kind,
                     const char *help)
{
    const char *suffix = kind == COUNTER_SUM ? "_total" : "";

    evbuffer_add_printf(out, "# HELP ketamad_%s%s %s\n# TYPE ketamad_%s%s %s\n", name, suffix, help,
                        name, suffix, kind == COUNTER_SUM ? "counter" : "gauge");
}

static void add_value(struct evbuffer *out, const char *name, enum counter_kind kind,
                      uint64_t value)
{
    evbuffer_add_printf(out, "ketamad_%s%s %" PRIu64 "\n", name,
                        kind == COUNTER_SUM ? "_total" : "", value);
}

static void add_labels_of_server(struct evbuffer *out, const char *pool, const char *server)
{
    evbuffer_add_printf(out, "pool=\"");
    text_add_label(out, slice_text(pool));
    evbuffer_add_printf(out, "\",server=\"");
    text_add_label(out, slice_text(server));
    evbuffer_add_printf(out, "\"");
}

static void add_process(const struct control *control, struct evbuffer *out)
{
    evbuffer_add_printf(out,
                        "# HELP ketamad_build_info The version, as a label.\n"
                        "# TYPE ketamad_build_info gauge\n"
                        "ketamad_build_info{version=\"%s\"} 1\n",
                        KETAMAD_VERSION);
    add_head(out, "start_time_seconds", COUNTER_GAUGE, "When it started, since 1970.");
    add_value(out, "start_time_seconds", COUNTER_GAUGE, control->started_wall_us / 1000000);
    add_head(out, "workers", COUNTER_GAUGE, "Worker threads.");
    add_value(out, "workers", COUNTER_GAUGE, control->workers.count);
    for (size_t i = 0; i < metrics_control_count; i++) {
        const struct control_row *row = &metrics_control_rows[i];

        add_head(out, row->metric, row->kind, row->help);
        add_value(out, row->metric, row->kind, row->read(control));
    }
}

static void add_workers(const struct control *control, struct evbuffer *out)
{
    for (int id = 0; id < COUNTER_COUNT; id++) {
        const struct counter_row *row = &counter_rows[id];

        add_head(out, row->metric, row->kind, row->help);
        for (unsigned w = 0; w < control->workers.count; w++) {
            evbuffer_add_printf(out, "ketamad_%s%s{worker=\"%u\"} %" PRIu64 "\n", row->metric,
                                row->kind == COUNTER_SUM ? "_total" : "", w,
                                count_read(&control->workers.at[w].counters, (enum counter_id)id));
        }
    }
}

static void add_commands(struct evbuffer *out, const struct totals *totals)
{
    for (int i = 0; i < COMMAND_COUNTERS; i++) {
        const struct counter_row *row = &command_counter_rows[i];

        add_head(out, row->metric, row->kind, row->help);
        for (int c = 0; c < COMMAND_COUNT; c++) {
            evbuffer_add_printf(out, "ketamad_%s_total{command=\"%s\"} %" PRIu64 "\n", row->metric,
                                counter_command_names[c], totals->commands[c][i]);
        }
    }
    add_head(out, "failed", COUNTER_SUM, "parts of requests that failed, by cause");
    for (int i = LEG_OK + 1; i < LEG_CAUSES; i++) {
        evbuffer_add_printf(out, "ketamad_failed_total{cause=\"%s\"} %" PRIu64 "\n",
                            leg_cause_name((enum leg_cause)i), totals->errors[i]);
    }
}

/* Calls add for every server of every pool. */
static void each_server(const struct control *control, struct evbuffer *out,
                        void (*add)(const struct control *control, struct evbuffer *out,
                                    const struct topology_pool *pool, uint32_t number, int what),
                        int what)
{
    const struct topology *topology = control->slot.current;

    for (uint32_t p = 0; p < topology->pool_count; p++) {
        for (uint32_t s = 0; s < topology->pools[p].server_count; s++) {
            add(control, out, &topology->pools[p], s, what);
        }
    }
}

static void add_server_value(const struct control *control, struct evbuffer *out,
                             const struct topology_pool *pool, uint32_t number, int what)
{
    const struct server *server = pool->servers[number].server;
    struct server_totals totals;

    metrics_read_server(control, server, &totals);
    evbuffer_add_printf(out, "ketamad_%s%s{", server_counter_rows[what].metric,
                        server_counter_rows[what].kind == COUNTER_SUM ? "_total" : "");
    add_labels_of_server(out, pool->name, server->label);
    evbuffer_add_printf(out, "} %" PRIu64 "\n", totals.values[what]);
}

static void add_server_errors(const struct control *control, struct evbuffer *out,
                              const struct topology_pool *pool, uint32_t number, int what)
{
    const struct server *server = pool->servers[number].server;
    struct server_totals totals;

    (void)what;
    metrics_read_server(control, server, &totals);
    for (int i = LEG_OK + 1; i < LEG_CAUSES; i++) {
        if (totals.errors[i] > 0 || i == LEG_TIMEOUT) {
            evbuffer_add_printf(out, "ketamad_server_failed_total{");
            add_labels_of_server(out, pool->name, server->label);
            evbuffer_add_printf(out, ",cause=\"%s\"} %" PRIu64 "\n",
                                leg_cause_name((enum leg_cause)i), totals.errors[i]);
        }
    }
}

static void add_server_up(const struct control *control, struct evbuffer *out,
                          const struct topology_pool *pool, uint32_t number, int what)
{
    (void)control;
    (void)what;
    evbuffer_add_printf(out, "ketamad_server_up{");
    add_labels_of_server(out, pool->name, pool->servers[number].server->label);
    evbuffer_add_printf(out, "} %d\n", pool->live[number] == STANDING_LIVE);
}

/* The lines of one histogram; labels end with a comma or are empty. */
static void add_histogram(struct evbuffer *out, const char *name, struct evbuffer *labels,
                          const struct histogram_sum *sum, int last_bits, double unit)
{
    const char *text;

    evbuffer_add(labels, "\0", 1);
    text = (const char *)evbuffer_pullup(labels, -1);
    if (text == NULL) {
        return; /* out of memory */
    }
    for (int bits = last_bits == LE_LAST_BITS ? LE_FIRST_BITS : 0; bits <= last_bits; bits++) {
        /* whole microseconds: those below a bound are at most it; a batch counts from one */
        uint64_t bound =
            last_bits == LE_LAST_BITS ? (uint64_t)1 << bits : ((uint64_t)1 << bits) + 1;

        evbuffer_add_printf(out, "ketamad_%s_bucket{%sle=\"%.9g\"} %" PRIu64 "\n", name, text,
                            ldexp(unit, bits), histogram_below(sum, bound));
    }
    evbuffer_add_printf(out, "ketamad_%s_bucket{%sle=\"+Inf\"} %" PRIu64 "\n", name, text,
                        sum->total);
    if (text[0] != '\0') {
        evbuffer_add_printf(out, "ketamad_%s_sum{%.*s} %.9g\n", name, (int)strlen(text) - 1, text,
                            histogram_mean(sum) * (double)sum->total * unit);
        evbuffer_add_printf(out, "ketamad_%s_count{%.*s} %" PRIu64 "\n", name,
                            (int)strlen(text) - 1, text, sum->total);
    } else {
        evbuffer_add_printf(out, "ketamad_%s_sum %.9g\n", name,
                            histogram_mean(sum) * (double)sum->total * unit);
        evbuffer_add_printf(out, "ketamad_%s_count %" PRIu64 "\n", name, sum->total);
    }
    evbuffer_drain(labels, evbuffer_get_length(labels));
}

static void add_histogram_head(struct evbuffer *out, const char *name, const char *help)
{
    evbuffer_add_printf(out, "# HELP ketamad_%s %s\n# TYPE ketamad_%s histogram\n", name, help,
                        name);
}

static void add_latencies(const struct control *control, struct evbuffer *out)
{
    const struct topology *topology = control->slot.current;
    struct evbuffer *labels = evbuffer_new();
    struct histogram_sum sum;

    if (labels == NULL) {
        return;
    }
    add_histogram_head(out, "request_duration_seconds",
                       "From a request's arrival to its answer, by command.");
    for (int c = 0; c < COMMAND_COUNT; c++) {
        metrics_read_latency(control, c, &sum);
        if (sum.total > 0 || c == COMMAND_GET) {
            evbuffer_add_printf(labels, "command=\"%s\",", counter_command_names[c]);
            add_histogram(out, "request_duration_seconds", labels, &sum, LE_LAST_BITS, 1e-6);
        }
    }
    add_histogram_head(out, "server_duration_seconds",
                       "From queueing a part of a request to the server's reply.");
    for (uint32_t p = 0; p < topology->pool_count; p++) {
        for (uint32_t s = 0; s < topology->pools[p].server_count; s++) {
            const struct server *server = topology->pools[p].servers[s].server;

            metrics_read_server_latency(control, server, &sum);
            add_labels_of_server(labels, topology->pools[p].name, server->label);
            evbuffer_add(labels, ",", 1);
            add_histogram(out, "server_duration_seconds", labels, &sum, LE_LAST_BITS, 1e-6);
        }
    }
    add_histogram_head(out, "requests_per_write", "Requests that left to a server in one write.");
    metrics_read_batch(control, &sum);
    add_histogram(out, "requests_per_write", labels, &sum, BATCH_LAST_BITS, 1);
    evbuffer_free(labels);
}

static void add_shares(const struct control *control, struct evbuffer *out)
{
    const struct topology *topology = control->slot.current;

    add_head(out, "server_share_ratio", COUNTER_GAUGE,
             "Part of the key space that the server has while all are up.");
    for (uint32_t p = 0; p < topology->pool_count; p++) {
        const struct topology_pool *pool = &topology->pools[p];
        double *shares = calloc(pool->server_count, sizeof(shares[0]));

        if (shares != NULL) {
            placement_shares(pool->placement, NULL, shares);
        }
        for (uint32_t s = 0; shares != NULL && s < pool->server_count; s++) {
            evbuffer_add_printf(out, "ketamad_server_share_ratio{");
            add_labels_of_server(out, pool->name, pool->servers[s].server->label);
            evbuffer_add_printf(out, "} %.9g\n", shares[s]);
        }
        free(shares);
    }
}

void prometheus_add(const struct control *control, struct evbuffer *out)
{
    struct totals totals;

    metrics_read_totals(control, &totals);
    add_process(control, out);
    add_workers(control, out);
    add_commands(out, &totals);
    add_head(out, "server_up", COUNTER_GAUGE, "1 while the server takes traffic.");
    each_server(control, out, add_server_up, 0);
    for (int i = 0; i < SERVER_COUNTERS; i++) {
        add_head(out, server_counter_rows[i].metric, server_counter_rows[i].kind,
                 server_counter_rows[i].help);
        each_server(control, out, add_server_value, i);
    }
    add_head(out, "server_failed", COUNTER_SUM,
             "parts of requests for the server that failed, by cause");
    each_server(control, out, add_server_errors, 0);
    add_shares(control, out);
    add_latencies(control, out);
}
