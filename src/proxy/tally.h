/*
 * What every request and every reply counts: how many, what was found, how
 * long it took. All of a request's counting that does not depend on what went
 * wrong is here, since every request pays for it. Runs on the worker's thread.
 */
#ifndef PROXY_TALLY_H
#define PROXY_TALLY_H

#include "proxy/backend.h"
#include "proxy/exchange.h"
#include "proxy/server_counter.h"

/* A request of so many bytes was read. */
static inline void tally_request(struct command_counters *counters, size_t bytes)
{
    count_command(counters, COMMAND_REQUESTS, 1);
    count_command(counters, COMMAND_BYTES_READ, bytes);
}

/* A leg has its whole reply. */
void tally_reply(const struct exchange *exchange, const struct leg *leg);

/*
 * The same for the common case: values to their END, that took as long as the last reply of the
 * server did. False: it is another, nothing is counted.
 */
MUST_CHECK static inline bool tally_plain_reply(const struct exchange *exchange,
                                                const struct leg *leg, enum reply_code code)
{
    struct command_counters *command = exchange->counters;
    struct server_counters *server = leg->backend->set->counters;
    uint64_t hits = leg->hits;
    uint64_t misses = leg->key_count - leg->hits;

    if (!COUNTING) {
        return true;
    }
    if (unlikely(leg->kind != REPLY_VALUES || code != CODE_END) ||
        !histogram_add_same(&server->latency, exchange->worker->now_us - leg->queued_us)) {
        return false;
    }
    count_command(command, COMMAND_HITS, hits);
    count_command(command, COMMAND_MISSES, misses);
    count_server(server, SERVER_HITS, hits);
    count_server(server, SERVER_MISSES, misses);
    return true;
}

/* A request took another time than the last one of its command: counts that, and notes it. */
void tally_other_time(struct worker *worker, const struct exchange *exchange, uint64_t took_us,
                      uint64_t bytes);

/* A request was answered with so many bytes. */
static inline void tally_answer(struct worker *worker, const struct exchange *exchange,
                                uint64_t bytes)
{
    struct command_counters *command = exchange->counters;
    uint64_t took_us = worker->now_us - exchange->started_us;

    if (!COUNTING) {
        return;
    }
    count_command(command, COMMAND_BYTES_WRITTEN, bytes);
    if (!histogram_add_same(&command->latency, took_us)) {
        tally_other_time(worker, exchange, took_us, bytes);
    }
}

#endif
