/*
 * What a worker counts. Each worker writes its own, on its own cache lines,
 * with plain relaxed stores; anybody may read them at any time. The table in
 * counter.c is what the admin port and the docs check read.
 */
#ifndef PROXY_COUNTER_H
#define PROXY_COUNTER_H

#include <stdatomic.h>
#include <stdint.h>

/* clang-format off */
enum counter_id {
    COUNTER_CLIENTS, COUNTER_CLIENTS_TOTAL, COUNTER_CLIENTS_REFUSED, COUNTER_CLIENTS_FOREIGN,
    COUNTER_CLIENTS_IDLE_CLOSED, COUNTER_ACCEPT_PAUSES,
    COUNTER_REQUESTS, COUNTER_REQUESTS_GET, COUNTER_REQUESTS_SET, COUNTER_REQUESTS_TOUCH,
    COUNTER_REQUESTS_FLUSH, COUNTER_REQUESTS_LOCAL, COUNTER_KEYS,
    COUNTER_HITS, COUNTER_MISSES,
    COUNTER_BYTES_READ, COUNTER_BYTES_WRITTEN,
    COUNTER_ERRORS, COUNTER_TIMEOUTS, COUNTER_RETRIES, COUNTER_LATE_REPLIES,
    COUNTER_OUT_OF_MEMORY,
    COUNTER_BACKENDS, COUNTER_BACKEND_CONNECTS, COUNTER_BACKEND_FAILURES,
    COUNTER_BACKEND_BYTES_READ, COUNTER_BACKEND_BYTES_WRITTEN,
    COUNTER_BACKEND_WRITES, COUNTER_BACKEND_REQUESTS,
    COUNTER_TICKS, COUNTER_IN_FLIGHT, COUNTER_MEMORY,
    COUNTER_COUNT,
};
/* clang-format on */

enum counter_kind { COUNTER_SUM, COUNTER_GAUGE };

struct counter_row {
    const char *name;
    enum counter_kind kind;
    const char *unit;
    const char *help;
};

extern const struct counter_row counter_rows[COUNTER_COUNT];

struct counters {
    _Alignas(64) _Atomic uint64_t values[COUNTER_COUNT];
};

/* Only the owner adds. */
static inline void count_add(struct counters *counters, enum counter_id id, uint64_t n)
{
    uint64_t now = atomic_load_explicit(&counters->values[id], memory_order_relaxed);

    atomic_store_explicit(&counters->values[id], now + n, memory_order_relaxed);
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
    return atomic_load_explicit(&counters->values[id], memory_order_relaxed);
}

#endif
