/* See proxy/merge.h. */
#include "proxy/merge.h"

#include "proxy/backend.h"
#include "proxy/stats_sum.h"

#include <stdio.h>

enum {
    ERROR_LINE_MAX = 600,
    COPY_MAX = 512, /* a longer piece is passed on by reference */
};

static bool put_text(struct exchange *exchange, struct outq *q, struct slice text)
{
    return outq_copy(q, text.data, text.len, &exchange->worker->gather);
}

static bool put_error(struct exchange *exchange, struct outq *q, const char *name,
                      enum leg_cause cause)
{
    char line[ERROR_LINE_MAX];
    int len;

    count_command(exchange->counters, COMMAND_ERRORS, 1);
    len = snprintf(line, sizeof(line), "SERVER_ERROR %s%s%s\r\n", name, name[0] != '\0' ? ": " : "",
                   leg_cause_text(cause));
    return put_text(exchange, q, slice_make(line, (size_t)len));
}

static bool put_leg_error(struct exchange *exchange, struct outq *q, const struct leg *leg)
{
    const char *name = leg->backend != NULL ? leg->backend->set->server->label : "";

    return put_error(exchange, q, name, (enum leg_cause)leg->cause);
}

/* True for a piece that is cheaper to copy than to pass on by reference. */
static bool may_copy(const struct piece *piece)
{
    return piece->len <= COPY_MAX && piece->data != NULL;
}

/* A piece goes by reference when it is large, or alone; small ones are gathered. */
static bool put_piece(struct exchange *exchange, struct outq *q, const struct piece *piece)
{
    if (!may_copy(piece) || outq_is_empty(q)) {
        return outq_append(q, piece->data, piece->len, piece->chunk, 0);
    }
    return put_text(exchange, q, slice_make(piece->data, piece->len));
}

static bool put_replies(struct exchange *exchange, struct outq *q, struct leg *leg)
{
    if (leg->replies.count == 1 && outq_is_empty(q)) {
        outq_at(&leg->replies, 0)->ordinal = 0;
        outq_hand_over(q, &leg->replies);
        return true;
    }
    for (uint32_t i = 0; i < leg->replies.count; i++) {
        if (!put_piece(exchange, q, outq_at(&leg->replies, i))) {
            return false;
        }
    }
    return true;
}

static bool is_error_code(uint8_t code)
{
    return code == CODE_ERROR || code == CODE_CLIENT_ERROR || code == CODE_SERVER_ERROR;
}

/* True where a failed retrieval is told as a miss. */
static bool put_miss(struct exchange *exchange, struct outq *q, bool *done)
{
    if (exchange->command->reply == REPLY_VALUES) {
        *done = put_text(exchange, q, SLICE("END\r\n"));
        return true;
    }
    if (exchange->command->id == COMMAND_MG) {
        *done = exchange->quiet || put_text(exchange, q, SLICE("EN\r\n"));
        return true;
    }
    return false;
}

static bool merge_one(struct exchange *exchange, struct outq *q)
{
    struct leg *leg = &exchange->legs[0];
    bool done;

    if (leg->cause != LEG_OK) {
        if (leg->is_miss_on_failure && put_miss(exchange, q, &done)) {
            return done;
        }
        return put_leg_error(exchange, q, leg);
    }
    if (exchange->quiet && reply_is_quiet(exchange->command, (enum reply_code)leg->code)) {
        return true;
    }
    return put_replies(exchange, q, leg);
}

/* As put_piece, among many. */
static bool put_value(struct outq_copier *copier, const struct piece *piece)
{
    if (may_copy(piece)) {
        return outq_copier_add(copier, piece->data, piece->len);
    }
    return outq_copier_end(copier) &&
           outq_append(copier->q, piece->data, piece->len, piece->chunk, 0);
}

/*
 * The values in the order of the keys asked. A leg's pieces are in the order of its own keys,
 * each with the number of the key it answers.
 */
static bool put_values_in_order(struct exchange *exchange, struct outq *q)
{
    struct worker *worker = exchange->worker;
    struct outq_copier copier = outq_copier_begin(q, &worker->gather);

    for (uint32_t i = 0; i < exchange->leg_count; i++) {
        exchange->legs[i].next_ordinal = 0;
        exchange->legs[i].taken = 0;
    }
    for (uint32_t k = 0; k < exchange->key_count; k++) {
        struct leg *leg = &exchange->legs[exchange->leg_of_key[k]];
        uint32_t ordinal = leg->next_ordinal++;

        while (leg->taken < leg->replies.count) {
            const struct piece *piece = outq_at(&leg->replies, leg->taken);

            if (piece->ordinal != ordinal) {
                break;
            }
            if (!put_value(&copier, piece)) {
                return false;
            }
            leg->taken++;
        }
    }
    return outq_copier_add(&copier, "END\r\n", REPLY_END_BYTES) && outq_copier_end(&copier);
}

/*
 * A server's refusal of the line itself would have been one memcached's answer too; its failure
 * only takes its own keys away, unless nobody answered at all.
 */
static bool merge_values(struct exchange *exchange, struct outq *q)
{
    struct leg *failed = NULL;
    uint32_t answered = 0;

    for (uint32_t i = 0; i < exchange->leg_count; i++) {
        struct leg *leg = &exchange->legs[i];

        if (leg->cause == LEG_OK && (leg->code == CODE_CLIENT_ERROR || leg->code == CODE_ERROR)) {
            return put_replies(exchange, q, leg);
        }
        if (leg->cause != LEG_OK || is_error_code(leg->code)) {
            outq_fini(&leg->replies);
            failed = leg->is_miss_on_failure ? failed : leg;
        } else {
            answered++;
        }
    }
    if (answered == 0 && failed != NULL) {
        return failed->cause != LEG_OK ? put_leg_error(exchange, q, failed)
                                       : put_text(exchange, q, SLICE("SERVER_ERROR no answer\r\n"));
    }
    return put_values_in_order(exchange, q);
}

/* One line for all: the first failure or refusal, else what they all said. */
static bool merge_lines(struct exchange *exchange, struct outq *q)
{
    struct leg *said = NULL;

    for (uint32_t i = 0; i < exchange->leg_count; i++) {
        struct leg *leg = &exchange->legs[i];

        if (leg->cause == LEG_SKIPPED) {
            continue;
        }
        if (leg->cause != LEG_OK) {
            return put_leg_error(exchange, q, leg);
        }
        if (is_error_code(leg->code)) {
            return put_replies(exchange, q, leg);
        }
        said = leg;
    }
    return said != NULL ? put_replies(exchange, q, said)
                        : put_error(exchange, q, "", LEG_NO_SERVER);
}

/* What "VERSION a.b.c" says; 0 where it is another line. */
static uint32_t version_in(struct outq *replies)
{
    static const char word[] = "VERSION ";
    const size_t len = sizeof(word) - 1;
    const struct piece *line = outq_is_empty(replies) ? NULL : outq_at(replies, 0);

    if (line == NULL || line->len < len || memcmp(line->data, word, len) != 0) {
        return 0;
    }
    return server_version_parse(slice_make(line->data + len, line->len - len));
}

static bool merge_version(struct exchange *exchange, struct outq *q)
{
    uint32_t lowest = 0;
    char line[64];

    for (uint32_t i = 0; i < exchange->leg_count; i++) {
        struct leg *leg = &exchange->legs[i];
        uint32_t version = leg->cause == LEG_OK ? version_in(&leg->replies) : 0;

        if (version != 0 && (lowest == 0 || version < lowest)) {
            lowest = version;
        }
    }
    if (lowest == 0) {
        return put_error(exchange, q, "", LEG_NO_SERVER);
    }
    snprintf(line, sizeof(line), "VERSION %u.%u.%u\r\n", lowest >> 20, lowest >> 10 & 1023,
             lowest & 1023);
    return put_text(exchange, q, slice_text(line));
}

bool merge_answer(struct exchange *exchange, struct outq *q)
{
    if (exchange->noreply) {
        return true;
    }
    if (exchange->answer.len > 0) {
        return put_text(exchange, q, slice_make(exchange->answer.data, exchange->answer.len));
    }
    if (exchange->cause != LEG_OK) {
        return put_error(exchange, q, "", exchange->cause);
    }
    if (exchange->leg_count == 0) {
        return true;
    }
    if (exchange->command->id == COMMAND_VERSION) {
        return merge_version(exchange, q);
    }
    if (exchange->command->route == ROUTE_ALL) {
        return exchange->command->reply == REPLY_STATS ? stats_sum(exchange, q)
                                                       : merge_lines(exchange, q);
    }
    return exchange->leg_count == 1 ? merge_one(exchange, q) : merge_values(exchange, q);
}
