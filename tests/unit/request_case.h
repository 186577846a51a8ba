/*
 * What the tests of the request parser share: how a case is written, and the
 * parsing of it at every split of its bytes.
 */
#ifndef UNIT_REQUEST_CASE_H
#define UNIT_REQUEST_CASE_H

#include "proto/request.h"
#include "unit/run_suite.h"

#include <check.h>
#include <stdlib.h>

enum {
    MAX_VALUE = 1000,

    /* What a case may say besides its texts. */
    SILENT = 1 << 0,
    QUIET = 1 << 1,
    CLOSED = 1 << 2,
    REPEATABLE = 1 << 3,
    ENDS_WITH_MN = 1 << 10,
    FOREIGN = 1 << 4,
    FIRST = 1 << 5,    /* the first bytes of a client */
    NO_FLUSH = 1 << 6, /* allow_flush = no */
};

#define BYTES(literal)                                                                             \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }
#define K50                  "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"
#define K250                 K50 K50 K50 K50 K50
#define K251                 K250 "k"
#define BAD_FORMAT           "CLIENT_ERROR bad command line format\r\n"
#define BAD_DELETE           "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n"
#define BAD_EXPTIME          "CLIENT_ERROR invalid exptime argument\r\n"
#define BAD_DELTA            "CLIENT_ERROR invalid numeric delta argument\r\n"
#define BAD_CHUNK            "CLIENT_ERROR bad data chunk\r\n"
#define BAD_TOKEN            "CLIENT_ERROR bad token in command line format\r\n"
#define TOO_LARGE            "SERVER_ERROR object too large for cache\r\n"
#define INVALID_FLAG         "CLIENT_ERROR invalid flag\r\n"
#define DUPLICATE_FLAG       "CLIENT_ERROR duplicate flag\r\n"
#define INVALID_OR_DUPLICATE "CLIENT_ERROR invalid or duplicate flag\r\n"
#define NOT_HERE(what)       "CLIENT_ERROR " what " is not available through a proxy\r\n"
#define FLAGS_16             "k s t c f v h u l O P L I D1 J1 N1"

/* Answered without a server; the whole input is the request, but for what it swallows. */
struct answered_case {
    struct slice in;
    const char *answer;
    size_t swallow_bytes;
    unsigned int marks;
};

/* Sent on: with which key and line; the value is what follows the line in the input. */
struct sent_case {
    struct slice in;
    enum command_route route;
    const char *key;
    const char *line;
    unsigned int marks;
};

/* A value over the limit: what is sent in its place, and the answer that waits for it. */
struct large_case {
    struct slice in;
    const char *key;
    const char *line;
    const char *answer;
};

/* The struct is large and never cleared: what an earlier request left must not be seen. */
static struct request request;

static inline struct request_limits limits_of(unsigned int marks)
{
    return (struct request_limits){MAX_VALUE, (marks & NO_FLUSH) == 0};
}

static inline enum parse_status parse(struct slice in, size_t scanned, unsigned int marks,
                                      size_t *consumed)
{
    struct request_limits limits = limits_of(marks);

    return request_parse(&request, in.data, in.len, scanned, (marks & FIRST) != 0, &limits,
                         consumed);
}

/* Gives the bytes one by one, then all: every proper prefix must be asked to go on. */
static inline void parse_at_every_split(struct slice in, unsigned int marks)
{
    size_t consumed = 0;
    size_t scanned = 0;

    memset(&request, 0xee, sizeof(request));
    for (size_t have = 0; have < in.len; have++) {
        char *copy = malloc(have + 1); /* exact, for the sanitizers */

        ck_assert_ptr_nonnull(copy);
        memcpy(copy, in.data, have);
        ck_assert_msg(parse(slice_make(copy, have), 0, marks, &consumed) == PARSE_MORE,
                      "%zu of %zu bytes of %s", have, in.len, in.data);
        ck_assert_int_eq(parse(slice_make(copy, have), scanned, marks, &consumed), PARSE_MORE);
        ck_assert_uint_ge(request.scanned, scanned);
        ck_assert_uint_le(request.scanned, have);
        ck_assert(request.need_bytes == 0 || request.need_bytes > have);
        scanned = request.scanned;
        free(copy);
    }
    ck_assert_msg(parse(in, scanned, marks, &consumed) == PARSE_DONE, "%s", in.data);
    ck_assert_uint_eq(consumed, in.len);
}

static inline void check_text(struct slice have, const char *want, struct slice in)
{
    ck_assert_msg(slice_equals(have, slice_text(want)), "%s: \"%.*s\", not \"%s\"", in.data,
                  (int)have.len, have.data, want);
}

static inline void check_marks(unsigned int marks, struct slice in)
{
    ck_assert_msg(request.noreply == ((marks & SILENT) != 0), "%s", in.data);
    ck_assert_msg(request.ends_with_mn == ((marks & ENDS_WITH_MN) != 0), "%s", in.data);
    ck_assert_msg(request.quiet == ((marks & QUIET) != 0), "%s", in.data);
    ck_assert_msg(request.close == ((marks & CLOSED) != 0), "%s", in.data);
    ck_assert_msg(request.is_safe_to_repeat == ((marks & REPEATABLE) != 0), "%s", in.data);
    ck_assert_msg(request.is_foreign == ((marks & FOREIGN) != 0), "%s", in.data);
}

static inline void check_answered(const struct answered_case *c)
{
    parse_at_every_split(c->in, c->marks);
    ck_assert_int_eq(request.route, ROUTE_LOCAL);
    check_text(request.answer, c->answer, c->in);
    ck_assert_uint_eq(request.swallow_bytes, c->swallow_bytes);
    ck_assert_uint_eq(request.value.len, 0);
    check_marks(c->marks, c->in);
}

static inline void check_sent(const struct sent_case *c)
{
    parse_at_every_split(c->in, c->marks);
    ck_assert_int_eq(request.route, c->route);
    check_text(request.line, c->line, c->in);
    check_text(request.key, c->key, c->in);
    check_text(request.answer, "", c->in);
    check_marks(c->marks, c->in);
    ck_assert_uint_eq(request.swallow_bytes, 0);
    if (request.command->takes_value) {
        const char *newline = memchr(c->in.data, '\n', c->in.len);

        ck_assert_ptr_eq(request.value.data, newline + 1);
        ck_assert_ptr_eq(request.value.data + request.value.len, c->in.data + c->in.len);
    } else {
        ck_assert_uint_eq(request.value.len, 0);
    }

    size_t consumed;

    /* a canonical line is not copied */
    ck_assert_int_eq(parse(c->in, 0, c->marks, &consumed), PARSE_DONE);
    if (c->route == ROUTE_KEY && strncmp(c->in.data, c->line, strlen(c->line)) == 0) {
        ck_assert_ptr_eq(request.line.data, c->in.data);
    }
}

static inline void check_large(const struct large_case *c)
{
    parse_at_every_split(c->in, 0);
    ck_assert_int_eq(request.route, ROUTE_KEY);
    check_text(request.key, c->key, c->in);
    check_text(request.line, c->line, c->in);
    check_text(request.answer, c->answer, c->in);
    ck_assert_uint_eq(request.value.len, 0);
    ck_assert_uint_eq(request.swallow_bytes, 1003);
    ck_assert_int_eq(request.noreply, c->answer[0] == '\0');
}

#endif
