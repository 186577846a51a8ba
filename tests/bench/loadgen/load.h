/*
 * A run of the load: its clients, the event loop, the phases (prefill, idle connections, warm-up,
 * the measured window, drain) and the counts. Decides what is sent when.
 *
 * Closed loop: each client has its pipeline full at all times. Open loop: requests are due at fixed
 * times, whatever the answers do, and wait for a client with room; latency counts from the time a
 * request was due, so that a stall is paid for by every request it delayed (no coordinated
 * omission). Latency is of requests due within the window, waited for in the drain; throughput
 * and CPU are of what was answered within it.
 */
#ifndef LOADGEN_LOAD_H
#define LOADGEN_LOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "bytes.h"
#include "client.h"
#include "histogram.h"
#include "keyspace.h"
#include "options.h"

#define LOAD_READ_BYTES  (256 * 1024)
#define LOAD_ERROR_BYTES 256

enum load_phase {
    LOAD_PREFILL,
    LOAD_IDLES,
    LOAD_WARMUP,
    LOAD_MEASURE,
    LOAD_DRAIN,
};

struct load {
    const struct options *options;
    struct sockaddr_storage address;
    socklen_t address_len;
    struct keyspace space;
    int epoll;
    enum load_phase phase;
    uint64_t now_ns;
    bool is_stopped;

    struct client *clients;
    struct client *idles;
    struct client prefiller;
    struct client *ready_first; /* open loop: clients with room, longest waiting first */
    struct client *ready_last;
    double next_due_ns;
    uint32_t prefilled; /* keys asked to be set */
    uint32_t idles_started;
    uint32_t idles_done;
    uint64_t issued; /* while measuring */
    uint32_t under_way;

    char *in;         /* LOAD_READ_BYTES, for one read at a time */
    struct bytes out; /* requests of one client, until its flush */
    char line[LOAD_ERROR_BYTES];
    char set_tail[64]; /* " 0 0 <bytes>\r\n" */
    size_t set_tail_len;
    char value_tail[64]; /* " 0 <bytes>" */
    size_t value_tail_len;

    /* the window and what was answered within */
    uint64_t window_start_ns;
    uint64_t window_end_ns;
    uint64_t answers;
    uint64_t keys;
    uint64_t misses;
    struct histogram latency;
    uint64_t own_cpu_ns;
    uint64_t watched_cpu_ns[OPTIONS_WATCH_MAX];
    uint64_t watched_resident_kb[OPTIONS_WATCH_MAX];

    /* the whole run */
    uint64_t last_answer_ns;
    uint64_t connections;
    uint64_t errors;
    uint64_t wrong_values;
    uint64_t out_of_order; /* values of one get that did not come in the order of its keys */
    uint64_t unfinished;
    char first_error[LOAD_ERROR_BYTES];
};

/* False, with a message printed, if the address is none. */
bool load_init(struct load *load, const struct options *options);
void load_fini(struct load *load);

void load_run(struct load *load);

/* For clients: the next key to ask for, an answer (error: NULL or why it is none), and trouble. */
uint32_t load_next_key(struct load *load, const struct client *client);
void load_on_answer(struct load *load, const struct client *client, const struct request *request,
                    const char *error);
void load_on_error(struct load *load, const char *error);
void load_stop(struct load *load, const char *what, const char *why);
void load_tell_time(struct load *load);

#endif
