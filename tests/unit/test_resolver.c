/*
 * The resolver against a DNS server that follows a script, in one loop with it.
 * Every wait is for an event, and the loop gives up after DEADLINE_S.
 */
#include "control/resolver.h"
#include "unit/run_suite.h"

#include "base/clock.h"
#include "base/log.h"
#include "control/addresses.h"

#include <arpa/inet.h>
#include <check.h>
#include <event2/dns.h>
#include <event2/dns_struct.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    DEADLINE_S = 20,
    OFTEN_US = 30 * 1000,
    SELDOM_US = 3600u * 1000 * 1000,
    TIMEOUT_US = 200 * 1000,
    RECORDS_MAX = 12,
};

enum reaction { ANSWER, NO_SUCH_NAME, FAIL, SILENCE };

struct stand {
    struct event_base *base;
    struct evdns_server_port *dns;
    int fd;
    char nameserver[32];
    char hosts[64];
    char resolv_conf[64];
    enum reaction reaction;
    const char *v4[RECORDS_MAX]; /* up to NULL */
    const char *v6[RECORDS_MAX];
    bool is_v6_silent;
    unsigned questions;
    unsigned changes;
    struct resolver *resolver;
};

static void answer_question(struct stand *stand, struct evdns_server_request *request,
                            const struct evdns_server_question *question)
{
    bool is_v4 = question->type == EVDNS_TYPE_A;
    const char *const *records = is_v4 ? stand->v4 : stand->v6;

    for (size_t i = 0; i < RECORDS_MAX && records[i] != NULL; i++) {
        struct in6_addr bytes;

        ck_assert_int_eq(inet_pton(is_v4 ? AF_INET : AF_INET6, records[i], &bytes), 1);
        if (is_v4) {
            evdns_server_request_add_a_reply(request, question->name, 1, &bytes, 1);
        } else {
            evdns_server_request_add_aaaa_reply(request, question->name, 1, &bytes, 1);
        }
    }
}

static void on_question(struct evdns_server_request *request, void *arg)
{
    struct stand *stand = arg;
    const struct evdns_server_question *question = request->questions[0];

    stand->questions++;
    if (stand->reaction == SILENCE || (stand->is_v6_silent && question->type == EVDNS_TYPE_AAAA)) {
        evdns_server_request_drop(request);
        return;
    }
    if (stand->reaction == ANSWER) {
        answer_question(stand, request, question);
    }
    evdns_server_request_respond(request, stand->reaction == ANSWER         ? DNS_ERR_NONE
                                          : stand->reaction == NO_SUCH_NAME ? DNS_ERR_NOTEXIST
                                                                            : DNS_ERR_SERVERFAILED);
}

static void on_change(void *arg)
{
    struct stand *stand = arg;

    stand->changes++;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

static void temporary(char *path, size_t size, const char *text)
{
    int fd;

    snprintf(path, size, "%s/ketama-test-XXXXXX", P_tmpdir);
    fd = mkstemp(path);
    ck_assert_int_ne(fd, -1);
    close(fd);
    write_file(path, text);
}

static void make_resolver(struct stand *stand, const char *nameserver)
{
    struct resolver_options options = {
        .nameserver = nameserver,
        .hosts = stand->hosts,
        .resolv_conf = stand->resolv_conf,
        .timeout_us = TIMEOUT_US,
    };

    stand->resolver = resolver_new(stand->base, &options, on_change, stand);
    ck_assert_ptr_nonnull(stand->resolver);
}

static void stand_init(struct stand *stand, const char *v4)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(at);

    log_set_level(LOG_LEVEL_ERROR);
    *stand = (struct stand){.v4 = {v4}};
    stand->base = event_base_new();
    stand->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    ck_assert_int_eq(bind(stand->fd, (struct sockaddr *)&at, len), 0);
    ck_assert_int_eq(getsockname(stand->fd, (struct sockaddr *)&at, &len), 0);
    snprintf(stand->nameserver, sizeof(stand->nameserver), "127.0.0.1:%u", ntohs(at.sin_port));
    stand->dns = evdns_add_server_port_with_base(stand->base, stand->fd, 0, on_question, stand);
    temporary(stand->hosts, sizeof(stand->hosts), "127.0.0.1 localhost\n10.9.9.9 Listed listed2\n");
    temporary(stand->resolv_conf, sizeof(stand->resolv_conf), "");
    make_resolver(stand, stand->nameserver);
}

static void stand_fini(struct stand *stand)
{
    resolver_free(stand->resolver);
    evdns_close_server_port(stand->dns);
    event_base_free(stand->base);
    close(stand->fd);
    unlink(stand->hosts);
    unlink(stand->resolv_conf);
}

static void turn(struct stand *stand)
{
    const struct timeval tick = {0, 5000};

    event_base_loopexit(stand->base, &tick);
    event_base_loop(stand->base, EVLOOP_ONCE);
}

/* Turns the loop until *counter has reached n. */
static void wait_for(struct stand *stand, const unsigned *counter, unsigned n)
{
    uint64_t deadline = clock_us() + (uint64_t)DEADLINE_S * 1000000;

    while (*counter < n) {
        ck_assert_uint_lt(clock_us(), deadline);
        turn(stand);
    }
}

static struct address address_of(const char *text)
{
    struct address address;

    ck_assert_ptr_null(address_parse(&address, slice_text(text), -1));
    return address;
}

static void add(struct stand *stand, const char *text, uint64_t interval_us)
{
    struct address address = address_of(text);

    ck_assert(resolver_add(stand->resolver, &address, interval_us));
}

static void discard(struct stand *stand, const char *text, uint64_t interval_us)
{
    struct address address = address_of(text);

    resolver_remove(stand->resolver, &address, interval_us);
}

/* What is known, "a:p a:p". */
static const char *lookup(struct stand *stand, const char *text)
{
    static char out[TOPOLOGY_ENDPOINTS_MAX * ADDRESS_TEXT_MAX];
    struct address address = address_of(text);
    struct endpoint found[TOPOLOGY_ENDPOINTS_MAX];
    uint32_t n = resolver_lookup(stand->resolver, &address, found);
    size_t len = 0;

    out[0] = '\0';
    for (uint32_t i = 0; i < n; i++) {
        char one[ADDRESS_TEXT_MAX];

        len += (size_t)snprintf(out + len, sizeof(out) - len, "%s%s", i > 0 ? " " : "",
                                endpoint_format(&found[i], one, sizeof(one)));
    }
    return out;
}

START_TEST(a_change_of_address_is_told_once)
{
    struct stand stand;

    stand_init(&stand, "10.0.0.1");
    add(&stand, "cache.example:11211", OFTEN_US);
    ck_assert_str_eq(lookup(&stand, "cache.example:11211"), "");
    wait_for(&stand, &stand.changes, 1);
    ck_assert_str_eq(lookup(&stand, "cache.example:11211"), "10.0.0.1:11211");
    wait_for(&stand, &stand.questions, 10);
    ck_assert_uint_eq(stand.changes, 1);
    stand.v4[0] = "10.0.0.2";
    wait_for(&stand, &stand.changes, 2);
    ck_assert_str_eq(lookup(&stand, "cache.example:11211"), "10.0.0.2:11211");
    wait_for(&stand, &stand.questions, stand.questions + 10);
    ck_assert_uint_eq(stand.changes, 2);
    stand_fini(&stand);
}
END_TEST

START_TEST(another_order_of_records_is_no_change)
{
    static const char *const orders[][3] = {
        {"10.0.0.3", "10.0.0.1", "10.0.0.2"},
        {"10.0.0.1", "10.0.0.2", "10.0.0.3"},
        {"10.0.0.2", "10.0.0.3", "10.0.0.1"},
    };
    struct stand stand;

    stand_init(&stand, NULL);
    for (unsigned i = 0; i < 9; i++) {
        memcpy(stand.v4, orders[i % 3], sizeof(orders[0]));
        if (i == 0) {
            add(&stand, "cache.example:1", OFTEN_US);
        }
        wait_for(&stand, &stand.questions, stand.questions + 4);
    }
    ck_assert_uint_eq(stand.changes, 1);
    ck_assert_str_eq(lookup(&stand, "cache.example:1"), "10.0.0.1:1 10.0.0.2:1 10.0.0.3:1");
    stand_fini(&stand);
}
END_TEST

START_TEST(the_last_good_answer_is_kept)
{
    static const enum reaction failures[] = {NO_SUCH_NAME, FAIL, SILENCE};
    struct address address = address_of("cache.example:1");
    struct stand stand;

    stand_init(&stand, "10.0.0.1");
    add(&stand, "cache.example:1", OFTEN_US);
    wait_for(&stand, &stand.changes, 1);
    ck_assert_ptr_null(resolver_error(stand.resolver, &address));
    for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
        uint64_t deadline = clock_us() + (uint64_t)DEADLINE_S * 1000000;

        stand.reaction = failures[i];
        while (resolver_error(stand.resolver, &address) == NULL) {
            ck_assert_uint_lt(clock_us(), deadline);
            turn(&stand);
        }
        ck_assert_str_eq(lookup(&stand, "cache.example:1"), "10.0.0.1:1");
        stand.reaction = ANSWER;
        while (resolver_error(stand.resolver, &address) != NULL) {
            ck_assert_uint_lt(clock_us(), deadline);
            turn(&stand);
        }
    }
    ck_assert_uint_eq(stand.changes, 1);
    stand_fini(&stand);
}
END_TEST

START_TEST(a_name_that_never_resolved_is_tried_again)
{
    struct stand stand;

    stand_init(&stand, "10.0.0.1");
    stand.reaction = NO_SUCH_NAME;
    add(&stand, "cache.example:1", SELDOM_US);
    resolver_wait(stand.resolver, (uint64_t)DEADLINE_S * 1000000);
    ck_assert_str_eq(lookup(&stand, "cache.example:1"), "");
    ck_assert_uint_eq(stand.changes, 0);
    /* after a second, not an hour */
    stand.reaction = ANSWER;
    wait_for(&stand, &stand.changes, 1);
    ck_assert_str_eq(lookup(&stand, "cache.example:1"), "10.0.0.1:1");
    stand_fini(&stand);
}
END_TEST

START_TEST(both_families_and_no_more_than_fit)
{
    struct stand stand;
    char text[TOPOLOGY_ENDPOINTS_MAX * ADDRESS_TEXT_MAX];

    stand_init(&stand, "10.0.0.7");
    stand.v4[1] = "10.0.0.6";
    stand.v6[0] = "fd00::2";
    stand.v6[1] = "fd00::1";
    add(&stand, "cache.example:1", SELDOM_US);
    wait_for(&stand, &stand.changes, 1);
    snprintf(text, sizeof(text), "%s", lookup(&stand, "cache.example:1"));
    ck_assert_str_eq(text, "10.0.0.6:1 10.0.0.7:1 [fd00::1]:1 [fd00::2]:1");
    for (size_t i = 0; i < RECORDS_MAX; i++) {
        static const char *const many[RECORDS_MAX] = {
            "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4",  "10.0.0.5",  "10.0.0.6",
            "10.0.0.7", "10.0.0.8", "10.0.0.9", "10.0.0.10", "10.0.0.11", "10.0.0.12",
        };

        stand.v4[i] = many[i];
    }
    add(&stand, "many.example:1", SELDOM_US);
    wait_for(&stand, &stand.changes, 2);
    ck_assert_str_eq(lookup(&stand, "many.example:1"),
                     "10.0.0.1:1 10.0.0.2:1 10.0.0.3:1 10.0.0.4:1 10.0.0.5:1 10.0.0.6:1 "
                     "10.0.0.7:1 10.0.0.8:1");
    stand_fini(&stand);
}
END_TEST

START_TEST(one_lost_question_takes_no_address_away)
{
    struct stand stand;
    unsigned before;

    stand_init(&stand, "10.0.0.1");
    stand.v6[0] = "fd00::1";
    add(&stand, "cache.example:1", OFTEN_US);
    wait_for(&stand, &stand.changes, 1);
    stand.is_v6_silent = true;
    before = stand.questions;
    wait_for(&stand, &stand.questions, before + 3);
    stand.is_v6_silent = false;
    wait_for(&stand, &stand.questions, stand.questions + 6);
    ck_assert_uint_eq(stand.changes, 1);
    stand.v6[0] = NULL; /* it is really gone */
    wait_for(&stand, &stand.changes, 2);
    ck_assert_str_eq(lookup(&stand, "cache.example:1"), "10.0.0.1:1");
    stand_fini(&stand);
}
END_TEST

START_TEST(literal_addresses_are_nobodys_business)
{
    struct stand stand;

    stand_init(&stand, "10.0.0.1");
    add(&stand, "127.0.0.1:11211", OFTEN_US);
    add(&stand, "[::1]:11211", OFTEN_US);
    add(&stand, "unix:/tmp/x.sock", OFTEN_US);
    resolver_wait(stand.resolver, (uint64_t)DEADLINE_S * 1000000);
    ck_assert_str_eq(lookup(&stand, "127.0.0.1:11211"), "127.0.0.1:11211");
    ck_assert_str_eq(lookup(&stand, "[::1]:11211"), "[::1]:11211");
    ck_assert_str_eq(lookup(&stand, "unix:/tmp/x.sock"), "unix");
    ck_assert_uint_eq(stand.questions, 0);
    discard(&stand, "127.0.0.1:11211", OFTEN_US);
    stand_fini(&stand);
}
END_TEST

START_TEST(the_first_wait_ends_with_the_hosts_file)
{
    struct stand stand;
    uint64_t begun = clock_us();

    stand_init(&stand, NULL);
    stand.reaction = SILENCE;
    add(&stand, "localhost:1", SELDOM_US);
    add(&stand, "LISTED:2", SELDOM_US);
    add(&stand, "listed2:3", SELDOM_US);
    resolver_wait(stand.resolver, (uint64_t)DEADLINE_S * 1000000);
    ck_assert_uint_lt(clock_us() - begun, (uint64_t)DEADLINE_S * 1000000);
    ck_assert_str_eq(lookup(&stand, "localhost:1"), "127.0.0.1:1");
    ck_assert_str_eq(lookup(&stand, "listed:2"), "10.9.9.9:2");
    ck_assert_str_eq(lookup(&stand, "listed2:3"), "10.9.9.9:3");
    ck_assert_uint_eq(stand.questions, 0);
    turn(&stand);
    ck_assert_uint_eq(stand.changes, 0);
    stand_fini(&stand);
}
END_TEST

START_TEST(the_first_wait_is_bounded)
{
    struct stand stand;
    uint64_t begun;

    stand_init(&stand, NULL);
    stand.reaction = SILENCE;
    add(&stand, "cache.example:1", SELDOM_US);
    add(&stand, "localhost:1", SELDOM_US);
    begun = clock_us();
    resolver_wait(stand.resolver, 50 * 1000);
    ck_assert_uint_ge(clock_us() - begun, 40 * 1000); /* a timer may count from a little earlier */
    ck_assert_str_eq(lookup(&stand, "cache.example:1"), "");
    ck_assert_str_eq(lookup(&stand, "localhost:1"), "127.0.0.1:1");
    /* what comes later is told */
    stand.reaction = ANSWER;
    stand.v4[0] = "10.0.0.1";
    wait_for(&stand, &stand.changes, 1);
    ck_assert_str_eq(lookup(&stand, "cache.example:1"), "10.0.0.1:1");
    stand_fini(&stand);
}
END_TEST

START_TEST(a_name_is_looked_up_once_for_all_who_want_it)
{
    struct stand stand;

    stand_init(&stand, "10.0.0.1");
    add(&stand, "cache.example:1", SELDOM_US);
    add(&stand, "Cache.Example:2", SELDOM_US);
    add(&stand, "CACHE.EXAMPLE:2", OFTEN_US * 2);
    wait_for(&stand, &stand.changes, 1);
    ck_assert_uint_eq(stand.questions, 2);
    ck_assert_str_eq(lookup(&stand, "cache.example:2"), "10.0.0.1:2");
    discard(&stand, "cache.example:1", SELDOM_US);
    stand.v4[0] = "10.0.0.2";
    wait_for(&stand, &stand.changes, 2); /* the shortest interval counts */
    discard(&stand, "cache.example:2", OFTEN_US * 2);
    ck_assert_str_eq(lookup(&stand, "cache.example:1"), "10.0.0.2:1");
    discard(&stand, "cache.example:2", SELDOM_US);
    ck_assert_str_eq(lookup(&stand, "cache.example:1"), "");
    add(&stand, "cache.example:1", SELDOM_US);
    wait_for(&stand, &stand.changes, 3);
    stand_fini(&stand);
}
END_TEST

START_TEST(names_come_and_go_while_they_are_asked_for)
{
    struct stand stand;

    stand_init(&stand, "10.0.0.1");
    stand.reaction = SILENCE;
    for (unsigned i = 0; i < 50; i++) {
        char text[32];

        snprintf(text, sizeof(text), "cache%u.example:1", i % 7);
        add(&stand, text, OFTEN_US);
        if (i % 3 == 0) {
            turn(&stand);
        }
        discard(&stand, text, OFTEN_US);
        if (i % 5 == 0) {
            turn(&stand);
        }
    }
    add(&stand, "cache1.example:1", OFTEN_US);
    wait_for(&stand, &stand.questions, stand.questions + 1);
    stand.reaction = ANSWER;
    wait_for(&stand, &stand.changes, 1);
    add(&stand, "last.example:1", OFTEN_US);
    stand.reaction = SILENCE;
    wait_for(&stand, &stand.questions, stand.questions + 1);
    stand_fini(&stand);
}
END_TEST

START_TEST(changes_that_come_together_are_told_together)
{
    struct stand stand;

    stand_init(&stand, NULL);
    add(&stand, "localhost:1", SELDOM_US);
    add(&stand, "listed:2", SELDOM_US);
    add(&stand, "listed2:3", SELDOM_US);
    wait_for(&stand, &stand.changes, 1);
    turn(&stand);
    ck_assert_uint_eq(stand.changes, 1);
    stand_fini(&stand);
}
END_TEST

START_TEST(works_without_a_resolv_conf)
{
    struct stand stand;

    stand_init(&stand, NULL);
    resolver_free(stand.resolver);
    unlink(stand.resolv_conf);
    make_resolver(&stand, NULL);
    add(&stand, "localhost:1", SELDOM_US);
    add(&stand, "cache.example:1", SELDOM_US);
    resolver_wait(stand.resolver, TIMEOUT_US);
    ck_assert_str_eq(lookup(&stand, "localhost:1"), "127.0.0.1:1");
    ck_assert_str_eq(lookup(&stand, "cache.example:1"), "");
    stand_fini(&stand);
}
END_TEST

START_TEST(an_edited_hosts_file_is_read_again)
{
    struct stand stand;

    stand_init(&stand, NULL);
    stand.reaction = NO_SUCH_NAME;
    add(&stand, "listed:1", OFTEN_US);
    wait_for(&stand, &stand.changes, 1);
    write_file(stand.hosts, "10.9.9.10 listed # moved\n");
    wait_for(&stand, &stand.changes, 2);
    ck_assert_str_eq(lookup(&stand, "listed:1"), "10.9.9.10:1");
    stand_fini(&stand);
}
END_TEST

/* As a daemon does that resolves before it goes to the background. */
START_TEST(goes_on_in_a_forked_process)
{
    struct stand stand;
    int status;
    pid_t pid;

    stand_init(&stand, "10.0.0.1");
    add(&stand, "cache.example:1", OFTEN_US);
    resolver_wait(stand.resolver, (uint64_t)DEADLINE_S * 1000000);
    pid = fork();
    ck_assert_int_ne(pid, -1);
    if (pid == 0) {
        alarm(DEADLINE_S);
        event_reinit(stand.base);
        stand.v4[0] = "10.0.0.2";
        while (stand.changes == 0) {
            turn(&stand);
        }
        _exit(strcmp(lookup(&stand, "cache.example:1"), "10.0.0.2:1") == 0 ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    stand_fini(&stand);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("resolver");
    TCase *tests = tcase_create("resolver");

    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_change_of_address_is_told_once);
    tcase_add_test(tests, another_order_of_records_is_no_change);
    tcase_add_test(tests, the_last_good_answer_is_kept);
    tcase_add_test(tests, a_name_that_never_resolved_is_tried_again);
    tcase_add_test(tests, both_families_and_no_more_than_fit);
    tcase_add_test(tests, one_lost_question_takes_no_address_away);
    tcase_add_test(tests, literal_addresses_are_nobodys_business);
    tcase_add_test(tests, the_first_wait_ends_with_the_hosts_file);
    tcase_add_test(tests, the_first_wait_is_bounded);
    tcase_add_test(tests, a_name_is_looked_up_once_for_all_who_want_it);
    tcase_add_test(tests, names_come_and_go_while_they_are_asked_for);
    tcase_add_test(tests, changes_that_come_together_are_told_together);
    tcase_add_test(tests, works_without_a_resolv_conf);
    tcase_add_test(tests, an_edited_hosts_file_is_read_again);
    tcase_add_test(tests, goes_on_in_a_forked_process);
    return run_suite(suite);
}
