#include "unit/request_case.h"

/* clang-format off */
static const struct answered_case answered[] = {
    { BYTES("flush_all\r\n"),                 "CLIENT_ERROR flush_all not allowed\r\n", 0, NO_FLUSH },
    { BYTES("flush_all x\r\n"),               "CLIENT_ERROR flush_all not allowed\r\n", 0, NO_FLUSH },
    { BYTES("flush_all noreply\r\n"),         "", 0, NO_FLUSH | SILENT },
    { BYTES("flush_all abc\r\n"),             BAD_EXPTIME, 0, 0 },
    { BYTES("flush_all abc noreply\r\n"),     "", 0, SILENT },
    { BYTES("flush_all noreply 10\r\n"),      BAD_EXPTIME, 0, 0 },
    { BYTES("flush_all 0 noreply x\r\n"),     "ERROR\r\n", 0, 0 },
    { BYTES("verbosity\r\n"),                 "ERROR\r\n", 0, 0 },
    { BYTES("verbosity 1\r\n"),               "OK\r\n", 0, 0 },
    { BYTES("verbosity 1 2\r\n"),             "OK\r\n", 0, 0 },
    { BYTES("verbosity 1 2 3\r\n"),           "ERROR\r\n", 0, 0 },
    { BYTES("verbosity 1 noreply\r\n"),       "", 0, SILENT },
    { BYTES("verbosity noreply\r\n"),         "", 0, SILENT },
    { BYTES("verbosity abc\r\n"),             BAD_FORMAT, 0, 0 },
    { BYTES("version\r\n"),                   "", 0, 0 }, /* the proxy fills it in */
    { BYTES("version foo bar\r\n"),           "", 0, 0 },
    { BYTES("quit\r\n"),                      "", 0, CLOSED },
    { BYTES("quit foo\r\n"),                  "", 0, CLOSED },
    { BYTES("stats foo\r\n"),                 "ERROR\r\n", 0, 0 },
    { BYTES("stats noreply\r\n"),             "ERROR\r\n", 0, 0 },
    { BYTES("stats RESET\r\n"),               "ERROR\r\n", 0, 0 },
    { BYTES("stats cachedump 1 1\r\n"),       NOT_HERE("stats cachedump"), 0, 0 },
    { BYTES("stats detail on\r\n"),           NOT_HERE("stats detail"), 0, 0 },
    { BYTES("stats conns\r\n"),               NOT_HERE("stats conns"), 0, 0 },
    { BYTES("shutdown\r\n"),                  NOT_HERE("shutdown"), 0, 0 },
    { BYTES("watch fetchers\r\n"),            NOT_HERE("watch"), 0, 0 },
    { BYTES("lru tune 10 25 0.1 2.0\r\n"),    NOT_HERE("lru"), 0, 0 },
    { BYTES("lru_crawler metadump all\r\n"),  NOT_HERE("lru_crawler"), 0, 0 },
    { BYTES("slabs reassign 1 2 noreply\r\n"), NOT_HERE("slabs"), 0, 0 },
    { BYTES("cache_memlimit 64\r\n"),         NOT_HERE("cache_memlimit"), 0, 0 },
    { BYTES("extstore\r\n"),                  NOT_HERE("extstore"), 0, 0 },
    { BYTES("refresh_certs\r\n"),             NOT_HERE("refresh_certs"), 0, 0 },
    { BYTES("misbehave\r\n"),                 NOT_HERE("misbehave"), 0, 0 },
    { BYTES("debugtime p\r\n"),               NOT_HERE("debugtime"), 0, 0 },
};

static const struct sent_case sent[] = {
    { BYTES("flush_all\r\n"),                 ROUTE_ALL, "", "flush_all\r\n", 0 },
    { BYTES("flush_all 0\r\n"),               ROUTE_ALL, "", "flush_all 0\r\n", 0 },
    { BYTES("flush_all -1\r\n"),              ROUTE_ALL, "", "flush_all -1\r\n", 0 },
    { BYTES("flush_all 0 foo\r\n"),           ROUTE_ALL, "", "flush_all 0\r\n", 0 },
    { BYTES("flush_all noreply\r\n"),         ROUTE_ALL, "", "flush_all\r\n", SILENT },
    { BYTES("flush_all 10 noreply\r\n"),      ROUTE_ALL, "", "flush_all 10\r\n", SILENT },
    { BYTES("flush_all 4294967296\r\n"),      ROUTE_ALL, "", "flush_all 0\r\n", 0 },
    { BYTES("stats\r\n"),                     ROUTE_ALL, "", "stats\r\n", REPEATABLE },
    { BYTES("stats \r\n"),                    ROUTE_ALL, "", "stats\r\n", REPEATABLE },
    { BYTES("stats settings\r\n"),            ROUTE_ALL, "", "stats settings\r\n", REPEATABLE },
    { BYTES("stats items foo\r\n"),           ROUTE_ALL, "", "stats items\r\n", REPEATABLE },
    { BYTES("stats slabs\r\n"),               ROUTE_ALL, "", "stats slabs\r\n", REPEATABLE },
    { BYTES("stats sizes\r\n"),               ROUTE_ALL, "", "stats sizes\r\n", REPEATABLE },
    { BYTES("stats reset\r\n"),               ROUTE_ALL, "", "stats reset\r\n", 0 },
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
    Suite *suite = suite_create("keyless");
    TCase *tests = tcase_create("keyless");

    tcase_add_loop_test(tests, answers_what_no_server_may_see, 0, ARRAY_LEN(answered));
    tcase_add_loop_test(tests, sends_on_a_line_every_server_reads_alike, 0, ARRAY_LEN(sent));
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
