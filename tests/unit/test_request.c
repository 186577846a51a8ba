#include "unit/request_case.h"

#include <sys/mman.h>
#include <unistd.h>

/* clang-format off */
static const struct answered_case answered[] = {
    { BYTES("\r\n"),                          "ERROR\r\n", 0, 0 },
    { BYTES("\n"),                            "ERROR\r\n", 0, 0 },
    { BYTES("  \r\n"),                        "ERROR\r\n", 0, 0 },
    { BYTES("foo\r\n"),                       "ERROR\r\n", 0, 0 },
    { BYTES("foo bar noreply\r\n"),           "ERROR\r\n", 0, 0 },
    { BYTES("lower and upper case words\r\n"), "ERROR\r\n", 0, 0 },
    { BYTES("GET a\r\n"),                     "ERROR\r\n", 0, 0 },
    { BYTES("GET a\r\n"),                     "ERROR\r\n", 0, FIRST },
    { BYTES("GET / HTTP/1.1\r\n"),            "ERROR\r\n", 0, 0 },
    { BYTES("SET a 0 0 1\r\n"),               "ERROR\r\n", 0, 0 },
    { BYTES("rget a b\r\n"),                  "ERROR\r\n", 0, 0 },
    { BYTES("\x80\x01\r\n"),                  "ERROR\r\n", 0, 0 },
    { BYTES("mx a\r\n"),                      "ERROR\r\n", 0, 0 },
    { BYTES("quit\r\r\n"),                    "ERROR\r\n", 0, 0 },

    { BYTES("get a\0b c\r\n"),                BAD_FORMAT, 0, 0 },
    { BYTES("\0\r\n"),                        BAD_FORMAT, 0, 0 },
    { BYTES("foo\0\r\n"),                     BAD_FORMAT, 0, 0 },

    { BYTES("GET / HTTP/1.1\r\n"),
      "CLIENT_ERROR this port speaks memcached's text protocol, not HTTP\r\n", 0,
      FIRST | CLOSED | FOREIGN },
    { BYTES("POST /a?b HTTP/1.0\n"),
      "CLIENT_ERROR this port speaks memcached's text protocol, not HTTP\r\n", 0,
      FIRST | CLOSED | FOREIGN },
    { BYTES("PRI * HTTP/2.0\r\n"),
      "CLIENT_ERROR this port speaks memcached's text protocol, not HTTP\r\n", 0,
      FIRST | CLOSED | FOREIGN },
    { BYTES("GET HTTP/1.1\r\n"),              "ERROR\r\n", 0, FIRST },
    { BYTES("GET / \r\n"),                    "ERROR\r\n", 0, FIRST },
};
/* clang-format on */

START_TEST(answers_what_no_server_may_see)
{
    check_answered(&answered[_i]);
}
END_TEST

START_TEST(turns_away_the_binary_protocol_at_its_first_byte)
{
    struct slice in = slice_make("\x80\x00\x00\x01", 4);
    size_t consumed;

    for (in.len = 1; in.len <= 4; in.len++) {
        ck_assert_int_eq(parse(in, 0, FIRST, &consumed), PARSE_DONE);
        ck_assert_uint_eq(consumed, in.len);
        ck_assert(request.close && request.is_foreign);
        check_text(request.answer,
                   "CLIENT_ERROR this proxy speaks memcached's "
                   "text protocol, not the binary one"
                   "\r\n",
                   in);
    }
}
END_TEST

/* A line of so many bytes before its newline, which is left out on
 * demand. */
static struct slice long_line(const char *start, size_t bytes, bool has_newline)
{
    static char line[200000];
    size_t len = strlen(start);

    ck_assert_uint_lt(bytes, sizeof(line));
    memset(line, 'x', bytes);
    memcpy(line, start, len);
    for (size_t i = len + 1; i < bytes; i += 2) {
        line[i] = ' ';
    }
    line[bytes] = '\n';
    return slice_make(line, bytes + (has_newline ? 1 : 0));
}

/* clang-format off */
static const struct {
    const char *start;
    bool may_be_long;
} beginnings[] = {
    { "get ", true },   { "gets ", true },  { "gat 0 ", true },  { "gats 0 ", true },
    { "  get ", true }, { "bget ", false }, { "set ", false },   { "mg ", false },
    { "xyz", false },   { "GET ", false },  { "getx ", false },
};
/* clang-format on */

START_TEST(closes_on_a_line_without_end_but_not_on_keys)
{
    const char *start = beginnings[_i].start;
    size_t consumed;

    ck_assert_int_eq(parse(long_line(start, 2048, false), 0, 0, &consumed), PARSE_MORE);
    ck_assert_uint_eq(request.scanned, 2048);
    if (beginnings[_i].may_be_long) {
        ck_assert_int_eq(parse(long_line(start, 2049, false), 0, 0, &consumed), PARSE_MORE);
        ck_assert_int_eq(parse(long_line(start, 150001, false), 0, 0, &consumed), PARSE_MORE);
        ck_assert_int_eq(parse(long_line(start, 150001, true), 0, 0, &consumed), PARSE_DONE);
        ck_assert_uint_eq(consumed, 150002);
        ck_assert_int_eq(request.route, ROUTE_EACH_KEY);
        ck_assert_uint_gt(request.key_count, 74900);
    } else {
        ck_assert_int_eq(parse(long_line(start, 2049, false), 0, 0, &consumed), PARSE_DONE);
        ck_assert_uint_eq(consumed, 2049);
        ck_assert(request.close);
        ck_assert_uint_eq(request.answer.len, 0);
    }
}
END_TEST

START_TEST(never_sends_a_server_a_line_it_might_close_on)
{
    size_t consumed;

    ck_assert_int_eq(parse(long_line("mg k k s t ", 2048, true), 0, 0, &consumed), PARSE_DONE);
    check_text(request.answer, "CLIENT_ERROR options flags are too long\r\n", SLICE("mg"));
    ck_assert(!request.close);

    struct slice line = long_line("", 3000, true);
    char *text = (char *)line.data;
    memset(text, ' ', 3000);
    memcpy(text, "mg k", 4);
    memset(text + 1000, 'E', 2000);
    ck_assert_int_eq(parse(line, 0, 0, &consumed), PARSE_DONE);
    ck_assert_uint_eq(consumed, 3001);
    ck_assert_int_eq(request.route, ROUTE_LOCAL);
    ck_assert(request.close);

    line = long_line("xyz", 3000, true);
    ck_assert_int_eq(parse(line, 0, 0, &consumed), PARSE_DONE);
    check_text(request.answer, "ERROR\r\n", SLICE("xyz"));
    ck_assert(!request.close);
}
END_TEST

START_TEST(gives_up_after_a_hundred_leading_blanks)
{
    char line[REQUEST_LINE_MAX + 2];
    size_t consumed;

    memset(line, 'x', sizeof(line));
    memset(line, ' ', 104);
    memcpy(line + 100, "get ", 4);
    ck_assert_int_eq(parse(slice_make(line, sizeof(line)), 0, 0, &consumed), PARSE_MORE);
    memset(line, ' ', 105);
    memcpy(line + 101, "get ", 4);
    ck_assert_int_eq(parse(slice_make(line, sizeof(line)), 0, 0, &consumed), PARSE_DONE);
    ck_assert(request.close);
}
END_TEST

/* Else such a line would be read anew whenever a byte of its block comes. */
START_TEST(does_not_wait_for_the_block_of_a_line_too_long)
{
    static const char *const lines[] = {"set k 0 0 5", "ms k 5"};

    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        char line[REQUEST_LINE_MAX + 2];
        size_t consumed;

        memset(line, ' ', sizeof(line));
        memcpy(line, lines[i], strlen(lines[i]));
        line[REQUEST_LINE_MAX] = '\n';
        ck_assert_int_eq(parse(slice_make(line, REQUEST_LINE_MAX + 1), 0, 0, &consumed),
                         PARSE_MORE);
        line[REQUEST_LINE_MAX] = ' ';
        line[REQUEST_LINE_MAX + 1] = '\n';
        ck_assert_int_eq(parse(slice_make(line, sizeof(line)), 0, 0, &consumed), PARSE_DONE);
        ck_assert(request.close);
        ck_assert_uint_eq(request.answer.len, 0);
        ck_assert_uint_eq(consumed, sizeof(line));
    }
}
END_TEST

START_TEST(does_not_look_twice_for_a_newline)
{
    struct slice in = SLICE("get a\nget b\r\n");
    size_t consumed;

    /* had it looked at the first bytes again, it
     * would have found that newline */
    ck_assert_int_eq(parse(in, 6, 0, &consumed), PARSE_DONE);
    ck_assert_uint_eq(consumed, in.len);
}
END_TEST

START_TEST(looks_no_further_for_the_end_of_a_key_than_a_key_may_go)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t consumed;

    /* what was looked through lies in the middle: to read it again is a fault */
    ck_assert_ptr_ne(pages, MAP_FAILED);
    memset(pages, 'k', 3 * page);
    memcpy(pages, "get ", 4);
    ck_assert_int_eq(mprotect(pages + page, page, PROT_NONE), 0);
    ck_assert_int_eq(parse(slice_make(pages, 3 * page), 2 * page, 0, &consumed), PARSE_MORE);
    ck_assert_uint_eq(request.scanned, 3 * page);
    munmap(pages, 3 * page);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("request");
    TCase *tests = tcase_create("request");

    tcase_add_loop_test(tests, answers_what_no_server_may_see, 0, ARRAY_LEN(answered));
    tcase_add_loop_test(tests, closes_on_a_line_without_end_but_not_on_keys, 0,
                        ARRAY_LEN(beginnings));
    tcase_add_test(tests, turns_away_the_binary_protocol_at_its_first_byte);
    tcase_add_test(tests, never_sends_a_server_a_line_it_might_close_on);
    tcase_add_test(tests, gives_up_after_a_hundred_leading_blanks);
    tcase_add_test(tests, does_not_wait_for_the_block_of_a_line_too_long);
    tcase_add_test(tests, does_not_look_twice_for_a_newline);
    tcase_add_test(tests, looks_no_further_for_the_end_of_a_key_than_a_key_may_go);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
