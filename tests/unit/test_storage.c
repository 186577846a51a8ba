#include "unit/request_case.h"

#include <stdio.h>

/* clang-format off */
static const struct answered_case answered[] = {
    { BYTES("set\r\n"),                       "ERROR\r\n", 0, 0 },
    { BYTES("cas\r\n"),                       "ERROR\r\n", 0, 0 },
    { BYTES("set k\r\n"),                     "ERROR\r\n", 0, CLOSED },
    { BYTES("set  0 0 5\r\n"),                "ERROR\r\n", 0, CLOSED },
    { BYTES("set k 0 0 noreply\r\n"),         "", 0, SILENT | CLOSED },
    { BYTES("set k 0 0 1 x y\r\n"),           "ERROR\r\n", 3, 0 },
    { BYTES("set k 0 0 1 x noreply\r\n"),     "ERROR\r\n", 3, 0 },
    { BYTES("cas k 0 0 5\r\n"),               "ERROR\r\n", 7, 0 },
    { BYTES("cas k 0 0 5 x\r\n"),             BAD_FORMAT, 7, 0 },
    { BYTES("cas k 0 0 5 -1\r\n"),            BAD_FORMAT, 7, 0 },
    { BYTES("cas k 0 0 5 18446744073709551616\r\n"), BAD_FORMAT, 7, 0 },
    { BYTES("cas k 0 0 5 noreply\r\n"),       "", 7, SILENT },
    { BYTES("cas k 0 0 5 1 2 3\r\n"),         "ERROR\r\n", 7, 0 },
    { BYTES("set k 0 99999999999999999999999 9\r\n"), BAD_FORMAT, 11, 0 },
    { BYTES("set k 0 0.2 9\r\n"),             BAD_FORMAT, 11, 0 },
    { BYTES("set " K251 " 0 0 9\r\n"),        BAD_FORMAT, 11, 0 },
    { BYTES("set " K251 " 0 0 9 noreply\r\n"), "", 11, SILENT },
    { BYTES("set k -1 0 9\r\n"),              BAD_FORMAT, 11, 0 },
    { BYTES("set k 18446744073709551616 0 9\r\n"), BAD_FORMAT, 11, 0 },
    { BYTES("set k x 0 9 noreply\r\n"),       "", 11, SILENT },
    { BYTES("set k\0l 0 0 9\r\n"),            BAD_FORMAT, 11, 0 },
    { BYTES("set k 0 0 9 \0\r\n"),            BAD_FORMAT, 11, 0 },
    { BYTES("set k x 0 2147483645\r\n"),      BAD_FORMAT, 2147483647, 0 },
    { BYTES("set k 0 0 -1\r\n"),              BAD_FORMAT, 0, CLOSED },
    { BYTES("set k 0 0 x\r\n"),               BAD_FORMAT, 0, CLOSED },
    { BYTES("set k 0 0 1.0\r\n"),             BAD_FORMAT, 0, CLOSED },
    { BYTES("set k 0 0 0x1\r\n"),             BAD_FORMAT, 0, CLOSED },
    { BYTES("set k 0 0 1\0\r\n"),             BAD_FORMAT, 0, CLOSED },
    { BYTES("set k 0 0 2147483646\r\n"),      BAD_FORMAT, 0, CLOSED },
    { BYTES("set k 0 0 4294967299\r\n"),      BAD_FORMAT, 0, CLOSED },
    { BYTES("set k 0 0 9223372036854775808\r\n"), BAD_FORMAT, 0, CLOSED },
    { BYTES("set k 0 0 99999999999999999999\r\n"), BAD_FORMAT, 0, CLOSED },
    { BYTES("set k 0 0 99999999999999999999 noreply\r\n"), "", 0, SILENT | CLOSED },
    { BYTES("add k 0 0 1001\r\n"),            TOO_LARGE, 1003, 0 },
    { BYTES("cas k 0 0 1001 5\r\n"),          TOO_LARGE, 1003, 0 },
    { BYTES("append k 0 0 2147483645 noreply\r\n"), "", 2147483647, SILENT },
    { BYTES("set k 0 0 3\r\nabcde"),          BAD_CHUNK, 0, 0 },
    { BYTES("set k 0 0 3\r\nabc\n\r"),        BAD_CHUNK, 0, 0 },
    { BYTES("set k 0 0 0\r\nab"),             BAD_CHUNK, 0, 0 },
    { BYTES("set k 0 0 3 noreply\r\nabcde"),  "", 0, SILENT },
};

static const struct sent_case sent[] = {
    { BYTES("set k 0 0 3\r\nabc\r\n"),        ROUTE_KEY, "k", "set k 0 0 3\r\n", 0 },
    { BYTES("set k 0 0 0\r\n\r\n"),           ROUTE_KEY, "k", "set k 0 0 0\r\n", 0 },
    { BYTES("set k 0 0 3\na\nc\r\n"),         ROUTE_KEY, "k", "set k 0 0 3\r\n", 0 },
    { BYTES("  set  k 0   0 3 \r\n\0\r\n\r\n"), ROUTE_KEY, "k", "set k 0 0 3\r\n", 0 },
    { BYTES("set k 0 0 9\r\nflush_all\r\n"),  ROUTE_KEY, "k", "set k 0 0 9\r\n", 0 },
    { BYTES("set k 4294967297 -4294967295 +03\r\nabc\r\n"), ROUTE_KEY, "k",
                                              "set k 1 1 3\r\n", 0 },
    { BYTES("set k 18446744073709551615 -1 1\r\na\r\n"), ROUTE_KEY, "k",
                                              "set k 4294967295 -1 1\r\n", 0 },
    { BYTES("set k -0 -0 -0\r\n\r\n"),        ROUTE_KEY, "k", "set k 0 0 0\r\n", 0 },
    { BYTES("set k \t1 1\tx 1\r\r\na\r\n"),   ROUTE_KEY, "k", "set k 1 1 1\r\n", 0 },
    { BYTES("set k 0 0 1 noreply\r\na\r\n"),  ROUTE_KEY, "k", "set k 0 0 1\r\n", SILENT },
    { BYTES("set k 0 0 1 NOREPLY\r\na\r\n"),  ROUTE_KEY, "k", "set k 0 0 1\r\n", 0 },
    { BYTES("set noreply 0 0 1\r\na\r\n"),    ROUTE_KEY, "noreply", "set noreply 0 0 1\r\n", 0 },
    { BYTES("set " K250 " 0 0 1\r\na\r\n"),   ROUTE_KEY, K250, "set " K250 " 0 0 1\r\n", 0 },
    { BYTES("set \x01\t\x7f\x80\xff 0 0 1\r\na\r\n"), ROUTE_KEY, "\x01\t\x7f\x80\xff",
                                              "set \x01\t\x7f\x80\xff 0 0 1\r\n", 0 },
    { BYTES("add k 1 2 1\r\na\r\n"),          ROUTE_KEY, "k", "add k 1 2 1\r\n", 0 },
    { BYTES("replace k 1 2 1\r\na\r\n"),      ROUTE_KEY, "k", "replace k 1 2 1\r\n", 0 },
    { BYTES("append k 1 2 1\r\na\r\n"),       ROUTE_KEY, "k", "append k 1 2 1\r\n", 0 },
    { BYTES("prepend k 1 2 1 x\r\na\r\n"),    ROUTE_KEY, "k", "prepend k 1 2 1\r\n", 0 },
    { BYTES("cas k 1 2 1 18446744073709551615\r\na\r\n"), ROUTE_KEY, "k",
                                              "cas k 1 2 1 18446744073709551615\r\n", 0 },
    { BYTES("cas k 1 2 1 03 noreply\r\na\r\n"), ROUTE_KEY, "k", "cas k 1 2 1 3\r\n", SILENT },
};

static const struct large_case large[] = {
    { BYTES("set k 0 0 1001\r\n"),            "k",   "delete k\r\n", TOO_LARGE },
    { BYTES("set k 0 0 1001 noreply\r\n"),    "k",   "delete k\r\n", "" },
};
/* clang-format on */

START_TEST(answers_what_no_server_may_see)
{
    check_answered(&answered[_i]);
}
END_TEST

START_TEST(sends_on_a_line_every_server_reads_alike)
{
    check_sent(&sent[_i]);
}
END_TEST

START_TEST(swallows_a_value_over_the_limit_and_removes_the_old_one)
{
    check_large(&large[_i]);
}
END_TEST

/* Where its item would be too large, memcached looks no further; the limit here is 1,000 bytes. */
START_TEST(refuses_for_its_size_what_ends_wrongly_and_fits_no_item)
{
    static const struct {
        const char *line;
        const char *sent;
        size_t overhead; /* of memcached's item: header, CAS, key, flags, ends */
    } cases[] = {
        {"set k 0 0", "delete k\r\n", 60},
        {"set k 5 0", "delete k\r\n", 64},
        {"set k10ky 0 0", "delete k10ky\r\n", 64},
        {"add k 0 0", "", 60},
        {"ms k", "md k\r\n", 60},
    };
    const char *end = strncmp(cases[_i].line, "ms", 2) == 0 ? " F0\r\n" : "\r\n";

    for (size_t excess = 0; excess < 3; excess++) {
        size_t bytes = 1000 - cases[_i].overhead + excess;
        char text[1100];
        size_t consumed;
        int len = snprintf(text, sizeof(text), "%s %zu%s%0*dab", cases[_i].line, bytes, end,
                           (int)bytes, 0);
        struct slice in = slice_make(text, (size_t)len);

        ck_assert_int_eq(parse(in, 0, 0, &consumed), PARSE_DONE);
        ck_assert_uint_eq(consumed, in.len);
        ck_assert_uint_eq(request.swallow_bytes, 0);
        check_text(request.answer, excess > 0 ? TOO_LARGE : BAD_CHUNK, in);
        if (excess > 0 && cases[_i].sent[0] != '\0') {
            ck_assert_int_eq(request.route, ROUTE_KEY);
            check_text(request.line, cases[_i].sent, in);
        } else {
            ck_assert_int_eq(request.route, ROUTE_LOCAL);
        }
    }
}
END_TEST

START_TEST(leaves_what_follows_to_the_next_call)
{
    struct slice in = SLICE("set k 0 0 3\r\nabcdefmn\r\n");
    size_t consumed;

    ck_assert_int_eq(parse(in, 0, 0, &consumed), PARSE_DONE);
    check_text(request.answer, BAD_CHUNK, in);
    ck_assert_uint_eq(consumed, 18);
    in = slice_make(in.data + consumed, in.len - consumed);
    ck_assert_int_eq(parse(in, 0, 0, &consumed), PARSE_DONE);
    check_text(request.answer, "ERROR\r\n", in);
    ck_assert_uint_eq(consumed, 5);
}
END_TEST

START_TEST(says_how_many_bytes_a_value_needs)
{
    struct slice in = SLICE("set k 0 0 1000\r\nabc");
    size_t consumed;

    ck_assert_int_eq(parse(in, 0, 0, &consumed), PARSE_MORE);
    ck_assert_uint_eq(request.need_bytes, 16 + 1002);
    ck_assert_int_eq(parse(slice_make(in.data, 15), 0, 0, &consumed), PARSE_MORE);
    ck_assert_uint_eq(request.need_bytes, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("storage");
    TCase *tests = tcase_create("storage");

    tcase_add_loop_test(tests, answers_what_no_server_may_see, 0, ARRAY_LEN(answered));
    tcase_add_loop_test(tests, sends_on_a_line_every_server_reads_alike, 0, ARRAY_LEN(sent));
    tcase_add_loop_test(tests, swallows_a_value_over_the_limit_and_removes_the_old_one, 0,
                        ARRAY_LEN(large));
    tcase_add_loop_test(tests, refuses_for_its_size_what_ends_wrongly_and_fits_no_item, 0, 5);
    tcase_add_test(tests, leaves_what_follows_to_the_next_call);
    tcase_add_test(tests, says_how_many_bytes_a_value_needs);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
