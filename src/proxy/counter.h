/*
 * What a worker counts: in all, for each command, for each server. Each worker
 * writes its own, on its own cache lines, with plain relaxed stores; anybody
 * may read them at any time. The tables in counter.c are what the admin port,
 * the metrics and the docs check read.
 */
#ifndef PROXY_COUNTER_H
#define PROXY_COUNTER_H

#include "proto/command.h"
#include "proxy/cell.h"
#include "proxy/histogram.h"
#include "proxy/leg_cause.h"

/* clang-format off */
enum counter_id {
    COUNTER_CLIENTS, COUNTER_CLIENTS_TOTAL, COUNTER_CLIENTS_REFUSED, COUNTER_CLIENTS_DENIED,
    COUNTER_CLIENTS_FOREIGN, COUNTER_CLIENTS_IDLE_CLOSED, COUNTER_CLIENTS_STALLED, COUNTER_ACCEPT_PAUSES,
    COUNTER_REQUESTS_LOCAL,
    COUNTER_BYTES_READ, COUNTER_BYTES_WRITTEN,
    COUNTER_TIMEOUTS, COUNTER_RETRIES, COUNTER_LATE_REPLIES,
    COUNTER_OUT_OF_MEMORY,
    COUNTER_BACKENDS, COUNTER_BACKEND_CONNECTS, COUNTER_BACKEND_FAILURES,
    COUNTER_BACKEND_BYTES_READ, COUNTER_BACKEND_BYTES_MOVED, COUNTER_BACKEND_BYTES_WRITTEN,
    COUNTER_BACKEND_WRITES, COUNTER_BACKEND_REQUESTS,
    COUNTER_TICKS, COUNTER_IN_FLIGHT, COUNTER_MEMORY,
    COUNTER_COUNT,
};

/* For each command. */
enum command_counter {
    COMMAND_REQUESTS, COMMAND_KEYS, COMMAND_HITS, COMMAND_MISSES, COMMAND_ERRORS,
    COMMAND_BYTES_READ, COMMAND_BYTES_WRITTEN,
    COMMAND_COUNTERS,
};

/* For each server. */
enum server_counter {
    SERVER_REQUESTS, SERVER_IN_FLIGHT, SERVER_HITS, SERVER_MISSES,
    SERVER_BYTES_READ, SERVER_BYTES_WRITTEN, SERVER_WRITES, SERVER_QUEUED_BYTES,
    SERVER_RETRIES, SERVER_LATE_REPLIES,
    SERVER_CONNECTIONS, SERVER_CONNECTS, SERVER_RECONNECTS, SERVER_CONNECTION_FAILURES,
    SERVER_COUNTERS,
};

/* clang-format on */

enum counter_kind { COUNTER_SUM, COUNTER_GAUGE };

struct counter_row {
    const char *name;   /* on the admin port: memcached's where it means the same */
    const char *metric; /* in the metrics, without "ketamad_" and "_total" */
    enum counter_kind kind;
    const char *unit;
    const char *help;
};

extern const struct counter_row counter_rows[COUNTER_COUNT];
extern const struct counter_row command_counter_rows[COMMAND_COUNTERS];
extern const struct counter_row server_counter_rows[SERVER_COUNTERS];

/* By command id: what the counters call it. */
extern const char *const counter_command_names[COMMAND_COUNT];

struct command_counters {
    _Alignas(64) _Atomic uint64_t values[COMMAND_COUNTERS];
    struct histogram latency; /* of the whole request */
};

struct counters {
    _Alignas(64) _Atomic uint64_t values[COUNTER_COUNT];
    struct command_counters commands[COMMAND_COUNT];
    _Atomic uint64_t errors[LEG_CAUSES]; /* parts of requests that failed, by cause */
    struct histogram batch;              /* requests a write */
};

static inline void count_add(struct counters *counters, enum counter_id id, uint64_t n)
{
    if (COUNTING || id == COUNTER_CLIENTS) { /* new clients are spread by it */
        cell_add_always(&counters->values[id], n);
    }
}

static inline void count(struct counters *counters, enum counter_id id)
{
    count_add(counters, id, 1);
}

static inline void count_drop(struct counters *counters, enum counter_id id)
{
    count_add(counters, id, (uint64_t)-1);
}

static inline void count_set(struct counters *counters, enum counter_id id, uint64_t value)
{
    atomic_store_explicit(&counters->values[id], value, memory_order_relaxed);
}

static inline uint64_t count_read(const struct counters *counters, enum counter_id id)
{
    return cell_read(&counters->values[id]);
}

static inline void count_command(struct command_counters *counters, enum command_counter id,
                                 uint64_t n)
{
    cell_add(&counters->values[id], n);
}

#endif
