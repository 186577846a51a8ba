/* See proxy/backend_in.h. */
#include "proxy/backend_in.h"

#include "base/blank.h"
#include "base/io.h"
#include "base/prefetch.h"
#include "proxy/backend_set.h"
#include "proxy/pipeline.h"
#include "proxy/server_counter.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    ALIVE_GAP_US = 50000,
    VALUE_BYTES_MAX = INT32_MAX, /* a server that announces more is broken */
    LINE_END_BYTES = 2,
    LITTLE_BYTES = 2048, /* read where a large body may follow: what is read is copied */
};

/* The leg's key that is next in turn to be answered; empty where all were. */
static struct slice key_in_turn(const struct leg *leg)
{
    const char *at = leg->next_key;
    const char *end = leg->line.data + leg->line.len - 2;

    if (at >= end) {
        return slice_make(end, 0);
    }
    return slice_make(at, (size_t)((leg->key_count > 1 ? blank_find(at, end) : end) - at));
}

/* Finds the VALUE's key among those still to be answered. False: it was not asked. */
static bool take_key(struct leg *leg, struct slice key, uint32_t *ordinal)
{
    struct slice next;

    while ((next = key_in_turn(leg)).len > 0) {
        *ordinal = leg->next_ordinal++;
        leg->next_key = next.data + next.len + 1;
        if (slice_equals(next, key)) {
            return true;
        }
    }
    return false;
}

/* So many bytes of the leg's reply are to be kept: it fails where there is no room for them. */
static void want_room(struct backend *backend, struct leg *leg, uint64_t bytes)
{
    if (!leg->is_discarding && worker_is_full(backend->worker, bytes)) {
        worker_refuse_room(backend->worker);
        exchange_leg_failed(leg, LEG_OUT_OF_MEMORY);
    }
}

/* A value of so many bytes came: would its like be moved through a tube? */
static inline void note_size(struct backend *backend, uint64_t bytes)
{
    backend->is_large |=
        bytes >= backend->worker->large_bytes && !backend->worker->pool.tubes.is_off;
}

/* The reply's first line announces a value. False: it cannot be a reply to this leg. */
static bool on_header(struct backend *backend, struct leg *leg, const struct reply *reply)
{
    struct exchange *exchange = leg->exchange;

    if (leg->skips_keys) {
        leg->hits++;
    } else if (leg->kind == REPLY_VALUES) {
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
    want_room(backend, leg, reply->value_bytes);
    note_size(backend, reply->value_bytes);
    return true;
}

/* Keeps bytes of a reply for the answer. */
static inline void keep(struct leg *leg, const char *data, size_t len, struct chunk *chunk)
{
    uint32_t ordinal = leg->kind == REPLY_VALUES ? leg->value_ordinal : 0;

    if (!leg->is_discarding && !outq_append(&leg->replies, data, len, chunk, ordinal)) {
        exchange_leg_failed(leg, LEG_OUT_OF_MEMORY);
    }
}

/* The head of the pipeline has its whole reply. */
static void finish_reply(struct backend *backend, struct leg *leg, enum reply_code code)
{
    backend->is_mid_reply = false;
    backend->has_replied = true;
    backend->reads_little = backend->is_large;
    backend->is_large = false;
    backend->last_reply_us = backend->worker->now_us;
    backend->backoff_ms = 0;
    if (backend->last_reply_us - backend->set->last_alive_us > ALIVE_GAP_US) {
        backend->set->last_alive_us = backend->last_reply_us;
        atomic_store_explicit(&backend->set->server->last_reply_us, backend->last_reply_us,
                              memory_order_relaxed);
    }
    if (leg == backend->unsent) {
        leg->is_answered = true; /* the rest of it is still to be written, then it goes */
        if (!leg->is_done) {
            exchange_leg_done(leg, code);
        }
        return;
    }
    prefetch(leg->next, sizeof(*leg) + CACHE_LINE_BYTES); /* and where its text begins */
    pipeline_remove_first(backend, leg);
    exchange_leg_done(leg, code);
}

/* memcached says this, unasked, to a connection beyond its limit, and closes. */
static bool is_crowded(const char *data, size_t len)
{
    static const char text[] = "ERROR Too many open connections";

    return len >= sizeof(text) - 1 && memcmp(data, text, sizeof(text) - 1) == 0;
}

/* A final line of our own asking, or the END of one part of a merged answer, is not the answer's.
 */
static bool is_passed_on(const struct leg *leg, enum reply_code code)
{
    return leg->kind != REPLY_META_MN && (code != CODE_END || leg->exchange->leg_count == 1);
}

/* The server says what it is: "VERSION 1.6.18\r\n". */
static void note_version(struct backend *backend, const char *data, size_t len)
{
    const size_t word = sizeof("VERSION ") - 1;

    atomic_store_explicit(&backend->set->server->version,
                          server_version_parse(slice_make(data + word, len - word)),
                          memory_order_relaxed);
}

/*
 * The common case: whole values of the keys in turn, and the END behind them, kept in one piece.
 * Returns how many bytes these were; what is not as plain is for the parser.
 */
static size_t take_plain_values(struct backend *backend, struct leg *leg, const char *data,
                                size_t len, struct chunk *chunk)
{
    const bool is_alone = leg->exchange->leg_count == 1;
    size_t taken = 0;
    bool is_over;

    while (!leg->is_discarding) {
        struct slice key = key_in_turn(leg);
        uint64_t value_bytes;
        size_t bytes =
            reply_whole_value(data + taken, len - taken, key, VALUE_BYTES_MAX, &value_bytes);

        if (bytes == 0 || worker_is_full(backend->worker, value_bytes)) {
            break;
        }
        note_size(backend, value_bytes);
        leg->hits++;
        leg->next_key = key.data + key.len + 1;
        leg->value_ordinal = is_alone ? 0 : leg->next_ordinal;
        leg->next_ordinal++;
        if (!is_alone) {
            keep(leg, data + taken, bytes, chunk);
        }
        taken += bytes;
    }
    is_over = reply_begins_with_end(data + taken, len - taken);
    if (is_alone) { /* the END of one part of a merged answer is not the answer's */
        keep(leg, data, taken + (is_over ? REPLY_END_BYTES : 0), chunk);
    }
    if (is_over) {
        finish_reply(backend, leg, CODE_END);
        return taken + REPLY_END_BYTES;
    }
    if (taken > 0 && !backend->is_mid_reply) {
        reply_begin(&backend->parser, REPLY_VALUES);
        backend->is_mid_reply = true;
    }
    return taken;
}

/*
 * Parses replies from data, which lies in chunk. Returns how many bytes were taken, or
 * SIZE_MAX where the connection has failed.
 */
static size_t consume(struct backend *backend, const char *data, size_t len, struct chunk *chunk)
{
    size_t taken = 0;

    backend->broken_cause = LEG_BROKEN;

    while (taken < len) {
        struct leg *leg = backend->first;
        struct reply reply;
        enum reply_event event;

        if (!backend->has_replied && is_crowded(data + taken, len - taken)) {
            backend->broken_cause = LEG_CROWDED;
            return SIZE_MAX;
        }
        if (leg == NULL || !leg->is_begun || leg->is_answered) {
            return SIZE_MAX; /* nothing was asked */
        }
        if (leg->kind == REPLY_VALUES && !(backend->is_mid_reply && backend->parser.in_body)) {
            size_t plain = take_plain_values(backend, leg, data + taken, len - taken, chunk);

            taken += plain;
            if (plain > 0) {
                continue;
            }
        }
        if (!backend->is_mid_reply) {
            reply_begin(&backend->parser, (enum reply_kind)leg->kind);
            backend->is_mid_reply = true;
        }
        if (leg->kind == REPLY_META || leg->kind == REPLY_META_MN) {
            backend->parser.raw_key = exchange_raw_key(leg->exchange);
        }
        event = reply_parse(&backend->parser, data + taken, len - taken, VALUE_BYTES_MAX, &reply);
        if (event == REPLY_NEED_MORE) {
            return taken;
        }
        if (event == REPLY_BROKEN || (event == REPLY_HEADER && !on_header(backend, leg, &reply))) {
            return SIZE_MAX;
        }
        if (event == REPLY_STAT) { /* any number of them may come */
            want_room(backend, leg, reply.bytes);
        }
        if (event != REPLY_FINAL || is_passed_on(leg, reply.code)) {
            keep(leg, data + taken, reply.bytes, chunk);
        }
        if (reply.code == CODE_VERSION && reply.is_final) {
            note_version(backend, data + taken, reply.bytes);
        }
        if (reply.is_final) {
            finish_reply(backend, leg, reply.code);
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
        backend_fail(backend, backend->broken_cause);
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

/*
 * Where much of a body is still to come, it is moved into a tube, or else read into a chunk of its
 * own.
 */
static void prepare_body(struct backend *backend, bool may_tube)
{
    struct worker *worker = backend->worker;
    uint64_t left = backend->parser.body_left;
    struct leg *leg = backend->first;

    if (!backend->is_mid_reply || !backend->parser.in_body || leg == NULL || leg->is_discarding) {
        return;
    }
    if (may_tube && left > LINE_END_BYTES && left >= worker->large_bytes / 4 * 3) {
        backend->tube = chunk_new_tube(&worker->pool);
        if (backend->tube != NULL) { /* all of it is counted before it comes, as a body's is */
            backend->tube_left = left - LINE_END_BYTES;
            worker->pool.used_bytes += backend->tube_left;
        }
    }
    if (backend->tube == NULL && left >= WORKER_READ_MIN) {
        backend->body = chunk_new(&worker->pool, left);
        backend->body_left = backend->body != NULL ? left : 0;
    }
}

void backend_in_drop_tube(struct backend *backend)
{
    chunk_unref(backend->tube);
    backend->tube = NULL;
    backend->worker->pool.used_bytes -= backend->tube_left;
    backend->tube_left = 0;
}

static void note_read(struct backend *backend, size_t n)
{
    backend->last_read_us = backend->worker->now_us;
    count_add(&backend->worker->counters, COUNTER_BACKEND_BYTES_READ, n);
    count_server(backend->set->counters, SERVER_BYTES_READ, n);
}

/* Takes the n bytes of a body just moved to the tube. */
static void on_moved(struct backend *backend, size_t n)
{
    struct leg *leg = backend->first;
    uint32_t ordinal = leg->kind == REPLY_VALUES ? leg->value_ordinal : 0;

    note_read(backend, n);
    count_add(&backend->worker->counters, COUNTER_BACKEND_BYTES_MOVED, n);
    reply_skip_body(&backend->parser, n);
    backend->tube_left -= n; /* the chunk counts them now */
    backend->worker->pool.used_bytes -= n;
    if (!outq_append(&leg->replies, NULL, n, backend->tube, ordinal)) {
        exchange_leg_failed(leg, LEG_OUT_OF_MEMORY);
    }
    if (backend->parser.body_left == LINE_END_BYTES) {
        backend_in_drop_tube(backend);
        backend->reads_little = true; /* the next may be like it */
    }
}

/*
 * Moves what has come of a body to the tube. is_ready: something has come for sure. False: it is to
 * be read, the tube having no room, or being of no use here.
 */
static bool fill_tube(struct backend *backend, bool is_ready)
{
    const struct leg *leg = backend->first;
    ssize_t n;

    if (leg == NULL || leg->is_discarding) {
        backend_in_drop_tube(backend);
        return false;
    }
    n = chunk_fill_tube(backend->tube, backend->watch.fd,
                        backend->parser.body_left - LINE_END_BYTES);
    if (n > 0) {
        on_moved(backend, (size_t)n);
        return true;
    }
    if (n == 0) {
        backend_ended(backend, LEG_CLOSED);
        return true;
    }
    if (errno == EINTR || (errno == EAGAIN && !is_ready)) {
        return true;
    }
    if (errno != EAGAIN && !tube_is_refused(errno)) {
        backend_ended(backend, backend_cause_of_errno(errno));
        return true;
    }
    backend->worker->pool.tubes.is_off |= errno != EAGAIN;
    backend_in_drop_tube(backend);
    prepare_body(backend, false);
    return false;
}

/* Takes the n bytes just read, which went to the body chunk first, then to tail. */
static void on_read(struct backend *backend, size_t n, struct chunk *tail)
{
    note_read(backend, n);
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
            backend_fail(backend, backend->broken_cause);
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
        prepare_body(backend, true);
    }
    if (backend->is_mid_reply && backend->first != NULL && !backend->first->exchange->is_released &&
        list_is_empty(&backend->first->exchange->waiting_link)) {
        list_add_tail(&backend->worker->waiting, &backend->first->exchange->waiting_link);
    }
}

void backend_in_read(struct backend *backend)
{
    struct chunk *tail;
    struct iovec iov[2];
    int parts = 0;
    size_t room;
    ssize_t n;

    if (backend->tube != NULL && fill_tube(backend, true)) {
        return;
    }
    tail = backend->partial != NULL ? backend->partial : worker_scratch(backend->worker);
    if (tail == NULL) {
        backend_fail(backend, LEG_OUT_OF_MEMORY);
        return;
    }
    if (backend->body != NULL) {
        iov[parts++] =
            (struct iovec){backend->body->data + backend->body->filled, backend->body_left};
    }
    room = chunk_room(tail);
    if ((backend->reads_little || (backend->body != NULL && backend->is_large)) &&
        room > LITTLE_BYTES) {
        room = LITTLE_BYTES;
    }
    backend->reads_little = false; /* once: what follows the header need not be a large body */
    iov[parts++] = (struct iovec){tail->data + tail->filled, room};
    n = io_readv(backend->watch.fd, iov, parts);
    if (n > 0) {
        on_read(backend, (size_t)n, tail);
        if (backend->tube != NULL) {
            (void)!fill_tube(backend, false);
        }
    } else if (n == 0) {
        backend_ended(backend, LEG_CLOSED);
    } else if (errno != EAGAIN && errno != EINTR) {
        backend_ended(backend, backend_cause_of_errno(errno));
    }
}
