/*
 * What each worker counts about one server. The counts hang on the server
 * itself, one element a worker, so that whoever holds the server may read them
 * and they go when it goes. Each worker writes its own element.
 */
#ifndef PROXY_SERVER_COUNTER_H
#define PROXY_SERVER_COUNTER_H

#include "proxy/counter.h"
#include "topology/server.h"

struct server_counters {
    _Alignas(64) _Atomic uint64_t values[SERVER_COUNTERS];
    _Atomic uint64_t errors[LEG_CAUSES]; /* parts of requests that failed, by cause */
    struct histogram latency;            /* the server's part: from queued to answered */
};

/* The worker's element, made where it is the first; NULL out of memory. */
struct server_counters *server_counters_get(struct server *server, unsigned worker,
                                            unsigned worker_count);

/* Those of all workers, or NULL where no worker knows the server yet. */
const struct server_counters *server_counters_all(const struct server *server);

static inline void count_server(struct server_counters *counters, enum server_counter id,
                                uint64_t n)
{
    cell_add(&counters->values[id], n);
}

#endif
