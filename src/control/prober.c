/* The two questions put to a server and how their answers read; see prober.h. */
#include "control/prober.h"

#include "base/clock.h"
#include "control/query.h"

#include <stdlib.h>

enum {
    VERSION_ANSWER_MAX = 512,
    STATS_ANSWER_MAX = 64 * 1024,
};

struct prober {
    const struct prober_callbacks *callbacks;
    void *arg;
    struct query version;
    struct query stats;
};

static bool begins_with(struct slice text, struct slice word)
{
    return text.len >= word.len && memcmp(text.data, word.data, word.len) == 0;
}

/* One could become the other by more bytes. */
static bool may_begin_with(struct slice text, struct slice word)
{
    return memcmp(text.data, word.data, text.len < word.len ? text.len : word.len) == 0;
}

/* QUERY_FAILED where the answer is, or is becoming, an error line. */
static enum query_verdict judge_error(struct slice answer, enum health_cause *cause)
{
    static const struct slice words[] = {
        {"ERROR", 5},
        {"SERVER_ERROR", 12},
        {"CLIENT_ERROR", 12},
    };

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (begins_with(answer, words[i])) {
            *cause = HEALTH_PROBE_ERROR;
            return QUERY_FAILED;
        }
        if (may_begin_with(answer, words[i])) {
            return QUERY_MORE;
        }
    }
    *cause = HEALTH_BROKEN;
    return QUERY_FAILED;
}

/* One line, and nothing behind it. */
static enum query_verdict judge_version(struct slice answer, enum health_cause *cause)
{
    const char *end;

    if (!may_begin_with(answer, SLICE("VERSION "))) {
        return judge_error(answer, cause);
    }
    end = memchr(answer.data, '\n', answer.len);
    if (end == NULL) {
        return QUERY_MORE;
    }
    if (end != answer.data + answer.len - 1 || end[-1] != '\r') {
        *cause = HEALTH_BROKEN;
        return QUERY_FAILED;
    }
    return QUERY_DONE;
}

/* STAT lines up to an END. */
static enum query_verdict judge_stats(struct slice answer, enum health_cause *cause)
{
    static const struct slice end = {"\r\nEND\r\n", 7};

    if (!may_begin_with(answer, SLICE("STAT "))) {
        return judge_error(answer, cause);
    }
    if (answer.len > end.len &&
        memcmp(answer.data + answer.len - end.len, end.data, end.len) == 0) {
        return QUERY_DONE;
    }
    return QUERY_MORE;
}

/* Reads "STAT name digits" out of the answer to stats. */
static bool find_stat(struct slice answer, struct slice line_begin, uint64_t *value)
{
    const char *at = memmem(answer.data, answer.len, line_begin.data, line_begin.len);
    const char *end = answer.data + answer.len;
    uint64_t number = 0;

    if (at == NULL || (at != answer.data && at[-1] != '\n')) {
        return false;
    }
    at += line_begin.len;
    if (at == end || *at == '\r') {
        return false;
    }
    for (; at < end && *at != '\r'; at++) {
        if (*at < '0' || *at > '9' || number > UINT32_MAX) {
            return false;
        }
        number = number * 10 + (uint64_t)(*at - '0');
    }
    *value = number;
    return true;
}

static const struct query_kind version_kind = {
    .question = {"version\r\n", 9},
    .answer_max = VERSION_ANSWER_MAX,
    .judge = judge_version,
    .keeps_connection = true,
};

static const struct query_kind stats_kind = {
    .question = {"stats\r\n", 7},
    .answer_max = STATS_ANSWER_MAX,
    .judge = judge_stats,
};

static void on_version(struct query *query, enum health_cause cause, struct slice answer)
{
    struct prober *prober = query->arg;
    const struct slice word = SLICE("VERSION ");
    struct probe_result result = {
        .cause = cause,
        .begun_us = query->begun_us,
        .ended_us = clock_us(),
        .version = {"", 0},
    };

    if (cause == HEALTH_NO_CAUSE) {
        result.version = slice_make(answer.data + word.len, answer.len - word.len - 2);
    }
    prober->callbacks->on_probe(prober->arg, &result);
}

static void on_stats(struct query *query, enum health_cause cause, struct slice answer)
{
    struct prober *prober = query->arg;
    struct uptime_result result = {
        .cause = cause,
        .begun_us = query->begun_us,
        .ended_us = clock_us(),
    };

    if (cause == HEALTH_NO_CAUSE && (!find_stat(answer, SLICE("STAT pid "), &result.pid) ||
                                     !find_stat(answer, SLICE("STAT uptime "), &result.uptime_s))) {
        result.cause = HEALTH_BROKEN;
    }
    prober->callbacks->on_uptime(prober->arg, &result);
}

struct prober *prober_new(struct event_base *base, const struct prober_callbacks *callbacks,
                          void *arg)
{
    struct prober *prober = calloc(1, sizeof(*prober));

    if (prober == NULL) {
        return NULL;
    }
    prober->callbacks = callbacks;
    prober->arg = arg;
    prober->version.on_end = on_version;
    prober->version.arg = prober;
    prober->stats.on_end = on_stats;
    prober->stats.arg = prober;
    query_init(&prober->version, &version_kind, base);
    query_init(&prober->stats, &stats_kind, base);
    return prober;
}

void prober_free(struct prober *prober)
{
    if (prober == NULL) {
        return;
    }
    query_fini(&prober->version);
    query_fini(&prober->stats);
    free(prober);
}

void prober_start(struct prober *prober, const struct endpoint *endpoints, uint32_t count,
                  uint64_t timeout_us)
{
    if (prober->version.state == QUERY_IDLE) {
        query_start(&prober->version, endpoints, count, timeout_us);
    }
}

bool prober_is_busy(const struct prober *prober)
{
    return prober->version.state != QUERY_IDLE;
}

void prober_uptime(struct prober *prober, const struct endpoint *endpoints, uint32_t count,
                   uint64_t timeout_us)
{
    if (prober->stats.state == QUERY_IDLE) {
        query_start(&prober->stats, endpoints, count, timeout_us);
    }
}
