/* See proxy/split.h. */
#include "proxy/split.h"

#include "proxy/backend.h"
#include "proxy/client.h"
#include "proxy/hot.h"
#include "proxy/listener.h"
#include "proxy/standin.h"
#include "topology/route.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    NO_LEG = UINT32_MAX,
    GAT_LINE_MAX = 2000, /* a longer gat line is closed upon by memcached; get may be longer */
};

/* A leg while it is being filled. */
struct part {
    const struct topology_server *to; /* NULL: nobody is to be asked; cause says why */
    enum server_standing standing;
    bool is_miss_on_failure;
    bool waits_for_verdict; /* as a read of one key would: see leg's is_alone */
    enum leg_cause cause;
    size_t line_bytes;
    uint32_t keys;
};

struct parts {
    struct part *at;
    uint32_t count;
    uint32_t room;
    size_t line_max;
    size_t empty_line_bytes; /* of the prefix and the line's end */
};

/* Adds a part; returns its number or NO_LEG out of memory. */
static uint32_t parts_add(struct parts *parts, struct route route)
{
    struct part *part;

    if (parts->count == parts->room) {
        uint32_t room = parts->room == 0 ? 8 : parts->room * 2;
        struct part *grown = realloc(parts->at, room * sizeof(grown[0]));

        if (grown == NULL) {
            return NO_LEG;
        }
        parts->at = grown;
        parts->room = room;
    }
    part = &parts->at[parts->count];
    *part = (struct part){.line_bytes = parts->empty_line_bytes};
    if (route.pool == NULL) {
        part->cause = LEG_NO_POOL;
    } else if (route.server == PLACEMENT_NONE) {
        part->cause = LEG_NO_SERVER;
    } else {
        part->to = &route.pool->servers[route.server];
        part->standing = route.standing;
        part->waits_for_verdict =
            part->to->is_indebted && route.pool->on_failure == ON_FAILURE_EJECT;
    }
    part->is_miss_on_failure = route.pool != NULL && route.pool->on_failure == ON_FAILURE_MISS;
    return parts->count++;
}

/*
 * Finds the part for a key's route. open_part[slot] is the part being filled for a server, and
 * its last element that for keys without one; NO_LEG where there is none yet.
 */
static uint32_t part_for(struct parts *parts, uint32_t *open_part, uint32_t no_server_slot,
                         struct route route, size_t key_len)
{
    bool has_server = route.pool != NULL && route.server != PLACEMENT_NONE;
    uint32_t slot = has_server ? route.pool->servers[route.server].server->slot : no_server_slot;
    uint32_t part = open_part[slot];

    if (part == NO_LEG || parts->at == NULL ||
        parts->at[part].line_bytes + key_len + 1 > parts->line_max) {
        part = parts_add(parts, route);
        if (part == NO_LEG) {
            return NO_LEG;
        }
        open_part[slot] = part;
    }
    parts->at[part].line_bytes += key_len + (parts->at[part].keys > 0 ? 1 : 0);
    parts->at[part].keys++;
    return part;
}

/* A gat changes its item too. Its legs are not made yet: the key alone is noted. */
static void note_write(struct exchange *exchange, struct route route, struct slice key)
{
    struct leg noted = {0};

    if (route.pool != NULL && route.server != PLACEMENT_NONE && route.standing == STANDING_LIVE) {
        standin_record(exchange->worker, &noted, route.pool, route.server, key);
        standin_release(&noted);
    }
}

/* Decides each key's leg. False: out of memory. */
static bool assign_keys(struct exchange *exchange, const struct request *request,
                        struct parts *parts)
{
    struct worker *worker = exchange->worker;
    const struct topology_listener *through = exchange->client->listener->route;
    struct slice rest = request->keys;
    struct slice key;
    uint32_t n = 0;
    bool done = true;

    while (n < request->key_count && request_next_key(&rest, &key)) {
        struct route route = route_key(worker->topology, through, key);
        uint32_t part = part_for(parts, worker->leg_of_server, worker->set_count, route, key.len);

        hot_key(worker->hot, &key);
        if (part == NO_LEG) {
            done = false;
            break;
        }
        if (exchange->is_write) {
            note_write(exchange, route, key);
        }
        exchange->leg_of_key[n++] = part;
    }
    exchange->key_count = n;
    count_command(exchange->counters, COMMAND_KEYS, n);
    for (uint32_t p = 0; p < parts->count; p++) { /* leave the scratch table clean */
        const struct topology_server *to = parts->at[p].to;

        worker->leg_of_server[to != NULL ? to->server->slot : worker->set_count] = NO_LEG;
    }
    return done;
}

/* Makes the legs of the parts, each with its line begun. False: out of memory. */
static bool make_legs(struct exchange *exchange, const struct request *request,
                      const struct parts *parts)
{
    exchange->legs =
        parts->count == 1 ? &exchange->first : calloc(parts->count, sizeof(exchange->legs[0]));
    if (exchange->legs == NULL) {
        exchange->legs = &exchange->first;
        return false;
    }
    if (parts->count > 1) {
        exchange_charge(exchange, parts->count * sizeof(exchange->legs[0]));
    }
    exchange->leg_count = parts->count;
    for (uint32_t p = 0; p < parts->count; p++) {
        struct leg *leg = &exchange->legs[p];

        outq_init(&leg->replies, &exchange->worker->pool);
        leg->exchange = exchange;
        leg->kind = REPLY_VALUES;
        leg->key_count = parts->at[p].keys;
        leg->keys_at = (uint32_t)request->keys_prefix.len;
        leg->is_miss_on_failure = parts->at[p].is_miss_on_failure;
        leg->is_alone = parts->at[p].waits_for_verdict;
        leg->may_move = parts->at[p].waits_for_verdict;
    }
    for (uint32_t p = 0; p < parts->count; p++) {
        struct leg *leg = &exchange->legs[p];
        struct chunk *chunk = chunk_new(&exchange->worker->pool, parts->at[p].line_bytes);

        if (chunk == NULL) {
            return false;
        }
        memcpy(chunk->data, request->keys_prefix.data, request->keys_prefix.len);
        chunk->filled = leg->keys_at;
        leg->line = (struct piece){chunk->data, chunk, 0, 0};
        leg->next_key = chunk->data + leg->keys_at;
    }
    return true;
}

/* Writes each key into its leg's line. */
static void write_lines(struct exchange *exchange, const struct request *request)
{
    struct slice rest = request->keys;
    struct slice key;
    uint32_t n = 0;

    while (n < exchange->key_count && request_next_key(&rest, &key)) {
        struct leg *leg = &exchange->legs[exchange->leg_of_key[n++]];
        struct chunk *chunk = leg->line.chunk;

        if (chunk->filled > leg->keys_at) {
            chunk->data[chunk->filled++] = ' ';
        }
        memcpy(chunk->data + chunk->filled, key.data, key.len);
        chunk->filled += (uint32_t)key.len;
    }
    for (uint32_t i = 0; i < exchange->leg_count; i++) {
        struct leg *leg = &exchange->legs[i];
        struct chunk *chunk = leg->line.chunk;

        memcpy(chunk->data + chunk->filled, "\r\n", 2);
        chunk->filled += 2;
        leg->line.len = chunk->filled;
    }
}

bool split_keys(struct exchange *exchange, const struct request *request)
{
    bool is_gat = request->command->id == COMMAND_GAT || request->command->id == COMMAND_GATS;
    struct parts parts = {
        .line_max = is_gat ? GAT_LINE_MAX : REQUEST_KEYS_LINE_MAX,
        .empty_line_bytes = request->keys_prefix.len + 2,
    };
    bool done;

    exchange->leg_of_key = malloc(request->key_count * sizeof(exchange->leg_of_key[0]));
    if (exchange->leg_of_key != NULL) {
        exchange_charge(exchange, request->key_count * sizeof(exchange->leg_of_key[0]));
    }
    done = exchange->leg_of_key != NULL && assign_keys(exchange, request, &parts) &&
           make_legs(exchange, request, &parts);
    if (done) {
        write_lines(exchange, request);
        exchange->legs_open += exchange->leg_count;
        for (uint32_t p = 0; p < parts.count; p++) {
            if (parts.at[p].to != NULL) {
                exchange_submit_leg(exchange, &exchange->legs[p], parts.at[p].to,
                                    parts.at[p].standing);
            } else {
                exchange_leg_failed(&exchange->legs[p], parts.at[p].cause);
            }
        }
    }
    free(parts.at);
    return done;
}

/* Counts the servers of all pools reachable from the exchange's listener. */
static uint32_t count_servers(const struct exchange *exchange)
{
    const struct topology_listener *through = exchange->client->listener->route;
    uint32_t count = 0;

    for (uint32_t i = 0; i < through->pool_count; i++) {
        count += exchange->worker->topology->pools[through->pools[i]].server_count;
    }
    return count;
}

bool split_all(struct exchange *exchange, struct slice line)
{
    struct worker *worker = exchange->worker;
    const struct topology_listener *through = exchange->client->listener->route;
    uint32_t count = count_servers(exchange);
    struct chunk *chunk;
    struct leg *leg;

    if (count == 0) {
        exchange->cause = LEG_NO_POOL; /* the listener was removed, and its pools too */
        return true;
    }
    chunk = chunk_new(&worker->pool, line.len);
    exchange->legs = chunk != NULL ? calloc(count, sizeof(exchange->legs[0])) : NULL;
    if (exchange->legs == NULL) {
        exchange->legs = &exchange->first;
        chunk_unref(chunk);
        return false;
    }
    exchange_charge(exchange, count * sizeof(exchange->legs[0]));
    memcpy(chunk->data, line.data, line.len);
    exchange->leg_count = count;
    exchange->legs_open += count;
    exchange->is_settings = slice_equals(line, SLICE("stats settings\r\n"));
    for (uint32_t i = 0; i < count; i++) {
        leg = &exchange->legs[i];
        outq_init(&leg->replies, &exchange->worker->pool);
        leg->exchange = exchange;
        leg->kind = (uint8_t)exchange->command->reply;
        leg->line = (struct piece){chunk->data, chunk_ref(chunk), (uint32_t)line.len, 0};
    }
    chunk_unref(chunk);
    leg = exchange->legs;
    for (uint32_t i = 0; i < through->pool_count; i++) {
        const struct topology_pool *pool = &worker->topology->pools[through->pools[i]];

        for (uint32_t s = 0; s < pool->server_count; s++, leg++) {
            enum server_standing standing = (enum server_standing)pool->live[s];

            if (standing == STANDING_LIVE || standing == STANDING_GATED) {
                exchange_submit_leg(exchange, leg, &pool->servers[s], standing);
            } else if (exchange->command->id == COMMAND_FLUSH_ALL) {
                standin_promise_flush(worker->sets[pool->servers[s].server->slot], leg);
            } else {
                exchange_leg_failed(leg, LEG_SKIPPED);
            }
        }
    }
    return true;
}

bool split_version(struct exchange *exchange)
{
    const struct topology_listener *through = exchange->client->listener->route;
    uint32_t lowest = 0;

    for (uint32_t i = 0; i < through->pool_count; i++) {
        const struct topology_pool *pool = &exchange->worker->topology->pools[through->pools[i]];

        for (uint32_t s = 0; s < pool->server_count; s++) {
            uint32_t version =
                atomic_load_explicit(&pool->servers[s].server->version, memory_order_relaxed);

            if (version != 0 && (lowest == 0 || version < lowest)) {
                lowest = version;
            }
        }
    }
    if (lowest == 0) {
        return split_all(exchange, SLICE("version\r\n"));
    }
    exchange->answer.len =
        (uint32_t)snprintf(exchange->text, sizeof(exchange->text), "VERSION %u.%u.%u\r\n",
                           lowest >> 20, lowest >> 10 & 1023, lowest & 1023);
    exchange->answer.data = exchange->text;
    return true;
}
