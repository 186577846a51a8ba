/* See admin_stats.h. */
#include "control/admin_stats.h"

#include "base/clock.h"
#include "base/log.h"
#include "control/admin_settings.h"
#include "control/metrics.h"
#include "control/text.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

struct group {
    const char *name;
    void (*run)(struct control *control, struct evbuffer *out);
};

static void add(struct evbuffer *out, const char *name, uint64_t value)
{
    evbuffer_add_printf(out, "STAT %s %" PRIu64 "\r\n", name, value);
}

/* "STAT pool/server:name value", or without the slash. */
static void add_of(struct evbuffer *out, const char *pool, const char *server, const char *name,
                   uint64_t value)
{
    evbuffer_add_printf(out, "STAT ");
    text_add_word(out, slice_text(pool));
    if (server != NULL) {
        evbuffer_add_printf(out, "/");
        text_add_word(out, slice_text(server));
    }
    evbuffer_add_printf(out, ":%s %" PRIu64 "\r\n", name, value);
}

static void add_process(struct control *control, struct evbuffer *out)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    add(out, "pid", (uint64_t)getpid());
    add(out, "uptime", (clock_us() - control->started_us) / 1000000);
    add(out, "time", clock_wall_us() / 1000000);
    evbuffer_add_printf(out, "STAT version %s\r\n", KETAMAD_VERSION);
    add(out, "pointer_size", 8 * sizeof(void *));
    evbuffer_add_printf(out, "STAT rusage_user %ld.%06ld\r\n", (long)usage.ru_utime.tv_sec,
                        (long)usage.ru_utime.tv_usec);
    evbuffer_add_printf(out, "STAT rusage_system %ld.%06ld\r\n", (long)usage.ru_stime.tv_sec,
                        (long)usage.ru_stime.tv_usec);
    add(out, "threads", control->workers.count);
    add(out, "max_connections", control->config->max_clients);
    add(out, "limit_maxbytes", control->config->max_memory_bytes);
    add(out, "accepting_conns", control->is_stopping ? 0 : 1);
}

static void run_general(struct control *control, struct evbuffer *out)
{
    struct totals totals;

    metrics_read_totals(control, &totals);
    add_process(control, out);
    for (size_t i = 0; i < metrics_derived_count; i++) {
        const struct derived_row *row = &metrics_derived_rows[i];

        add(out, row->name, metrics_derived(&totals, row));
    }
    for (int id = 0; id < COUNTER_COUNT; id++) {
        add(out, counter_rows[id].name, totals.values[id]);
    }
    for (int cause = LEG_OK + 1; cause < LEG_CAUSES; cause++) {
        char name[64];

        snprintf(name, sizeof(name), "failed_%s", leg_cause_name((enum leg_cause)cause));
        add(out, name, totals.errors[cause]);
    }
    for (size_t i = 0; i < metrics_control_count; i++) {
        add(out, metrics_control_rows[i].name, metrics_control_rows[i].read(control));
    }
}

static void add_server_totals(struct evbuffer *out, const char *pool, const char *server,
                              const struct server_totals *totals)
{
    for (int i = 0; i < SERVER_COUNTERS; i++) {
        add_of(out, pool, server, server_counter_rows[i].name, totals->values[i]);
    }
    add_of(out, pool, server, "errors", totals->errors_sum);
    for (int i = LEG_OK + 1; i < LEG_CAUSES; i++) {
        if (totals->errors[i] > 0) {
            char name[64];

            snprintf(name, sizeof(name), "failed_%s", leg_cause_name((enum leg_cause)i));
            add_of(out, pool, server, name, totals->errors[i]);
        }
    }
}

static void run_servers(struct control *control, struct evbuffer *out)
{
    const struct topology *topology = control->slot.current;
    struct server_totals totals;

    for (uint32_t p = 0; p < topology->pool_count; p++) {
        const struct topology_pool *pool = &topology->pools[p];

        for (uint32_t s = 0; s < pool->server_count; s++) {
            const struct server *server = pool->servers[s].server;

            metrics_read_server(control, server, &totals);
            add_of(out, pool->name, server->label, "live", pool->live[s] == STANDING_LIVE);
            add_server_totals(out, pool->name, server->label, &totals);
        }
    }
}

static void run_pools(struct control *control, struct evbuffer *out)
{
    const struct topology *topology = control->slot.current;
    struct server_totals totals;

    for (uint32_t p = 0; p < topology->pool_count; p++) {
        const struct topology_pool *pool = &topology->pools[p];
        uint64_t live = 0;

        for (uint32_t s = 0; s < pool->server_count; s++) {
            live += pool->live[s] == STANDING_LIVE;
        }
        metrics_read_pool(control, pool->name, &totals);
        add_of(out, pool->name, NULL, "servers", pool->server_count);
        add_of(out, pool->name, NULL, "servers_live", live);
        add_server_totals(out, pool->name, NULL, &totals);
    }
}

static void run_workers(struct control *control, struct evbuffer *out)
{
    for (unsigned w = 0; w < control->workers.count; w++) {
        struct totals totals = {0};
        char worker[32];

        snprintf(worker, sizeof(worker), "worker:%u", w);
        metrics_read_worker(&control->workers.at[w], &totals);
        add_of(out, worker, NULL, "requests", metrics_command_sum(&totals, COMMAND_REQUESTS));
        for (int id = 0; id < COUNTER_COUNT; id++) {
            add_of(out, worker, NULL, counter_rows[id].name, totals.values[id]);
        }
    }
}

static void run_commands(struct control *control, struct evbuffer *out)
{
    struct totals totals;

    metrics_read_totals(control, &totals);
    for (int c = 0; c < COMMAND_COUNT; c++) {
        for (int i = 0; i < COMMAND_COUNTERS; i++) {
            add_of(out, counter_command_names[c], NULL, command_counter_rows[i].name,
                   totals.commands[c][i]);
        }
    }
}

static void add_distribution(struct evbuffer *out, const char *of, const char *server,
                             const char *unit, const struct histogram_sum *sum)
{
    static const struct {
        const char *name;
        double part;
    } rows[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}, {"max", 1}};
    char name[32];

    add_of(out, of, server, "count", sum->total);
    snprintf(name, sizeof(name), "mean%s", unit);
    add_of(out, of, server, name, (uint64_t)(histogram_mean(sum) + 0.5));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        snprintf(name, sizeof(name), "%s%s", rows[i].name, unit);
        add_of(out, of, server, name, histogram_percentile(sum, rows[i].part));
    }
}

static void run_latency(struct control *control, struct evbuffer *out)
{
    const struct topology *topology = control->slot.current;
    struct histogram_sum sum;

    for (int c = 0; c <= COMMAND_COUNT; c++) {
        metrics_read_latency(control, c, &sum);
        if (sum.total > 0 || c == COMMAND_COUNT) {
            add_distribution(out, c < COMMAND_COUNT ? counter_command_names[c] : "all", NULL, "_us",
                             &sum);
        }
    }
    for (uint32_t p = 0; p < topology->pool_count; p++) {
        const struct topology_pool *pool = &topology->pools[p];

        for (uint32_t s = 0; s < pool->server_count; s++) {
            metrics_read_server_latency(control, pool->servers[s].server, &sum);
            add_distribution(out, pool->name, pool->servers[s].server->label, "_us", &sum);
        }
    }
    metrics_read_batch(control, &sum);
    add_distribution(out, "requests_a_write", NULL, "", &sum);
}

static void run_memory(struct control *control, struct evbuffer *out)
{
    const struct topology *topology = control->slot.current;
    struct mallinfo2 heap = mallinfo2();
    struct totals totals;

    metrics_read_totals(control, &totals);
    add(out, "max_memory", control->config->max_memory_bytes);
    add(out, "buffer_bytes", totals.values[COUNTER_MEMORY]);
    for (unsigned w = 0; w < control->workers.count; w++) {
        char name[48];

        snprintf(name, sizeof(name), "worker:%u:buffer_bytes", w);
        add(out, name, count_read(&control->workers.at[w].counters, COUNTER_MEMORY));
    }
    for (uint32_t p = 0; p < topology->pool_count; p++) {
        const struct topology_pool *pool = &topology->pools[p];

        add_of(out, pool->name, NULL, "placement_bytes", placement_bytes(pool->placement));
        add_of(out, pool->name, NULL, "placement_points", placement_points(pool->placement));
    }
    add(out, "heap_used_bytes", heap.uordblks);
    add(out, "heap_free_bytes", heap.fordblks);
    add(out, "heap_mapped_bytes", heap.hblkhd);
    add(out, "resident_bytes", metrics_resident_bytes());
}

/* The proxy keeps no items; tools that ask a memcached for these go on without an error. */
static void run_nothing(struct control *control, struct evbuffer *out)
{
    (void)control;
    (void)out;
}

static const struct group groups[] = {
    {"", run_general},
    {"servers", run_servers},
    {"pools", run_pools},
    {"workers", run_workers},
    {"commands", run_commands},
    {"latency", run_latency},
    {"settings", admin_settings_add},
    {"memory", run_memory},
    {"items", run_nothing},
    {"slabs", run_nothing},
    {"sizes", run_nothing},
};

bool admin_stats_run(struct admin_call *call)
{
    for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
        if (slice_equals(call->arguments, slice_text(groups[i].name))) {
            groups[i].run(call->control, call->out);
            evbuffer_add_printf(call->out, "END\r\n");
            return true;
        }
    }
    evbuffer_add_printf(call->out, "ERROR stats takes servers, pools, workers, commands, latency, "
                                   "settings, memory or nothing\r\n");
    return true;
}
