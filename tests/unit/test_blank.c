#include "base/blank.h"
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

START_TEST(the_first_blank_is_found_wherever_it_is)
{
    for (size_t len = 1; len <= LENGTH_MAX; len++) {
        for (size_t first = 0; first < len; first++) {
            char *bytes = bytes_without_blank(len);

            bytes[first] = ' ';
            if (first + 1 < len) {
                bytes[len - 1] = ' ';
            }
            ck_assert_ptr_eq(blank_find(bytes, bytes + len), bytes + first);
            free(bytes);
        }
    }
}
END_TEST

START_TEST(without_a_blank_the_end_is_told)
{
    for (size_t len = 0; len <= LENGTH_MAX; len++) {
        char *bytes = bytes_without_blank(len);

        ck_assert_ptr_eq(blank_find(bytes, bytes + len), bytes + len);
        free(bytes);
    }
}
END_TEST

START_TEST(no_other_byte_is_a_blank)
{
    for (int byte = 0; byte < 256; byte++) {
        char bytes[40];

        memset(bytes, byte, sizeof(bytes));
        ck_assert_ptr_eq(blank_find(bytes, bytes + sizeof(bytes)),
                         byte == ' ' ? bytes : bytes + sizeof(bytes));
    }
}
END_TEST

START_TEST(the_first_blank_or_control_byte_is_found_wherever_it_is)
{
    static const char stops[] = {' ', '\r', '\0', '\x1f', '\x01'};

    for (size_t len = 0; len <= LENGTH_MAX; len++) {
        for (size_t first = 0; first <= len; first++) {
            char *bytes = bytes_without_blank(len);

            if (first < len) {
                bytes[first] = stops[(len + first) % sizeof(stops)];
                bytes[len - 1] = first + 1 < len ? '\n' : bytes[len - 1];
            }
            ck_assert_ptr_eq(blank_or_control_find(bytes, bytes + len), bytes + first);
            free(bytes);
        }
    }
}
END_TEST

START_TEST(no_byte_above_a_blank_is_a_control_byte)
{
    for (int byte = 0; byte < 256; byte++) {
        char bytes[40];

        memset(bytes, byte, sizeof(bytes));
        ck_assert_ptr_eq(blank_or_control_find(bytes, bytes + sizeof(bytes)),
                         byte <= ' ' ? bytes : bytes + sizeof(bytes));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("blank");
    TCase *tests = tcase_create("blank");

    tcase_add_test(tests, the_first_blank_is_found_wherever_it_is);
    tcase_add_test(tests, without_a_blank_the_end_is_told);
    tcase_add_test(tests, no_other_byte_is_a_blank);
    tcase_add_test(tests, the_first_blank_or_control_byte_is_found_wherever_it_is);
    tcase_add_test(tests, no_byte_above_a_blank_is_a_control_byte);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
