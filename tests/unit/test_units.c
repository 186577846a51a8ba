#include "config/units.h"
#include "unit/run_suite.h"

#include <check.h>
#include <stdlib.h>

typedef enum units_result parse_function(struct slice text, uint64_t *value);

/* clang-format off */
static const struct {
    parse_function *parse;
    const char *text;
    enum units_result want;
    uint64_t value;
} cases[] = {
    { units_parse_duration, "250ms",  UNITS_DONE, 250 },
    { units_parse_duration, "30s",    UNITS_DONE, 30000 },
    { units_parse_duration, "5m",     UNITS_DONE, 300000 },
    { units_parse_duration, "1h",     UNITS_DONE, 3600000 },
    { units_parse_duration, "0",      UNITS_DONE, 0 },
    { units_parse_duration, "0s",     UNITS_DONE, 0 },
    { units_parse_duration, "007s",   UNITS_DONE, 7000 },
    { units_parse_duration, "250",    UNITS_NO_UNIT, 0 },
    { units_parse_duration, "1 s",    UNITS_UNKNOWN_UNIT, 0 },
    { units_parse_duration, "1d",     UNITS_UNKNOWN_UNIT, 0 },
    { units_parse_duration, "1S",     UNITS_UNKNOWN_UNIT, 0 },
    { units_parse_duration, "1.5s",   UNITS_UNKNOWN_UNIT, 0 },
    { units_parse_duration, "1sm",    UNITS_UNKNOWN_UNIT, 0 },
    { units_parse_duration, "",       UNITS_NOT_A_NUMBER, 0 },
    { units_parse_duration, "s",      UNITS_NOT_A_NUMBER, 0 },
    { units_parse_duration, "-1s",    UNITS_NOT_A_NUMBER, 0 },
    { units_parse_duration, "+1s",    UNITS_NOT_A_NUMBER, 0 },
    { units_parse_duration, "9007199254740992ms", UNITS_DONE, UNITS_MAX },
    { units_parse_duration, "9007199254740993ms", UNITS_TOO_LARGE, 0 },
    { units_parse_duration, "9007199254740992s",  UNITS_TOO_LARGE, 0 },
    { units_parse_duration, "2501999792984h",     UNITS_TOO_LARGE, 0 },
    { units_parse_duration, "99999999999999999999999999999999h", UNITS_TOO_LARGE, 0 },
    { units_parse_size,     "64k",    UNITS_DONE, 65536 },
    { units_parse_size,     "64K",    UNITS_DONE, 65536 },
    { units_parse_size,     "1m",     UNITS_DONE, 1048576 },
    { units_parse_size,     "1g",     UNITS_DONE, 1073741824 },
    { units_parse_size,     "4G",     UNITS_DONE, 4294967296 },
    { units_parse_size,     "100b",   UNITS_DONE, 100 },
    { units_parse_size,     "0",      UNITS_DONE, 0 },
    { units_parse_size,     "1024",   UNITS_NO_UNIT, 0 },
    { units_parse_size,     "1kb",    UNITS_UNKNOWN_UNIT, 0 },
    { units_parse_size,     "1s",     UNITS_UNKNOWN_UNIT, 0 },
    { units_parse_size,     "18446744073709551616b", UNITS_TOO_LARGE, 0 },
    { units_parse_size,     "17179869184g", UNITS_TOO_LARGE, 0 },
    { units_parse_percent,  "50%",    UNITS_DONE, 50 },
    { units_parse_percent,  "0",      UNITS_DONE, 0 },
    { units_parse_percent,  "50",     UNITS_NO_UNIT, 0 },
    { units_parse_percent,  "50%%",   UNITS_UNKNOWN_UNIT, 0 },
    { units_parse_number,   "10",     UNITS_DONE, 10 },
    { units_parse_number,   "10x",    UNITS_NOT_A_NUMBER, 0 },
    { units_parse_number,   "0x10",   UNITS_NOT_A_NUMBER, 0 },
    { units_parse_number,   "",       UNITS_NOT_A_NUMBER, 0 },
    { units_parse_number,   " 1",     UNITS_NOT_A_NUMBER, 0 },
    { units_parse_number,   "18446744073709551617", UNITS_TOO_LARGE, 0 },
};

static const struct {
    const char *text;
    enum units_result want;
    double value;
} decimals[] = {
    { "1",      UNITS_DONE, 1 },
    { "0.5",    UNITS_DONE, 0.5 },
    { "2.25",   UNITS_DONE, 2.25 },
    { "0.1",    UNITS_DONE, 0.1 },
    { "1000000", UNITS_DONE, 1e6 },
    { "0",      UNITS_DONE, 0 },
    { ".5",     UNITS_NOT_A_NUMBER, 0 },
    { "1.",     UNITS_NOT_A_NUMBER, 0 },
    { "1.2.3",  UNITS_NOT_A_NUMBER, 0 },
    { "1e3",    UNITS_NOT_A_NUMBER, 0 },
    { "inf",    UNITS_NOT_A_NUMBER, 0 },
    { "nan",    UNITS_NOT_A_NUMBER, 0 },
    { "-1",     UNITS_NOT_A_NUMBER, 0 },
    { "1,5",    UNITS_NOT_A_NUMBER, 0 },
    { "",       UNITS_NOT_A_NUMBER, 0 },
    { "1x",     UNITS_NOT_A_NUMBER, 0 },
    { "99999999999999999999", UNITS_TOO_LARGE, 0 },
    { "1.0000000000000000000000000000000000001", UNITS_NOT_A_NUMBER, 0 },
};

static const struct {
    uint64_t value;
    const char *duration;
    const char *size;
} formats[] = {
    { 0,       "0",      "0" },
    { 1,       "1ms",    "1b" },
    { 500,     "500ms",  "500b" },
    { 1000,    "1s",     "1000b" },
    { 1024,    "1024ms", "1k" },
    { 90000,   "90s",    "90000b" },
    { 3600000, "1h",     "3600000b" },
    { 1 << 20, "1048576ms", "1m" },
};
/* clang-format on */

START_TEST(takes_a_number_with_its_unit_or_refuses)
{
    uint64_t value = 0;

    ck_assert_msg(cases[_i].parse(slice_text(cases[_i].text), &value) == cases[_i].want, "\"%s\"",
                  cases[_i].text);
    ck_assert_uint_eq(value, cases[_i].value);
}
END_TEST

START_TEST(takes_decimals_exactly)
{
    double value = 0;
    enum units_result result = units_parse_decimal(slice_text(decimals[_i].text), &value);

    ck_assert_msg(result == decimals[_i].want, "\"%s\"", decimals[_i].text);
    ck_assert(result != UNITS_DONE || value == decimals[_i].value);
}
END_TEST

START_TEST(writes_the_shortest_text_that_reads_back)
{
    char text[UNITS_TEXT_MAX];
    uint64_t value = 1;

    ck_assert_str_eq(units_format_duration(formats[_i].value, text), formats[_i].duration);
    ck_assert_int_eq(units_parse_duration(slice_text(text), &value), UNITS_DONE);
    ck_assert_uint_eq(value, formats[_i].value);
    ck_assert_str_eq(units_format_size(formats[_i].value, text), formats[_i].size);
    ck_assert_int_eq(units_parse_size(slice_text(text), &value), UNITS_DONE);
    ck_assert_uint_eq(value, formats[_i].value);
}
END_TEST

START_TEST(yes_is_yes_and_no_is_no)
{
    static const char *const neither[] = {"", "y", "YES", "true", "1", "yess", "on"};
    bool yes = false;

    ck_assert(units_parse_yes_no(SLICE("yes"), &yes) && yes);
    ck_assert(units_parse_yes_no(SLICE("no"), &yes) && !yes);
    for (size_t i = 0; i < ARRAY_LEN(neither); i++) {
        ck_assert(!units_parse_yes_no(slice_text(neither[i]), &yes));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("units");
    TCase *tests = tcase_create("units");

    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, takes_a_number_with_its_unit_or_refuses, 0, ARRAY_LEN(cases));
    tcase_add_loop_test(tests, takes_decimals_exactly, 0, ARRAY_LEN(decimals));
    tcase_add_loop_test(tests, writes_the_shortest_text_that_reads_back, 0, ARRAY_LEN(formats));
    tcase_add_test(tests, yes_is_yes_and_no_is_no);
    return run_suite(suite);
}
