/*
 * The pipeline of a backend: legs in the order they were queued, the sent ones
 * first. Runs on the worker's thread.
 */
#ifndef PROXY_PIPELINE_H
#define PROXY_PIPELINE_H

#include "proxy/backend.h"

/* Bytes of the leg's request. */
static inline uint32_t pipeline_leg_bytes(const struct leg *leg)
{
    return leg->line.len + leg->value.len;
}

/* Queues leg at the end. */
void pipeline_add(struct backend *backend, struct leg *leg);

/* Takes leg off its backend's count; the links are the caller's business. */
void pipeline_unlink(struct backend *backend, struct leg *leg);

/* Takes leg, which is the first, off: it is answered and sent. */
static inline void pipeline_remove_first(struct backend *backend, struct leg *leg)
{
    assert(leg == backend->first);
    backend->first = leg->next;
    if (backend->first == NULL) {
        backend->last = NULL;
    }
    if (backend->late == leg) {
        backend->late = NULL;
    }
    pipeline_unlink(backend, leg);
}

/* Takes leg, which is not begun, out of the middle; before is the one ahead of it, or NULL. */
void pipeline_remove_unsent(struct backend *backend, struct leg *before, struct leg *leg);

/* Brings the server's counters of what waits and is under way up to date. */
void pipeline_publish(struct backend *backend);

/* Copies what leg is to send out of shared chunks, which it would pin for as long as it waits. */
void pipeline_own(struct leg *leg);

/* Takes the whole pipeline away; returns its first leg. */
struct leg *pipeline_take(struct backend *backend);

/*
 * Puts a stand-in for leg, whose reply is to be dropped, in its place, so that leg itself is free
 * to go elsewhere. False: out of memory.
 */
MUST_CHECK bool pipeline_leave_ghost(struct backend *backend, struct leg *before, struct leg *leg);

#endif
