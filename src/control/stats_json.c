/* See stats_json.h. */
#include "control/stats_json.h"

#include "base/clock.h"
#include "control/event_log.h"
#include "control/metrics.h"
#include "control/server_status.h"
#include "control/text.h"
#include "control/watch.h"
#include "ring/compare.h"
#include "ring/explain.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    HISTORY_SHOWN = 120,
    HOT_SHOWN = 15,
    RING_STEPS = 1440,
};

static void add_member(struct evbuffer *out, const char *name, const char *text)
{
    evbuffer_add_printf(out, "\"%s\":", name);
    text_add_json(out, slice_text(text));
}

/* The last seconds, the oldest first, an array for each quantity. */
static void add_history(struct control *control, struct evbuffer *out)
{
    static const struct {
        const char *name;
        size_t offset;
        bool is_whole;
    } columns[] = {
        {"requests", offsetof(struct moment, requests), false},
        {"hits", offsetof(struct moment, hits), false},
        {"misses", offsetof(struct moment, misses), false},
        {"errors", offsetof(struct moment, errors), false},
        {"read_bytes", offsetof(struct moment, read_bytes), false},
        {"written_bytes", offsetof(struct moment, written_bytes), false},
        {"clients", offsetof(struct moment, clients), true},
        {"in_flight", offsetof(struct moment, in_flight), true},
        {"p50_us", offsetof(struct moment, p50_us), true},
        {"p90_us", offsetof(struct moment, p90_us), true},
        {"p99_us", offsetof(struct moment, p99_us), true},
        {"p999_us", offsetof(struct moment, p999_us), true},
    };

    evbuffer_add_printf(out, "\"history\":{");
    for (size_t c = 0; c < ARRAY_LEN(columns); c++) {
        const char *comma = "";

        evbuffer_add_printf(out, "%s\"%s\":[", c > 0 ? "," : "", columns[c].name);
        for (unsigned ago = HISTORY_SHOWN; ago > 0; ago--) {
            const struct moment *moment = metrics_moment(control->metrics, ago - 1);
            const char *at;

            if (moment == NULL) {
                continue;
            }
            at = (const char *)moment + columns[c].offset;
            if (columns[c].is_whole) {
                evbuffer_add_printf(out, "%s%" PRIu64, comma, *(const uint64_t *)(const void *)at);
            } else {
                evbuffer_add_printf(out, "%s%.1f", comma, *(const double *)(const void *)at);
            }
            comma = ",";
        }
        evbuffer_add_printf(out, "]");
    }
    evbuffer_add_printf(out, "}");
}

static void add_totals(struct control *control, struct evbuffer *out)
{
    struct totals totals;

    metrics_read_totals(control, &totals);
    evbuffer_add_printf(out, "\"totals\":{");
    for (size_t i = 0; i < metrics_derived_count; i++) {
        evbuffer_add_printf(out, "\"%s\":%" PRIu64 ",", metrics_derived_rows[i].name,
                            metrics_derived(&totals, &metrics_derived_rows[i]));
    }
    for (int id = 0; id < COUNTER_COUNT; id++) {
        evbuffer_add_printf(out, "\"%s\":%" PRIu64 ",", counter_rows[id].name, totals.values[id]);
    }
    for (size_t i = 0; i < metrics_control_count; i++) {
        evbuffer_add_printf(out, "%s\"%s\":%" PRIu64, i > 0 ? "," : "",
                            metrics_control_rows[i].name, metrics_control_rows[i].read(control));
    }
    evbuffer_add_printf(out, "},\"commands\":{");
    for (int c = 0, shown = 0; c < COMMAND_COUNT; c++) {
        if (totals.commands[c][COMMAND_REQUESTS] == 0) {
            continue;
        }
        evbuffer_add_printf(out, "%s\"%s\":{", shown++ > 0 ? "," : "", counter_command_names[c]);
        for (int i = 0; i < COMMAND_COUNTERS; i++) {
            evbuffer_add_printf(out, "%s\"%s\":%" PRIu64, i > 0 ? "," : "",
                                command_counter_rows[i].name, totals.commands[c][i]);
        }
        evbuffer_add_printf(out, "}");
    }
    evbuffer_add_printf(out, "}");
}

static void add_server(struct control *control, struct evbuffer *out,
                       const struct topology_pool *pool, uint32_t number, double share, double now)
{
    const struct server *server = pool->servers[number].server;
    char address[ADDRESS_TEXT_MAX];
    struct histogram_sum latency;
    struct server_status status;
    struct server_totals totals;
    struct server_rates rates;

    server_status_get(control, pool, number, &status);
    metrics_read_server(control, server, &totals);
    metrics_read_server_latency(control, server, &latency);
    metrics_server_rates(control->metrics, server, &rates);
    evbuffer_add_printf(out, "{");
    add_member(out, "name", server->label);
    evbuffer_add_printf(out, ",");
    add_member(out, "address", address_format(&server->address, address, sizeof(address)));
    evbuffer_add_printf(out, ",");
    add_member(out, "state", status.state);
    evbuffer_add_printf(out, ",");
    add_member(out, "cause", status.cause);
    evbuffer_add_printf(out,
                        ",\"since\":%" PRIu64 ",\"share\":%.9g,\"share_now\":%.9g,"
                        "\"requests_a_second\":%.1f,\"errors_a_second\":%.1f,\"errors\":%" PRIu64
                        ",\"p50_us\":%" PRIu64 ",\"p99_us\":%" PRIu64,
                        status.since_wall_us / 1000, share, now, rates.requests, rates.errors,
                        totals.errors_sum, histogram_percentile(&latency, 0.5),
                        histogram_percentile(&latency, 0.99));
    for (int i = 0; i < SERVER_COUNTERS; i++) {
        evbuffer_add_printf(out, ",\"%s\":%" PRIu64, server_counter_rows[i].name, totals.values[i]);
    }
    evbuffer_add_printf(out, "}");
}

/* The circle as [server, steps, server, steps, ...]; nobody is -1. */
static void add_circle(struct evbuffer *out, const char *name, const struct topology_pool *pool,
                       const uint8_t *live, uint32_t *owners)
{
    size_t begin = 0;

    placement_sample(pool->placement, live, owners, RING_STEPS);
    evbuffer_add_printf(out, ",\"%s\":[", name);
    for (size_t i = 1; i <= RING_STEPS; i++) {
        if (i == RING_STEPS || owners[i] != owners[begin]) {
            evbuffer_add_printf(out, "%s%d,%zu", begin > 0 ? "," : "",
                                owners[begin] == PLACEMENT_NONE ? -1 : (int)owners[begin],
                                i - begin);
            begin = i;
        }
    }
    evbuffer_add_printf(out, "]");
}

/* live as placements take it: a server that is out, but not one that is down, is passed over. */
static void add_pool(struct control *control, struct evbuffer *out,
                     const struct topology_pool *pool)
{
    double *shares = calloc(2 * (size_t)pool->server_count, sizeof(shares[0]));
    uint32_t *owners = calloc(RING_STEPS, sizeof(owners[0]));
    char text[256];

    evbuffer_add_printf(out, "{");
    add_member(out, "name", pool->name);
    evbuffer_add_printf(out, ",");
    add_member(out, "placement", placement_describe(pool->placement, text, sizeof(text)));
    if (shares != NULL && owners != NULL) {
        double *now = shares + pool->server_count;

        placement_shares(pool->placement, NULL, shares);
        placement_shares(pool->placement, pool->live, now);
        evbuffer_add_printf(out, ",\"servers\":[");
        for (uint32_t s = 0; s < pool->server_count; s++) {
            evbuffer_add_printf(out, s > 0 ? "," : "");
            add_server(control, out, pool, s, shares[s], now[s]);
        }
        evbuffer_add_printf(out, "]");
        add_circle(out, "ring", pool, NULL, owners);
        add_circle(out, "ring_now", pool, pool->live, owners);
    }
    evbuffer_add_printf(out, "}");
    free(shares);
    free(owners);
}

static void add_hot(struct control *control, struct evbuffer *out)
{
    struct hot_key keys[HOT_SHOWN];
    uint64_t total;
    size_t count = watch_hot(control, keys, HOT_SHOWN, &total);

    evbuffer_add_printf(out, "\"hot\":{\"total\":%" PRIu64 ",\"keys\":[", total);
    for (size_t i = 0; i < count; i++) {
        evbuffer_add_printf(out, "%s{\"key\":", i > 0 ? "," : "");
        text_add_json(out, slice_make(keys[i].key, keys[i].len));
        evbuffer_add_printf(out, ",\"count\":%" PRIu64 ",\"error\":%" PRIu64 "}", keys[i].count,
                            keys[i].error);
    }
    evbuffer_add_printf(out, "]}");
}

static void add_events(struct control *control, struct evbuffer *out)
{
    const struct event_log_event *event;

    evbuffer_add_printf(out, "\"events\":[");
    for (unsigned i = 0; (event = event_log_get(control, i)) != NULL; i++) {
        evbuffer_add_printf(out, "%s{\"time\":%" PRIu64 ",", i > 0 ? "," : "",
                            event->wall_us / 1000);
        add_member(out, "text", event->text);
        evbuffer_add_printf(out, "}");
    }
    evbuffer_add_printf(out, "]");
}

void stats_json_add(struct control *control, struct evbuffer *out)
{
    const struct topology *topology = control->slot.current;

    evbuffer_add_printf(out, "{");
    add_member(out, "version", KETAMAD_VERSION);
    evbuffer_add_printf(
        out, ",\"time\":%" PRIu64 ",\"uptime\":%" PRIu64 ",\"workers\":%u,\"stopping\":%s,",
        clock_wall_us() / 1000, (clock_us() - control->started_us) / 1000000,
        control->workers.count, control->is_stopping ? "true" : "false");
    add_totals(control, out);
    evbuffer_add_printf(out, ",");
    add_history(control, out);
    evbuffer_add_printf(out, ",\"pools\":[");
    for (uint32_t p = 0; p < topology->pool_count; p++) {
        evbuffer_add_printf(out, p > 0 ? "," : "");
        add_pool(control, out, &topology->pools[p]);
    }
    evbuffer_add_printf(out, "],");
    add_hot(control, out);
    evbuffer_add_printf(out, ",");
    add_events(control, out);
    evbuffer_add_printf(out, "}\n");
}
