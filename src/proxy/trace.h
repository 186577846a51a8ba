/*
 * What single requests were like: the slowest of the last minutes, and a live
 * stream for whoever watches. The worker notes; once a second it puts what it
 * noted where the control thread may copy it.
 */
#ifndef PROXY_TRACE_H
#define PROXY_TRACE_H

#include "proxy/exchange.h"

#include <pthread.h>

enum {
    TRACE_SLOW = 16,   /* slowest requests kept, a worker */
    TRACE_RING = 1024, /* requests that wait to be seen by whoever watches, a worker */
    TRACE_KEY_BYTES = 250,
    TRACE_CLIENT_BYTES = 64,
    TRACE_SERVER_BYTES = 64,
};

/* One request that was answered. */
struct trace_record {
    uint64_t wall_us;
    uint64_t took_us;
    uint64_t answer_bytes;
    const char *command;
    uint32_t key_count;
    uint32_t hits;
    uint32_t server_count; /* that were asked */
    uint8_t key_len;
    uint8_t code;  /* enum reply_code; of the last part */
    uint8_t cause; /* enum leg_cause; of the first that failed */
    bool is_retrieval;
    char client[TRACE_CLIENT_BYTES];
    char server[TRACE_SERVER_BYTES];
    char key[TRACE_KEY_BYTES]; /* the first */
};

/* From one worker to the control thread: who writes takes no lock and never waits. */
struct trace_ring {
    _Atomic uint64_t written; /* records ever, by the worker */
    _Atomic uint64_t read;    /* by the control thread */
    _Atomic uint64_t lost;    /* for which there was no room */
    struct trace_record records[TRACE_RING];
};

/* What the control thread may copy under the lock. */
struct trace_published {
    pthread_mutex_t lock;
    struct trace_record slow[TRACE_SLOW];
    uint32_t slow_count;
};

struct trace {
    _Atomic(struct trace_ring *) watch; /* ring while somebody watches, else NULL */
    struct trace_ring *ring;            /* the control thread's to make */
    uint64_t note_from_us;              /* requests that took so long are noted; 0: all are */
    uint64_t slow_from_us;              /* as slow a request is kept */
    uint32_t slow_count;
    struct trace_record slow[TRACE_SLOW];
    struct trace_published published;
};

/* NULL out of memory. */
struct trace *trace_new(void);
void trace_free(struct trace *trace); /* NULL is fine */

/* Notes an exchange that was just answered, before it is given up. */
void trace_note(struct worker *worker, const struct exchange *exchange, uint64_t took_us,
                uint64_t answer_bytes);

/* Finds out whether anybody watches. */
void trace_look(struct worker *worker);

/* Publishes; once a second. */
void trace_publish(struct worker *worker);

#endif
