#include "proto/reply.h"
#include "unit/run_suite.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    MAX_VALUE = 1000,
};

/*
 * A reply and what is made of it, in short: H<key>/<value bytes> a header (k: base64),
 * B<bytes> the body, S a STAT line, F<code> the end, ! broken, ... more is awaited.
 */
struct reply_case {
    enum reply_kind kind;
    struct slice bytes;
    const char *events;
};

#define BYTES(literal)                                                                             \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }
#define K50  "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"
#define K250 K50 K50 K50 K50 K50

/* clang-format off */
static const struct reply_case cases[] = {
    { REPLY_LINE,   BYTES("STORED\r\n"),                "F1" },
    { REPLY_LINE,   BYTES("NOT_STORED\r\n"),            "F2" },
    { REPLY_LINE,   BYTES("EXISTS\r\n"),                "F3" },
    { REPLY_LINE,   BYTES("NOT_FOUND\r\n"),             "F4" },
    { REPLY_LINE,   BYTES("DELETED\r\n"),               "F5" },
    { REPLY_LINE,   BYTES("TOUCHED\r\n"),               "F6" },
    { REPLY_LINE,   BYTES("OK\r\n"),                    "F7" },
    { REPLY_LINE,   BYTES("0\r\n"),                     "F8" },
    { REPLY_LINE,   BYTES("18446744073709551615\r\n"),  "F8" },
    { REPLY_LINE,   BYTES("18446744073709551616\r\n"),  "!" },
    { REPLY_LINE,   BYTES("VERSION 1.6.18\r\n"),        "F9" },
    { REPLY_LINE,   BYTES("RESET\r\n"),                 "F10" },
    { REPLY_LINE,   BYTES("ERROR\r\n"),                 "F19" },
    { REPLY_LINE,   BYTES("ERROR Too many open connections\r\n"), "F19" },
    { REPLY_LINE,   BYTES("CLIENT_ERROR bad data chunk\r\n"), "F20" },
    { REPLY_LINE,   BYTES("SERVER_ERROR out of memory storing object\r\n"), "F21" },
    { REPLY_LINE,   BYTES("END\r\n"),                   "!" },
    { REPLY_LINE,   BYTES("HD\r\n"),                    "!" },
    { REPLY_LINE,   BYTES("VALUE a 0 1\r\n"),           "!" },
    { REPLY_LINE,   BYTES("STORED \r\n"),               "!" },
    { REPLY_LINE,   BYTES("STORED\n"),                  "!" },
    { REPLY_LINE,   BYTES("stored\r\n"),                "!" },
    { REPLY_LINE,   BYTES("ERRORS\r\n"),                "!" },
    { REPLY_LINE,   BYTES("-1\r\n"),                    "!" },
    { REPLY_LINE,   BYTES("12 \r\n"),                   "!" },
    { REPLY_LINE,   BYTES("\r\n"),                      "!" },
    { REPLY_LINE,   BYTES("\n"),                        "!" },
    { REPLY_LINE,   BYTES("STORED\r"),                  "..." },
    { REPLY_LINE,   BYTES(""),                          "..." },

    { REPLY_VALUES, BYTES("END\r\n"),                   "F0" },
    { REPLY_VALUES, BYTES("VALUE a 0 1\r\nx\r\nEND\r\n"), "Ha/1 B3 F0" },
    { REPLY_VALUES, BYTES("VALUE a 4294967295 0 18446744073709551615\r\n\r\nEND\r\n"),
                    "Ha/0 B2 F0" },
    { REPLY_VALUES, BYTES("VALUE a 0 2\r\n\r\n\r\nVALUE b\x01 0 1\r\n\n\r\nEND\r\n"),
                    "Ha/2 B4 Hb\x01/1 B3 F0" },
    { REPLY_VALUES, BYTES("VALUE " K250 " 0 1\r\nx\r\nEND\r\n"), "H" K250 "/1 B3 F0" },
    { REPLY_VALUES, BYTES("VALUE a 0 5\r\nEND\r\n\r\nEND\r\n"), "Ha/5 B7 F0" },
    { REPLY_VALUES, BYTES("VALUE a 0 1\r\nx\r\nSERVER_ERROR out of memory writing get response\r\n"),
                    "Ha/1 B3 F21" },
    { REPLY_VALUES, BYTES("CLIENT_ERROR bad command line format\r\n"), "F20" },
    { REPLY_VALUES, BYTES("VALUE a 0 1\r\nxy\r\n"),     "Ha/1 !" },
    { REPLY_VALUES, BYTES("VALUE a 0 1\r\nx\n\r"),      "Ha/1 !" },
    { REPLY_VALUES, BYTES("VALUE a 0 1\r\nx\r\r"),      "Ha/1 !" },
    { REPLY_VALUES, BYTES("VALUE a 0 2\r\nx\r\nEND\r\n"), "Ha/2 !" },
    { REPLY_VALUES, BYTES("VALUE a 0 1000\r\n"),        "Ha/1000 ..." },
    { REPLY_VALUES, BYTES("VALUE a 0 1001\r\n"),        "!" },
    { REPLY_VALUES, BYTES("VALUE a 0 18446744073709551614\r\n"), "!" },
    { REPLY_VALUES, BYTES("VALUE a 0 18446744073709551616\r\n"), "!" },
    { REPLY_VALUES, BYTES("VALUE a 0 000000000000000000001\r\n"), "!" },
    { REPLY_VALUES, BYTES("VALUE a 0 -1\r\n"),          "!" },
    { REPLY_VALUES, BYTES("VALUE a 0\r\n"),             "!" },
    { REPLY_VALUES, BYTES("VALUE a 0 \r\n"),            "!" },
    { REPLY_VALUES, BYTES("VALUE a x 1\r\n"),           "!" },
    { REPLY_VALUES, BYTES("VALUE  0 1\r\n"),            "!" },
    { REPLY_VALUES, BYTES("VALUE a 0 1 \r\n"),          "!" },
    { REPLY_VALUES, BYTES("VALUE a 0 1 2 \r\n"),        "!" },
    { REPLY_VALUES, BYTES("VALUE a 0 1 2 3\r\n"),       "!" },
    { REPLY_VALUES, BYTES("VALUE a 0 1 x\r\n"),         "!" },
    { REPLY_VALUES, BYTES("VALUE " K250 "k 0 1\r\n"),   "!" },
    { REPLY_VALUES, BYTES("VALUE\r\n"),                 "!" },
    { REPLY_VALUES, BYTES("END \r\n"),                  "!" },
    { REPLY_VALUES, BYTES("STORED\r\n"),                "!" },
    { REPLY_VALUES, BYTES("OK\r\n"),                    "!" },

    { REPLY_META_MN, BYTES("MN\r\n"),                   "F18" },
    { REPLY_META_MN, BYTES("HD\r\nMN\r\n"),             "S F18" },
    { REPLY_META_MN, BYTES("VA 1\r\n5\r\nMN\r\n"),      "H/1 B3 F18" },
    { REPLY_META_MN, BYTES("CLIENT_ERROR x\r\nMN\r\n"), "S F18" },
    { REPLY_META_MN, BYTES("STORED\r\n"),               "!" },
    /* a server that answers mn otherwise, as those before 1.6 do, is not heard on and on */
    { REPLY_META_MN, BYTES("EN\r\nHD\r\nMN\r\n"),       "S !" },
    { REPLY_META_MN, BYTES("EN\r\nVA 1\r\n5\r\nMN\r\n"), "S !" },
    { REPLY_META_MN, BYTES("VA 1\r\n5\r\nEN\r\n"),      "H/1 B3 !" },
    { REPLY_META_MN, BYTES("VA 1\r\n5\r\nVA 1\r\n5\r\n"), "H/1 B3 !" },
    { REPLY_META,   BYTES("HD\r\n"),                    "F11" },
    { REPLY_META,   BYTES("HD kfoo Oabc t-1\r\n"),      "F11:foo" },
    { REPLY_META,   BYTES("HD kZm9v b\r\n"),            "F11:Zm9v b" },
    { REPLY_META,   BYTES("VA 1 s1\r\nx\r\n"),          "H/1 B3 F12" },
    { REPLY_META,   BYTES("VA 1\r\nx\r\n"),             "H/1 B3 F12" },
    { REPLY_META,   BYTES("VA 0 Ok ka f0 W\r\n\r\n"),   "Ha/0 B2 F12" },
    { REPLY_META,   BYTES("VA 5 kYQ== b\r\nEN\r\nx\r\n"), "HkYQ==/5 B7 F12" },
    { REPLY_META,   BYTES("EN\r\n"),                    "F13" },
    { REPLY_META,   BYTES("EN knokey Oab\r\n"),         "F13:nokey" },
    { REPLY_META,   BYTES("NF Oq\r\n"),                 "F14" },
    { REPLY_META,   BYTES("NS\r\n"),                    "F15" },
    { REPLY_META,   BYTES("EX ka c5\r\n"),              "F16:a" },
    { REPLY_META,   BYTES("ME key exp=-1 la=2 cas=9 fetch=no cls=1 size=63\r\n"), "F17" },
    { REPLY_META,   BYTES("MN\r\n"),                    "F18" },
    { REPLY_META,   BYTES("MN \r\n"),                   "!" },
    { REPLY_META,   BYTES("CLIENT_ERROR invalid flag\r\n"), "F20" },
    { REPLY_META,   BYTES("HDx\r\n"),                   "!" },
    { REPLY_META,   BYTES("VA x\r\n"),                  "!" },
    { REPLY_META,   BYTES("VA\r\n"),                    "!" },
    { REPLY_META,   BYTES("VA 1\r\nxyz\r\n"),           "H/1 !" },
    { REPLY_META,   BYTES("VA 1001\r\n"),               "!" },
    { REPLY_META,   BYTES("END\r\n"),                   "!" },
    { REPLY_META,   BYTES("VALUE a 0 1\r\n"),           "!" },

    { REPLY_STATS,  BYTES("END\r\n"),                   "F0" },
    { REPLY_STATS,  BYTES("STAT pid 1\r\nSTAT version 1.6.18\r\nEND\r\n"), "S S F0" },
    { REPLY_STATS,  BYTES("RESET\r\n"),                 "F10" },
    { REPLY_STATS,  BYTES("ERROR\r\n"),                 "F19" },
    { REPLY_STATS,  BYTES("STAT\r\n"),                  "!" },
    { REPLY_STATS,  BYTES("VALUE a 0 1\r\n"),           "!" },
};
/* clang-format on */

/* What was made of a reply; bodies that came in pieces are told as one. */
struct transcript {
    char text[1024];
    uint64_t body_bytes;
};

__attribute__((format(printf, 2, 3))) static void tell(struct transcript *told, const char *format,
                                                       ...)
{
    size_t len = strlen(told->text);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(told->text + len, sizeof(told->text) - len, format, arguments);
    va_end(arguments);
}

static void tell_final(struct transcript *told, const struct reply *reply)
{
    tell(told, "F%d", (int)reply->code);
    if (reply->key.len > 0 && reply->code != CODE_VA) {
        tell(told, ":%.*s%s", (int)reply->key.len, reply->key.data,
             reply->key_is_base64 ? " b" : "");
    }
}

static void tell_header(struct transcript *told, const struct reply *reply)
{
    tell(told, "H%s%.*s/%llu ", reply->key_is_base64 ? "k" : "", (int)reply->key.len,
         reply->key.data, (unsigned long long)reply->value_bytes);
    told->body_bytes = 0;
}

/* Takes all events that are in data; false once the reply is at its end or broken. */
static bool take(struct transcript *told, struct reply_parser *parser, const char *data, size_t len,
                 size_t *taken)
{
    for (;;) {
        struct reply reply;

        switch (reply_parse(parser, data + *taken, len - *taken, MAX_VALUE, &reply)) {
        case REPLY_NEED_MORE:
            ck_assert_uint_eq(reply.bytes, 0);
            return true;
        case REPLY_HEADER:
            tell_header(told, &reply);
            break;
        case REPLY_BODY:
            told->body_bytes += reply.bytes;
            if (!parser->in_body) {
                tell(told, "B%llu ", (unsigned long long)told->body_bytes);
            }
            if (reply.is_final) {
                tell_final(told, &reply);
            }
            break;
        case REPLY_STAT:
            tell(told, "S ");
            break;
        case REPLY_FINAL:
            ck_assert(reply.is_final);
            tell_final(told, &reply);
            break;
        case REPLY_BROKEN:
            tell(told, "!");
            return false;
        }
        ck_assert_uint_gt(reply.bytes, 0);
        *taken += reply.bytes;
        if (reply.is_final) {
            return false;
        }
    }
}

START_TEST(makes_the_same_of_a_reply_at_every_split)
{
    const struct reply_case *c = &cases[_i];

    for (size_t split = 0; split <= c->bytes.len; split++) {
        struct transcript told = {.text = ""};
        struct reply_parser parser;
        size_t taken = 0;
        char *copy = malloc(c->bytes.len + 1); /* exact, for the sanitizers */

        ck_assert_ptr_nonnull(copy);
        memcpy(copy, c->bytes.data, c->bytes.len);
        reply_begin(&parser, c->kind);
        if (take(&told, &parser, copy, split, &taken) &&
            take(&told, &parser, copy, c->bytes.len, &taken)) {
            tell(&told, "...");
        }
        ck_assert_msg(strcmp(told.text, c->events) == 0, "case %d, split %zu: %s, not %s", _i,
                      split, told.text, c->events);
        if (strchr(c->events, '!') == NULL && strstr(c->events, "...") == NULL) {
            ck_assert_uint_eq(taken, c->bytes.len);
        }
        free(copy);
    }
}
END_TEST

START_TEST(gives_up_on_a_line_without_end)
{
    static char line[REPLY_LINE_BYTES_MAX + 1];
    struct reply_parser parser;
    struct reply reply;

    memset(line, 'x', sizeof(line));
    memcpy(line, "SERVER_ERROR ", 13);
    reply_begin(&parser, REPLY_LINE);
    ck_assert_int_eq(reply_parse(&parser, line, REPLY_LINE_BYTES_MAX - 1, MAX_VALUE, &reply),
                     REPLY_NEED_MORE);
    ck_assert_int_eq(reply_parse(&parser, line, REPLY_LINE_BYTES_MAX, MAX_VALUE, &reply),
                     REPLY_BROKEN);
    memcpy(line + REPLY_LINE_BYTES_MAX - 2, "\r\n", 2);
    ck_assert_int_eq(reply_parse(&parser, line, REPLY_LINE_BYTES_MAX, MAX_VALUE, &reply),
                     REPLY_FINAL);
}
END_TEST

START_TEST(hands_on_a_body_without_waiting_for_all_of_it)
{
    struct reply_parser parser;
    struct reply reply;

    reply_begin(&parser, REPLY_VALUES);
    ck_assert_int_eq(reply_parse(&parser, "VALUE a 0 4\r\nab", 15, MAX_VALUE, &reply),
                     REPLY_HEADER);
    ck_assert_uint_eq(reply.bytes, 13);
    ck_assert_int_eq(reply_parse(&parser, "ab", 2, MAX_VALUE, &reply), REPLY_BODY);
    ck_assert_uint_eq(reply.bytes, 2);
    ck_assert_uint_eq(parser.body_left, 4);
    ck_assert_int_eq(reply_parse(&parser, "cd\r", 3, MAX_VALUE, &reply), REPLY_BODY);
    ck_assert(parser.in_body);
    ck_assert_int_eq(reply_parse(&parser, "\nEND\r\n", 6, MAX_VALUE, &reply), REPLY_BODY);
    ck_assert_uint_eq(reply.bytes, 1);
    ck_assert(!reply.is_final);
}
END_TEST

START_TEST(what_went_another_way_is_not_missed_at_the_end)
{
    static const struct {
        const char *rest;
        enum reply_event event;
    } ends[] = {{"ef\r\nEND\r\n", REPLY_BODY}, {"efg\n", REPLY_BROKEN}, {"e\r\nE", REPLY_BROKEN}};

    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        struct reply_parser parser;
        struct reply reply;

        reply_begin(&parser, REPLY_VALUES);
        ck_assert_int_eq(reply_parse(&parser, "VALUE a 0 6\r\n", 13, MAX_VALUE, &reply),
                         REPLY_HEADER);
        reply_skip_body(&parser, 3);
        reply_skip_body(&parser, 1);
        ck_assert_int_eq(reply_parse(&parser, ends[i].rest, 4, MAX_VALUE, &reply), ends[i].event);
        ck_assert(i > 0 || !parser.in_body);
    }
}
END_TEST

/* clang-format off */
static const struct {
    const char *command;
    const char *codes; /* what q hides, as recorded from memcached 1.6.18 */
} quiet[] = {
    { "mg", "EN" },
    { "ms", "HD" },
    { "md", "HD" },
    { "ma", "HD VA" },
    { "me", "" },
    { "mn", "" },
    { "get", "" },
    { "set", "" },
};

static const struct {
    const char *name;
    enum reply_code code;
} codes[] = {
    { "HD", CODE_HD }, { "VA", CODE_VA }, { "EN", CODE_EN }, { "NF", CODE_NF }, { "NS", CODE_NS },
    { "EX", CODE_EX }, { "MN", CODE_MN }, { "ERR", CODE_ERROR }, { "CLI", CODE_CLIENT_ERROR },
    { "SRV", CODE_SERVER_ERROR }, { "STO", CODE_STORED },
};
/* clang-format on */

START_TEST(hides_what_memcached_hides_behind_q)
{
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        const struct command *command = command_find(slice_text(quiet[_i].command));

        ck_assert_msg(reply_is_quiet(command, codes[i].code) ==
                          (strstr(quiet[_i].codes, codes[i].name) != NULL),
                      "%s %s", quiet[_i].command, codes[i].name);
    }
}
END_TEST

/* How many bytes reply_parse takes for a VALUE of key and its whole body; 0: they are not there. */
static size_t parse_value(const char *data, size_t len, struct slice key, uint64_t *value_bytes)
{
    struct reply_parser parser;
    struct reply header;
    struct reply body;

    reply_begin(&parser, REPLY_VALUES);
    if (reply_parse(&parser, data, len, MAX_VALUE, &header) != REPLY_HEADER ||
        !slice_equals(header.key, key) ||
        reply_parse(&parser, data + header.bytes, len - header.bytes, MAX_VALUE, &body) !=
            REPLY_BODY ||
        parser.in_body) {
        return 0;
    }
    *value_bytes = header.value_bytes;
    return header.bytes + body.bytes;
}

/* Both readers say the same of data; but one of them leaves numbers of 20 digits to the other. */
static void compare_readers(const char *data, size_t len, struct slice key, bool has_20_digits)
{
    char *copy = malloc(len + 1); /* exact, for the sanitizers */
    uint64_t want_bytes = 0;
    uint64_t have_bytes = 0;

    ck_assert_ptr_nonnull(copy);
    memcpy(copy, data, len);
    size_t want = parse_value(copy, len, key, &want_bytes);
    size_t have = reply_whole_value(copy, len, key, MAX_VALUE, &have_bytes);
    if (have != 0 || !has_20_digits) {
        ck_assert_msg(have == want && (have == 0 || have_bytes == want_bytes),
                      "%zu bytes, not %zu: %.*s", have, want, (int)len, data);
    }
    free(copy);
}

START_TEST(takes_a_whole_value_as_the_parser_does)
{
    const struct reply_case *c = &cases[_i];
    static const char *const keys[] = {"a", "b\x01", "ab", K250, K250 "k", "", "5"};

    for (size_t from = 0; from < c->bytes.len; from++) {
        for (size_t to = from; to <= c->bytes.len; to++) {
            for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
                compare_readers(c->bytes.data + from, to - from, slice_text(keys[k]),
                                strstr(c->bytes.data, "18446744073709551615") != NULL);
            }
        }
    }
}
END_TEST

START_TEST(takes_a_value_with_one_wrong_byte_as_the_parser_does)
{
    static const struct slice whole[] = {
        BYTES("VALUE key 0 3\r\nabc\r\nEND\r\n"),
        BYTES("VALUE key 17 10 9223372036854775807\r\n\r\n\r\n\r\n\r\n\r\n\r\nEND\r\n"),
        BYTES("VALUE key 4294967295 0\r\n\r\nVALUE key 1 1\r\nx\r\n"),
    };
    char text[64];

    for (size_t i = 0; i < ARRAY_LEN(whole); i++) {
        for (size_t at = 0; at < whole[i].len; at++) {
            for (int byte = 0; byte < 256; byte++) {
                memcpy(text, whole[i].data, whole[i].len);
                text[at] = (char)byte;
                compare_readers(text, whole[i].len, SLICE("key"), false);
            }
        }
    }
}
END_TEST

START_TEST(sees_the_end_of_the_values_and_nothing_like_it)
{
    ck_assert(reply_begins_with_end("END\r\n", 5));
    ck_assert(reply_begins_with_end("END\r\nVALUE", 10));
    ck_assert(!reply_begins_with_end("END\r\n", 4));
    ck_assert(!reply_begins_with_end("END \r\n", 6));
    ck_assert(!reply_begins_with_end("EN\r\n\r\n", 6));
}
END_TEST

/* memcached gives back some keys undecoded: with blanks and line ends that part and end nothing. */
START_TEST(a_key_given_back_undecoded_is_one_word_of_one_line)
{
    static const struct slice keys[] = {SLICE("a\nb"), SLICE("a b"), SLICE("\r\n"),
                                        SLICE("k\n k\n"), SLICE("\n")};
    static const struct {
        const char *before;
        const char *behind;
        size_t body;
    } forms[] = {{"VA 0 k", " W\r\n\r\n", 2},
                 {"HD s1 k", "\r\n", 0},
                 {"HD k", " f0\r\n", 0},
                 {"ME ", " exp=-1 la=0 kx\r\n", 0}};

    for (size_t form = 0; form < ARRAY_LEN(forms); form++) {
        char text[64];
        struct slice raw = keys[_i];
        size_t len = (size_t)snprintf(text, sizeof(text), "%s%s%s", forms[form].before, raw.data,
                                      forms[form].behind);
        size_t line = len - forms[form].body;

        for (size_t part = 1; part <= len; part++) {
            struct reply_parser parser;
            struct reply reply;
            enum reply_event event;

            reply_begin(&parser, REPLY_META);
            parser.raw_key = raw;
            event = reply_parse(&parser, text, part, MAX_VALUE, &reply);
            if (part < line) {
                ck_assert_msg(event == REPLY_NEED_MORE, "%zu of %s: %d", part, text, (int)event);
                continue;
            }
            ck_assert_int_eq(event, form == 0 ? REPLY_HEADER : REPLY_FINAL);
            ck_assert_uint_eq(reply.bytes, line);
            ck_assert(reply.code == CODE_ME || slice_equals(reply.key, raw));
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reply");
    TCase *tests = tcase_create("reply");

    tcase_add_loop_test(tests, makes_the_same_of_a_reply_at_every_split, 0, ARRAY_LEN(cases));
    tcase_add_test(tests, gives_up_on_a_line_without_end);
    tcase_add_test(tests, hands_on_a_body_without_waiting_for_all_of_it);
    tcase_add_test(tests, what_went_another_way_is_not_missed_at_the_end);
    tcase_add_loop_test(tests, hides_what_memcached_hides_behind_q, 0, ARRAY_LEN(quiet));
    tcase_add_loop_test(tests, takes_a_whole_value_as_the_parser_does, 0, ARRAY_LEN(cases));
    tcase_add_test(tests, takes_a_value_with_one_wrong_byte_as_the_parser_does);
    tcase_add_test(tests, sees_the_end_of_the_values_and_nothing_like_it);
    tcase_add_loop_test(tests, a_key_given_back_undecoded_is_one_word_of_one_line, 0, 5);
    suite_add_tcase(suite, tests);

    return run_suite(suite);
}
