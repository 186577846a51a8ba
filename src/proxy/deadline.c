/* See proxy/deadline.h. */
#include "proxy/deadline.h"

#include "proxy/backend_set.h"
#include "proxy/pipeline.h"

enum {
    TRICKLE_TIMEOUTS = 9, /* so many request_timeouts more for a reply that is coming slowly */
    HUNG_TIMEOUTS = 3,    /* request_timeouts of silence until the connection is given up */
};

/* Time begins anew for all that is awaited once the process goes on after a stop. */
static uint64_t since_resumed(const struct backend *backend, uint64_t due_us, uint64_t timeout_us)
{
    uint64_t resumed_us = backend->worker->resumed_us;

    return resumed_us != 0 && resumed_us + timeout_us > due_us ? resumed_us + timeout_us : due_us;
}

/*
 * When the leg's time is up: request_timeout after it was queued, or after the server's last whole
 * reply, since one that answers in its own time is not hung and every reply brings the leg nearer;
 * a reply that only trickles in counts as life for some timeouts, not for ever.
 */
static uint64_t due_us(const struct backend *backend, const struct leg *leg)
{
    uint64_t timeout_us = backend->set->entry_timeout_us;
    uint64_t due = since_resumed(backend, leg->deadline_us, timeout_us);
    uint64_t trickle_us = backend->last_read_us + timeout_us;
    uint64_t last_us = leg->deadline_us + TRICKLE_TIMEOUTS * timeout_us;

    if (backend->state != BACKEND_READY) {
        return due;
    }
    trickle_us = trickle_us < last_us ? trickle_us : last_us;
    due = trickle_us > due ? trickle_us : due;
    return backend->last_reply_us + timeout_us > due ? backend->last_reply_us + timeout_us : due;
}

/*
 * Fails legs past their deadline; returns the first deadline that is not due. Those at the head
 * that have failed before and are awaited still are not looked at again: they may be many.
 */
static uint64_t expire_legs(struct backend *backend, uint64_t now_us)
{
    struct leg *before = backend->late;
    struct leg *leg = before != NULL ? before->next : backend->first;

    while (leg != NULL && (leg->is_done || due_us(backend, leg) <= now_us)) {
        struct leg *next = leg->next;

        if (leg->is_done) {
            before = leg;
        } else {
            count(&backend->worker->counters, COUNTER_TIMEOUTS);
            if (leg->is_begun) {
                backend_set_blame(backend->set, LEG_TIMEOUT,
                                  leg->deadline_us - backend->set->entry_timeout_us);
                before = leg;
            } else {
                pipeline_remove_unsent(backend, before, leg);
            }
            exchange_leg_failed(leg, backend->state == BACKEND_WAITING ? backend->last_cause
                                                                       : LEG_TIMEOUT);
            if (backend->state != BACKEND_READY) {
                /* a retry that came back here may have failed to connect, and taken all away */
                before = NULL;
                next = backend->first;
            }
        }
        leg = next;
    }
    backend->late = before;
    return leg != NULL ? due_us(backend, leg) : UINT64_MAX;
}

static uint64_t later(uint64_t a_us, uint64_t b_us)
{
    return a_us > b_us ? a_us : b_us;
}

/*
 * How long the server may be silent with a request overdue before the connection is given up; or
 * trickle on after that request was given up, for so long as those behind it have no answer.
 */
static uint64_t hung_at_us(const struct backend *backend)
{
    const struct leg *leg = backend->first;
    uint64_t patience_us = HUNG_TIMEOUTS * backend->set->entry_timeout_us;
    uint64_t last_us = TRICKLE_TIMEOUTS * backend->set->entry_timeout_us + patience_us;
    uint64_t silent_us;

    if (leg == NULL || !leg->is_done || !leg->is_begun || backend->state != BACKEND_READY) {
        return UINT64_MAX;
    }
    silent_us = later(leg->deadline_us, backend->last_read_us) + patience_us;
    last_us += later(leg->deadline_us, backend->last_reply_us);
    return since_resumed(backend, silent_us < last_us ? silent_us : last_us, patience_us);
}

uint64_t deadline_expire(struct backend *backend, uint64_t now_us)
{
    uint64_t next_us = UINT64_MAX;
    uint64_t hung_us;

    if (backend->state == BACKEND_CONNECTING && backend->set->pool != NULL) {
        backend->connect_deadline_us = since_resumed(backend, backend->connect_deadline_us,
                                                     backend->set->pool->connect_timeout_us);
    }
    if (backend->state == BACKEND_CONNECTING && now_us >= backend->connect_deadline_us) {
        backend_connect_failed(backend, LEG_CONNECT_TIMEOUT);
    }
    if (backend->first != NULL) {
        next_us = expire_legs(backend, now_us);
    }
    if (backend->state == BACKEND_WAITING && backend->first != NULL) {
        if (backend->set->pool == NULL) {
            backend_retire(backend);
        } else if (now_us >= backend->retry_at_us) {
            backend->endpoints_tried = 0;
            backend_connect(backend);
        }
        if (backend->state == BACKEND_WAITING && backend->retry_at_us < next_us) {
            next_us = backend->retry_at_us;
        }
    }
    hung_us = hung_at_us(backend);
    if (now_us >= hung_us) {
        backend_fail(backend, LEG_TIMEOUT);
    } else if (hung_us < next_us) {
        next_us = hung_us;
    }
    pipeline_publish(backend);
    if (backend->state == BACKEND_CONNECTING && backend->connect_deadline_us < next_us) {
        next_us = backend->connect_deadline_us;
    }
    return next_us;
}
