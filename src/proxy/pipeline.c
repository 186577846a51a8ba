/* See proxy/pipeline.h. */
#include "proxy/pipeline.h"

#include "proxy/backend_set.h"
#include "proxy/server_counter.h"
#include "proxy/standin.h"

#include <stdlib.h>

void pipeline_unlink(struct backend *backend, struct leg *leg)
{
    leg->is_piped = false;
    leg->next = NULL;
    leg->exchange->legs_piped--;
    backend->piped--;
    if (leg->standing != NULL) {
        standin_release(leg);
    }
}

void pipeline_publish(struct backend *backend)
{
    struct server_counters *counters = backend->set->counters;

    count_server(counters, SERVER_QUEUED_BYTES,
                 backend->unsent_bytes - backend->published_unsent_bytes);
    count_server(counters, SERVER_IN_FLIGHT, (uint64_t)backend->piped - backend->published_piped);
    backend->published_unsent_bytes = backend->unsent_bytes;
    backend->published_piped = backend->piped;
}

void pipeline_remove_unsent(struct backend *backend, struct leg *before, struct leg *leg)
{
    if (before != NULL) {
        before->next = leg->next;
    } else {
        backend->first = leg->next;
    }
    if (backend->last == leg) {
        backend->last = before;
    }
    if (backend->unsent == leg) {
        backend->unsent = leg->next;
    }
    if (backend->fresh == leg) {
        backend->fresh = leg->next;
    }
    backend->unsent_bytes -= pipeline_leg_bytes(leg);
    pipeline_unlink(backend, leg);
}

void pipeline_add(struct backend *backend, struct leg *leg)
{
    leg->next = NULL;
    leg->is_piped = true;
    leg->exchange->legs_piped++;
    if (backend->last != NULL) {
        backend->last->next = leg;
    } else {
        backend->first = leg;
    }
    backend->last = leg;
    if (backend->unsent == NULL) {
        backend->unsent = leg;
        backend->unsent_done = 0;
    }
    if (backend->fresh == NULL) {
        backend->fresh = leg;
    }
    backend->piped++;
    backend->unsent_bytes += pipeline_leg_bytes(leg);
    leg->queued_us = backend->worker->now_us;
}

/* Makes piece own its bytes. */
static void own_piece(struct worker *worker, struct piece *piece)
{
    struct chunk *own;

    if (piece->chunk == NULL || !piece->chunk->is_shared || piece->len > WORKER_READ_MIN) {
        return;
    }
    own = chunk_new(&worker->pool, piece->len);
    if (own == NULL) {
        return; /* the shared chunk stays pinned instead */
    }
    memcpy(own->data, piece->data, piece->len);
    chunk_unref(piece->chunk);
    piece->chunk = own;
    piece->data = own->data;
}

void pipeline_own(struct leg *leg)
{
    own_piece(leg->exchange->worker, &leg->line);
    own_piece(leg->exchange->worker, &leg->value);
}

struct leg *pipeline_take(struct backend *backend)
{
    struct leg *first = backend->first;

    backend->first = NULL;
    backend->last = NULL;
    backend->late = NULL;
    backend->unsent = NULL;
    backend->fresh = NULL;
    backend->unsent_done = 0;
    backend->unsent_bytes = 0;
    return first;
}

/* Where the reply may give back a decoded key, ghost needs it to know the reply's end. */
static bool copy_raw_key(struct exchange *ghost, const struct exchange *from)
{
    struct slice key = exchange_raw_key(from);
    char *to = ghost->text;

    if (key.len == 0) {
        return true;
    }
    if (key.len > sizeof(ghost->text)) {
        to = malloc(key.len);
        if (to == NULL) {
            return false;
        }
        ghost->more_text = to;
        exchange_charge(ghost, key.len);
    }
    memcpy(to, key.data, key.len);
    ghost->key = slice_make(to, key.len);
    return true;
}

bool pipeline_leave_ghost(struct backend *backend, struct leg *before, struct leg *leg)
{
    struct exchange *ghost = calloc(1, sizeof(*ghost));

    if (ghost == NULL) {
        return false;
    }
    ghost->worker = backend->worker;
    if (!copy_raw_key(ghost, leg->exchange)) {
        free(ghost);
        return false;
    }
    exchange_charge(ghost, sizeof(*ghost));
    ghost->command = leg->exchange->command;
    ghost->is_released = true;
    ghost->legs = &ghost->first;
    ghost->leg_count = 1;
    ghost->legs_piped = 1;
    list_init(&ghost->waiting_link);
    outq_init(&ghost->first.replies, &backend->worker->pool);
    ghost->first.exchange = ghost;
    backend_bind(backend, &ghost->first);
    ghost->first.next = leg->next;
    ghost->first.kind = leg->kind;
    ghost->first.deadline_us = leg->deadline_us;
    ghost->first.is_sent = true;
    ghost->first.is_begun = true;
    ghost->first.is_done = true;
    ghost->first.is_piped = true;
    ghost->first.is_discarding = true;
    ghost->first.skips_keys = true;
    if (before != NULL) {
        before->next = &ghost->first;
    } else {
        backend->first = &ghost->first;
    }
    if (backend->last == leg) {
        backend->last = &ghost->first;
    }
    backend->worker->exchange_count++;
    backend->piped++;
    pipeline_unlink(backend, leg);
    return true;
}
