#include "base/blank.h"
#include "base/slice.h"
#include "unit/run_suite.h"

#include <check.h>
#include <stdlib.h>

enum { LENGTH_MAX = 70 };

/* Bytes in a block of their own size, so that a checker sees a read beyond them. */
static char *bytes_without_blank(size_t len)
{
    char *bytes = malloc(len > 0 ? len : 1);

    ck_assert_ptr_nonnull(bytes);
    memset(bytes, 'k', len);
    return bytes;
}

typedef const char *finder(const char *at, const char *end);

/* With one of stops at first and behind at the end, find stops at first; with none, at the end. */
static void check_first_is_found(finder *find, struct slice stops, char behind)
{
    for (size_t len = 0; len <= LENGTH_MAX; len++) {
        for (size_t first = 0; first <= len; first++) {
            char *bytes = bytes_without_blank(len);

            if (first < len) {
                bytes[len - 1] = behind;
                bytes[first] = stops.data[(len + first) % stops.len];
            }
            ck_assert_ptr_eq(find(bytes, bytes + len), bytes + first);
            free(bytes);
        }
    }
}

/* find stops at the bytes from lowest to ' ', and at no others. */
static void check_stops(finder *find, int lowest)
{
    for (int byte = 0; byte < 256; byte++) {
        char bytes[40];

        memset(bytes, byte, sizeof(bytes));
        ck_assert_ptr_eq(find(bytes, bytes + sizeof(bytes)),
                         byte >= lowest && byte <= ' ' ? bytes : bytes + sizeof(bytes));
    }
}

START_TEST(the_first_blank_is_found_wherever_it_is)
{
    check_first_is_found(blank_find, SLICE(" "), ' ');
}
END_TEST

START_TEST(no_other_byte_is_a_blank)
{
    check_stops(blank_find, ' ');
}
END_TEST

START_TEST(the_first_blank_or_control_byte_is_found_wherever_it_is)
{
    check_first_is_found(blank_or_control_find, SLICE(" \r\0\x1f\x01"), '\n');
}
END_TEST

START_TEST(no_byte_above_a_blank_is_a_control_byte)
{
    check_stops(blank_or_control_find, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("blank");
    TCase *tests = tcase_create("blank");

    tcase_add_test(tests, the_first_blank_is_found_wherever_it_is);
    tcase_add_test(tests, no_other_byte_is_a_blank);
    tcase_add_test(tests, the_first_blank_or_control_byte_is_found_wherever_it_is);
    tcase_add_test(tests, no_byte_above_a_blank_is_a_control_byte);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
