#include "base/address.h"
#include "unit/run_suite.h"

#include <check.h>
#include <stdlib.h>

/* clang-format off */
static const struct {
    const char *text;
    int default_port;
    const char *host;
    unsigned port;
    bool is_unix;
    const char *formatted;
} good[] = {
    { "127.0.0.1:11211", -1,    "127.0.0.1",     11211, false, "127.0.0.1:11211" },
    { "127.0.0.1",       11211, "127.0.0.1",     11211, false, "127.0.0.1:11211" },
    { "cache-1.example", 7,     "cache-1.example", 7,   false, "cache-1.example:7" },
    { "Cache_1:1",       -1,    "Cache_1",       1,     false, "Cache_1:1" },
    { "a.example.:1",    -1,    "a.example.",    1,     false, "a.example.:1" },
    { "1.cache:65535",   -1,    "1.cache",       65535, false, "1.cache:65535" },
    { "[::1]:11211",     -1,    "::1",           11211, false, "[::1]:11211" },
    { "[fe80::A]",       9,     "fe80::A",       9,     false, "[fe80::A]:9" },
    { "[::ffff:1.2.3.4]:1", -1, "::ffff:1.2.3.4", 1,    false, "[::ffff:1.2.3.4]:1" },
    { "unix:/run/a.sock", -1,   "/run/a.sock",   0,     true,  "unix:/run/a.sock" },
    { "/run/a.sock",     11211, "/run/a.sock",   0,     true,  "unix:/run/a.sock" },
    { "unix:/a:b]",      -1,    "/a:b]",         0,     true,  "unix:/a:b]" },
    { "h:00080",         -1,    "h",             80,    false, "h:80" },
};

static const struct {
    const char *text;
    const char *wrong; /* part of the sentence */
} bad[] = {
    { "",                "host is missing" },
    { ":11211",          "host is missing" },
    { "127.0.0.1",       "port is missing" },
    { "[::1]",           "port is missing" },
    { "h:",              "not a number from 1" },
    { "h:0",             "not a number from 1" },
    { "h:65536",         "not a number from 1" },
    { "h:99999999999999999999", "not a number from 1" },
    { "h:-1",            "not a number from 1" },
    { "h:+1",            "not a number from 1" },
    { "h: 1",            "not a number from 1" },
    { "h:1x",            "not a number from 1" },
    { "::1:11211",       "more than one colon" },
    { "h:1:2",           "more than one colon" },
    { "[]:1",            "host is missing" },
    { "[::1:1",          "bracket ] after" },
    { "[::1]1",          "only :port may follow" },
    { "[127.0.0.1]:1",   "not an IPv6 address" },
    { "[::g]:1",         "not an IPv6 address" },
    { "[fe80::1%eth0]:1", "not an IPv6 address" },
    { "10.0.0.256:1",    "not an IPv4 address" },
    { "10.0.0:1",        "not an IPv4 address" },
    { "1:1",             "not an IPv4 address" },
    { "a..b:1",          "empty part" },
    { ".a:1",            "empty part" },
    { "a b:1",           "no host name has" },
    { "a/b:1",           "no host name has" },
    { "h\x01:1",         "no host name has" },
    { "h\xc3\xa4:1",     "no host name has" },
    { "*:1",             "no host name has" },
    { "unix:",           "begins with /" },
    { "unix:run/a",      "begins with /" },
    { "unix:/a b",       "blank or a control" },
    { "/a\tb",           "blank or a control" },
};
/* clang-format on */

START_TEST(reads_what_people_write)
{
    struct address address;
    char text[ADDRESS_TEXT_MAX];
    const char *wrong = address_parse(&address, slice_text(good[_i].text), good[_i].default_port);

    ck_assert_msg(wrong == NULL, "%s: %s", good[_i].text, wrong);
    ck_assert_str_eq(address.host, good[_i].host);
    ck_assert_uint_eq(address.port, good[_i].port);
    ck_assert_int_eq(address.is_unix, good[_i].is_unix);
    ck_assert_str_eq(address_format(&address, text, sizeof(text)), good[_i].formatted);
}
END_TEST

START_TEST(reads_its_own_text_back)
{
    struct address first;
    struct address second;
    char text[ADDRESS_TEXT_MAX];

    ck_assert_ptr_null(address_parse(&first, slice_text(good[_i].text), good[_i].default_port));
    address_format(&first, text, sizeof(text));
    ck_assert_ptr_null(address_parse(&second, slice_text(text), -1));
    ck_assert(address_equals(&first, &second));
    ck_assert_str_eq(first.host, second.host);
}
END_TEST

START_TEST(says_what_is_wrong)
{
    struct address address;
    const char *wrong = address_parse(&address, slice_text(bad[_i].text), -1);

    ck_assert_msg(wrong != NULL, "\"%s\" was taken", bad[_i].text);
    ck_assert_msg(strstr(wrong, bad[_i].wrong) != NULL, "\"%s\": %s", bad[_i].text, wrong);
}
END_TEST

START_TEST(reads_no_byte_behind_the_slice)
{
    const char *text = good[_i].text;
    struct address address;

    for (size_t len = 0; len <= strlen(text); len++) {
        char *exact = malloc(len + 1);

        ck_assert_ptr_nonnull(exact);
        memcpy(exact + 1, text, len); /* ends at the end of the allocation */
        if (address_parse(&address, slice_make(exact + 1, len), -1) == NULL) {
            ck_assert_uint_le(strlen(address.host), len);
        }
        free(exact);
    }
}
END_TEST

START_TEST(bounds_the_length)
{
    char text[600];
    struct address address;

    memset(text, 'a', sizeof(text));
    ck_assert_ptr_null(address_parse(&address, slice_make(text, 255), 1));
    ck_assert_ptr_nonnull(address_parse(&address, slice_make(text, 256), 1));
    memcpy(text, "unix:/", 6);
    ck_assert_ptr_null(address_parse(&address, slice_make(text, 5 + 107), 1));
    ck_assert_uint_eq(strlen(address.host), 107);
    ck_assert_ptr_nonnull(address_parse(&address, slice_make(text, 5 + 108), 1));
    ck_assert_ptr_nonnull(address_parse(&address, slice_make("a\0b", 3), 1));
}
END_TEST

/* clang-format off */
static const struct {
    const char *a;
    const char *b;
    bool equal;
} pairs[] = {
    { "Cache:1",          "cache:1",              true },
    { "[::1]:1",          "[0:0:0:0:0:0:0:1]:1",  true },
    { "[fe80::AB]:1",     "[fe80::ab]:1",         true },
    { "/a",               "unix:/a",              true },
    { "/a",               "/A",                   false },
    { "h:1",              "h:2",                  false },
    { "127.0.0.1:1",      "127.0.0.2:1",          false },
    { "127.0.0.1:1",      "[::ffff:127.0.0.1]:1", false },
    { "localhost:1",      "127.0.0.1:1",          false },
};
/* clang-format on */

START_TEST(compares_addresses_not_spellings)
{
    struct address a;
    struct address b;

    ck_assert_ptr_null(address_parse(&a, slice_text(pairs[_i].a), -1));
    ck_assert_ptr_null(address_parse(&b, slice_text(pairs[_i].b), -1));
    ck_assert_int_eq(address_equals(&a, &b), pairs[_i].equal);
    ck_assert_int_eq(address_equals(&b, &a), pairs[_i].equal);
}
END_TEST

/* clang-format off */
static const struct {
    const char *text;
    int family; /* AF_UNSPEC: has to be resolved */
    const char *formatted;
} kernel[] = {
    { "127.0.0.1:11211",       AF_INET,   "127.0.0.1:11211" },
    { "[2001:DB8::1]:65535",   AF_INET6,  "[2001:db8::1]:65535" },
    { "unix:/run/x",           AF_UNIX,   "unix" },
    { "localhost:1",           AF_UNSPEC, "" },
};
/* clang-format on */

START_TEST(only_literals_have_a_kernel_form)
{
    struct address address;
    struct endpoint endpoint;
    char text[ADDRESS_TEXT_MAX];
    bool is_literal;

    ck_assert_ptr_null(address_parse(&address, slice_text(kernel[_i].text), -1));
    is_literal = address_to_endpoint(&address, &endpoint);
    ck_assert_int_eq(is_literal, kernel[_i].family != AF_UNSPEC);
    if (is_literal) {
        ck_assert_int_eq(endpoint.at.any.sa_family, kernel[_i].family);
        ck_assert_uint_le(endpoint.len, sizeof(endpoint.at));
        ck_assert_str_eq(endpoint_format(&endpoint, text, sizeof(text)), kernel[_i].formatted);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("address");
    TCase *tests = tcase_create("address");

    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, reads_what_people_write, 0, ARRAY_LEN(good));
    tcase_add_loop_test(tests, reads_its_own_text_back, 0, ARRAY_LEN(good));
    tcase_add_loop_test(tests, says_what_is_wrong, 0, ARRAY_LEN(bad));
    tcase_add_loop_test(tests, reads_no_byte_behind_the_slice, 0, ARRAY_LEN(good));
    tcase_add_test(tests, bounds_the_length);
    tcase_add_loop_test(tests, compares_addresses_not_spellings, 0, ARRAY_LEN(pairs));
    tcase_add_loop_test(tests, only_literals_have_a_kernel_form, 0, ARRAY_LEN(kernel));
    return run_suite(suite);
}
