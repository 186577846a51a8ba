#include "proxy/backend.h"

#include "base/log.h"
#include "base/socket.h"
#include "proxy/client.h"
#include "proxy/linger.h"
#include "proxy/server_counter.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    QUEUE_BYTES_MAX = 32 << 20, /* that wait to be written to one server on one connection */
    BACKOFF_FIRST_MS = 20,
    BACKOFF_MAX_MS = 1000,
    HUNG_TIMEOUTS = 3, /* request_timeouts of silence until the connection is given up */
};

static const char *const state_texts[] = {
    [BACKEND_IDLE] = "idle",
    [BACKEND_CONNECTING] = "connecting",
    [BACKEND_READY] = "ready",
    [BACKEND_WAITING] = "waiting",
};

const char *backend_state_text(enum backend_state state)
{
    return state_texts[state];
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
              backend->number, backend->worker->number, backend_state_text(backend->state),
              backend_state_text(next));
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

static void on_event(evutil_socket_t fd, short what, void *arg);
static void connect_next(struct backend *backend);

struct backend_set *backend_set_new(struct worker *worker, struct server *server, unsigned count)
{
    struct backend_set *set = calloc(1, sizeof(*set) + count * sizeof(set->backends[0]));

    if (set == NULL) {
        return NULL;
    }
    set->worker = worker;
    set->counters = server_counters_get(server, worker->number, worker->all->count);
    if (set->counters == NULL) {
        free(set);
        return NULL;
    }
    set->server = server_get(server);
    set->count = count;
    list_init(&set->retired_link);
    list_init(&set->lingering);
    for (unsigned i = 0; i < count; i++) {
        struct backend *backend = &set->backends[i];

        backend->worker = worker;
        backend->set = set;
        backend->number = i;
        backend->fd = -1;
        list_init(&backend->dirty_link);
    }
    return set;
}

/* Waits for these events, with as few system calls as it takes. */
static void listen_for(struct backend *backend, short events)
{
    if (backend->events_on == events) {
        return;
    }
    if (backend->events_on != 0) {
        event_del(&backend->event);
    }
    event_assign(&backend->event, backend->worker->base, backend->fd, events | EV_PERSIST,
                 on_event, backend);
    event_add(&backend->event, NULL);
    backend->events_on = events;
}

/* Drops what was read of an unfinished reply. */
static void forget_reply(struct backend *backend)
{
    chunk_unref(backend->partial);
    chunk_unref(backend->body);
    backend->partial = NULL;
    backend->body = NULL;
    backend->body_left = 0;
    backend->is_mid_reply = false;
}

/* Closes the socket. Where the server may still act on what was sent, waits for its close. */
static void drop_socket(struct backend *backend, bool lingers)
{
    if (backend->events_on != 0) {
        event_del(&backend->event);
        backend->events_on = 0;
    }
    if (backend->fd != -1) {
        if (lingers) {
            linger_start(backend->set, backend->fd);
        } else {
            close(backend->fd);
        }
        backend->fd = -1;
    }
    list_remove(&backend->dirty_link);
    forget_reply(backend);
    atomic_store_explicit(&backend->set->server->version, 0, memory_order_relaxed);
}

void backend_set_free(struct backend_set *set)
{
    for (unsigned i = 0; i < set->count; i++) {
        struct backend *backend = &set->backends[i];

        assert(backend->first == NULL);
        drop_socket(backend, false);
        if (backend->state != BACKEND_IDLE) {
            set_state(backend, BACKEND_IDLE);
        }
    }
    linger_stop_all(set);
    server_put(set->server);
    free(set);
}

bool backend_set_is_idle(const struct backend_set *set)
{
    for (unsigned i = 0; i < set->count; i++) {
        if (set->backends[i].first != NULL) {
            return false;
        }
    }
    return list_is_empty(&set->lingering);
}

static uint32_t leg_bytes(const struct leg *leg)
{
    return leg->line.len + leg->value.len;
}

/* Takes leg off its backend's count; the links are the caller's business. */
static void unpipe(struct backend *backend, struct leg *leg)
{
    leg->is_piped = false;
    leg->next = NULL;
    leg->exchange->legs_piped--;
    backend->piped--;
    count_server(backend->set->counters, SERVER_ENDED, 1);
}

/* Takes leg, which is not begun, out of the middle of the pipeline. */
static void unlink_unsent(struct backend *backend, struct leg *before, struct leg *leg)
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
    backend->unsent_bytes -= leg_bytes(leg);
    unpipe(backend, leg);
}

/* Brings the server's counter of waiting bytes up to date. */
static void count_unsent(struct backend *backend)
{
    count_server(backend->set->counters, SERVER_QUEUED_BYTES,
                 backend->unsent_bytes - backend->counted_unsent_bytes);
    backend->counted_unsent_bytes = backend->unsent_bytes;
}

static void mark_dirty(struct backend *backend)
{
    if (list_is_empty(&backend->dirty_link)) {
        list_add_tail(&backend->worker->dirty_backends, &backend->dirty_link);
    }
}

static void pipe_leg(struct backend *backend, struct leg *leg)
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
    backend->piped++;
    backend->unsent_bytes += leg_bytes(leg);
    leg->queued_us = backend->worker->now_us;
    count_server(backend->set->counters, SERVER_REQUESTS, 1);
}

void backend_submit(struct backend *backend, struct leg *leg)
{
    struct worker *worker = backend->worker;
    const struct topology_pool *pool = backend->set->pool;

    leg->backend = backend;
    if (pool == NULL) {
        exchange_leg_failed(leg, LEG_REMOVED);
        return;
    }
    if (backend->state == BACKEND_WAITING && worker->now_us < backend->retry_at_us) {
        exchange_leg_failed(leg, backend->last_cause);
        return;
    }
    if (backend->unsent_bytes > 0 &&
        backend->unsent_bytes + leg_bytes(leg) > QUEUE_BYTES_MAX) {
        exchange_leg_failed(leg, LEG_QUEUE_FULL);
        return;
    }
    leg->deadline_us = worker->now_us + pool->request_timeout_us;
    if (backend->first == NULL) {
        worker_want_deadline(worker, leg->deadline_us);
    }
    pipe_leg(backend, leg);
    if (backend->state == BACKEND_READY) {
        mark_dirty(backend);
    } else if (backend->state != BACKEND_CONNECTING) {
        backend->endpoints_tried = 0;
        connect_next(backend);
    }
}

static enum leg_cause cause_of_errno(int error)
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
    listen_for(backend, EV_READ);
    if (backend->unsent != NULL) {
        mark_dirty(backend);
    }
}

/* The address in use did not work: the next one, or failure. */
static void connect_failed(struct backend *backend, enum leg_cause cause)
{
    backend->endpoint++;
    if (backend->endpoints_tried < backend->set->entry->endpoint_count) {
        drop_socket(backend, false);
        connect_next(backend);
        return;
    }
    backend_fail(backend, cause);
}

static void connect_next(struct backend *backend)
{
    struct worker *worker = backend->worker;
    const struct topology_server *entry = backend->set->entry;
    bool done;

    if (entry->endpoint_count == 0) {
        backend_fail(backend, LEG_UNRESOLVED);
        return;
    }
    backend->endpoint %= entry->endpoint_count;
    backend->endpoints_tried++;
    backend->fd = socket_connect(&entry->endpoints[backend->endpoint], &done);
    if (backend->fd == -1) {
        connect_failed(backend, cause_of_errno(errno));
        return;
    }
    set_state(backend, BACKEND_CONNECTING);
    if (done) {
        on_connected(backend);
        return;
    }
    backend->connect_deadline_us = worker->now_us + backend->set->pool->connect_timeout_us;
    worker_want_deadline(worker, backend->connect_deadline_us);
    listen_for(backend, EV_WRITE);
}

/* Takes the whole pipeline away; returns its first leg. */
static struct leg *take_pipeline(struct backend *backend)
{
    struct leg *first = backend->first;

    backend->first = NULL;
    backend->last = NULL;
    backend->unsent = NULL;
    backend->unsent_done = 0;
    backend->unsent_bytes = 0;
    count_unsent(backend);
    return first;
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
    struct leg *leg = take_pipeline(backend);
    bool is_first_failure = backend->state == BACKEND_READY || backend->backoff_ms == 0;

    count(&backend->worker->counters, COUNTER_BACKEND_FAILURES);
    count_server(backend->set->counters, SERVER_CONNECTION_FAILURES, 1);
    if (is_first_failure) {
        log_warn("server %s: %s", backend->set->server->label, leg_cause_text(cause));
    }
    schedule_retry(backend, cause);
    drop_socket(backend, cause == LEG_TIMEOUT || cause == LEG_BROKEN);
    while (leg != NULL) {
        struct leg *next = leg->next;

        unpipe(backend, leg);
        exchange_leg_failed(leg, cause);
        leg = next;
    }
}

void backend_set_adopt(struct backend_set *set, const struct topology_pool *pool,
                       const struct topology_server *entry)
{
    set->pool = pool;
    set->entry = entry;
    set->entry_timeout_us = pool->request_timeout_us;
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

        unlink_unsent(backend, before, leg);
        exchange_leg_failed(leg, LEG_REMOVED);
        leg = next;
    }
    if (backend->state != BACKEND_IDLE) {
        drop_socket(backend, false);
        set_state(backend, BACKEND_IDLE);
    }
}

/* The server closed a connection on which nothing was under way: no failure. */
static void close_idle(struct backend *backend)
{
    log_debug("server %s closed an idle connection", backend->set->server->label);
    drop_socket(backend, false);
    set_state(backend, BACKEND_IDLE);
}

/* Finds the VALUE's key among those still to be answered. False: it was not asked. */
static bool take_key(struct leg *leg, struct slice key, uint32_t *ordinal)
{
    const char *end = leg->line.data + leg->line.len - 2;

    while (leg->next_key < end) {
        const char *at = leg->next_key;
        const char *blank = memchr(at, ' ', (size_t)(end - at));
        size_t len = (size_t)((blank != NULL ? blank : end) - at);

        *ordinal = leg->next_ordinal++;
        leg->next_key = at + len + 1;
        if (len == key.len && memcmp(at, key.data, len) == 0) {
            return true;
        }
    }
    return false;
}

/* The reply's first line announces a value. False: it cannot be a reply to this leg. */
static bool on_header(struct backend *backend, struct leg *leg, const struct reply *reply)
{
    struct exchange *exchange = leg->exchange;

    if (leg->kind == REPLY_VALUES) {
        if (!take_key(leg, reply->key, &leg->value_ordinal)) {
            return false;
        }
        if (exchange->leg_count == 1) {
            leg->value_ordinal = 0;
        }
        leg->hits++;
    } else if (reply->key.len > 0 && !reply->key_is_base64 &&
               !slice_equals(reply->key, exchange->wire_key) &&
               !slice_equals(reply->key, exchange->key)) {
        return false;
    }
    if (!leg->is_discarding && worker_is_full(backend->worker, reply->value_bytes)) {
        count(&backend->worker->counters, COUNTER_OUT_OF_MEMORY);
        exchange_leg_failed(leg, LEG_OUT_OF_MEMORY);
    }
    return true;
}

/* Keeps bytes of a reply for the answer. */
static void keep(struct leg *leg, const char *data, size_t len, struct chunk *chunk)
{
    uint32_t ordinal = leg->kind == REPLY_VALUES ? leg->value_ordinal : 0;

    if (!leg->is_discarding && !outq_append(&leg->replies, data, len, chunk, ordinal)) {
        exchange_leg_failed(leg, LEG_OUT_OF_MEMORY);
    }
}

/* The head of the pipeline has its whole reply. */
static void finish_reply(struct backend *backend, struct leg *leg, const struct reply *reply,
                         const char *data)
{
    backend->is_mid_reply = false;
    backend->has_replied = true;
    backend->backoff_ms = 0;
    if (reply->code == CODE_VERSION) {
        atomic_store_explicit(&backend->set->server->version,
                              server_version_parse(slice_make(data + 8, reply->bytes - 8)),
                              memory_order_relaxed);
    }
    if (leg == backend->unsent) {
        leg->is_answered = true; /* the rest of it is still to be written, then it goes */
        if (!leg->is_done) {
            exchange_leg_done(leg, reply->code);
        }
        return;
    }
    backend->first = leg->next;
    if (backend->first == NULL) {
        backend->last = NULL;
    }
    unpipe(backend, leg);
    exchange_leg_done(leg, reply->code);
}

/*
 * Parses replies from data, which lies in chunk. Returns how many bytes were taken, or
 * SIZE_MAX where the connection has failed.
 */
static size_t consume(struct backend *backend, const char *data, size_t len, struct chunk *chunk)
{
    uint64_t max_value_bytes = UINT32_MAX / 2;
    size_t taken = 0;

    while (taken < len) {
        struct leg *leg = backend->first;
        struct reply reply;
        enum reply_event event;

        if (leg == NULL || !leg->is_begun || leg->is_answered) {
            return SIZE_MAX; /* nothing was asked */
        }
        if (!backend->is_mid_reply) {
            reply_begin(&backend->parser, (enum reply_kind)leg->kind);
            backend->is_mid_reply = true;
        }
        event = reply_parse(&backend->parser, data + taken, len - taken, max_value_bytes, &reply);
        if (event == REPLY_NEED_MORE) {
            return taken;
        }
        if (event == REPLY_BROKEN ||
            (event == REPLY_HEADER && !on_header(backend, leg, &reply))) {
            return SIZE_MAX;
        }
        /* the END of one part of a merged answer is not the answer's */
        if (event != REPLY_FINAL || reply.code != CODE_END || leg->exchange->leg_count == 1) {
            keep(leg, data + taken, reply.bytes, chunk);
        }
        if (reply.is_final) {
            finish_reply(backend, leg, &reply, data + taken);
        }
        taken += reply.bytes;
    }
    return taken;
}

/* Bytes that arrived are handed to the parser; an incomplete line is kept for the next read. */
static bool take_input(struct backend *backend, struct chunk *chunk, size_t start, size_t len)
{
    size_t taken = consume(backend, chunk->data + start, len, chunk);
    size_t rest;

    if (taken == SIZE_MAX) {
        backend_fail(backend, LEG_BROKEN);
        return false;
    }
    rest = len - taken;
    if (chunk == backend->partial) {
        backend->partial = NULL; /* this function's reference now */
    } else {
        chunk_ref(chunk);
    }
    if (rest > 0) {
        struct chunk *partial =
            chunk_new(&backend->worker->pool, rest + REPLY_LINE_BYTES_MAX + WORKER_READ_MIN);

        if (partial == NULL) {
            chunk_unref(chunk);
            backend_fail(backend, LEG_OUT_OF_MEMORY);
            return false;
        }
        memcpy(partial->data, chunk->data + start + taken, rest);
        partial->filled = (uint32_t)rest;
        partial->is_shared = true;
        backend->partial = partial;
    }
    chunk_unref(chunk);
    return true;
}

/* Where much of a body is still to come, it is read into a chunk of its own. */
static void prepare_body(struct backend *backend)
{
    struct leg *leg = backend->first;

    if (!backend->is_mid_reply || !backend->parser.in_body ||
        backend->parser.body_left < WORKER_READ_MIN || leg == NULL || leg->is_discarding) {
        return;
    }
    backend->body = chunk_new(&backend->worker->pool, backend->parser.body_left);
    backend->body_left = backend->body != NULL ? backend->parser.body_left : 0;
}

/* Takes the n bytes just read, which went to the body chunk first, then to tail. */
static void on_read(struct backend *backend, size_t n, struct chunk *tail)
{
    backend->last_read_us = backend->worker->now_us;
    count_add(&backend->worker->counters, COUNTER_BACKEND_BYTES_READ, n);
    count_server(backend->set->counters, SERVER_BYTES_READ, n);
    if (backend->body != NULL) {
        struct chunk *body = backend->body;
        size_t part = n < backend->body_left ? n : backend->body_left;
        size_t start = body->filled;

        body->filled += (uint32_t)part;
        backend->body_left -= part;
        n -= part;
        if (backend->body_left == 0) {
            backend->body = NULL;
        }
        chunk_ref(body);
        if (consume(backend, body->data + start, part, body) == SIZE_MAX) {
            chunk_unref(body);
            if (backend->body == NULL) {
                chunk_unref(body);
            }
            backend_fail(backend, LEG_BROKEN);
            return;
        }
        chunk_unref(body);
        if (backend->body == NULL) {
            chunk_unref(body);
        }
    }
    if (n > 0) {
        size_t start = tail->filled;

        if (tail == backend->partial) {
            start = 0;
            n += tail->filled;
            tail->filled = (uint32_t)n;
        } else {
            tail->filled += (uint32_t)n;
        }
        if (!take_input(backend, tail, start, n)) {
            return;
        }
    }
    if (backend->body == NULL) {
        prepare_body(backend);
    }
    if (backend->is_mid_reply && backend->first != NULL &&
        !backend->first->exchange->is_released &&
        list_is_empty(&backend->first->exchange->waiting_link)) {
        list_add_tail(&backend->worker->waiting, &backend->first->exchange->waiting_link);
    }
}

static void on_readable(struct backend *backend)
{
    struct chunk *tail = backend->partial != NULL ? backend->partial
                                                  : worker_scratch(backend->worker);
    struct iovec iov[2];
    int parts = 0;
    ssize_t n;

    if (tail == NULL) {
        backend_fail(backend, LEG_OUT_OF_MEMORY);
        return;
    }
    if (backend->body != NULL) {
        iov[parts++] = (struct iovec){backend->body->data + backend->body->filled,
                                      backend->body_left};
    }
    iov[parts++] = (struct iovec){tail->data + tail->filled, chunk_room(tail)};
    n = parts == 1 ? read(backend->fd, iov[0].iov_base, iov[0].iov_len)
                   : readv(backend->fd, iov, parts);
    if (n > 0) {
        on_read(backend, (size_t)n, tail);
    } else if (n == 0) {
        if (backend->first == NULL) {
            close_idle(backend);
        } else {
            backend_fail(backend, LEG_CLOSED);
        }
    } else if (errno != EAGAIN && errno != EINTR) {
        if (backend->first == NULL) {
            close_idle(backend);
        } else {
            backend_fail(backend, cause_of_errno(errno));
        }
    }
}

static void on_event(evutil_socket_t fd, short what, void *arg)
{
    struct backend *backend = arg;
    int error;

    (void)fd;
    worker_see_time(backend->worker);
    if (backend->state == BACKEND_CONNECTING) {
        error = socket_error(backend->fd);
        if (error != 0) {
            connect_failed(backend, cause_of_errno(error));
        } else {
            on_connected(backend);
        }
        return;
    }
    if (what & EV_WRITE) {
        mark_dirty(backend);
    }
    if (what & EV_READ) {
        on_readable(backend);
    }
}

/* Drops the legs that n written bytes complete; returns how many. */
static unsigned advance(struct backend *backend, size_t n)
{
    unsigned completed = 0;

    backend->unsent_bytes -= n;
    while (n > 0) {
        struct leg *leg = backend->unsent;
        size_t left = leg_bytes(leg) - backend->unsent_done;

        leg->is_begun = true;
        if (n < left) {
            backend->unsent_done += (uint32_t)n;
            break;
        }
        n -= left;
        completed++;
        leg->is_sent = true;
        backend->unsent = leg->next;
        backend->unsent_done = 0;
        chunk_unref(leg->value.chunk);
        leg->value = (struct piece){0};
        if (leg->is_answered) {
            assert(leg == backend->first);
            backend->first = leg->next;
            if (backend->first == NULL) {
                backend->last = NULL;
            }
            unpipe(backend, leg);
            exchange_free_if_over(leg->exchange);
        } else if (leg->kind != REPLY_VALUES && !leg->exchange->is_safe_to_repeat) {
            chunk_unref(leg->line.chunk);
            leg->line = (struct piece){0};
        }
    }
    return completed;
}

static void count_write(struct backend *backend, size_t n, unsigned legs)
{
    struct worker *worker = backend->worker;

    count(&worker->counters, COUNTER_BACKEND_WRITES);
    count_add(&worker->counters, COUNTER_BACKEND_BYTES_WRITTEN, n);
    count_add(&worker->counters, COUNTER_BACKEND_REQUESTS, legs);
    count_server(backend->set->counters, SERVER_WRITES, 1);
    count_server(backend->set->counters, SERVER_BYTES_WRITTEN, n);
    count_unsent(backend);
    if (legs > 0) {
        count_latency(&worker->counters.batch, legs);
    }
}

/* What one write takes: small pieces copied together, large ones in place. */
struct gathering {
    struct iovec iov[64];
    int count;
    char *buffer;
    size_t used;  /* of buffer */
    size_t total;
};

static bool gather(struct gathering *g, const char *data, size_t len)
{
    struct iovec *last = g->count > 0 ? &g->iov[g->count - 1] : NULL;
    bool is_small = len <= 1024;

    if (len == 0) {
        return true;
    }
    if (is_small && g->used + len > WORKER_WRITE_BYTES) {
        return false;
    }
    if (is_small) {
        char *to = g->buffer + g->used;

        memcpy(to, data, len);
        g->used += len;
        g->total += len;
        if (last != NULL && (char *)last->iov_base + last->iov_len == to) {
            last->iov_len += len;
            return true;
        }
        data = to;
    } else {
        g->total += len;
    }
    g->iov[g->count++] = (struct iovec){(void *)(uintptr_t)data, len};
    return g->count < (int)ARRAY_LEN(g->iov) - 1;
}

/* Gathers from the first unsent byte on. */
static void gather_legs(struct backend *backend, struct gathering *g)
{
    uint32_t skip = backend->unsent_done;

    for (struct leg *leg = backend->unsent; leg != NULL; leg = leg->next) {
        uint32_t line_skip = skip < leg->line.len ? skip : leg->line.len;
        uint32_t value_skip = skip - line_skip;

        if (!gather(g, leg->line.data + line_skip, leg->line.len - line_skip) ||
            !gather(g, leg->value.data + value_skip, leg->value.len - value_skip)) {
            return;
        }
        skip = 0;
    }
}

void backend_flush(struct backend *backend)
{
    struct worker *worker = backend->worker;

    list_remove(&backend->dirty_link);
    while (backend->state == BACKEND_READY && backend->unsent != NULL) {
        struct gathering g = {.buffer = worker->write_buffer};
        ssize_t n;

        gather_legs(backend, &g);
        n = g.count == 1 ? write(backend->fd, g.iov[0].iov_base, g.iov[0].iov_len)
                         : writev(backend->fd, g.iov, g.count);
        if (n == -1 && errno == EINTR) {
            continue;
        }
        if (n == -1 && errno == EAGAIN) {
            n = 0;
        }
        if (n == -1) {
            backend_fail(backend, cause_of_errno(errno));
            return;
        }
        count_write(backend, (size_t)n, advance(backend, (size_t)n));
        if ((size_t)n < g.total) {
            listen_for(backend, EV_READ | EV_WRITE);
            return;
        }
    }
    if (backend->state == BACKEND_READY) {
        listen_for(backend, EV_READ);
    }
}

/* Makes piece own its bytes. */
static void settle_piece(struct backend *backend, struct piece *piece)
{
    struct chunk *own;

    if (piece->chunk == NULL || !piece->chunk->is_shared || piece->len > WORKER_READ_MIN) {
        return;
    }
    own = chunk_new(&backend->worker->pool, piece->len);
    if (own == NULL) {
        return; /* the shared chunk stays pinned instead */
    }
    memcpy(own->data, piece->data, piece->len);
    chunk_unref(piece->chunk);
    piece->chunk = own;
    piece->data = own->data;
}

void backend_settle(struct backend *backend)
{
    for (struct leg *leg = backend->unsent; leg != NULL; leg = leg->next) {
        if (leg->is_settled) {
            continue;
        }
        settle_piece(backend, &leg->line);
        settle_piece(backend, &leg->value);
        leg->is_settled = true;
    }
}

/* Fails legs past their deadline; returns the first deadline that is not due. */
static uint64_t expire_legs(struct backend *backend, uint64_t now_us)
{
    struct leg *before = NULL;
    struct leg *leg = backend->first;

    while (leg != NULL) {
        struct leg *next = leg->next;

        if (!leg->is_done && leg->deadline_us > now_us) {
            return leg->deadline_us;
        }
        if (leg->is_done) {
            before = leg;
        } else {
            count(&backend->worker->counters, COUNTER_TIMEOUTS);
            if (leg->is_begun) {
                before = leg;
            } else {
                unlink_unsent(backend, before, leg);
            }
            exchange_leg_failed(leg, LEG_TIMEOUT);
        }
        leg = next;
    }
    return UINT64_MAX;
}

/* How long the server may be silent with a request overdue before the connection is given up. */
static uint64_t hung_at_us(const struct backend *backend)
{
    const struct leg *leg = backend->first;
    uint64_t patience_us = HUNG_TIMEOUTS * backend->set->entry_timeout_us;
    uint64_t since_us;

    if (leg == NULL || !leg->is_done || !leg->is_begun || backend->state != BACKEND_READY) {
        return UINT64_MAX;
    }
    since_us = leg->deadline_us > backend->last_read_us ? leg->deadline_us : backend->last_read_us;
    return since_us + patience_us;
}

uint64_t backend_expire(struct backend *backend, uint64_t now_us)
{
    uint64_t next_us = UINT64_MAX;
    uint64_t hung_us;

    if (backend->state == BACKEND_CONNECTING && now_us >= backend->connect_deadline_us) {
        connect_failed(backend, LEG_CONNECT_TIMEOUT);
    }
    if (backend->first != NULL) {
        next_us = expire_legs(backend, now_us);
    }
    hung_us = hung_at_us(backend);
    if (now_us >= hung_us) {
        backend_fail(backend, LEG_TIMEOUT);
    } else if (hung_us < next_us) {
        next_us = hung_us;
    }
    if (backend->state == BACKEND_CONNECTING && backend->connect_deadline_us < next_us) {
        next_us = backend->connect_deadline_us;
    }
    return next_us;
}
