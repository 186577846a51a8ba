#include "base/poller.h"
#include "unit/run_suite.h"

#include "base/clock.h"

#include <check.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* One end of a pair, and what its watch was told. */
struct end {
    struct watch watch;
    int peer;
    unsigned calls;
    uint32_t events;
    struct end *victim;
    enum { NOTHING, CLOSE, DROP, SILENCE, REOPEN } act; /* on the victim, when called */
};

static struct poller poller;
static struct end ends[2];

static void open_end(struct end *end);

static void on_ready(struct watch *watch, uint32_t events)
{
    struct end *end = watch_owner(watch, struct end, watch);
    struct end *victim = end->victim;

    end->calls++;
    end->events = events;
    switch (end->act) {
    case NOTHING:
        break;
    case CLOSE:
        watch_close(&victim->watch);
        break;
    case DROP:
        poller_drop(&poller, &victim->watch);
        memset(victim, 0xff, sizeof(*victim)); /* whoever looks at it now falls over */
        break;
    case SILENCE:
        ck_assert(poller_set(&poller, &victim->watch, 0));
        break;
    case REOPEN:
        watch_close(&victim->watch);
        close(victim->peer);
        open_end(victim);
        break;
    }
}

static void open_end(struct end *end)
{
    int fds[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    end->watch = (struct watch){.on_ready = on_ready, .fd = fds[0]};
    end->peer = fds[1];
    ck_assert(poller_set(&poller, &end->watch, EPOLLIN));
}

static void setup(void)
{
    memset(ends, 0, sizeof(ends));
    ck_assert(poller_init(&poller));
    open_end(&ends[0]);
    open_end(&ends[1]);
    ends[0].victim = &ends[1];
    ends[1].victim = &ends[0];
}

static void teardown(void)
{
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        close(ends[i].peer);
        close(ends[i].watch.fd);
    }
    poller_fini(&poller);
}

static void say(const struct end *end)
{
    ck_assert_int_eq(write(end->peer, "x", 1), 1);
}

static void turn(void)
{
    poller_wait(&poller, 0);
    poller_call(&poller);
}

START_TEST(calls_who_is_ready_until_it_is_not)
{
    char byte;

    turn();
    ck_assert_uint_eq(ends[0].calls, 0);
    say(&ends[0]);
    turn();
    turn();
    ck_assert_uint_eq(ends[0].calls, 2);
    ck_assert_uint_eq(ends[0].events, EPOLLIN);
    ck_assert_uint_eq(ends[1].calls, 0);
    ck_assert_int_eq(read(ends[0].watch.fd, &byte, 1), 1);
    turn();
    ck_assert_uint_eq(ends[0].calls, 2);
}
END_TEST

START_TEST(calls_for_the_events_asked_and_no_others)
{
    say(&ends[0]);
    ck_assert(poller_set(&poller, &ends[0].watch, EPOLLOUT));
    turn();
    ck_assert_uint_eq(ends[0].events, EPOLLOUT);
    ck_assert(poller_set(&poller, &ends[0].watch, EPOLLIN | EPOLLOUT));
    turn();
    ck_assert_uint_eq(ends[0].events, EPOLLIN | EPOLLOUT);
    ck_assert(poller_set(&poller, &ends[0].watch, 0));
    turn();
    ck_assert_uint_eq(ends[0].calls, 2);
}
END_TEST

START_TEST(tells_of_a_hang_up_as_of_what_was_waited_for)
{
    close(ends[0].peer);
    ends[0].peer = -1;
    turn();
    ck_assert_uint_eq(ends[0].events, EPOLLIN);
    ck_assert(poller_set(&poller, &ends[0].watch, EPOLLOUT));
    turn();
    ck_assert_uint_eq(ends[0].events, EPOLLOUT);
}
END_TEST

/* Both are ready, and the first that is called does something to the other. */
static void act_on_the_other(int act)
{
    ends[0].act = act;
    ends[1].act = act;
    say(&ends[0]);
    say(&ends[1]);
    turn();
}

START_TEST(does_not_call_who_was_closed_or_silenced_in_the_same_turn)
{
    act_on_the_other(_i == 0 ? CLOSE : SILENCE);
    ck_assert_uint_eq(ends[0].calls + ends[1].calls, 1);
}
END_TEST

START_TEST(does_not_look_at_who_was_dropped_in_the_same_turn)
{
    act_on_the_other(DROP);
    ck_assert(ends[0].calls == 1 || ends[1].calls == 1);
}
END_TEST

START_TEST(does_not_take_a_new_descriptor_for_the_old_one)
{
    act_on_the_other(REOPEN);
    ck_assert_uint_eq(ends[0].calls + ends[1].calls, 1);
    ends[0].act = NOTHING;
    ends[1].act = NOTHING;
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        ends[i].calls = 0;
        say(&ends[i]);
    }
    turn();
    ck_assert_uint_eq(ends[0].calls, 1);
    ck_assert_uint_eq(ends[1].calls, 1);
}
END_TEST

START_TEST(sleeps_until_told_and_no_longer)
{
    uint64_t begin_us = clock_us();
    uint64_t until_us = begin_us + 20000;

    while (clock_us() < until_us) {
        poller_wait(&poller, until_us);
        poller_call(&poller);
    }
    ck_assert_uint_lt(clock_us() - begin_us, 10000000); /* slow machines */
    ck_assert_uint_eq(ends[0].calls + ends[1].calls, 0);
}
END_TEST

/* The kernel keeps the earlier moment, and is told the later one once that has passed. */
START_TEST(wakes_for_a_later_moment_after_an_earlier_one_was_dropped)
{
    uint64_t early_us = clock_us() + 10000;
    uint64_t late_us = early_us + 20000;
    unsigned wakes = 0;

    say(&ends[0]);
    poller_wait(&poller, early_us);
    poller_call(&poller);
    ck_assert_uint_eq(ends[0].calls, 1);
    ck_assert(poller_set(&poller, &ends[0].watch, 0));
    while (clock_us() < late_us) {
        poller_wait(&poller, late_us);
        poller_call(&poller);
        wakes++;
    }
    ck_assert_uint_le(wakes, 2);
}
END_TEST

START_TEST(is_not_kept_awake_by_a_moment_that_has_passed)
{
    unsigned wakes = 0;

    poller_wait(&poller, clock_us() - 1000); /* due already: returns */
    poller_call(&poller);
    for (uint64_t until_us = clock_us() + 20000; clock_us() < until_us; wakes++) {
        poller_wait(&poller, until_us);
        poller_call(&poller);
    }
    ck_assert_uint_le(wakes, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("poller");
    TCase *tests = tcase_create("poller");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, calls_who_is_ready_until_it_is_not);
    tcase_add_test(tests, calls_for_the_events_asked_and_no_others);
    tcase_add_test(tests, tells_of_a_hang_up_as_of_what_was_waited_for);
    tcase_add_loop_test(tests, does_not_call_who_was_closed_or_silenced_in_the_same_turn, 0, 2);
    tcase_add_test(tests, does_not_look_at_who_was_dropped_in_the_same_turn);
    tcase_add_test(tests, does_not_take_a_new_descriptor_for_the_old_one);
    tcase_add_test(tests, sleeps_until_told_and_no_longer);
    tcase_add_test(tests, wakes_for_a_later_moment_after_an_earlier_one_was_dropped);
    tcase_add_test(tests, is_not_kept_awake_by_a_moment_that_has_passed);
    suite_add_tcase(suite, tests);

    return run_suite(suite);
}
