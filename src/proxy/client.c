/* See proxy/client.h. */
#include "proxy/client.h"

#include "base/io.h"
#include "base/log.h"
#include "base/prefetch.h"
#include "base/socket.h"
#include "proxy/listener.h"
#include "proxy/merge.h"
#include "proxy/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    HELD_FIRST_BYTES = 2 * 1024,
    DRAIN_READS = 64,  /* of what a client has sent before it is closed */
    AVERAGE_SHIFT = 3, /* a new reply counts an eighth in the average */
};

static void on_ready(struct watch *watch, uint32_t events);
static bool on_readable(struct client *client);

static void mark_dirty(struct client *client)
{
    if (list_is_empty(&client->dirty_link)) {
        list_add_tail(&client->worker->dirty_clients, &client->dirty_link);
    }
}

static void listen_for(struct client *client, uint32_t events)
{
    if (!poller_set(&client->worker->poller, &client->watch, events)) {
        client->is_broken = true;
        mark_dirty(client);
    }
}

/* What the client's state calls for. */
static void update_events(struct client *client)
{
    uint32_t events = 0;

    if (client->state == CLIENT_GONE) {
        return;
    }
    if (client->state == CLIENT_LINGERING || (client->state == CLIENT_OPEN && !client->is_paused)) {
        events |= EPOLLIN;
    }
    if (!outq_is_empty(&client->out)) {
        events |= EPOLLOUT;
    }
    listen_for(client, events);
}

struct client *client_new(struct worker *worker, struct listener *listener, int fd)
{
    struct client *client = malloc(sizeof(*client)); /* calloc knows no short way to a small one */

    if (client == NULL) {
        close(fd);
        return NULL;
    }
    memset(client, 0, sizeof(*client));
    client->worker = worker;
    client->listener = listener;
    client->watch = (struct watch){.on_ready = on_ready, .fd = fd};
    client->state = CLIENT_OPEN;
    client->is_first = true;
    client->exchange_limit = CLIENT_EXCHANGES_FIRST;
    client->number = (uint32_t)worker->client_serial++;
    client->active_us = worker->now_us;
    client->since_us = worker->now_us;
    outq_init(&client->out, &worker->pool);
    list_init(&client->dirty_link);
    list_init(&client->resumed_link);
    list_add_tail(&worker->clients, &client->link);
    worker->client_count++;
    listener->clients++;
    count(&worker->counters, COUNTER_CLIENTS);
    count(&worker->counters, COUNTER_CLIENTS_TOTAL);
    update_events(client);
    on_readable(client); /* its first request is there more often than not */
    return client;
}

static void drop_held(struct client *client)
{
    chunk_unref(client->held);
    client->held = NULL;
    client->held_start = 0;
    client->scanned = 0;
    client->need_bytes = 0;
}

void client_retire(struct client *client)
{
    struct worker *worker = client->worker;
    struct exchange *exchange = client->first;

    if (client->state == CLIENT_GONE) {
        return;
    }
    watch_close(&client->watch);
    client->state = CLIENT_GONE;
    list_remove(&client->dirty_link);
    list_remove(&client->resumed_link);
    list_remove(&client->link);
    list_add_tail(&worker->retired_clients, &client->link);
    client->first = NULL;
    client->last = NULL;
    while (exchange != NULL) {
        struct exchange *next = exchange->next;

        if (exchange == client->swallowing) {
            exchange->legs_open--;
        }
        exchange_release(exchange);
        exchange = next;
    }
    client->swallowing = NULL;
    drop_held(client);
    outq_fini(&client->out);
    worker->client_count--;
    client->listener->clients--;
    count_drop(&worker->counters, COUNTER_CLIENTS);
    atomic_fetch_sub_explicit(&worker->all->clients, 1, memory_order_relaxed);
}

void client_free(struct client *client)
{
    list_remove(&client->link);
    free(client);
}

/* The rest of a refused data block will not be read: its request, never whole, gets no answer. */
static void stop_swallowing(struct client *client)
{
    struct exchange *exchange = client->swallowing;

    if (exchange != NULL) {
        client->swallow_bytes = 0;
        client->swallowing = NULL;
        exchange->noreply = true;
        exchange_unhold(exchange);
    }
}

void client_peer(const struct client *client, char *out, size_t size)
{
    struct endpoint peer;

    if (socket_peer(client->watch.fd, &peer)) {
        endpoint_format(&peer, out, size);
    }
}

/* Reads no more; closes once everything under way is answered. */
static void finish(struct client *client, bool lingers)
{
    if (client->state != CLIENT_OPEN) {
        return;
    }
    client->state = CLIENT_FINISHING;
    client->lingers = lingers;
    drop_held(client);
    stop_swallowing(client);
    if (client->first != NULL || !outq_is_empty(&client->out)) {
        update_events(client);
    } /* else it ends with this turn */
    mark_dirty(client);
}

/* True while the client has as much under way as it may have. */
static bool is_full(const struct client *client)
{
    return client->exchange_count >= client->exchange_limit ||
           client->out.bytes >= CLIENT_OUTPUT_MAX ||
           (uint64_t)client->exchange_count * client->reply_average >= CLIENT_IN_FLIGHT_BYTES;
}

static void mark_resumed(struct client *client)
{
    if (list_is_empty(&client->resumed_link)) {
        list_add_tail(&client->worker->resumed_clients, &client->resumed_link);
    }
}

/* Has room again: goes on where it was paused. */
static void wake_if_room(struct client *client)
{
    if (client->is_paused && client->state == CLIENT_OPEN && !is_full(client)) {
        mark_resumed(client);
    }
}

void client_release(struct client *client)
{
    if (client->is_releasing) {
        return;
    }
    client->is_releasing = true;
    while (client->first != NULL && exchange_is_done(client->first)) {
        struct exchange *exchange = client->first;
        uint64_t before = client->out.bytes;
        prefetch(exchange->next, offsetof(struct exchange, answer));
        bool answered = merge_answer(exchange, &client->out);

        tally_answer(client->worker, exchange, client->out.bytes - before);
        client->reply_average += (uint32_t)((client->out.bytes - before) >> AVERAGE_SHIFT) -
                                 (client->reply_average >> AVERAGE_SHIFT);
        client->first = exchange->next;
        if (client->first == NULL) {
            client->last = NULL;
        }
        client->exchange_count--;
        if (client->exchange_limit < CLIENT_EXCHANGES_MAX) {
            client->exchange_limit++; /* its replies have a known size by now */
        }
        exchange_release(exchange);
        if (!answered) {
            client->is_broken = true; /* out of memory in the middle of an answer: cut off */
            break;
        }
    }
    client->is_releasing = false;
    mark_dirty(client);
    wake_if_room(client);
}

/* Drops bytes of a refused data block; its answer is due behind the last. */
static size_t swallow(struct client *client, size_t len)
{
    size_t part = len < client->swallow_bytes ? len : client->swallow_bytes;

    client->swallow_bytes -= part;
    if (client->swallow_bytes == 0) {
        struct exchange *exchange = client->swallowing;

        client->swallowing = NULL;
        exchange_unhold(exchange);
    }
    return part;
}

/*
 * Parses requests from data, which lies in chunk; returns how many bytes were taken. Stops where
 * more bytes are needed or the client has enough under way.
 */
static size_t parse(struct client *client, const char *data, size_t len, struct chunk *chunk)
{
    struct worker *worker = client->worker;
    struct request request;
    struct request_limits limits = {
        .max_value_bytes = worker->topology->max_value_bytes,
        .allow_flush = client->listener->allow_flush,
    };
    size_t taken = 0;

    while (taken < len && client->state == CLIENT_OPEN) {
        size_t consumed = 0;

        if (client->swallow_bytes > 0) {
            taken += swallow(client, len - taken);
            continue;
        }
        if (is_full(client)) {
            client->is_paused = true;
            return taken;
        }
        if (request_parse(&request, data + taken, len - taken, client->scanned, client->is_first,
                          &limits, &consumed) == PARSE_MORE) {
            client->scanned = request.scanned;
            client->need_bytes = request.need_bytes;
            return taken;
        }
        client->is_first = false;
        client->scanned = 0;
        client->need_bytes = 0;
        taken += consumed;
        if (!exchange_start(client, &request, chunk, consumed)) {
            client->is_broken = true;
            return taken;
        }
        if (request.close) {
            finish(client, request.command->id != COMMAND_QUIT);
        }
    }
    return taken;
}

/* Keeps the bytes not parsed, with room for what they are known to need. */
static bool hold(struct client *client, const char *data, size_t len)
{
    size_t want = len * 2 > HELD_FIRST_BYTES ? len * 2 : HELD_FIRST_BYTES;
    struct chunk *held;

    if (client->need_bytes > len) {
        want = client->need_bytes;
    }
    if (worker_is_full(client->worker, want)) {
        worker_refuse_room(client->worker);
        return false;
    }
    held = chunk_new(&client->worker->pool, want);
    if (held == NULL) {
        return false;
    }
    memcpy(held->data, data, len);
    held->filled = (uint32_t)len;
    client->held = held;
    client->held_start = 0;
    return true;
}

/* There is no room for this client's unfinished request. */
static void refuse_out_of_memory(struct client *client)
{
    if (client->state != CLIENT_OPEN) {
        return;
    }
    if (!exchange_refuse(client, LEG_OUT_OF_MEMORY)) {
        client->is_broken = true;
    }
    finish(client, true);
}

/* Parses what was just read into chunk, from start on, and holds what is not a whole request. */
static void take_input(struct client *client, struct chunk *chunk, size_t start, size_t len)
{
    size_t taken = parse(client, chunk->data + start, len, chunk);
    size_t rest = len - taken;

    if (client->state != CLIENT_OPEN) {
        return;
    }
    if (rest > 0 && !hold(client, chunk->data + start + taken, rest)) {
        refuse_out_of_memory(client);
    }
}

/* The held request is larger than its chunk: a larger one. */
static bool make_room(struct client *client)
{
    struct chunk *old = client->held;
    size_t len = old->filled - client->held_start;
    size_t want = client->need_bytes > len ? client->need_bytes - len : HELD_FIRST_BYTES / 2;
    bool done;

    if (chunk_room(old) >= want) {
        return true;
    }
    done = hold(client, old->data + client->held_start, len);
    if (done) {
        chunk_unref(old);
    }
    return done;
}

static void parse_held(struct client *client)
{
    struct chunk *held = client->held;
    size_t start = client->held_start;
    size_t len = held->filled - start;
    size_t taken;

    chunk_ref(held);
    taken = parse(client, held->data + start, len, held);
    if (client->state == CLIENT_OPEN && client->held == held) {
        client->held_start += (uint32_t)taken;
        if (taken == len) {
            chunk_unref(client->held);
            client->held = NULL;
            client->held_start = 0;
        }
    }
    chunk_unref(held);
}

/* Acts on a failure noted while the client was in use. */
static void retire_if_broken(struct client *client)
{
    if (client->is_broken) {
        client_retire(client);
    }
}

void client_resume(struct client *client)
{
    client->is_paused = false;
    if (client->held != NULL && client->state == CLIENT_OPEN) {
        parse_held(client);
    }
    if (client->is_draining && !client->is_paused && client->state == CLIENT_OPEN) {
        client_drain(client); /* more may have come than was read */
    }
    if (client->at_eof && !client->is_paused && client->state == CLIENT_OPEN) {
        finish(client, false);
    }
    update_events(client);
    retire_if_broken(client);
}

/* The peer said its last: what it asked for is still answered. */
static void on_eof(struct client *client)
{
    client->at_eof = true;
    if (client->state == CLIENT_LINGERING) {
        client_retire(client);
    } else if (client->is_paused) {
        listen_for(client, outq_is_empty(&client->out) ? 0 : EPOLLOUT);
    } else {
        finish(client, false);
    }
}

/* Reads once; true where something came. */
static bool on_readable(struct client *client)
{
    struct worker *worker = client->worker;
    struct chunk *chunk;
    ssize_t n;

    if (client->held != NULL && !make_room(client)) {
        refuse_out_of_memory(client);
        return false;
    }
    chunk = client->held != NULL ? client->held : worker_scratch(worker);
    if (chunk == NULL) {
        client_retire(client);
        return false;
    }
    n = io_read(client->watch.fd, chunk->data + chunk->filled, chunk_room(chunk));
    if (n == 0) {
        on_eof(client);
        return false;
    }
    if (n == -1) {
        if (errno != EAGAIN && errno != EINTR) {
            client_retire(client);
        }
        return false;
    }
    client->active_us = worker->now_us;
    if (client->state == CLIENT_LINGERING) {
        return true;
    }
    count_add(&worker->counters, COUNTER_BYTES_READ, (uint64_t)n);
    {
        size_t start = chunk->filled;

        chunk->filled += (uint32_t)n;
        if (chunk == client->held) {
            parse_held(client);
        } else {
            take_input(client, chunk, start, (size_t)n);
        }
    }
    if (client->is_paused) {
        update_events(client);
    }
    if (!outq_is_empty(&client->out)) {
        mark_dirty(client);
    }
    retire_if_broken(client);
    return true;
}

void client_drain(struct client *client)
{
    client->is_draining = true;
    for (int i = 0; i < DRAIN_READS && client->state == CLIENT_OPEN && !client->is_paused; i++) {
        if (!on_readable(client)) {
            break;
        }
    }
    if ((client->state == CLIENT_OPEN && !client->is_paused) || client->state == CLIENT_LINGERING) {
        on_eof(client);
    }
}

static void on_ready(struct watch *watch, uint32_t events)
{
    struct client *client = watch_owner(watch, struct client, watch);

    if (events & EPOLLOUT) {
        mark_dirty(client);
    }
    if ((events & EPOLLIN) && client->state != CLIENT_GONE) {
        on_readable(client);
    }
}

/* All is said: closes, gently where the peer may still be sending. */
static void end_when_said(struct client *client)
{
    if (client->state != CLIENT_FINISHING || client->first != NULL ||
        !outq_is_empty(&client->out)) {
        return;
    }
    if (!client->lingers || client->at_eof) {
        client_retire(client);
        return;
    }
    client->state = CLIENT_LINGERING;
    client->active_us = client->worker->now_us;
    shutdown(client->watch.fd, SHUT_WR);
}

/*
 * Writes as much of the output as one call takes. *wanted: so much was to be written. Errors as
 * write's.
 */
static ssize_t write_once(struct client *client, size_t *wanted)
{
    struct outq *out = &client->out;
    const struct piece *first = outq_at(out, 0);
    struct gathering g;

    if (first->data == NULL) {
        outq_join_tube(out);
        first = outq_at(out, 0);
        *wanted = first->len;
        return chunk_drain_tube(first->chunk, client->watch.fd, first->len, out->count > 1);
    }
    gathering_begin(&g, client->worker->write_buffer, WORKER_WRITE_BYTES);
    outq_gather(out, &g);
    *wanted = g.total;
    return g.meets_tube ? io_begin_writev(client->watch.fd, g.parts, g.count)
                        : io_writev(client->watch.fd, g.parts, g.count);
}

void client_flush(struct client *client)
{
    struct worker *worker = client->worker;

    list_remove(&client->dirty_link);
    if (client->is_broken) {
        client_retire(client);
        return;
    }
    while (!outq_is_empty(&client->out)) {
        size_t wanted;
        ssize_t n = write_once(client, &wanted);

        if (n == -1 &&
            (errno == EINTR || (tube_is_refused(errno) && outq_copy_tube(&client->out)))) {
            continue;
        }
        if (n == -1 && errno == EAGAIN) {
            break;
        }
        if (n == -1) {
            client_retire(client);
            return;
        }
        count_add(&worker->counters, COUNTER_BYTES_WRITTEN, (uint64_t)n);
        client->active_us = worker->now_us;
        outq_advance(&client->out, (size_t)n);
        if ((size_t)n < wanted) {
            break;
        }
    }
    if (!outq_is_empty(&client->out) && !outq_settle(&client->out)) {
        client_retire(client);
        return;
    }
    wake_if_room(client);
    end_when_said(client);
    update_events(client);
}
