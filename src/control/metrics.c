/* See metrics.h. */
#include "control/metrics.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BIT(command) (1u << (command))
#define ALL_COMMANDS UINT32_MAX
#define GETS         (BIT(COMMAND_GET) | BIT(COMMAND_GETS) | BIT(COMMAND_GAT) | BIT(COMMAND_GATS))
#define SETS                                                                                       \
    (BIT(COMMAND_SET) | BIT(COMMAND_ADD) | BIT(COMMAND_REPLACE) | BIT(COMMAND_APPEND) |            \
     BIT(COMMAND_PREPEND) | BIT(COMMAND_CAS) | BIT(COMMAND_MS))
#define TOUCHES (BIT(COMMAND_TOUCH) | BIT(COMMAND_GAT) | BIT(COMMAND_GATS))
#define METAS                                                                                      \
    (BIT(COMMAND_MG) | BIT(COMMAND_MS) | BIT(COMMAND_MD) | BIT(COMMAND_MA) | BIT(COMMAND_MN) |     \
     BIT(COMMAND_ME))

/* clang-format off */
const struct derived_row metrics_derived_rows[] = {
    {"requests",      "requests", "requests read, malformed ones included", COMMAND_REQUESTS, ALL_COMMANDS},
    {"keys",          "keys",     "keys routed to a server", COMMAND_KEYS, ALL_COMMANDS},
    {"cmd_get",       "keys",     "keys asked by get, gets, gat, gats and mg", COMMAND_KEYS, GETS | BIT(COMMAND_MG)},
    {"cmd_set",       "requests", "storage requests, ms included", COMMAND_REQUESTS, SETS},
    {"cmd_touch",     "keys",     "keys of touch, gat and gats", COMMAND_KEYS, TOUCHES},
    {"cmd_flush",     "requests", "flush_all requests", COMMAND_REQUESTS, BIT(COMMAND_FLUSH_ALL)},
    {"cmd_meta",      "requests", "meta requests: mg, ms, md, ma, mn, me", COMMAND_REQUESTS, METAS},
    {"get_hits",      "keys",     "keys asked and found", COMMAND_HITS, GETS | BIT(COMMAND_MG)},
    {"get_misses",    "keys",     "keys asked and not found", COMMAND_MISSES, GETS | BIT(COMMAND_MG)},
    {"delete_hits",   "keys",     "keys deleted, by delete and md", COMMAND_HITS, BIT(COMMAND_DELETE) | BIT(COMMAND_MD)},
    {"delete_misses", "keys",     "keys to be deleted and not found", COMMAND_MISSES, BIT(COMMAND_DELETE) | BIT(COMMAND_MD)},
    {"incr_hits",     "keys",     "keys incremented, those of ma among them, whichever way it counts", COMMAND_HITS, BIT(COMMAND_INCR) | BIT(COMMAND_MA)},
    {"incr_misses",   "keys",     "keys to be incremented and not found", COMMAND_MISSES, BIT(COMMAND_INCR) | BIT(COMMAND_MA)},
    {"decr_hits",     "keys",     "keys decremented", COMMAND_HITS, BIT(COMMAND_DECR)},
    {"decr_misses",   "keys",     "keys to be decremented and not found", COMMAND_MISSES, BIT(COMMAND_DECR)},
    {"cas_hits",      "keys",     "keys stored by cas", COMMAND_HITS, BIT(COMMAND_CAS)},
    {"cas_misses",    "keys",     "keys to be stored by cas and not found", COMMAND_MISSES, BIT(COMMAND_CAS)},
    {"touch_hits",    "keys",     "keys found by touch, gat and gats", COMMAND_HITS, TOUCHES},
    {"touch_misses",  "keys",     "keys not found by touch, gat and gats", COMMAND_MISSES, TOUCHES},
    {"errors",        "requests", "requests that the proxy answered SERVER_ERROR", COMMAND_ERRORS, ALL_COMMANDS},
};
/* clang-format on */

const size_t metrics_derived_count = ARRAY_LEN(metrics_derived_rows);

_Static_assert(COMMAND_COUNT <= 32, "derived_row has a bit for each command");

/* A server that was seen in a topology. Held until the last worker has let go of it. */
struct known_server {
    struct server *server; /* a reference; NULL: the slot is free */
    bool is_configured;
    uint64_t requests; /* when last looked at */
    uint64_t errors;
    struct server_rates rates;
};

/* What removed servers leave to their pool. */
struct pool_rest {
    struct list link;
    char *name;
    struct server_totals totals;
};

struct metrics {
    struct control *control;
    struct event *timer;
    struct known_server *servers; /* by slot */
    uint32_t server_count;
    struct list rests;   /* struct pool_rest */
    uint64_t generation; /* of the topology looked at last */
    uint64_t looked_us;
    struct totals last;
    struct histogram_sum last_latency;
    struct moment moments[METRICS_SECONDS];
    unsigned moment_count; /* ever */
};

void metrics_read_worker(const struct worker *worker, struct totals *totals)
{
    const struct counters *counters = &worker->counters;

    for (int i = 0; i < COUNTER_COUNT; i++) {
        totals->values[i] += cell_read(&counters->values[i]);
    }
    for (int c = 0; c < COMMAND_COUNT; c++) {
        for (int i = 0; i < COMMAND_COUNTERS; i++) {
            totals->commands[c][i] += cell_read(&counters->commands[c].values[i]);
        }
    }
    for (int i = 0; i < LEG_CAUSES; i++) {
        totals->errors[i] += cell_read(&counters->errors[i]);
    }
}

void metrics_read_totals(const struct control *control, struct totals *totals)
{
    memset(totals, 0, sizeof(*totals));
    for (unsigned i = 0; i < control->workers.count; i++) {
        metrics_read_worker(&control->workers.at[i], totals);
    }
}

uint64_t metrics_derived(const struct totals *totals, const struct derived_row *row)
{
    uint64_t sum = 0;

    for (int c = 0; c < COMMAND_COUNT; c++) {
        if (row->commands & BIT(c)) {
            sum += totals->commands[c][row->counter];
        }
    }
    return sum;
}

uint64_t metrics_command_sum(const struct totals *totals, enum command_counter counter)
{
    uint64_t sum = 0;

    for (int c = 0; c < COMMAND_COUNT; c++) {
        sum += totals->commands[c][counter];
    }
    return sum;
}

void metrics_read_latency(const struct control *control, int command, struct histogram_sum *sum)
{
    memset(sum, 0, sizeof(*sum));
    for (unsigned w = 0; w < control->workers.count; w++) {
        for (int c = 0; c < COMMAND_COUNT; c++) {
            if (command == c || command == COMMAND_COUNT) {
                histogram_read(&control->workers.at[w].counters.commands[c].latency, sum);
            }
        }
    }
}

void metrics_read_batch(const struct control *control, struct histogram_sum *sum)
{
    memset(sum, 0, sizeof(*sum));
    for (unsigned w = 0; w < control->workers.count; w++) {
        histogram_read(&control->workers.at[w].counters.batch, sum);
    }
}

/* Adds what the workers have counted of the server. */
static void add_server(const struct control *control, const struct server *server,
                       struct server_totals *totals)
{
    const struct server_counters *counters = server_counters_all(server);

    for (unsigned w = 0; counters != NULL && w < control->workers.count; w++) {
        for (int i = 0; i < SERVER_COUNTERS; i++) {
            totals->values[i] += cell_read(&counters[w].values[i]);
        }
        for (int i = LEG_OK + 1; i < LEG_CAUSES; i++) {
            uint64_t errors = cell_read(&counters[w].errors[i]);

            totals->errors[i] += errors;
            totals->errors_sum += errors;
        }
    }
}

void metrics_read_server(const struct control *control, const struct server *server,
                         struct server_totals *totals)
{
    memset(totals, 0, sizeof(*totals));
    add_server(control, server, totals);
}

void metrics_read_server_latency(const struct control *control, const struct server *server,
                                 struct histogram_sum *sum)
{
    const struct server_counters *counters = server_counters_all(server);

    memset(sum, 0, sizeof(*sum));
    for (unsigned w = 0; counters != NULL && w < control->workers.count; w++) {
        histogram_read(&counters[w].latency, sum);
    }
}

static struct pool_rest *find_rest(const struct metrics *metrics, const char *pool_name)
{
    list_each (at, &metrics->rests) {
        struct pool_rest *rest = list_entry(at, struct pool_rest, link);

        if (strcmp(rest->name, pool_name) == 0) {
            return rest;
        }
    }
    return NULL;
}

/* No worker has the server any more: its counts are final and become its pool's. */
static void bury(struct metrics *metrics, struct known_server *known)
{
    struct pool_rest *rest = find_rest(metrics, known->server->pool_name);

    if (rest == NULL) {
        rest = calloc(1, sizeof(*rest));
        if (rest == NULL || (rest->name = strdup(known->server->pool_name)) == NULL) {
            free(rest);
            return; /* once more in a second */
        }
        list_add_tail(&metrics->rests, &rest->link);
    }
    add_server(metrics->control, known->server, &rest->totals);
    server_put(known->server);
    known->server = NULL;
}

static void note_server(struct metrics *metrics, struct server *server)
{
    if (server->slot >= metrics->server_count) {
        uint32_t count = (server->slot + 64) & ~63u;
        struct known_server *grown = realloc(metrics->servers, count * sizeof(grown[0]));

        if (grown == NULL) {
            return;
        }
        memset(grown + metrics->server_count, 0,
               (count - metrics->server_count) * sizeof(grown[0]));
        metrics->servers = grown;
        metrics->server_count = count;
    }
    if (metrics->servers[server->slot].server == NULL) {
        metrics->servers[server->slot] = (struct known_server){.server = server_get(server)};
    }
    metrics->servers[server->slot].is_configured = true;
}

/* Follows the topology: which servers there are, which have gone. */
static void look_at_servers(struct metrics *metrics)
{
    const struct topology *topology = metrics->control->slot.current;

    if (topology == NULL) {
        return; /* names are still being looked up */
    }
    if (topology->generation != metrics->generation) {
        metrics->generation = topology->generation;
        for (uint32_t i = 0; i < metrics->server_count; i++) {
            metrics->servers[i].is_configured = false;
        }
        for (uint32_t p = 0; p < topology->pool_count; p++) {
            for (uint32_t s = 0; s < topology->pools[p].server_count; s++) {
                note_server(metrics, topology->pools[p].servers[s].server);
            }
        }
    }
    for (uint32_t i = 0; i < metrics->server_count; i++) {
        struct known_server *known = &metrics->servers[i];

        if (known->server != NULL && !known->is_configured &&
            atomic_load_explicit(&known->server->refs, memory_order_acquire) == 1) {
            bury(metrics, known);
        }
    }
}

void metrics_read_pool(const struct control *control, const char *pool_name,
                       struct server_totals *totals)
{
    const struct metrics *metrics = control->metrics;
    const struct pool_rest *rest;

    look_at_servers(control->metrics);
    rest = find_rest(metrics, pool_name);
    memset(totals, 0, sizeof(*totals));
    if (rest != NULL) {
        *totals = rest->totals;
    }
    for (uint32_t i = 0; i < metrics->server_count; i++) {
        const struct server *server = metrics->servers[i].server;

        if (server != NULL && strcmp(server->pool_name, pool_name) == 0) {
            add_server(control, server, totals);
        }
    }
}

static double rate(uint64_t now, uint64_t before, uint64_t span_us)
{
    return now > before ? (double)(now - before) * 1e6 / (double)span_us : 0;
}

/* The change since the last look, as rates. */
static void take_moment(struct metrics *metrics, uint64_t span_us, const struct totals *now,
                        struct histogram_sum *latency)
{
    const struct totals *last = &metrics->last;
    struct moment *moment = &metrics->moments[metrics->moment_count++ % METRICS_SECONDS];

    *moment = (struct moment){
        .wall_us = clock_wall_us(),
        .span_us = span_us,
        .requests = rate(metrics_command_sum(now, COMMAND_REQUESTS),
                         metrics_command_sum(last, COMMAND_REQUESTS), span_us),
        .errors = rate(metrics_command_sum(now, COMMAND_ERRORS),
                       metrics_command_sum(last, COMMAND_ERRORS), span_us),
        .read_bytes =
            rate(now->values[COUNTER_BYTES_READ], last->values[COUNTER_BYTES_READ], span_us),
        .written_bytes =
            rate(now->values[COUNTER_BYTES_WRITTEN], last->values[COUNTER_BYTES_WRITTEN], span_us),
        .clients = now->values[COUNTER_CLIENTS],
        .in_flight = now->values[COUNTER_IN_FLIGHT],
    };
    for (size_t i = 0; i < metrics_derived_count; i++) {
        const struct derived_row *row = &metrics_derived_rows[i];

        if (row->commands == (GETS | BIT(COMMAND_MG)) && row->counter != COMMAND_KEYS) {
            *(row->counter == COMMAND_HITS ? &moment->hits : &moment->misses) =
                rate(metrics_derived(now, row), metrics_derived(last, row), span_us);
        }
    }
    histogram_subtract(latency, &metrics->last_latency);
    moment->p50_us = histogram_percentile(latency, 0.5);
    moment->p90_us = histogram_percentile(latency, 0.9);
    moment->p99_us = histogram_percentile(latency, 0.99);
    moment->p999_us = histogram_percentile(latency, 0.999);
}

static void take_server_rates(struct metrics *metrics, uint64_t span_us)
{
    struct server_totals totals;

    for (uint32_t i = 0; i < metrics->server_count; i++) {
        struct known_server *known = &metrics->servers[i];

        if (known->server != NULL) {
            metrics_read_server(metrics->control, known->server, &totals);
            known->rates.requests = rate(totals.values[SERVER_REQUESTS], known->requests, span_us);
            known->rates.errors = rate(totals.errors_sum, known->errors, span_us);
            known->requests = totals.values[SERVER_REQUESTS];
            known->errors = totals.errors_sum;
        }
    }
}

void metrics_server_rates(const struct metrics *metrics, const struct server *server,
                          struct server_rates *rates)
{
    *rates = (struct server_rates){0};
    if (server->slot < metrics->server_count && metrics->servers[server->slot].server == server) {
        *rates = metrics->servers[server->slot].rates;
    }
}

static void on_second(evutil_socket_t fd, short what, void *arg)
{
    struct metrics *metrics = arg;
    uint64_t now_us = clock_us();
    struct histogram_sum latency;
    struct histogram_sum change;
    struct totals totals;

    (void)fd;
    (void)what;
    look_at_servers(metrics);
    metrics_read_totals(metrics->control, &totals);
    metrics_read_latency(metrics->control, COMMAND_COUNT, &latency);
    change = latency;
    if (metrics->looked_us != 0 && now_us > metrics->looked_us) {
        take_moment(metrics, now_us - metrics->looked_us, &totals, &change);
        take_server_rates(metrics, now_us - metrics->looked_us);
    }
    metrics->looked_us = now_us;
    metrics->last = totals;
    metrics->last_latency = latency;
}

const struct moment *metrics_moment(const struct metrics *metrics, unsigned ago)
{
    if (ago >= metrics->moment_count || ago >= METRICS_SECONDS) {
        return NULL;
    }
    return &metrics->moments[(metrics->moment_count - 1 - ago) % METRICS_SECONDS];
}

struct metrics *metrics_new(struct control *control)
{
    const struct timeval second = {1, 0};
    struct metrics *metrics = calloc(1, sizeof(*metrics));

    if (metrics == NULL) {
        return NULL;
    }
    metrics->control = control;
    list_init(&metrics->rests);
    metrics->timer = event_new(control->base, -1, EV_PERSIST, on_second, metrics);
    if (metrics->timer == NULL || event_add(metrics->timer, &second) != 0) {
        metrics_free(metrics);
        return NULL;
    }
    return metrics;
}

void metrics_free(struct metrics *metrics)
{
    if (metrics == NULL) {
        return;
    }
    for (uint32_t i = 0; i < metrics->server_count; i++) {
        server_put(metrics->servers[i].server);
    }
    free(metrics->servers);
    list_each_safe (at, after, &metrics->rests) {
        struct pool_rest *rest = list_entry(at, struct pool_rest, link);

        free(rest->name);
        free(rest);
    }
    if (metrics->timer != NULL) {
        event_free(metrics->timer);
    }
    free(metrics);
}

static uint64_t read_generation(const struct control *control)
{
    return control->slot.current->generation;
}

static uint64_t read_reloads(const struct control *control)
{
    return control->changes.reloads;
}

static uint64_t read_reloads_refused(const struct control *control)
{
    return control->changes.reloads_refused;
}

static uint64_t read_last_reload_ok(const struct control *control)
{
    return control->changes.reload_wall_us == 0 || control->changes.reload_was_taken;
}

static uint64_t read_last_reload_time(const struct control *control)
{
    return control->changes.reload_wall_us / 1000000;
}

static uint64_t read_ejections(const struct control *control)
{
    return control->changes.ejections;
}

static uint64_t read_rejoins(const struct control *control)
{
    return control->changes.rejoins;
}

static uint64_t read_moved(const struct control *control)
{
    return (uint64_t)(control->changes.moved * 1e6 + 0.5);
}

static uint64_t read_moved_sum(const struct control *control)
{
    return (uint64_t)(control->changes.moved_sum * 1e6 + 0.5);
}

static uint64_t read_denied(const struct control *control)
{
    return control->denied;
}

static uint64_t read_log_lines_lost(const struct control *control)
{
    (void)control;
    return log_lines_lost();
}

static uint64_t read_resident(const struct control *control)
{
    (void)control;
    return metrics_resident_bytes();
}

/* clang-format off */
const struct control_row metrics_control_rows[] = {
    {"topology_generation", "topology_generation", COUNTER_GAUGE, "number", "number of the topology in force; each change adds one", read_generation},
    {"reloads",             "reloads", COUNTER_SUM, "reloads", "configurations taken over since the start", read_reloads},
    {"reloads_refused",     "reloads_refused", COUNTER_SUM, "reloads", "configurations refused because of a mistake", read_reloads_refused},
    {"last_reload_ok",      "last_reload_ok", COUNTER_GAUGE, "0 or 1", "1 unless the last reload was refused", read_last_reload_ok},
    {"last_reload_time",    "last_reload_time_seconds", COUNTER_GAUGE, "seconds", "when the last reload was, since 1970; 0: never", read_last_reload_time},
    {"ejections",           "ejections", COUNTER_SUM, "times", "servers taken out because they failed, or by the operator", read_ejections},
    {"rejoins",             "rejoins", COUNTER_SUM, "times", "servers put back, whoever took them out", read_rejoins},
    {"keys_moved_ppm",      "keys_moved_ppm", COUNTER_GAUGE, "millionths", "part of the key space that moved with the last reload, or the last ejection or return since", read_moved},
    {"keys_moved_sum_ppm",  "keys_moved_ppm_sum", COUNTER_SUM, "millionths", "parts of the key space that changes moved, added up", read_moved_sum},
    {"admin_denied_connections", "admin_connections_denied", COUNTER_SUM, "connections", "connections to the admin and http ports closed at once because allow does not name their network", read_denied},
    {"log_lines_lost",      "log_lines_lost", COUNTER_SUM, "lines", "lines of the log held back or not written", read_log_lines_lost},
    {"resident_bytes",      "resident_bytes", COUNTER_GAUGE, "bytes", "main memory that the process has", read_resident},
};
/* clang-format on */

const size_t metrics_control_count = ARRAY_LEN(metrics_control_rows);

uint64_t metrics_resident_bytes(void)
{
    FILE *statm = fopen("/proc/self/statm", "re"); /* "all resident shared ...", in pages */
    char line[128] = "";
    const char *resident = NULL;

    if (statm != NULL) {
        if (fgets(line, sizeof(line), statm) != NULL) {
            resident = strchr(line, ' ');
        }
        fclose(statm);
    }
    return resident != NULL ? strtoull(resident, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}
