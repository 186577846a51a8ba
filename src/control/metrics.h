/*
 * Reads what the workers count, adds it up, and remembers the last minutes for
 * rates and charts. Everything that shows numbers (admin port, metrics, page)
 * reads them here. Runs on the main thread.
 */
#ifndef CONTROL_METRICS_H
#define CONTROL_METRICS_H

#include "control/control.h"
#include "proxy/server_counter.h"

enum { METRICS_SECONDS = 300 }; /* of history */

/* Over all workers. */
struct totals {
    uint64_t values[COUNTER_COUNT];
    uint64_t commands[COMMAND_COUNT][COMMAND_COUNTERS];
    uint64_t errors[LEG_CAUSES];
};

/* Of one server, or of all servers of a pool, over all workers. */
struct server_totals {
    uint64_t values[SERVER_COUNTERS];
    uint64_t errors[LEG_CAUSES];
    uint64_t errors_sum;
};

/* One second of the past. */
struct moment {
    uint64_t wall_us;
    uint64_t span_us; /* since the moment before */
    double requests;  /* a second, as all here */
    double hits;
    double misses;
    double errors;
    double read_bytes;
    double written_bytes;
    uint64_t clients;
    uint64_t in_flight;
    uint64_t p50_us;
    uint64_t p90_us;
    uint64_t p99_us;
    uint64_t p999_us;
};

/* Derived from the commands' counters; name as memcached has it. */
struct derived_row {
    const char *name;
    const char *unit;
    const char *help;
    enum command_counter counter;
    uint32_t commands; /* a bit each */
};

extern const struct derived_row metrics_derived_rows[];
extern const size_t metrics_derived_count;

/* What the control plane itself knows. */
struct control_row {
    const char *name;
    const char *metric;
    enum counter_kind kind;
    const char *unit;
    const char *help;
    uint64_t (*read)(const struct control *control);
};

extern const struct control_row metrics_control_rows[];
extern const size_t metrics_control_count;

/* Of one server, over the last second. */
struct server_rates {
    double requests;
    double errors;
};

struct metrics;

/* Starts looking once a second. NULL out of memory. */
struct metrics *metrics_new(struct control *control);
void metrics_free(struct metrics *metrics); /* NULL is fine */

void metrics_read_totals(const struct control *control, struct totals *totals);
void metrics_read_worker(const struct worker *worker, struct totals *totals);
uint64_t metrics_derived(const struct totals *totals, const struct derived_row *row);
uint64_t metrics_command_sum(const struct totals *totals, enum command_counter counter);

/* Of one command, or of all where command is COMMAND_COUNT. */
void metrics_read_latency(const struct control *control, int command, struct histogram_sum *sum);
void metrics_read_batch(const struct control *control, struct histogram_sum *sum);

void metrics_read_server(const struct control *control, const struct server *server,
                         struct server_totals *totals);
void metrics_read_server_latency(const struct control *control, const struct server *server,
                                 struct histogram_sum *sum);

void metrics_server_rates(const struct metrics *metrics, const struct server *server,
                          struct server_rates *rates);

/* The pool's servers, those that were removed included. */
void metrics_read_pool(const struct control *control, const char *pool_name,
                       struct server_totals *totals);

/* Of the process, in main memory. */
uint64_t metrics_resident_bytes(void);

/* The moment that many seconds ago, or NULL where there is none; 0: the last whole second. */
const struct moment *metrics_moment(const struct metrics *metrics, unsigned ago);

#endif
