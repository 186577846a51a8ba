#include "proto/command.h"
#include "unit/run_suite.h"

#include <check.h>
#include <stdlib.h>

START_TEST(finds_every_row_by_its_name)
{
    const struct command *row = &commands[_i];

    ck_assert_uint_eq(row->name_len, strlen(row->name));
    ck_assert_ptr_eq(command_find(slice_text(row->name)), row);
}
END_TEST

/* clang-format off */
static const char *const unknown[] = {
    "", "g", "ge", "getx", "GET", "Get", "rget", "mx", "m", "SET", "set\r", "quit\r", "get\t",
    "stat", "verbosityy",
};
/* clang-format on */

START_TEST(knows_no_other_name)
{
    const struct command *row = command_find(slice_text(unknown[_i]));

    ck_assert_ptr_eq(row, &commands[0]);
    ck_assert_int_eq(row->id, COMMAND_NONE);
    ck_assert_int_eq(row->route, ROUTE_LOCAL);
}
END_TEST

START_TEST(has_a_row_for_every_command)
{
    bool is_seen[COMMAND_COUNT] = {false};

    for (size_t row = 0; row < command_rows; row++) {
        is_seen[commands[row].id] = true;
    }
    for (size_t id = 0; id < COMMAND_COUNT; id++) {
        ck_assert_msg(is_seen[id], "command %zu", id);
    }
}
END_TEST

START_TEST(never_calls_a_storage_command_safe)
{
    const struct command *row = &commands[_i];

    if (row->takes_value) {
        ck_assert(row->is_write);
        ck_assert_int_eq(row->route, ROUTE_KEY);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("command");
    TCase *tests = tcase_create("command");

    tcase_add_loop_test(tests, finds_every_row_by_its_name, 0, (int)command_rows);
    tcase_add_loop_test(tests, knows_no_other_name, 0, ARRAY_LEN(unknown));
    tcase_add_test(tests, has_a_row_for_every_command);
    tcase_add_loop_test(tests, never_calls_a_storage_command_safe, 0, (int)command_rows);
    suite_add_tcase(suite, tests);

    return run_suite(suite);
}
