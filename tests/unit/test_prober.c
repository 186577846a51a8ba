/*
 * The prober against servers that follow a script.
 */
#include "control/prober.h"
#include "unit/run_suite.h"

#include "base/socket.h"
#include "unit/prober_stand.h"

#include <check.h>
#include <stdlib.h>

#define LONG_TEXT                                                                                  \
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" \
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" \
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

/* clang-format off */
static const struct {
    enum reaction reaction;
    const char *answer;
    enum health_cause want;
    const char *version;
} cases[] = {
    { ANSWER,           "VERSION 1.6.38\r\n",                 HEALTH_NO_CAUSE,      "1.6.38" },
    { ANSWER_BYTEWISE,  "VERSION 1.6.38\r\n",                 HEALTH_NO_CAUSE,      "1.6.38" },
    { ANSWER_AND_CLOSE, "VERSION 1.6.38\r\n",                 HEALTH_NO_CAUSE,      "1.6.38" },
    { ANSWER,           "VERSION \r\n",                       HEALTH_NO_CAUSE,      "" },
    { ANSWER,           "",                                   HEALTH_PROBE_TIMEOUT, "" },
    { ANSWER,           "VERSION 1.6.38",                     HEALTH_PROBE_TIMEOUT, "" },
    { ANSWER,           "SERVER_ERR",                         HEALTH_PROBE_TIMEOUT, "" },
    { ANSWER,           "ERROR\r\n",                          HEALTH_PROBE_ERROR,   "" },
    { ANSWER_BYTEWISE,  "ERROR\r\n",                          HEALTH_PROBE_ERROR,   "" },
    { ANSWER,           "SERVER_ERROR out of memory\r\n",     HEALTH_PROBE_ERROR,   "" },
    { ANSWER,           "CLIENT_ERROR unauthenticated\r\n",   HEALTH_PROBE_ERROR,   "" },
    { GREET,            "ERROR Too many open connections\r\n", HEALTH_PROBE_ERROR,  "" },
    { ANSWER,           "HTTP/1.1 400 Bad Request\r\n",       HEALTH_BROKEN,        "" },
    { ANSWER_BYTEWISE,  "END\r\n",                            HEALTH_BROKEN,        "" },
    { ANSWER,           "\r\n",                               HEALTH_BROKEN,        "" },
    { ANSWER,           "\n",                                 HEALTH_BROKEN,        "" },
    { ANSWER,           "version 1.6.38\r\n",                 HEALTH_BROKEN,        "" },
    { ANSWER,           "VERSION 1.6.38\n",                   HEALTH_BROKEN,        "" },
    { ANSWER,           "VERSION 1.6.38\r\nVERSION 1.6.38\r\n", HEALTH_BROKEN,      "" },
    { ANSWER,           "VERSION " LONG_TEXT LONG_TEXT "\r\n", HEALTH_BROKEN,       "" },
    { ANSWER_AND_CLOSE, "VERSION 1",                          HEALTH_CLOSED,        "" },
    { CLOSE,            "",                                   HEALTH_CLOSED,        "" },
    { RESET,            "",                                   HEALTH_RESET,         "" },
};
/* clang-format on */

START_TEST(judges_a_server_by_its_answer)
{
    struct stand stand;

    stand_init(&stand, cases[_i].reaction, cases[_i].answer);
    probe(&stand, cases[_i].want == HEALTH_PROBE_TIMEOUT ? SHORT_US : TIMEOUT_US);
    ck_assert_str_eq(health_cause_text(stand.result.cause), health_cause_text(cases[_i].want));
    ck_assert_str_eq(stand.version, cases[_i].version);
    ck_assert_uint_eq(stand.accepted, 1);
    stand_fini(&stand);
}
END_TEST

START_TEST(keeps_its_connection)
{
    struct stand stand;

    stand_init(&stand, ANSWER, "VERSION 1.6.38\r\n");
    for (int i = 0; i < 5; i++) {
        probe(&stand, TIMEOUT_US);
        ck_assert_int_eq(stand.result.cause, HEALTH_NO_CAUSE);
    }
    ck_assert_uint_eq(stand.accepted, 1);
    ck_assert_uint_eq(stand.questions, 5);
    stand_fini(&stand);
}
END_TEST

START_TEST(a_connection_closed_while_idle_says_nothing)
{
    struct stand stand;

    stand_init(&stand, ANSWER, "VERSION 1.6.38\r\n");
    for (unsigned i = 0; i < 6; i++) {
        probe(&stand, TIMEOUT_US);
        ck_assert_int_eq(stand.result.cause, HEALTH_NO_CAUSE);
        ck_assert_uint_eq(stand.accepted, i + 1);
        if (i % 2 == 0) {
            close_socket(&stand, stand.sockets[i]);
        } else {
            reset_socket(&stand, stand.sockets[i]);
        }
    }
    stand_fini(&stand);
}
END_TEST

START_TEST(a_server_that_closes_on_every_question_is_not_asked_for_ever)
{
    struct stand stand;

    stand_init(&stand, ANSWER, "VERSION 1.6.38\r\n");
    probe(&stand, TIMEOUT_US);
    stand.script.reaction = CLOSE;
    probe(&stand, TIMEOUT_US);
    ck_assert_int_eq(stand.result.cause, HEALTH_CLOSED);
    ck_assert_uint_eq(stand.accepted, 2);
    ck_assert_uint_eq(stand.questions, 3);
    stand_fini(&stand);
}
END_TEST

START_TEST(a_late_answer_is_nobodys)
{
    struct stand stand;

    stand_init(&stand, ANSWER, "");
    probe(&stand, SHORT_US);
    ck_assert_int_eq(stand.result.cause, HEALTH_PROBE_TIMEOUT);
    if (stand.sockets[0] != NULL) {
        bufferevent_write(stand.sockets[0], "VERSION 1\r\n", 11);
    }
    probe(&stand, SHORT_US);
    ck_assert_int_eq(stand.result.cause, HEALTH_PROBE_TIMEOUT);
    ck_assert_uint_eq(stand.accepted, 2);
    stand_fini(&stand);
}
END_TEST

START_TEST(what_was_not_asked_for_is_no_answer)
{
    struct stand stand;

    stand_init(&stand, ANSWER, "VERSION 1\r\n");
    probe(&stand, TIMEOUT_US);
    bufferevent_write(stand.sockets[0], "VERSION 2\r\n", 11);
    wait_for(&stand, &stand.closed, 1);
    probe(&stand, TIMEOUT_US);
    ck_assert_str_eq(stand.version, "1");
    ck_assert_uint_eq(stand.accepted, 2);
    /* and where the loop has not seen it before the next question */
    ck_assert_int_eq(write(bufferevent_getfd(stand.sockets[1]), "VERSION 2\r\n", 11), 11);
    probe(&stand, TIMEOUT_US);
    ck_assert_str_eq(stand.version, "1");
    stand_fini(&stand);
}
END_TEST

START_TEST(nobody_listening_is_a_refusal)
{
    struct stand stand;
    struct address path = {.is_unix = true, .host = "/nonexistent/ketama.sock"};
    int fd;

    stand_init(&stand, ANSWER, "");
    stand.endpoint = closed_endpoint(&fd);
    probe(&stand, TIMEOUT_US);
    ck_assert_int_eq(stand.result.cause, HEALTH_REFUSED);
    ck_assert(address_to_endpoint(&path, &stand.endpoint));
    probe(&stand, TIMEOUT_US);
    ck_assert_int_eq(stand.result.cause, HEALTH_REFUSED);
    close(fd);
    stand_fini(&stand);
}
END_TEST

START_TEST(a_server_without_an_address_fails_as_unresolved)
{
    struct stand stand;

    stand_init(&stand, ANSWER, "VERSION 1\r\n");
    prober_start(stand.prober, NULL, 0, TIMEOUT_US);
    ck_assert_uint_eq(stand.probes, 0);
    wait_for(&stand, &stand.probes, 1);
    ck_assert_int_eq(stand.result.cause, HEALTH_UNRESOLVED);
    /* also where it had one, and a connection */
    probe(&stand, TIMEOUT_US);
    ck_assert_int_eq(stand.result.cause, HEALTH_NO_CAUSE);
    prober_start(stand.prober, NULL, 0, TIMEOUT_US);
    wait_for(&stand, &stand.probes, 3);
    ck_assert_int_eq(stand.result.cause, HEALTH_UNRESOLVED);
    wait_for(&stand, &stand.closed, 1);
    stand_fini(&stand);
}
END_TEST

START_TEST(all_addresses_are_tried_and_the_good_one_is_remembered)
{
    struct stand stand;
    struct endpoint both[2];
    int fd;

    stand_init(&stand, ANSWER_AND_CLOSE, "VERSION 1.6.38\r\n");
    both[0] = closed_endpoint(&fd);
    both[1] = stand.endpoint;
    for (unsigned i = 1; i <= 3; i++) {
        prober_start(stand.prober, both, 2, TIMEOUT_US);
        wait_for(&stand, &stand.probes, i);
        ck_assert_int_eq(stand.result.cause, HEALTH_NO_CAUSE);
    }
    ck_assert_uint_eq(stand.accepted, 3);
    both[1] = both[0];
    prober_start(stand.prober, both, 2, TIMEOUT_US);
    wait_for(&stand, &stand.probes, 4);
    ck_assert_int_eq(stand.result.cause, HEALTH_REFUSED);
    close(fd);
    stand_fini(&stand);
}
END_TEST

START_TEST(a_changed_address_is_asked_anew)
{
    struct stand old;
    struct stand stand;

    stand_init(&old, ANSWER, "VERSION 1\r\n");
    stand_init(&stand, ANSWER, "VERSION 1\r\n");
    probe(&stand, TIMEOUT_US);
    stand.endpoint = old.endpoint; /* it accepts, but its loop does not turn */
    probe(&stand, SHORT_US);
    ck_assert_int_eq(stand.result.cause, HEALTH_PROBE_TIMEOUT);
    ck_assert_uint_eq(stand.questions, 1);
    stand_fini(&stand);
    stand_fini(&old);
}
END_TEST

START_TEST(a_start_while_one_is_under_way_does_nothing)
{
    struct stand stand;

    stand_init(&stand, ANSWER, "VERSION 1\r\n");
    start(&stand, TIMEOUT_US);
    start(&stand, TIMEOUT_US);
    wait_for(&stand, &stand.probes, 1);
    probe(&stand, TIMEOUT_US);
    ck_assert_uint_eq(stand.probes, 2);
    ck_assert_uint_eq(stand.questions, 2);
    stand_fini(&stand);
}
END_TEST

START_TEST(may_be_started_and_freed_by_the_one_it_tells)
{
    struct stand stand;

    stand_init(&stand, ANSWER, "VERSION 1\r\n");
    stand.starts_again = 3;
    start(&stand, TIMEOUT_US);
    wait_for(&stand, &stand.probes, 4);
    stand.frees = true;
    start(&stand, TIMEOUT_US);
    wait_for(&stand, &stand.probes, 5);
    ck_assert_ptr_null(stand.prober);
    stand_fini(&stand);
}
END_TEST

START_TEST(freed_while_asking_it_tells_nobody)
{
    struct stand stand;

    stand_init(&stand, ANSWER, "");
    start(&stand, TIMEOUT_US);
    prober_uptime(stand.prober, &stand.endpoint, 1, TIMEOUT_US);
    wait_for(&stand, &stand.questions, 2);
    prober_free(stand.prober);
    stand.prober = NULL;
    wait_for(&stand, &stand.closed, 2);
    ck_assert_uint_eq(stand.probes + stand.uptimes, 0);
    stand_fini(&stand);
}
END_TEST

/* clang-format off */
static const struct {
    enum reaction reaction;
    const char *answer;
    enum health_cause want;
    uint64_t pid;
    uint64_t uptime_s;
} stats[] = {
    { ANSWER, "STAT pid 4711\r\nSTAT uptime 86400\r\nSTAT time 1\r\nEND\r\n", HEALTH_NO_CAUSE, 4711, 86400 },
    { ANSWER_BYTEWISE, "STAT pid 1\r\nSTAT uptime 0\r\nEND\r\n", HEALTH_NO_CAUSE, 1, 0 },
    { ANSWER, "STAT xpid 9\r\nSTAT uptime 0\r\nEND\r\n",       HEALTH_BROKEN, 0, 0 },
    { ANSWER, "STAT pid \r\nSTAT uptime 0\r\nEND\r\n",         HEALTH_BROKEN, 0, 0 },
    { ANSWER, "STAT pid -3\r\nSTAT uptime 0\r\nEND\r\n",       HEALTH_BROKEN, 0, 0 },
    { ANSWER, "STAT pid 99999999999999999999999\r\nSTAT uptime 0\r\nEND\r\n", HEALTH_BROKEN, 0, 0 },
    { ANSWER, "STAT pid 1\r\nEND\r\n",                         HEALTH_BROKEN, 1, 0 },
    { ANSWER, "END\r\n",                                       HEALTH_BROKEN, 0, 0 },
    { ANSWER, "ERROR\r\n",                                     HEALTH_PROBE_ERROR, 0, 0 },
    { ANSWER, "STAT pid 1\r\nSTAT uptime 5\r\n",               HEALTH_PROBE_TIMEOUT, 0, 0 },
    { CLOSE,  "",                                              HEALTH_CLOSED, 0, 0 },
};
/* clang-format on */

START_TEST(reads_pid_and_uptime)
{
    struct stand stand;

    stand_init(&stand, stats[_i].reaction, stats[_i].answer);
    prober_uptime(stand.prober, &stand.endpoint, 1,
                  stats[_i].want == HEALTH_PROBE_TIMEOUT ? SHORT_US : TIMEOUT_US);
    wait_for(&stand, &stand.uptimes, 1);
    ck_assert_str_eq(health_cause_text(stand.uptime.cause), health_cause_text(stats[_i].want));
    if (stats[_i].want == HEALTH_NO_CAUSE) {
        ck_assert_uint_eq(stand.uptime.pid, stats[_i].pid);
        ck_assert_uint_eq(stand.uptime.uptime_s, stats[_i].uptime_s);
    }
    wait_for(&stand, stats[_i].reaction == CLOSE ? &stand.accepted : &stand.closed, 1);
    stand_fini(&stand);
}
END_TEST

START_TEST(an_endless_answer_is_cut_off)
{
    struct stand stand;
    size_t len = 100 * 1024;
    char *text = malloc(len + 1);

    memset(text, 'x', len);
    memcpy(text, "STAT ", 5);
    text[len] = '\0';
    stand_init(&stand, ANSWER, text);
    prober_uptime(stand.prober, &stand.endpoint, 1, TIMEOUT_US);
    wait_for(&stand, &stand.uptimes, 1);
    ck_assert_int_eq(stand.uptime.cause, HEALTH_BROKEN);
    stand_fini(&stand);
    free(text);
}
END_TEST

/* Fills the backlog of a socket nobody accepts from, so that a connect hangs. */
START_TEST(a_connect_that_hangs_times_out_and_the_next_address_is_tried)
{
    struct stand stand;
    struct endpoint hole;
    struct endpoint both[2];
    int fillers[16];
    int fd;
    bool done;

    stand_init(&stand, ANSWER, "VERSION 1\r\n");
    hole = closed_endpoint(&fd);
    ck_assert_int_eq(listen(fd, 0), 0);
    for (size_t i = 0; i < ARRAY_LEN(fillers); i++) {
        fillers[i] = socket_connect(&hole, &done);
    }
    both[0] = hole;
    both[1] = stand.endpoint;
    prober_start(stand.prober, both, 1, SHORT_US);
    wait_for(&stand, &stand.probes, 1);
    ck_assert_str_eq(health_cause_text(stand.result.cause),
                     health_cause_text(HEALTH_CONNECT_TIMEOUT));
    prober_start(stand.prober, both, 2, 4 * SHORT_US);
    wait_for(&stand, &stand.probes, 2);
    ck_assert_int_eq(stand.result.cause, HEALTH_NO_CAUSE);
    for (size_t i = 0; i < ARRAY_LEN(fillers); i++) {
        if (fillers[i] != -1) {
            close(fillers[i]);
        }
    }
    close(fd);
    stand_fini(&stand);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("prober");
    TCase *tests = tcase_create("prober");

    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, judges_a_server_by_its_answer, 0, ARRAY_LEN(cases));
    tcase_add_test(tests, keeps_its_connection);
    tcase_add_test(tests, a_connection_closed_while_idle_says_nothing);
    tcase_add_test(tests, a_server_that_closes_on_every_question_is_not_asked_for_ever);
    tcase_add_test(tests, a_late_answer_is_nobodys);
    tcase_add_test(tests, what_was_not_asked_for_is_no_answer);
    tcase_add_test(tests, nobody_listening_is_a_refusal);
    tcase_add_test(tests, a_server_without_an_address_fails_as_unresolved);
    tcase_add_test(tests, all_addresses_are_tried_and_the_good_one_is_remembered);
    tcase_add_test(tests, a_changed_address_is_asked_anew);
    tcase_add_test(tests, a_start_while_one_is_under_way_does_nothing);
    tcase_add_test(tests, may_be_started_and_freed_by_the_one_it_tells);
    tcase_add_test(tests, freed_while_asking_it_tells_nobody);
    tcase_add_loop_test(tests, reads_pid_and_uptime, 0, ARRAY_LEN(stats));
    tcase_add_test(tests, an_endless_answer_is_cut_off);
    tcase_add_test(tests, a_connect_that_hangs_times_out_and_the_next_address_is_tried);
    return run_suite(suite);
}
