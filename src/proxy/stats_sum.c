/* See stats_sum.h. */
#include "proxy/stats_sum.h"

#include "base/random.h"
#include "proxy/backend.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

enum { STATS_FIRST = 128 }; /* names there is room for at first; a power of two */

enum rule { RULE_SUM, RULE_FIRST, RULE_LOWEST, RULE_HIGHEST };

/* Names that are not summed though they are numbers; one that begins with ':' ends so. */
static const struct {
    const char *name;
    enum rule rule;
} exceptions[] = {
    {"pid", RULE_FIRST},
    {"uptime", RULE_LOWEST},
    {"time", RULE_HIGHEST},
    {"pointer_size", RULE_FIRST},
    {"accepting_conns", RULE_LOWEST},
    {"hash_power_level", RULE_HIGHEST},
    {"hash_is_expanding", RULE_HIGHEST},
    {"slab_reassign_running", RULE_HIGHEST},
    {"lru_crawler_running", RULE_HIGHEST},
    /* of items and slabs, a class each */
    {":age", RULE_HIGHEST},
    {":age_hot", RULE_HIGHEST},
    {":age_warm", RULE_HIGHEST},
    {":evicted_time", RULE_HIGHEST},
    {":chunk_size", RULE_FIRST},
    {":chunks_per_page", RULE_FIRST},
};

struct stat {
    struct slice name;
    struct slice text; /* as the first server said it */
    uint64_t number;   /* the sum so far */
    uint32_t micros;   /* of a time such as rusage_user */
    bool is_number;
    bool is_time;

    enum rule rule;
};

struct stats {
    struct worker *worker;
    size_t bytes;    /* of the worker's memory that this has */
    struct stat *at; /* in the order they were said */
    size_t count;
    size_t room;
    uint32_t *numbers; /* of at, from 1, in the slots of their names' hashes; 0: free */
    size_t slots;      /* a power of two, twice room */
    uint64_t seed;     /* of the hashes: a server chooses its names */
};

/* Counts so many bytes more as in use. False: there is no room for them. */
static bool charge(struct stats *stats, size_t bytes)
{
    if (worker_is_full(stats->worker, bytes)) {
        worker_refuse_room(stats->worker);
        return false;
    }
    stats->worker->pool.used_bytes += bytes;
    stats->bytes += bytes;
    return true;
}

/* Reads "123" or "1.234567". */
static void read_number(struct stat *stat)
{
    char text[40];
    char *end;

    stat->is_number = false;
    stat->is_time = false;
    if (stat->text.len == 0 || stat->text.len >= sizeof(text)) {
        return;
    }
    memcpy(text, stat->text.data, stat->text.len);
    text[stat->text.len] = '\0';
    if (text[0] < '0' || text[0] > '9') {
        return;
    }
    stat->number = strtoull(text, &end, 10);
    stat->micros = 0;
    if (*end == '.' && strlen(end + 1) == 6 && strspn(end + 1, "0123456789") == 6) {
        stat->micros = (uint32_t)strtoul(end + 1, NULL, 10);
        stat->is_time = true;
        end += 7;
    }
    stat->is_number = *end == '\0';
}

static enum rule rule_of(struct slice name, bool may_sum)
{
    for (size_t i = 0; i < ARRAY_LEN(exceptions); i++) {
        struct slice exception = slice_text(exceptions[i].name);
        struct slice part = name;

        if (exception.data[0] == ':' && part.len > exception.len) {
            part = slice_make(name.data + name.len - exception.len, exception.len);
        }
        if (slice_equals(part, exception)) {
            return exceptions[i].rule;
        }
    }
    return may_sum ? RULE_SUM : RULE_FIRST;
}

static void fold(struct stat *into, const struct stat *more)
{
    if (!into->is_number || !more->is_number) {
        return;
    }
    if (into->rule == RULE_SUM) {
        into->micros += more->micros;
        into->number += more->number + into->micros / 1000000;
        into->micros %= 1000000;
    } else if ((into->rule == RULE_LOWEST && more->number < into->number) ||
               (into->rule == RULE_HIGHEST && more->number > into->number)) {
        into->number = more->number;
    }
}

/* The slot that holds the name's number, or is free for it. */
static uint32_t *slot_of(const struct stats *stats, struct slice name)
{
    size_t slot = XXH3_64bits_withSeed(name.data, name.len, stats->seed) & (stats->slots - 1);

    while (stats->numbers[slot] != 0 &&
           !slice_equals(stats->at[stats->numbers[slot] - 1].name, name)) {
        slot = (slot + 1) & (stats->slots - 1);
    }
    return &stats->numbers[slot];
}

/* False: out of memory. */
static bool grow(struct stats *stats)
{
    size_t room = stats->room == 0 ? STATS_FIRST : stats->room * 2;
    struct stat *grown;
    uint32_t *numbers;

    if (!charge(stats, (room - stats->room) * (sizeof(grown[0]) + 2 * sizeof(numbers[0])))) {
        return false;
    }
    grown = realloc(stats->at, room * sizeof(grown[0]));
    if (grown == NULL) {
        return false;
    }
    stats->at = grown;
    numbers = calloc(room * 2, sizeof(numbers[0]));
    if (numbers == NULL) {
        return false;
    }
    free(stats->numbers);
    stats->numbers = numbers;
    stats->slots = room * 2;
    stats->room = room;
    for (size_t i = 0; i < stats->count; i++) {
        *slot_of(stats, stats->at[i].name) = (uint32_t)i + 1;
    }
    return true;
}

/* Adds one line. False: out of memory. */
static bool add(struct stats *stats, struct stat stat)
{
    uint32_t *number;

    if (stats->count == stats->room && !grow(stats)) {
        return false;
    }
    number = slot_of(stats, stat.name);
    if (*number != 0) {
        fold(&stats->at[*number - 1], &stat);
        return true;
    }
    stats->at[stats->count++] = stat;
    *number = (uint32_t)stats->count;
    return true;
}

/* Takes the lines "STAT name value\r\n" of one leg's text. */
static bool add_leg(struct stats *stats, struct slice text, bool may_sum)
{
    while (text.len > 0) {
        const char *newline = memchr(text.data, '\n', text.len);
        size_t line_len = newline != NULL ? (size_t)(newline - text.data) : text.len;
        struct slice line = {text.data, line_len};
        struct stat stat = {0};
        const char *blank;

        text.data += newline != NULL ? line_len + 1 : line_len;
        text.len -= newline != NULL ? line_len + 1 : line_len;
        if (line.len > 0 && line.data[line.len - 1] == '\r') {
            line.len--;
        }
        if (line.len < 5 || memcmp(line.data, "STAT ", 5) != 0) {
            continue;
        }
        line.data += 5;
        line.len -= 5;
        blank = memchr(line.data, ' ', line.len);
        stat.name = slice_make(line.data, blank != NULL ? (size_t)(blank - line.data) : line.len);
        stat.text =
            blank != NULL ? slice_make(blank + 1, line.len - stat.name.len - 1) : slice_make("", 0);
        read_number(&stat);
        stat.rule = rule_of(stat.name, may_sum);
        if (!add(stats, stat)) {
            return false;
        }
    }
    return true;
}

/* Makes a leg's replies one contiguous text, malloc'ed; NULL out of memory. */
static char *flatten(struct stats *stats, struct outq *q)
{
    char *text = charge(stats, q->bytes + 1) ? malloc(q->bytes + 1) : NULL;
    char *to = text;

    for (uint32_t i = 0; text != NULL && i < q->count; i++) {
        const struct piece *piece = outq_at(q, i);

        memcpy(to, piece->data, piece->len);
        to += piece->len;
    }
    return text;
}

static bool put_stat(struct exchange *exchange, struct outq *q, const struct stat *stat)
{
    struct worker *worker = exchange->worker;
    char line[1200];
    int len;

    if (!stat->is_number || stat->rule == RULE_FIRST) {
        len = snprintf(line, sizeof(line), "STAT %.*s %.*s\r\n", (int)stat->name.len,
                       stat->name.data, (int)stat->text.len, stat->text.data);
    } else if (stat->is_time) {
        len = snprintf(line, sizeof(line), "STAT %.*s %" PRIu64 ".%06u\r\n", (int)stat->name.len,
                       stat->name.data, stat->number, stat->micros);
    } else {
        len = snprintf(line, sizeof(line), "STAT %.*s %" PRIu64 "\r\n", (int)stat->name.len,
                       stat->name.data, stat->number);
    }
    if (len < 0 || (size_t)len >= sizeof(line)) {
        return true; /* no server of ours says so much in one line; left out */
    }
    return outq_copy(q, line, (size_t)len, &worker->gather);
}

static bool put_all(struct exchange *exchange, struct outq *q, const struct stats *stats)
{
    for (size_t i = 0; i < stats->count; i++) {
        if (!put_stat(exchange, q, &stats->at[i])) {
            return false;
        }
    }
    return outq_copy(q, "END\r\n", 5, &exchange->worker->gather);
}

/* Adds up what the legs said, a text each. False: out of memory. */
static bool add_all(struct exchange *exchange, struct stats *stats, char **texts)
{
    for (uint32_t i = 0; i < exchange->leg_count; i++) {
        struct leg *leg = &exchange->legs[i];

        if (leg->cause != LEG_OK || leg->code != CODE_END) {
            continue;
        }
        texts[i] = flatten(stats, &leg->replies);
        if (texts[i] == NULL ||
            !add_leg(stats, slice_make(texts[i], leg->replies.bytes), !exchange->is_settings)) {
            return false;
        }
    }
    return true;
}

/* Where nobody said any: a line that a server answered instead, RESET or an error. */
static bool put_line(struct exchange *exchange, struct outq *q)
{
    struct worker *worker = exchange->worker;
    struct slice text = SLICE("SERVER_ERROR no server answered\r\n");

    for (uint32_t i = 0; i < exchange->leg_count; i++) {
        struct leg *leg = &exchange->legs[i];

        if (leg->cause == LEG_OK) {
            const struct piece *piece = outq_at(&leg->replies, 0);

            text = slice_make(piece->data, piece->len);
        }
    }
    return outq_copy(q, text.data, text.len, &worker->gather);
}

static bool has_stats(const struct exchange *exchange)
{
    for (uint32_t i = 0; i < exchange->leg_count; i++) {
        if (exchange->legs[i].cause == LEG_OK && exchange->legs[i].code == CODE_END) {
            return true;
        }
    }
    return false;
}

bool stats_sum(struct exchange *exchange, struct outq *q)
{
    struct worker *worker = exchange->worker;
    struct stats stats = {.worker = worker, .seed = random_seed()};
    char **texts;
    bool done;

    if (!has_stats(exchange)) {
        return put_line(exchange, q);
    }
    texts = calloc(exchange->leg_count, sizeof(texts[0]));
    if (texts != NULL && add_all(exchange, &stats, texts)) {
        done = put_all(exchange, q, &stats);
    } else {
        struct slice text = SLICE("SERVER_ERROR out of memory\r\n");

        done = outq_copy(q, text.data, text.len, &worker->gather);
    }
    for (uint32_t i = 0; texts != NULL && i < exchange->leg_count; i++) {
        free(texts[i]);
    }
    free(texts);
    free(stats.numbers);
    free(stats.at);
    worker->pool.used_bytes -= stats.bytes;
    return done;
}
