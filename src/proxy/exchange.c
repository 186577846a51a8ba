/* See proxy/exchange.h. */
#include "proxy/exchange.h"

#include "base/prefetch.h"
#include "proxy/backend_set.h"
#include "proxy/client.h"
#include "proxy/hot.h"
#include "proxy/listener.h"
#include "proxy/retry.h"
#include "proxy/split.h"
#include "proxy/standin.h"
#include "proxy/tally.h"
#include "topology/route.h"

#include <stdlib.h>

enum { FREE_EXCHANGES_MAX = 2048 }; /* given back every second */

/*
 * By a call: of a memset whose length it knows a compiler makes a string instruction, which takes
 * longer to begin than the call does to clear.
 */
static inline void clear(struct exchange *exchange)
{
    size_t bytes = EXCHANGE_CLEAR_BYTES;

    __asm__("" : "+r"(bytes));
    memset(exchange, 0, bytes);
}

/* Returns a fresh exchange at the end of client's order, or NULL out of memory. */
static struct exchange *exchange_new(struct worker *worker, struct client *client,
                                     const struct request *request,
                                     struct command_counters *counters)
{
    struct exchange *exchange = worker->free_exchanges;

    if (exchange != NULL) {
        worker->free_exchanges = exchange->next;
        prefetch(exchange->next, sizeof(*exchange));
        worker->free_exchange_count--;
    } else {
        exchange = malloc(sizeof(*exchange));
        if (exchange == NULL) {
            return NULL;
        }
    }
    clear(exchange);
    exchange->worker = worker;
    exchange_charge(exchange, sizeof(*exchange));
    exchange->client = client;
    exchange->command = request->command;
    exchange->counters = counters;
    exchange->started_us = worker->now_us;
    exchange->noreply = request->noreply;
    exchange->quiet = request->quiet;
    exchange->is_safe_to_repeat = request->is_safe_to_repeat;
    exchange->is_write = request->command->is_write ||
                         (request->command->id == COMMAND_MG && !request->is_safe_to_repeat);
    exchange->legs = &exchange->first;
    list_init(&exchange->waiting_link);
    outq_init(&exchange->first.replies, &exchange->worker->pool);
    exchange->first.exchange = exchange;
    if (client->last != NULL) {
        client->last->next = exchange;
    } else {
        client->first = exchange;
    }
    client->last = exchange;
    client->exchange_count++;
    worker->exchange_count++;
    return exchange;
}

void exchange_free_if_over(struct exchange *exchange)
{
    struct worker *worker = exchange->worker;

    if (!exchange->is_released || exchange->legs_piped > 0) {
        return;
    }
    list_remove(&exchange->waiting_link);
    for (uint32_t i = 0; i < exchange->leg_count; i++) {
        chunk_unref(exchange->legs[i].line.chunk);
        chunk_unref(exchange->legs[i].value.chunk);
        outq_fini(&exchange->legs[i].replies);
        if (exchange->legs[i].standing != NULL) {
            standin_release(&exchange->legs[i]);
        }
        backend_bind(NULL, &exchange->legs[i]);
    }
    if (exchange->legs != &exchange->first) {
        free(exchange->legs);
    }
    if (exchange->leg_of_key != NULL) {
        free(exchange->leg_of_key);
    }
    if (exchange->more_text != NULL) {
        free(exchange->more_text);
    }
    worker->exchange_count--;
    worker->pool.used_bytes -= exchange->beside_bytes;
    if (worker->free_exchange_count >= FREE_EXCHANGES_MAX) {
        free(exchange);
        return;
    }
    exchange->next = worker->free_exchanges;
    worker->free_exchanges = exchange;
    worker->free_exchange_count++;
}

/* Returns size bytes that live as long as the exchange, or NULL out of memory. */
static char *exchange_text(struct exchange *exchange, size_t size)
{
    if (size <= sizeof(exchange->text)) {
        return exchange->text;
    }
    exchange->more_text = malloc(size);
    exchange_charge(exchange, exchange->more_text != NULL ? size : 0);
    return exchange->more_text;
}

/* The connection that the client is pinned to. Most sets have one; a division is dear. */
static struct backend *pinned(struct backend_set *set, const struct client *client)
{
    return &set->backends[set->count > 1 ? client->number % set->count : 0];
}

void exchange_submit_leg(struct exchange *exchange, struct leg *leg,
                         const struct topology_server *to, enum server_standing standing)
{
    struct backend *backend = pinned(exchange->worker->sets[to->server->slot], exchange->client);

    if (standing == STANDING_LIVE) {
        backend_submit(backend, leg);
        return;
    }
    backend_bind(backend, leg);
    if (standing == STANDING_GATED) {
        standin_hold(exchange->worker, leg);
    } else {
        leg->may_move = false;
        exchange_leg_failed(leg, LEG_DOWN);
    }
}

void exchange_route(struct exchange *exchange, const struct server *avoid, enum leg_cause cause)
{
    struct worker *worker = exchange->worker;
    const struct topology_listener *through = exchange->client->listener->route;
    struct leg *leg = &exchange->first;
    struct route route = route_key_avoiding(worker->topology, through, exchange->key, avoid);

    if (route.pool == NULL) {
        exchange_leg_failed(leg, LEG_NO_POOL);
        return;
    }
    leg->is_miss_on_failure = route.pool->on_failure == ON_FAILURE_MISS;
    leg->may_move = route.pool->on_failure == ON_FAILURE_EJECT;
    if (route.server == PLACEMENT_NONE) {
        exchange_leg_failed(leg, avoid != NULL ? cause : LEG_NO_SERVER);
        return;
    }
    leg->is_alone = route.pool->servers[route.server].is_indebted;
    leg->may_move &= leg->is_alone || !route.pool->servers[route.server].is_alone;
    if (exchange->is_write && route.standing == STANDING_LIVE) {
        standin_record(worker, leg, route.pool, route.server, exchange->key);
    }
    exchange_submit_leg(exchange, leg, &route.pool->servers[route.server], route.standing);
}

void exchange_leg_route(struct leg *leg)
{
    struct exchange *exchange = leg->exchange;
    struct backend_set *set;

    if (exchange->key.len > 0) {
        exchange_route(exchange, NULL, LEG_OK);
        return;
    }
    set = backend_set_of(exchange->worker, leg->backend->set->server);
    if (set == NULL) {
        exchange_leg_failed(leg, LEG_REMOVED);
    } else if (exchange->command->id == COMMAND_FLUSH_ALL &&
               backend_set_standing(set) == STANDING_OUT) {
        standin_promise_flush(set, leg);
    } else {
        enum server_standing standing = backend_set_standing(set);

        exchange_submit_leg(exchange, leg, set->entry,
                            standing == STANDING_OUT ? STANDING_DOWN : standing);
    }
}

static bool is_inside(struct slice s, const struct chunk *chunk)
{
    return s.data >= chunk->data && s.data < chunk->data + chunk->capacity;
}

/*
 * Keeps what the exchange needs beyond this tick: the key, and the line where it may be sent
 * again or was rewritten. Other lines stay in the chunk they were read into.
 */
static bool keep_request(struct exchange *exchange, const struct request *request,
                         struct chunk *chunk)
{
    struct leg *leg = &exchange->first;
    bool keeps_line = request->is_safe_to_repeat || !is_inside(request->line, chunk);
    bool has_wire_key = request->wire_key.data != request->key.data;
    size_t size = request->key.len + (has_wire_key ? request->wire_key.len : 0) +
                  (keeps_line ? request->line.len : 0);
    char *to = exchange_text(exchange, size);

    if (to == NULL) {
        return false;
    }
    memcpy(to, request->key.data, request->key.len);
    exchange->key = slice_make(to, request->key.len);
    exchange->wire_key = slice_make(to, request->key.len);
    to += request->key.len;
    if (has_wire_key) {
        memcpy(to, request->wire_key.data, request->wire_key.len);
        exchange->wire_key = slice_make(to, request->wire_key.len);
        to += request->wire_key.len;
    }
    leg->line = (struct piece){request->line.data, NULL, (uint32_t)request->line.len, 0};
    if (keeps_line) {
        memcpy(to, request->line.data, request->line.len);
        leg->line.data = to;
    } else {
        leg->line.chunk = chunk_ref(chunk);
    }
    if (request->ends_with_mn) {
        leg->value = (struct piece){"mn\r\n", NULL, 4, 0};
    } else if (request->value.len > 0) {
        leg->value =
            (struct piece){request->value.data, chunk_ref(chunk), (uint32_t)request->value.len, 0};
    }
    return true;
}

static bool start_key(struct exchange *exchange, const struct request *request, struct chunk *chunk)
{
    struct leg *leg = &exchange->first;

    if (!keep_request(exchange, request, chunk)) {
        return false;
    }
    exchange->leg_count = 1;
    exchange->legs_open++;
    exchange->key_count = 1;
    leg->kind = (uint8_t)(request->ends_with_mn ? REPLY_META_MN : request->command->reply);
    leg->is_discarding = request->noreply || request->answer.len > 0;
    count_command(exchange->counters, COMMAND_KEYS, 1);
    hot_key(exchange->worker->hot, &request->key);
    exchange_route(exchange, NULL, LEG_OK);
    return true;
}

/* A get of one key: its line is copied, since that is cheaper than keeping the text it lies in. */
static bool start_one_get(struct exchange *exchange, const struct request *request)
{
    struct leg *leg = &exchange->first;
    size_t prefix_len = request->keys_prefix.len;
    struct slice line = request->line;
    char *to = exchange_text(exchange, line.len);

    if (to == NULL) {
        return false;
    }
    exchange->leg_count = 1;
    exchange->legs_open++;
    exchange->key_count = 1;
    memcpy(to, line.data, line.len);
    exchange->key = slice_make(to + prefix_len, request->key.len);
    exchange->wire_key = slice_make(to + prefix_len, request->key.len); /* as in hot_key */
    leg->kind = REPLY_VALUES;
    leg->key_count = 1;
    leg->keys_at = (uint32_t)prefix_len;
    leg->line = (struct piece){to, NULL, (uint32_t)line.len, 0};
    leg->next_key = exchange->key.data;
    count_command(exchange->counters, COMMAND_KEYS, 1);
    hot_key(exchange->worker->hot, &request->key);
    exchange_route(exchange, NULL, LEG_OK);
    return true;
}

/* Writes the local answer straight to the output where nothing is before it. */
static bool answer_now(struct client *client, const struct request *request,
                       struct command_counters *counters)
{
    struct worker *worker = client->worker;

    if (!request->noreply && request->answer.len > 0) {
        if (!outq_copy(&client->out, request->answer.data, request->answer.len, &worker->gather)) {
            return false;
        }
        count_command(counters, COMMAND_BYTES_WRITTEN, request->answer.len);
    }
    return true;
}

/* Answers from here, in the client's order. */
static bool start_local(struct exchange *exchange, const struct request *request)
{
    if (request->command->id == COMMAND_VERSION) {
        return split_version(exchange);
    }
    if (request->answer.len > 0 && exchange->answer.len == 0) {
        char *to = exchange_text(exchange, request->answer.len);

        if (to == NULL) {
            return false;
        }
        memcpy(to, request->answer.data, request->answer.len);
        exchange->answer = (struct piece){to, NULL, (uint32_t)request->answer.len, 0};
    }
    return true;
}

static void count_local(struct worker *worker, const struct request *request)
{
    count(&worker->counters, COUNTER_REQUESTS_LOCAL);
    if (request->is_foreign) {
        count(&worker->counters, COUNTER_CLIENTS_FOREIGN);
    }
}

/* Bytes that a retrieval of many keys takes: the lines for its servers, and whose each key is. */
static uint64_t split_bytes(const struct request *request)
{
    return request->route == ROUTE_EACH_KEY && request->key_count > 1
               ? request->keys.len + request->key_count * sizeof(uint32_t)
               : 0;
}

bool exchange_start(struct client *client, const struct request *request, struct chunk *chunk,
                    size_t bytes)
{
    struct worker *worker = client->worker;
    struct command_counters *counters = &worker->counters.commands[request->command->id];
    struct exchange *exchange;
    bool started;

    tally_request(counters, bytes);
    if (request->route == ROUTE_LOCAL) {
        count_local(worker, request);
        if (client->first == NULL && request->swallow_bytes == 0 &&
            request->command->id != COMMAND_VERSION) {
            return answer_now(client, request, counters);
        }
    }
    exchange = exchange_new(worker, client, request, counters);
    if (exchange == NULL) {
        return false;
    }
    exchange->legs_open = 1; /* this function's own hold: nothing is over before it returns */
    if (request->answer.len > 0 && request->route != ROUTE_LOCAL) {
        /* the texts that override a reply are constants */
        exchange->answer =
            (struct piece){request->answer.data, NULL, (uint32_t)request->answer.len, 0};
    }
    if (request->swallow_bytes > 0) {
        client->swallow_bytes = request->swallow_bytes;
        client->swallowing = exchange;
        exchange->legs_open++;
    }
    if (request->route != ROUTE_LOCAL && worker_is_full(worker, split_bytes(request))) {
        worker_refuse_room(worker);
        exchange->cause = LEG_OUT_OF_MEMORY;
        started = true;
    } else if (request->route == ROUTE_KEY) {
        started = start_key(exchange, request, chunk);
    } else if (request->route == ROUTE_EACH_KEY && request->key_count == 1) {
        started = start_one_get(exchange, request);
    } else if (request->route == ROUTE_EACH_KEY) {
        started = split_keys(exchange, request);
    } else if (request->route == ROUTE_ALL) {
        started = split_all(exchange, request->line);
    } else {
        started = start_local(exchange, request);
    }
    if (!started) {
        exchange->cause = LEG_OUT_OF_MEMORY;
    }
    exchange_unhold(exchange);
    return true;
}

bool exchange_refuse(struct client *client, enum leg_cause cause)
{
    const struct request unread = {.command = &commands[COMMAND_ROW_NONE]};
    struct command_counters *counters = &client->worker->counters.commands[unread.command->id];
    struct exchange *exchange = exchange_new(client->worker, client, &unread, counters);

    if (exchange == NULL) {
        return false;
    }
    exchange->legs_open = 1;
    exchange->cause = cause;
    exchange_unhold(exchange);
    return true;
}

/* Puts the exchange on the list of those that hold reply bytes at the end of the tick. */
static void wait_in_line(struct exchange *exchange)
{
    if (list_is_empty(&exchange->waiting_link)) {
        list_add_tail(&exchange->worker->waiting, &exchange->waiting_link);
    }
}

/* True where the exchange is under way still; else it is answered, or gone. */
static inline bool drop_hold(struct exchange *exchange)
{
    assert(exchange->legs_open > 0);
    exchange->legs_open--;
    if (exchange->is_released) {
        exchange_free_if_over(exchange);
        return false;
    }
    if (exchange->legs_open == 0 && exchange->client->first == exchange) {
        client_release(exchange->client);
        return false;
    }
    return true;
}

void exchange_unhold(struct exchange *exchange)
{
    (void)drop_hold(exchange);
}

/* A leg has its reply: what waits for others is settled at the end of the tick. */
static inline void unhold(struct exchange *exchange)
{
    if (drop_hold(exchange)) {
        wait_in_line(exchange);
    }
}

/* Apart, so that a plain reply need not make room for what is called here. */
static __attribute__((noinline)) void count_and_unhold(struct leg *leg)
{
    tally_reply(leg->exchange, leg);
    unhold(leg->exchange);
}

void exchange_leg_done(struct leg *leg, enum reply_code code)
{
    if (leg->is_done) {
        count(&leg->exchange->worker->counters, COUNTER_LATE_REPLIES);
        count_server(leg->backend->set->counters, SERVER_LATE_REPLIES, 1);
        exchange_free_if_over(leg->exchange);
        return;
    }
    leg->is_done = true;
    leg->code = (uint8_t)code;
    if (likely(tally_plain_reply(leg->exchange, leg, code))) {
        unhold(leg->exchange);
    } else {
        count_and_unhold(leg);
    }
}

static void count_failure(const struct leg *leg)
{
    struct worker *worker = leg->exchange->worker;

    cell_add(&worker->counters.errors[leg->cause], 1);
    if (leg->backend != NULL) {
        cell_add(&leg->backend->set->counters->errors[leg->cause], 1);
    }
}

/*
 * True where a part of a multi-get may be told as misses: others can stand in for its server, and
 * what they would say of its keys is that.
 */
static bool is_made_good(const struct leg *leg, enum leg_cause cause)
{
    const struct backend_set *set = leg->backend != NULL ? leg->backend->set : NULL;

    if (set == NULL || leg->kind != REPLY_VALUES || leg->exchange->key.len > 0 ||
        leg->exchange->is_write || cause == LEG_TIMEOUT || cause == LEG_OUT_OF_MEMORY) {
        return false;
    }
    return set->pool == NULL /* removed: its keys have new owners, who hold none of them yet */ ||
           (set->pool->on_failure == ON_FAILURE_EJECT && !set->entry->is_alone &&
            backend_set_has_standin(set));
}

void exchange_leg_failed(struct leg *leg, enum leg_cause cause)
{
    if (leg->is_done) {
        if (!leg->is_piped) {
            standin_release(leg);
        }
        exchange_free_if_over(leg->exchange);
        return;
    }
    if (retry_leg(leg, cause)) {
        return;
    }
    if (!leg->is_piped) {
        standin_release(leg);
    }
    if (leg->is_begun && leg->exchange->is_write && leg->backend != NULL) {
        standin_note_unanswered(leg->backend->set, leg->exchange->key);
    }
    leg->is_done = true;
    leg->is_discarding = true;
    leg->is_miss_on_failure |= is_made_good(leg, cause);
    leg->cause = (uint8_t)cause;
    count_failure(leg);
    outq_fini(&leg->replies);
    exchange_unhold(leg->exchange);
}

/* A reply is awaited still: what came is let go, what comes is dropped. Apart, as above. */
static __attribute__((noinline)) void drop_replies(struct exchange *exchange)
{
    for (uint32_t i = 0; i < exchange->leg_count; i++) {
        exchange->legs[i].is_discarding = true;
        outq_fini(&exchange->legs[i].replies);
    }
}

void exchange_release(struct exchange *exchange)
{
    exchange->client = NULL;
    exchange->is_released = true;
    if (unlikely(exchange->legs_piped > 0)) {
        drop_replies(exchange);
        return;
    }
    exchange_free_if_over(exchange);
}

void exchange_settle(struct exchange *exchange)
{
    for (uint32_t i = 0; i < exchange->leg_count; i++) {
        struct leg *leg = &exchange->legs[i];

        if (!outq_settle(&leg->replies)) {
            return; /* out of memory: the shared chunk stays pinned instead */
        }
    }
}
