/* See proxy/backend.h. */
#include "proxy/backend.h"

#include "base/log.h"
#include "base/socket.h"
#include "proxy/backend_in.h"
#include "proxy/backend_set.h"
#include "proxy/linger.h"
#include "proxy/pipeline.h"
#include "proxy/server_counter.h"
#include "proxy/standin.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    QUEUE_BYTES_MAX = 32 << 20, /* that wait to be written to one server on one connection */
    BACKOFF_FIRST_MS = 20,
    BACKOFF_MAX_MS = 250,
    LINGER_WAIT_US = 50000, /* between looks whether a connection given up has ended */
};

static const char *const state_texts[] = {
    [BACKEND_IDLE] = "idle",
    [BACKEND_CONNECTING] = "connecting",
    [BACKEND_READY] = "ready",
    [BACKEND_WAITING] = "waiting",
};

void backend_bind(struct backend *backend, struct leg *leg)
{
    if (leg->backend != NULL) {
        leg->backend->set->bound--;
    }
    leg->backend = backend;
    if (backend != NULL) {
        backend->set->bound++;
    }
}

static bool may_move(enum backend_state from, enum backend_state to)
{
    /* clang-format off */
    static const bool allowed[4][4] = {
        /* to:                 idle   connecting ready  waiting */
        [BACKEND_IDLE]       = {true,  true,      false, true},
        [BACKEND_CONNECTING] = {true,  true,      true,  true},
        [BACKEND_READY]      = {true,  false,     false, true},
        [BACKEND_WAITING]    = {true,  true,      false, true},
    };
    /* clang-format on */

    return allowed[from][to];
}

static void set_state(struct backend *backend, enum backend_state next)
{
    assert(may_move(backend->state, next));
    log_debug("server %s, connection %u of worker %u: %s -> %s", backend->set->server->label,
              backend->number, backend->worker->number, state_texts[backend->state],
              state_texts[next]);
    if (backend->state == BACKEND_READY) {
        count_drop(&backend->worker->counters, COUNTER_BACKENDS);
        count_server(backend->set->counters, SERVER_CONNECTIONS, (uint64_t)-1);
    }
    if (next == BACKEND_READY) {
        count(&backend->worker->counters, COUNTER_BACKENDS);
        count_server(backend->set->counters, SERVER_CONNECTIONS, 1);
    }
    backend->state = next;
}

void backend_listen_for(struct backend *backend, uint32_t events)
{
    if (!poller_set(&backend->worker->poller, &backend->watch, events)) {
        log_error("server %s: cannot wait for it: %s", backend->set->server->label,
                  strerror(errno)); /* what it was sent, or waits, runs into its timeout */
    }
}

/* Drops what was read of an unfinished reply. */
static void forget_reply(struct backend *backend)
{
    chunk_unref(backend->partial);
    chunk_unref(backend->body);
    backend->partial = NULL;
    backend->body = NULL;
    backend_in_drop_tube(backend);
    backend->is_large = false;
    backend->reads_little = false;
    backend->body_left = 0;
    backend->is_mid_reply = false;
}

/* Closes the socket. Where the server may still act on what was sent, waits for its close. */
static void drop_socket(struct backend *backend, bool lingers)
{
    if (backend->watch.fd != -1) {
        if (lingers) {
            backend_listen_for(backend, 0);
            linger_start(backend->set, backend->watch.fd);
            backend->watch.fd = -1;
        } else {
            watch_close(&backend->watch);
        }
    }
    list_remove(&backend->dirty_link);
    backend->is_choked = false;
    forget_reply(backend);
    atomic_store_explicit(&backend->set->server->version, 0, memory_order_relaxed);
}

/* Has something to write, or to settle, at the end of the tick. */
static void mark_dirty(struct backend *backend)
{
    if (list_is_empty(&backend->dirty_link)) {
        list_add_tail(&backend->worker->dirty_backends, &backend->dirty_link);
    }
}

/*
 * True for a leg that is not answered with the failure of a connect: a write, which no other
 * server may take until this one is judged, or a read of a key whose next server may hold old
 * values; they can wait so long.
 */
static bool may_wait(const struct leg *leg)
{
    return (leg->exchange->is_write || leg->is_alone) && leg->may_move && !leg->is_begun &&
           backend_set_has_standin(leg->backend->set);
}

void backend_submit(struct backend *backend, struct leg *leg)
{
    struct worker *worker = backend->worker;
    const struct topology_pool *pool = backend->set->pool;

    backend_bind(backend, leg);
    if (pool == NULL) {
        exchange_leg_failed(leg, LEG_REMOVED);
        return;
    }
    if (backend->state == BACKEND_WAITING && worker->now_us < backend->retry_at_us &&
        !backend->is_behind && !may_wait(leg)) {
        exchange_leg_failed(leg, backend->last_cause);
        return;
    }
    if (backend->unsent_bytes > 0 &&
        backend->unsent_bytes + pipeline_leg_bytes(leg) > QUEUE_BYTES_MAX) {
        exchange_leg_failed(leg, LEG_QUEUE_FULL);
        return;
    }
    leg->deadline_us = worker->now_us + pool->request_timeout_us;
    worker_want_deadline(worker, leg->deadline_us); /* what is ahead may wait for longer */
    pipeline_add(backend, leg);
    mark_dirty(backend);
    if (backend->state == BACKEND_READY) {
        return;
    }
    if (backend->state == BACKEND_IDLE ||
        (backend->state == BACKEND_WAITING && worker->now_us >= backend->retry_at_us)) {
        backend->endpoints_tried = 0;
        backend_connect(backend);
    } else if (backend->state == BACKEND_WAITING) {
        worker_want_deadline(worker, backend->retry_at_us);
    }
}

enum leg_cause backend_cause_of_errno(int error)
{
    switch (error) {
    case ECONNREFUSED:
    case ENOENT: /* the unix socket's file is gone */
        return LEG_REFUSED;
    case ECONNRESET:
    case EPIPE:
        return LEG_RESET;
    case EMFILE:
    case ENFILE:
        return LEG_NO_DESCRIPTOR;
    case ENOBUFS:
    case ENOMEM:
        return LEG_OUT_OF_MEMORY;
    default:
        return LEG_UNREACHABLE;
    }
}

static void on_connected(struct backend *backend)
{
    set_state(backend, BACKEND_READY);
    count(&backend->worker->counters, COUNTER_BACKEND_CONNECTS);
    count_server(backend->set->counters, SERVER_CONNECTS, 1);
    count_server(backend->set->counters, SERVER_RECONNECTS, backend->was_connected ? 1 : 0);
    backend->was_connected = true;
    backend->has_replied = false;
    backend->last_read_us = backend->worker->now_us;
    backend_listen_for(backend, BACKEND_HEARS);
    if (backend->unsent != NULL) {
        mark_dirty(backend);
    }
}

void backend_connect_failed(struct backend *backend, enum leg_cause cause)
{
    backend->endpoint++;
    if (backend->endpoints_tried < backend->set->entry->endpoint_count) {
        drop_socket(backend, false);
        backend_connect(backend);
        return;
    }
    backend_fail(backend, cause);
}

/* What an earlier connection was sent may still be carried out: a new one must not overtake it. */
static void wait_for_earlier(struct backend *backend)
{
    backend->retry_at_us = backend->worker->now_us + LINGER_WAIT_US;
    backend->last_cause = LEG_DOWN;
    set_state(backend, BACKEND_WAITING);
    worker_want_deadline(backend->worker, backend->retry_at_us);
}

void backend_connect(struct backend *backend)
{
    struct worker *worker = backend->worker;
    const struct topology_server *entry = backend->set->entry;
    bool done;

    if (backend_set_standing(backend->set) == STANDING_LIVE) {
        linger_stop_old(backend->set); /* of one that is out the control plane decides */
    }
    backend->is_behind = backend_set_is_behind(backend->set);
    if (backend->is_behind || backend_set_lingers(backend->set)) {
        wait_for_earlier(backend);
        return;
    }
    backend->connect_begun_us = worker->now_us;

    if (entry->endpoint_count == 0) {
        backend_fail(backend, LEG_UNRESOLVED);
        return;
    }
    backend->endpoint %= entry->endpoint_count;
    backend->endpoints_tried++;
    backend->watch.fd = socket_connect(&entry->endpoints[backend->endpoint], &done);
    if (backend->watch.fd == -1) {
        backend_connect_failed(backend, backend_cause_of_errno(errno));
        return;
    }
    set_state(backend, BACKEND_CONNECTING);
    if (done) {
        on_connected(backend);
        return;
    }
    backend->connect_deadline_us = worker->now_us + backend->set->pool->connect_timeout_us;
    worker_want_deadline(worker, backend->connect_deadline_us);
    backend_listen_for(backend, EPOLLOUT);
}

/* Decides when the next connect may be tried. */
static void schedule_retry(struct backend *backend, enum leg_cause cause)
{
    bool was_up = backend->state == BACKEND_READY && backend->has_replied;

    backend->last_cause = cause;
    if (was_up || cause == LEG_NO_DESCRIPTOR) {
        backend->backoff_ms = 0;
        set_state(backend, BACKEND_IDLE);
        return;
    }
    backend->backoff_ms = backend->backoff_ms == 0 ? BACKOFF_FIRST_MS : backend->backoff_ms * 2;
    if (backend->backoff_ms > BACKOFF_MAX_MS) {
        backend->backoff_ms = BACKOFF_MAX_MS;
    }
    backend->retry_at_us = backend->worker->now_us + (uint64_t)backend->backoff_ms * 1000;
    set_state(backend, BACKEND_WAITING);
}

void backend_fail(struct backend *backend, enum leg_cause cause)
{
    struct leg *leg = pipeline_take(backend);
    bool is_first_failure = backend->state == BACKEND_READY || backend->backoff_ms == 0;

    count(&backend->worker->counters, COUNTER_BACKEND_FAILURES);
    count_server(backend->set->counters, SERVER_CONNECTION_FAILURES, 1);
    if (backend->state != BACKEND_READY) {
        backend_set_blame(backend->set, cause, backend->connect_begun_us);
    } else if (leg != NULL) {
        backend_set_blame(backend->set, cause, leg->deadline_us - backend->set->entry_timeout_us);
    }
    if (is_first_failure) {
        log_warn("server %s: %s", backend->set->server->label, leg_cause_text(cause));
    }
    schedule_retry(backend, cause);
    drop_socket(backend,
                leg != NULL && leg->is_begun &&
                    (cause == LEG_TIMEOUT || cause == LEG_BROKEN || cause == LEG_OUT_OF_MEMORY));
    while (leg != NULL) {
        struct leg *next = leg->next;
        struct standing *standing = leg->standing;

        leg->standing = NULL; /* a leg that stays stands in for whom it did */
        pipeline_unlink(backend, leg);
        leg->standing = standing;
        if (backend->state == BACKEND_WAITING && !leg->is_done && may_wait(leg)) {
            pipeline_add(backend, leg);
        } else {
            exchange_leg_failed(leg, cause);
        }
        leg = next;
    }
    pipeline_publish(backend);
    if (backend->state == BACKEND_WAITING && backend->first != NULL) {
        mark_dirty(backend); /* what waits is to own what it will send */
        worker_want_deadline(backend->worker, backend->retry_at_us);
    }
}

void backend_retire(struct backend *backend)
{
    struct leg *before = NULL;
    struct leg *leg = backend->first;

    if (backend->state == BACKEND_READY) {
        return; /* what waits is written and answered; then the set is freed */
    }
    while (leg != NULL) {
        struct leg *next = leg->next;

        pipeline_remove_unsent(backend, before, leg);
        exchange_leg_failed(leg, LEG_REMOVED);
        leg = next;
    }
    if (backend->state != BACKEND_IDLE) {
        drop_socket(backend, false);
        set_state(backend, BACKEND_IDLE);
    }
}

void backend_close(struct backend *backend)
{
    struct leg *leg = pipeline_take(backend);

    drop_socket(backend, false);
    if (backend->state != BACKEND_IDLE) {
        set_state(backend, BACKEND_IDLE);
    }
    while (leg != NULL) {
        struct leg *next = leg->next;

        pipeline_unlink(backend, leg);
        exchange_leg_failed(leg, LEG_REMOVED);
        leg = next;
    }
    pipeline_publish(backend);
}

/* Sends leg, no longer in the pipeline, where the topology says, or fails it for good. */
static void reroute(struct leg *leg)
{
    outq_fini(&leg->replies);
    leg->hits = 0;
    leg->next_ordinal = 0;
    leg->next_key = leg->line.data + leg->keys_at;
    leg->is_sent = false;
    leg->is_begun = false;
    exchange_leg_route(leg);
}

void backend_cut(struct backend *backend)
{
    struct leg *before = NULL;
    struct leg *leg = backend->first;

    while (leg != NULL) {
        struct leg *next = leg->next;

        if (leg->is_done || leg->exchange->is_released) {
            before = leg; /* a ghost already, or nobody waits */
        } else if (!leg->is_begun) {
            pipeline_remove_unsent(backend, before, leg);
            reroute(leg);
        } else if (leg->is_sent && leg->exchange->is_safe_to_repeat &&
                   pipeline_leave_ghost(backend, before, leg)) {
            before = before != NULL ? before->next : backend->first;
            count(&backend->worker->counters, COUNTER_RETRIES);
            count_server(backend->set->counters, SERVER_RETRIES, 1);
            reroute(leg);
        } else {
            if (leg->exchange->command->id == COMMAND_FLUSH_ALL) {
                standin_promise_flush(backend->set, leg);
            } else {
                exchange_leg_failed(leg, LEG_CUT_OFF);
            }
            before = leg;
        }
        leg = next;
    }
}

/* True where the server took nothing that it has not answered. */
static bool was_idle(const struct backend *backend)
{
    if (backend->first == NULL) {
        return true;
    }
    return backend->first == backend->unsent && !backend->first->is_begun && backend->has_replied &&
           backend->set->pool != NULL;
}

void backend_ended(struct backend *backend, enum leg_cause cause)
{
    if (!was_idle(backend)) {
        backend_fail(backend, cause);
        return;
    }
    log_debug("server %s closed an idle connection", backend->set->server->label);
    drop_socket(backend, false);
    set_state(backend, BACKEND_IDLE);
    if (backend->first != NULL) {
        backend->endpoints_tried = 0;
        backend_connect(backend);
    }
}

void backend_on_ready(struct watch *watch, uint32_t events)
{
    struct backend *backend = watch_owner(watch, struct backend, watch);
    int error;

    if (backend->state == BACKEND_CONNECTING) {
        error = socket_error(backend->watch.fd);
        if (error != 0) {
            backend_connect_failed(backend, backend_cause_of_errno(error));
        } else {
            on_connected(backend);
        }
        return;
    }
    if (events & EPOLLOUT) {
        backend->is_choked = false;
        mark_dirty(backend);
    }
    if (events & EPOLLIN) {
        backend_in_read(backend);
    }
    while ((events & EPOLLRDHUP) && !poller_was_changed(&backend->worker->poller, watch)) {
        backend_in_read(backend); /* to its end, lest more is sent to a server that has left */
    }
    pipeline_publish(backend);
}
