#include "unit/request_case.h"

/* clang-format off */
static const struct answered_case answered[] = {
    { BYTES("delete\r\n"),                    "ERROR\r\n", 0, 0 },
    { BYTES("delete k 0 noreply x\r\n"),      "ERROR\r\n", 0, 0 },
    { BYTES("delete k 5\r\n"),                BAD_DELETE, 0, 0 },
    { BYTES("delete k 00\r\n"),               BAD_DELETE, 0, 0 },
    { BYTES("delete k 0 5\r\n"),              BAD_DELETE, 0, 0 },
    { BYTES("delete k noreply 0\r\n"),        BAD_DELETE, 0, 0 },
    { BYTES("delete k noreply noreply\r\n"),  "", 0, SILENT },
    { BYTES("delete " K251 "\r\n"),           BAD_FORMAT, 0, 0 },
    { BYTES("delete " K251 " 5\r\n"),         BAD_DELETE, 0, 0 },
    { BYTES("delete " K251 " noreply\r\n"),   "", 0, SILENT },
    { BYTES("delete k\0l\r\n"),               BAD_FORMAT, 0, 0 },
    { BYTES("delete k\0l noreply\r\n"),       "", 0, SILENT },
    { BYTES("incr\r\n"),                      "ERROR\r\n", 0, 0 },
    { BYTES("incr k\r\n"),                    "ERROR\r\n", 0, 0 },
    { BYTES("incr k 1 x y\r\n"),              "ERROR\r\n", 0, 0 },
    { BYTES("incr k noreply\r\n"),            "", 0, SILENT },
    { BYTES("incr k 0.2\r\n"),                BAD_DELTA, 0, 0 },
    { BYTES("decr k -1\r\n"),                 BAD_DELTA, 0, 0 },
    { BYTES("incr k 18446744073709551616\r\n"), BAD_DELTA, 0, 0 },
    { BYTES("incr " K251 " x\r\n"),           BAD_FORMAT, 0, 0 },
    { BYTES("touch k\r\n"),                   "ERROR\r\n", 0, 0 },
    { BYTES("touch k 1 x y\r\n"),             "ERROR\r\n", 0, 0 },
    { BYTES("touch k 0.2\r\n"),               BAD_EXPTIME, 0, 0 },
    { BYTES("touch k x noreply\r\n"),         "", 0, SILENT },
    { BYTES("touch " K251 " x\r\n"),          BAD_FORMAT, 0, 0 },
};

static const struct sent_case sent[] = {
    { BYTES("delete k\r\n"),                  ROUTE_KEY, "k", "delete k\r\n", 0 },
    { BYTES("delete k 0\r\n"),                ROUTE_KEY, "k", "delete k\r\n", 0 },
    { BYTES("delete k noreply\r\n"),          ROUTE_KEY, "k", "delete k\r\n", SILENT },
    { BYTES("delete k 0 noreply\r\n"),        ROUTE_KEY, "k", "delete k\r\n", SILENT },
    { BYTES("delete noreply\r\n"),            ROUTE_KEY, "noreply", "delete noreply\r\n", 0 },
    { BYTES("incr k 1\r\n"),                  ROUTE_KEY, "k", "incr k 1\r\n", 0 },
    { BYTES("decr k +01 x\r\n"),              ROUTE_KEY, "k", "decr k 1\r\n", 0 },
    { BYTES("incr k 1 noreply\n"),            ROUTE_KEY, "k", "incr k 1\r\n", SILENT },
    { BYTES("incr k -18446744073709551615\r\n"), ROUTE_KEY, "k", "incr k 1\r\n", 0 },
    { BYTES("touch k -1\r\n"),                ROUTE_KEY, "k", "touch k -1\r\n", 0 },
    { BYTES("touch k 4294967297 noreply\r\n"), ROUTE_KEY, "k", "touch k 1\r\n", SILENT },
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

int main(void)
{
    Suite *suite = suite_create("keyed");
    TCase *tests = tcase_create("keyed");

    tcase_add_loop_test(tests, answers_what_no_server_may_see, 0, ARRAY_LEN(answered));
    tcase_add_loop_test(tests, sends_on_a_line_every_server_reads_alike, 0, ARRAY_LEN(sent));
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
