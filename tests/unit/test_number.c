#include "proto/number.h"
#include "unit/run_suite.h"

#include <check.h>
#include <stdlib.h>

/* clang-format off */
static const struct {
    const char *text;
    bool is_unsigned; /* readable as such, with this value */
    uint64_t u64;
    bool is_signed;
    int64_t i64;
} readings[] = {
    { "0",                     true,  0,          true,  0 },
    { "1",                     true,  1,          true,  1 },
    { "007",                   true,  7,          true,  7 },
    { "+1",                    true,  1,          true,  1 },
    { "-0",                    true,  0,          true,  0 },
    { "-1",                    false, 0,          true,  -1 },
    { "\t1",                   true,  1,          true,  1 },
    { "\v\f\r+1",              true,  1,          true,  1 },
    { "1\t",                   true,  1,          true,  1 },
    { "1\tx",                  true,  1,          true,  1 },
    { "1\r",                   true,  1,          true,  1 },
    { "4294967297",            true,  4294967297, true,  4294967297 },
    { "9223372036854775807",   true,  INT64_MAX,  true,  INT64_MAX },
    { "9223372036854775808",   true,  UINT64_C(9223372036854775808), false, 0 },
    { "-9223372036854775808",  false, 0,          true,  INT64_MIN },
    { "-9223372036854775809",  true,  INT64_MAX,  false, 0 },
    { "18446744073709551615",  true,  UINT64_MAX, false, 0 },
    { "18446744073709551616",  false, 0,          false, 0 },
    { "-18446744073709551615", true,  1,          false, 0 },
    { "-18446744073709551616", false, 0,          false, 0 },
    { "99999999999999999999999", false, 0,        false, 0 },
    { "",                      false, 0,          false, 0 },
    { "+",                     false, 0,          false, 0 },
    { "-",                     false, 0,          false, 0 },
    { "+-1",                   false, 0,          false, 0 },
    { "- 1",                   false, 0,          false, 0 },
    { "\t",                    false, 0,          false, 0 },
    { "1.0",                   false, 0,          false, 0 },
    { "0x1",                   false, 0,          false, 0 },
    { "1e3",                   false, 0,          false, 0 },
    { "abc",                   false, 0,          false, 0 },
    { "noreply",               false, 0,          false, 0 },
    { "1\x1f",                 false, 0,          false, 0 },
    { "\xa0" "1",              false, 0,          false, 0 },
};

static const struct {
    const char *text;
    bool is_readable;
    uint64_t value;
} digits[] = {
    { "0",                     true,  0 },
    { "00",                    true,  0 },
    { "18446744073709551615",  true,  UINT64_MAX },
    { "18446744073709551616",  false, 0 },
    { "018446744073709551615", false, 0 }, /* 21 digits */
    { "",                      false, 0 },
    { "-1",                    false, 0 },
    { "+1",                    false, 0 },
    { "1 ",                    false, 0 },
    { "\t1",                   false, 0 },
};
/* clang-format on */

START_TEST(reads_an_unsigned_number_as_memcached_does)
{
    uint64_t value = 12345;
    bool is_read = number_read_u64(slice_text(readings[_i].text), &value);

    ck_assert_msg(is_read == readings[_i].is_unsigned, "\"%s\"", readings[_i].text);
    ck_assert_uint_eq(value, is_read ? readings[_i].u64 : 12345);
}
END_TEST

START_TEST(reads_a_signed_number_as_memcached_does)
{
    int64_t value = 12345;
    bool is_read = number_read_i64(slice_text(readings[_i].text), &value);

    ck_assert_msg(is_read == readings[_i].is_signed, "\"%s\"", readings[_i].text);
    ck_assert_int_eq(value, is_read ? readings[_i].i64 : 12345);
}
END_TEST

START_TEST(takes_only_digits_from_a_server)
{
    uint64_t value = 0;

    ck_assert_int_eq(number_read_digits(slice_text(digits[_i].text), &value),
                     digits[_i].is_readable);
    ck_assert_uint_eq(value, digits[_i].value);
}
END_TEST

START_TEST(stops_at_the_end_of_the_slice)
{
    uint64_t value;

    ck_assert(number_read_u64(slice_make("1234", 2), &value));
    ck_assert_uint_eq(value, 12);
    ck_assert(!number_read_u64(slice_make("1\0", 2), &value));
}
END_TEST

START_TEST(writes_what_it_reads)
{
    static const int64_t values[] = {0, 1, -1, 9, 10, -10, INT64_MAX, INT64_MIN};
    char text[NUMBER_TEXT_MAX];

    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        int64_t value;
        size_t len = number_write_i64(text, values[i]);

        ck_assert_uint_le(len, sizeof(text));
        ck_assert(number_read_i64(slice_make(text, len), &value));
        ck_assert_int_eq(value, values[i]);
    }
    ck_assert(slice_equals(slice_make(text, number_write_u64(text, UINT64_MAX)),
                           SLICE("18446744073709551615")));
    ck_assert(slice_equals(slice_make(text, number_write_i64(text, INT64_MIN)),
                           SLICE("-9223372036854775808")));
}
END_TEST

START_TEST(takes_for_plain_only_what_it_would_write)
{
    struct slice text = slice_text(readings[_i].text);
    char written[NUMBER_TEXT_MAX];
    uint32_t plain;
    bool is_plain = number_read_plain(text, &plain);

    if (is_plain) {
        ck_assert(readings[_i].is_unsigned && readings[_i].u64 == plain);
        ck_assert(readings[_i].is_signed && readings[_i].i64 == plain);
        ck_assert(slice_equals(slice_make(written, number_write_u64(written, plain)), text));
    }
    ck_assert_int_eq(
        is_plain,
        readings[_i].is_unsigned && readings[_i].u64 < 1000000000 &&
            slice_equals(slice_make(written, number_write_u64(written, readings[_i].u64)), text));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("number");
    TCase *tests = tcase_create("number");

    tcase_add_loop_test(tests, reads_an_unsigned_number_as_memcached_does, 0, ARRAY_LEN(readings));
    tcase_add_loop_test(tests, reads_a_signed_number_as_memcached_does, 0, ARRAY_LEN(readings));
    tcase_add_loop_test(tests, takes_only_digits_from_a_server, 0, ARRAY_LEN(digits));
    tcase_add_test(tests, stops_at_the_end_of_the_slice);
    tcase_add_test(tests, writes_what_it_reads);
    tcase_add_loop_test(tests, takes_for_plain_only_what_it_would_write, 0, ARRAY_LEN(readings));
    suite_add_tcase(suite, tests);

    return run_suite(suite);
}
