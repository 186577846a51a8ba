/* See trace.h. */
#include "proxy/trace.h"

#include "base/address.h"
#include "proxy/backend.h"
#include "proxy/client.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    SLOW_LEAST_US = 1000,            /* quicker ones are not slow */
    SLOW_AGE_US = 10 * 60 * 1000000, /* older ones are forgotten */
};

struct trace *trace_new(void)
{
    struct trace *trace = calloc(1, sizeof(*trace));

    if (trace == NULL) {
        return NULL;
    }
    pthread_mutex_init(&trace->published.lock, NULL);
    trace->slow_from_us = SLOW_LEAST_US;
    trace->note_from_us = SLOW_LEAST_US;
    return trace;
}

void trace_free(struct trace *trace)
{
    if (trace != NULL) {
        pthread_mutex_destroy(&trace->published.lock);
        free(trace->ring);
        free(trace);
    }
}

/* The first key: that of the exchange, or in the line of its first leg. */
static struct slice first_key(const struct exchange *exchange)
{
    const struct leg *leg = &exchange->legs[0];
    struct slice key = exchange->key;

    if (key.len == 0 && exchange->leg_count > 0 && leg->key_count > 0 && leg->line.data != NULL) {
        const char *end = leg->line.data + leg->line.len;

        key.data = leg->line.data + leg->keys_at;
        while (key.data + key.len < end && strchr(" \r\n", key.data[key.len]) == NULL) {
            key.len++;
        }
    }
    key.len = key.len < TRACE_KEY_BYTES ? key.len : TRACE_KEY_BYTES;
    return key;
}

static void fill(struct trace_record *record, const struct worker *worker,
                 const struct exchange *exchange, uint64_t answer_bytes)
{
    struct slice key = first_key(exchange);

    memset(record, 0, offsetof(struct trace_record, key));
    record->wall_us = clock_wall_us();
    record->took_us = worker->now_us - exchange->started_us;
    record->answer_bytes = answer_bytes;
    record->command = counter_command_names[exchange->command->id];
    record->key_count = exchange->key_count;
    record->is_retrieval = exchange->command->reply == REPLY_VALUES;
    record->cause = (uint8_t)exchange->cause;
    record->key_len = (uint8_t)key.len;
    if (key.len > 0) {
        memcpy(record->key, key.data, key.len);
    }
    client_peer(exchange->client, record->client, sizeof(record->client));
    for (uint32_t i = 0; i < exchange->leg_count; i++) {
        const struct leg *leg = &exchange->legs[i];

        record->hits += leg->hits;
        record->code = leg->code;
        record->cause = record->cause == LEG_OK ? leg->cause : record->cause;
        if (leg->backend != NULL && record->server_count++ == 0) {
            snprintf(record->server, sizeof(record->server), "%s",
                     leg->backend->set->server->label);
        }
    }
}

/* The quickest of the slow ones; slow_count is at least 1. */
static uint32_t quickest(const struct trace *trace)
{
    uint32_t at = 0;

    for (uint32_t i = 1; i < trace->slow_count; i++) {
        if (trace->slow[i].took_us < trace->slow[at].took_us) {
            at = i;
        }
    }
    return at;
}

static void note_slow(struct worker *worker, const struct exchange *exchange, uint64_t answer_bytes)
{
    struct trace *trace = worker->trace;
    uint32_t at = trace->slow_count < TRACE_SLOW ? trace->slow_count++ : quickest(trace);

    fill(&trace->slow[at], worker, exchange, answer_bytes);
    if (trace->slow_count == TRACE_SLOW) {
        trace->slow_from_us = trace->slow[quickest(trace)].took_us + 1;
    }
}

static void note_watched(struct trace_ring *ring, struct worker *worker,
                         const struct exchange *exchange, uint64_t answer_bytes)
{
    uint64_t written = atomic_load_explicit(&ring->written, memory_order_relaxed);

    if (written - atomic_load_explicit(&ring->read, memory_order_acquire) >= TRACE_RING) {
        cell_add(&ring->lost, 1);
        return;
    }
    fill(&ring->records[written % TRACE_RING], worker, exchange, answer_bytes);
    atomic_store_explicit(&ring->written, written + 1, memory_order_release);
}

void trace_note(struct worker *worker, const struct exchange *exchange, uint64_t took_us,
                uint64_t answer_bytes)
{
    struct trace *trace = worker->trace;
    struct trace_ring *ring = atomic_load_explicit(&trace->watch, memory_order_acquire);

    if (took_us >= trace->slow_from_us) {
        note_slow(worker, exchange, answer_bytes);
    }
    if (ring != NULL) {
        note_watched(ring, worker, exchange, answer_bytes);
    }
    trace_look(worker);
}

void trace_look(struct worker *worker)
{
    struct trace *trace = worker->trace;
    bool is_watched = atomic_load_explicit(&trace->watch, memory_order_relaxed) != NULL;
    uint64_t note_from_us = is_watched ? 0 : trace->slow_from_us;

    if (note_from_us < trace->note_from_us) { /* times that were counted only are noted now */
        for (int i = 0; i < COMMAND_COUNT; i++) {
            histogram_forget_last(&worker->counters.commands[i].latency);
        }
    }
    trace->note_from_us = note_from_us;
}

static void forget_old(struct trace *trace)
{
    uint64_t now_us = clock_wall_us();

    for (uint32_t i = 0; i < trace->slow_count;) {
        if (now_us - trace->slow[i].wall_us > SLOW_AGE_US) {
            trace->slow[i] = trace->slow[--trace->slow_count];
            trace->slow_from_us = SLOW_LEAST_US;
        } else {
            i++;
        }
    }
}

void trace_publish(struct worker *worker)
{
    struct trace *trace = worker->trace;
    struct trace_published *published = &trace->published;

    forget_old(trace);
    trace_look(worker);
    pthread_mutex_lock(&published->lock);
    memcpy(published->slow, trace->slow, trace->slow_count * sizeof(trace->slow[0]));
    published->slow_count = trace->slow_count;
    pthread_mutex_unlock(&published->lock);
}
