#include "base/log.h"
#include "unit/run_suite.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

static char path[64];

static void remove_file(void)
{
    log_to_stderr();
    unlink(path);
}

/* What was logged so far. */
static const char *logged(void)
{
    static char text[1 << 20];
    int fd = open(path, O_RDONLY);
    ssize_t len = read(fd, text, sizeof(text) - 1);

    ck_assert_int_ge(len, 0);
    close(fd);
    text[len] = '\0';
    return text;
}

static void make_file(void)
{
    int fd;

    strcpy(path, "/tmp/ketamad-test-log.XXXXXX");
    fd = mkstemp(path);

    ck_assert_int_ne(fd, -1);
    close(fd);
    ck_assert(log_to_file(path));
    log_set_level(LOG_LEVEL_INFO);
    while (*logged() ==
           '\0') { /* where tests share a process, those before may have used up theirs */
        log_notice("is there room for a line?");
    }
    ck_assert_int_eq(truncate(path, 0), 0);
}

static unsigned count_of(const char *text, char c)
{
    unsigned count = 0;

    for (; *text != '\0'; text++) {
        count += *text == c;
    }
    return count;
}

START_TEST(a_line_has_its_time_and_level)
{
    log_warn("server %s: %d", "mc1", 7);
    ck_assert_ptr_nonnull(strstr(logged(), "Z warn: server mc1: 7\n"));
    ck_assert_int_eq(logged()[4], '-');
    ck_assert_int_eq(logged()[10], 'T');
}
END_TEST

START_TEST(no_byte_of_a_peer_breaks_a_line_or_reaches_a_terminal)
{
    char all[256];
    const char *text;

    for (unsigned i = 0; i < 255; i++) {
        all[i] = (char)(i + 1);
    }
    all[255] = '\0';
    log_notice("a%sz", all);
    log_notice("%s", "x\n2026-01-01T00:00:00.000Z error: forged");
    text = logged();
    ck_assert_uint_eq(count_of(text, '\n'), 2);
    for (const char *p = text; *p != '\0'; p++) {
        ck_assert_msg(*p == '\n' || (*p >= ' ' && *p <= '~'), "byte %02x", (unsigned char)*p);
    }
    ck_assert_ptr_nonnull(strstr(text, "notice: a\\x01\\x02"));
    ck_assert_ptr_nonnull(strstr(text, "}~\\x7f\\x80"));
    ck_assert_ptr_nonnull(strstr(text, "\\xffz\n"));
    ck_assert_ptr_nonnull(strstr(text, "x\\x0a2026"));
}
END_TEST

START_TEST(a_line_that_is_too_long_is_cut_and_still_ends)
{
    static char much[100000];

    memset(much, 1, sizeof(much) - 1);
    log_notice("%s", much);
    memset(much, 'x', sizeof(much) - 1);
    log_notice("%s", much);
    ck_assert_uint_eq(count_of(logged(), '\n'), 2);
    ck_assert_uint_lt(strlen(logged()), 2 * 2112);
}
END_TEST

START_TEST(less_important_lines_are_left_out)
{
    log_set_level(LOG_LEVEL_WARN);
    log_notice("not this");
    log_debug("nor this");
    log_error("this");
    ck_assert_uint_eq(count_of(logged(), '\n'), 1);
    ck_assert(log_is_on(LOG_LEVEL_ERROR) && !log_is_on(LOG_LEVEL_NOTICE));
}
END_TEST

START_TEST(a_burst_is_held_back_and_counted_but_errors_are_not)
{
    uint64_t lost = log_lines_lost();

    for (int i = 0; i < 1000; i++) {
        log_notice("line %d", i);
    }
    log_error("the last");
    ck_assert_uint_lt(count_of(logged(), '\n'), 1000);
    ck_assert_uint_eq(count_of(logged(), '\n') + (log_lines_lost() - lost), 1001);
    ck_assert_ptr_nonnull(strstr(logged(), "error: the last\n"));
}
END_TEST

START_TEST(opened_again_it_goes_on_under_its_name)
{
    char old[sizeof(path) + 2];

    log_notice("before");
    snprintf(old, sizeof(old), "%s.1", path);
    ck_assert_int_eq(rename(path, old), 0);
    log_notice("still before");
    ck_assert(log_reopen());
    log_notice("after");
    ck_assert_uint_eq(count_of(logged(), '\n'), 1);
    ck_assert_ptr_nonnull(strstr(logged(), "after"));
    unlink(old);
}
END_TEST

START_TEST(a_file_that_cannot_be_opened_leaves_the_log_where_it_was)
{
    ck_assert(!log_to_file("/nowhere/at/all"));
    log_notice("here");
    ck_assert_ptr_nonnull(strstr(logged(), "here"));
}
END_TEST

START_TEST(a_limited_line_comes_at_once_and_then_counts_those_it_stands_for)
{
    struct log_limit limit = {0};
    uint64_t skipped = 99;

    ck_assert(log_limit_pass(&limit, &skipped));
    ck_assert_uint_eq(skipped, 0);
    for (int i = 0; i < 5; i++) {
        ck_assert(!log_limit_pass(&limit, &skipped));
    }
    limit.next_us = 0; /* time passes */
    ck_assert(log_limit_pass(&limit, &skipped));
    ck_assert_uint_eq(skipped, 5);
    ck_assert(!log_limit_pass(&limit, &skipped));
}
END_TEST

/* A syslog daemon's socket at path. */
static int make_daemon(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

    ck_assert_int_ne(fd, -1);
    unlink(path);
    strcpy(address.sun_path, path);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

/* The next line that the daemon got, "" where there is none. */
static const char *heard(int daemon)
{
    static char line[4096];
    ssize_t len = recv(daemon, line, sizeof(line) - 1, 0);

    line[len > 0 ? len : 0] = '\0';
    return line;
}

START_TEST(syslog_gets_lines_of_its_form)
{
    int daemon = make_daemon();
    char end[64];
    const char *line;

    log_to_syslog("ketamad", path);
    log_warn("server %s: %s", "mc1", "down\n");
    line = heard(daemon);
    snprintf(end, sizeof(end), " ketamad[%d]: server mc1: down\\x0a", (int)getpid());
    ck_assert_int_eq(strncmp(line, "<28>", 4), 0); /* daemon, warning */
    ck_assert_uint_eq(strlen(line), strlen("<28>Jan  1 00:00:00") + strlen(end));
    ck_assert_str_eq(line + strlen("<28>Jan  1 00:00:00"), end);
    ck_assert_int_eq(line[10], ' ');
    ck_assert_int_eq(line[13], ':');
    log_to_stderr();
    close(daemon);
}
END_TEST

/* Where this fails it hangs: syslog(3) waits for as long as the daemon does. */
START_TEST(a_syslog_daemon_that_hangs_costs_lines_and_no_time)
{
    int daemon = make_daemon();
    uint64_t lost = log_lines_lost();
    unsigned came = 0;

    log_to_syslog("ketamad", path);
    for (int i = 0; i < 5000; i++) {
        log_error("line %d", i);
    }
    lost = log_lines_lost() - lost;
    ck_assert_uint_gt(lost, 0);
    while (*heard(daemon) != '\0') {
        came++;
    }
    ck_assert_uint_eq(came + lost, 5000);
    log_error("on again");
    ck_assert_ptr_nonnull(strstr(heard(daemon), "lines were lost: its reader does not keep up"));
    ck_assert_ptr_nonnull(strstr(heard(daemon), "on again"));
    log_to_stderr();
    close(daemon);
}
END_TEST

START_TEST(a_syslog_daemon_that_was_started_anew_gets_the_next_line)
{
    int daemon = make_daemon();

    log_to_syslog("ketamad", path);
    log_error("to the first");
    ck_assert_ptr_nonnull(strstr(heard(daemon), "to the first"));
    close(daemon);
    log_error("to nobody");
    daemon = make_daemon();
    log_error("to the second");
    ck_assert_ptr_nonnull(strstr(heard(daemon), "1 lines were lost: "));
    ck_assert_ptr_nonnull(strstr(heard(daemon), "to the second"));
    close(daemon);
    daemon = make_daemon();
    log_error("to the third");
    ck_assert_ptr_nonnull(strstr(heard(daemon), "to the third"));
    log_to_stderr();
    close(daemon);
}
END_TEST

START_TEST(a_path_too_long_for_a_socket_loses_the_line)
{
    uint64_t lost = log_lines_lost();
    char far[200];

    memset(far, 'x', sizeof(far) - 1);
    far[sizeof(far) - 1] = '\0';
    log_to_syslog("ketamad", far);
    log_error("to nobody");
    ck_assert_uint_eq(log_lines_lost() - lost, 1);
    log_to_stderr();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("log");
    TCase *tcase = tcase_create("log");

    tcase_add_checked_fixture(tcase, make_file, remove_file);
    tcase_add_test(tcase, a_line_has_its_time_and_level);
    tcase_add_test(tcase, no_byte_of_a_peer_breaks_a_line_or_reaches_a_terminal);
    tcase_add_test(tcase, a_line_that_is_too_long_is_cut_and_still_ends);
    tcase_add_test(tcase, less_important_lines_are_left_out);
    tcase_add_test(tcase, a_burst_is_held_back_and_counted_but_errors_are_not);
    tcase_add_test(tcase, opened_again_it_goes_on_under_its_name);
    tcase_add_test(tcase, a_file_that_cannot_be_opened_leaves_the_log_where_it_was);
    tcase_add_test(tcase, a_limited_line_comes_at_once_and_then_counts_those_it_stands_for);
    tcase_add_test(tcase, syslog_gets_lines_of_its_form);
    tcase_add_test(tcase, a_syslog_daemon_that_hangs_costs_lines_and_no_time);
    tcase_add_test(tcase, a_syslog_daemon_that_was_started_anew_gets_the_next_line);
    tcase_add_test(tcase, a_path_too_long_for_a_socket_loses_the_line);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
