/*
 * The state machine of a server's health: told stories, an event a
 * line. test_health_random.c has stories nobody thought of.
 */
#include "topology/health.h"
#include "unit/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

enum { MS = 1000, STORY_MAX = 24 };

static const struct health_rules rules = {
    .fall = 3,
    .rise = 2,
    .probe_interval_us = 1000 * MS,
    .probe_timeout_us = 500 * MS,
    .passive_gap_us = 250 * MS,
};

/* Times are in milliseconds from MORNING, so that 0 is not special. */
static const uint64_t MORNING = (uint64_t)3600 * 1000 * MS;

struct step {
    uint64_t at_ms;
    enum health_event_kind kind;
    enum health_cause cause;
    uint64_t begun_ms; /* or for how long it is ejected */
    enum health_change want;
};

struct story {
    const char *name;
    struct step steps[STORY_MAX]; /* ends where at_ms is 0 */
};

#define OK(at, begun, want)                                                                        \
    {                                                                                              \
        at, HEALTH_PROBE_OK, HEALTH_NO_CAUSE, begun, want                                          \
    }
#define BAD(at, begun, want)                                                                       \
    {                                                                                              \
        at, HEALTH_PROBE_FAILED, HEALTH_PROBE_TIMEOUT, begun, want                                 \
    }
#define REPLY(at, begun)                                                                           \
    {                                                                                              \
        at, HEALTH_TRAFFIC_OK, HEALTH_NO_CAUSE, begun, HEALTH_SAME                                 \
    }
#define FAIL(at, cause, begun, want)                                                               \
    {                                                                                              \
        at, HEALTH_TRAFFIC_FAILED, cause, begun, want                                              \
    }
#define SAY(at, what, want)                                                                        \
    {                                                                                              \
        at, what, HEALTH_NO_CAUSE, 0, want                                                         \
    }

/* clang-format off */
static const struct story stories[] = {
    { "three refusals in a row, a while apart, are a fall", {
        FAIL(1000, HEALTH_REFUSED, 1000, HEALTH_SAME),
        FAIL(1250, HEALTH_REFUSED, 1250, HEALTH_SAME),
        FAIL(1500, HEALTH_REFUSED, 1500, HEALTH_WENT_DOWN),
    } },
    { "five connections broken by one restart are one failure", {
        FAIL(1000, HEALTH_RESET, 990, HEALTH_SAME),
        FAIL(1000, HEALTH_RESET, 990, HEALTH_SAME),
        FAIL(1001, HEALTH_CLOSED, 995, HEALTH_SAME),
        FAIL(1002, HEALTH_REFUSED, 1002, HEALTH_SAME),
        FAIL(1003, HEALTH_REFUSED, 1003, HEALTH_SAME),
        REPLY(1200, 1190),
        FAIL(2000, HEALTH_RESET, 1990, HEALTH_SAME),
        FAIL(2000, HEALTH_RESET, 1990, HEALTH_SAME),
        FAIL(2001, HEALTH_REFUSED, 2001, HEALTH_SAME),
        OK(2300, 2299, HEALTH_SAME),
        FAIL(3000, HEALTH_RESET, 2990, HEALTH_SAME),
        REPLY(3200, 3190),
        FAIL(4000, HEALTH_RESET, 3990, HEALTH_SAME),
    } },
    { "all that was under way to a server that hung is one failure", {
        FAIL(1300, HEALTH_REQUEST_TIMEOUT, 1000, HEALTH_SAME),
        FAIL(1350, HEALTH_REQUEST_TIMEOUT, 1050, HEALTH_SAME),
        FAIL(1600, HEALTH_REQUEST_TIMEOUT, 1299, HEALTH_SAME),
        FAIL(1600, HEALTH_REQUEST_TIMEOUT, 1300, HEALTH_SAME),
        FAIL(1650, HEALTH_REQUEST_TIMEOUT, 1350, HEALTH_SAME),
        FAIL(1900, HEALTH_REQUEST_TIMEOUT, 1600, HEALTH_WENT_DOWN),
    } },
    { "a stopped server, gets one after another: down after fall deadlines", {
        FAIL(2000, HEALTH_REQUEST_TIMEOUT, 1000, HEALTH_SAME),
        FAIL(3000, HEALTH_REQUEST_TIMEOUT, 2000, HEALTH_SAME),
        FAIL(4000, HEALTH_REQUEST_TIMEOUT, 3000, HEALTH_WENT_DOWN),
    } },
    { "probes and traffic count in one row", {
        FAIL(1000, HEALTH_REQUEST_TIMEOUT, 900, HEALTH_SAME),
        BAD(1100, 999, HEALTH_SAME),
        BAD(1500, 1000, HEALTH_SAME),
        FAIL(1751, HEALTH_REQUEST_TIMEOUT, 1501, HEALTH_WENT_DOWN),
    } },
    { "replies flow: it is alive, whatever was late", {
        FAIL(1000, HEALTH_REQUEST_TIMEOUT, 900, HEALTH_SAME),
        REPLY(1010, 1005),
        FAIL(2000, HEALTH_REQUEST_TIMEOUT, 1900, HEALTH_SAME),
        REPLY(2010, 2005),
        FAIL(3000, HEALTH_REQUEST_TIMEOUT, 2900, HEALTH_SAME),
        REPLY(3010, 3005),
        FAIL(4000, HEALTH_REQUEST_TIMEOUT, 3900, HEALTH_SAME),
    } },
    { "an answer to what was asked before the failure is no news", {
        BAD(1000, 500, HEALTH_SAME),
        REPLY(1001, 900),
        BAD(2000, 1500, HEALTH_SAME),
        OK(2001, 1600, HEALTH_SAME),
        BAD(3000, 2500, HEALTH_WENT_DOWN),
    } },
    { "the proxy's own troubles and what is no failure never count", {
        FAIL(1000, HEALTH_PROXY_TROUBLE, 900, HEALTH_SAME),
        FAIL(2000, HEALTH_PROXY_TROUBLE, 1900, HEALTH_SAME),
        FAIL(3000, HEALTH_PROXY_TROUBLE, 2900, HEALTH_SAME),
        FAIL(4000, HEALTH_NO_CAUSE, 3900, HEALTH_SAME),
        { 5000, HEALTH_PROBE_FAILED, HEALTH_PROXY_TROUBLE, 4900, HEALTH_SAME },
        { 6000, HEALTH_PROBE_FAILED, HEALTH_PROXY_TROUBLE, 5900, HEALTH_SAME },
        { 7000, HEALTH_PROBE_FAILED, HEALTH_PROXY_TROUBLE, 6900, HEALTH_SAME },
    } },
    { "a server without an address is down at once", {
        { 1000, HEALTH_PROBE_FAILED, HEALTH_UNRESOLVED, 1000, HEALTH_WENT_DOWN },
        { 2000, HEALTH_PROBE_FAILED, HEALTH_UNRESOLVED, 2000, HEALTH_SAME },
        OK(3000, 2999, HEALTH_SAME),
        OK(3500, 3499, HEALTH_MAY_REJOIN),
        SAY(3600, HEALTH_REJOINED, HEALTH_WENT_UP),
    } },
    { "rise good probes, then it is let back", {
        BAD(1000, 500, HEALTH_SAME), BAD(2000, 1500, HEALTH_SAME), BAD(3000, 2500, HEALTH_WENT_DOWN),
        OK(3001, 2900, HEALTH_SAME), /* begun before it fell */
        OK(4000, 3999, HEALTH_SAME),
        BAD(5000, 4500, HEALTH_SAME),
        OK(6000, 5999, HEALTH_SAME),
        SAY(6001, HEALTH_REJOINED, HEALTH_SAME), /* nobody said it may */
        OK(6500, 6499, HEALTH_MAY_REJOIN),
        OK(7500, 7499, HEALTH_SAME),
        SAY(7600, HEALTH_REJOINED, HEALTH_WENT_UP),
    } },
    { "a failure while it is let back ends that", {
        BAD(1000, 500, HEALTH_SAME), BAD(2000, 1500, HEALTH_SAME), BAD(3000, 2500, HEALTH_WENT_DOWN),
        OK(4000, 3999, HEALTH_SAME),
        OK(4500, 4499, HEALTH_MAY_REJOIN),
        BAD(5500, 5000, HEALTH_REJOIN_ENDED),
        SAY(5501, HEALTH_REJOINED, HEALTH_SAME),
        OK(6000, 5999, HEALTH_SAME),
        OK(6500, 6499, HEALTH_MAY_REJOIN),
    } },
    { "traffic says nothing of a server that is down", {
        BAD(1000, 500, HEALTH_SAME), BAD(2000, 1500, HEALTH_SAME), BAD(3000, 2500, HEALTH_WENT_DOWN),
        FAIL(3500, HEALTH_REFUSED, 3500, HEALTH_SAME),
        REPLY(3600, 3600), REPLY(3700, 3700), REPLY(3800, 3800),
        OK(4000, 3999, HEALTH_SAME),
        FAIL(4100, HEALTH_REQUEST_TIMEOUT, 4000, HEALTH_SAME),
        OK(4500, 4499, HEALTH_MAY_REJOIN),
    } },
    { "ejected until restored: well or not, it stays out; one good probe brings it back", {
        SAY(1000, HEALTH_EJECT, HEALTH_WENT_DOWN),
        BAD(2000, 1500, HEALTH_SAME),
        OK(3000, 2999, HEALTH_SAME),
        BAD(4000, 3999, HEALTH_SAME),
        SAY(100000, HEALTH_TIME, HEALTH_SAME),
        SAY(200000, HEALTH_RESTORE, HEALTH_SAME),
        OK(200010, 200001, HEALTH_MAY_REJOIN),
        SAY(200020, HEALTH_REJOINED, HEALTH_WENT_UP),
    } },
    { "an ejected server whose probes are good may rejoin when restored", {
        SAY(1000, HEALTH_EJECT, HEALTH_WENT_DOWN),
        OK(2000, 1999, HEALTH_SAME), OK(3000, 2999, HEALTH_SAME), OK(4000, 3999, HEALTH_SAME),
        SAY(5000, HEALTH_RESTORE, HEALTH_MAY_REJOIN),
    } },
    { "ejected for a while: back by itself", {
        { 1000, HEALTH_EJECT, HEALTH_NO_CAUSE, 5000, HEALTH_WENT_DOWN },
        OK(2000, 1999, HEALTH_SAME), OK(3000, 2999, HEALTH_SAME), OK(4000, 3999, HEALTH_SAME),
        SAY(5999, HEALTH_TIME, HEALTH_SAME),
        SAY(6000, HEALTH_TIME, HEALTH_MAY_REJOIN),
    } },
    { "drained: out until restored", {
        SAY(1000, HEALTH_DRAIN, HEALTH_WENT_DOWN),
        OK(2000, 1999, HEALTH_SAME), OK(3000, 2999, HEALTH_SAME),
        SAY(9000000, HEALTH_TIME, HEALTH_SAME),
        SAY(9000001, HEALTH_RESTORE, HEALTH_MAY_REJOIN),
    } },
    { "ejected while it is let back: that ends", {
        BAD(1000, 500, HEALTH_SAME), BAD(2000, 1500, HEALTH_SAME), BAD(3000, 2500, HEALTH_WENT_DOWN),
        OK(4000, 3999, HEALTH_SAME),
        OK(4500, 4499, HEALTH_MAY_REJOIN),
        SAY(4600, HEALTH_EJECT, HEALTH_REJOIN_ENDED),
        SAY(4700, HEALTH_REJOINED, HEALTH_SAME),
    } },
    { "restored while it is up: nothing to do", {
        SAY(1000, HEALTH_RESTORE, HEALTH_SAME),
        BAD(2000, 1500, HEALTH_SAME),
    } },
};
/* clang-format on */

static struct health_event event_of(const struct step *step)
{
    return (struct health_event){
        .kind = step->kind,
        .cause = step->cause,
        .begun_us = MORNING + step->begun_ms * MS,
        .ended_us = MORNING + step->at_ms * MS,
        .for_us = step->kind == HEALTH_EJECT ? step->begun_ms * MS : 0,
    };
}

START_TEST(every_story_goes_as_told)
{
    const struct story *story = &stories[_i];
    struct health health;

    health_init(&health, &rules, MORNING, 7);
    for (size_t i = 0; i < STORY_MAX && story->steps[i].at_ms != 0; i++) {
        const struct step *step = &story->steps[i];
        struct health_event event = event_of(step);
        enum health_change got =
            health_apply(&health, &rules, &event, MORNING + step->at_ms * MS, 7);

        ck_assert_msg(got == step->want, "%s: step %zu: %d, not %d", story->name, i + 1, got,
                      step->want);
    }
}
END_TEST

static enum health_change apply(struct health *health, enum health_event_kind kind, uint64_t now_us)
{
    struct health_event event = {
        .kind = kind,
        .cause = HEALTH_REFUSED,
        .begun_us = now_us,
        .ended_us = now_us,
    };

    return health_apply(health, &rules, &event, now_us, 0);
}

static uint64_t knock_down(struct health *health, uint64_t now_us)
{
    for (unsigned i = 0; i < rules.fall; i++) {
        now_us += rules.probe_interval_us;
        apply(health, HEALTH_PROBE_FAILED, now_us);
    }
    ck_assert_int_eq(health->state, HEALTH_DOWN);
    return now_us;
}

/* Answers probes as they come due until it may rejoin; returns how many that took. */
static unsigned bring_back(struct health *health, uint64_t *now_us)
{
    unsigned probes = 0;

    do {
        ck_assert_uint_gt(health_due_at(health), *now_us);
        *now_us = health_due_at(health);
        probes++;
    } while (apply(health, HEALTH_PROBE_OK, *now_us) != HEALTH_MAY_REJOIN);
    ck_assert_int_eq(apply(health, HEALTH_REJOINED, *now_us), HEALTH_WENT_UP);
    return probes;
}

START_TEST(probes_of_a_dead_server_grow_rare_and_it_is_found_soon)
{
    uint64_t gaps[12];
    struct health health;
    uint64_t now;
    uint64_t found;

    health_init(&health, &rules, MORNING, 0);
    now = knock_down(&health, MORNING);
    for (size_t i = 0; i < ARRAY_LEN(gaps); i++) {
        gaps[i] = health_due_at(&health) - now;
        now = health_due_at(&health);
        ck_assert(health_wants_probe(&health, now));
        ck_assert(!health_wants_probe(&health, now - 1));
        apply(&health, HEALTH_PROBE_FAILED, now);
    }
    ck_assert_uint_le(gaps[0], rules.probe_interval_us + 1);
    ck_assert_uint_le(gaps[1], rules.probe_interval_us + 1);
    ck_assert_uint_gt(gaps[4], gaps[3] + gaps[3] / 2);
    ck_assert_uint_le(gaps[11], (uint64_t)HEALTH_BACKOFF_MAX_MS * MS + 1);
    ck_assert_uint_gt(gaps[11], (uint64_t)HEALTH_BACKOFF_MAX_MS * MS / 2);
    /* once it answers, the rest follows at once */
    now = health_due_at(&health);
    found = now;
    apply(&health, HEALTH_PROBE_OK, now);
    ck_assert_uint_eq(bring_back(&health, &now), rules.rise - 1);
    ck_assert_uint_le(now - found, rules.probe_interval_us);
}
END_TEST

START_TEST(flapping_is_damped_and_forgiven)
{
    struct health health;
    uint64_t now;

    health_init(&health, &rules, MORNING, 0);
    now = knock_down(&health, MORNING);
    ck_assert_uint_eq(bring_back(&health, &now), rules.rise);
    for (unsigned flap = 1; flap <= HEALTH_FLAPS_MAX + 2; flap++) {
        unsigned doubled = flap < HEALTH_FLAPS_MAX ? flap : HEALTH_FLAPS_MAX;

        now = knock_down(&health, now);
        ck_assert_uint_eq(health.flaps, doubled);
        ck_assert_uint_eq(health_rise_wanted(&health, &rules), rules.rise << doubled);
        ck_assert_uint_eq(bring_back(&health, &now), rules.rise << doubled);
    }
    for (unsigned left = HEALTH_FLAPS_MAX; left > 0; left--) {
        apply(&health, HEALTH_TIME, now += 59 * rules.probe_interval_us);
        ck_assert_uint_eq(health.flaps, left);
        apply(&health, HEALTH_TIME, now += rules.probe_interval_us);
        ck_assert_uint_eq(health.flaps, left - 1);
    }
    now = knock_down(&health, now);
    ck_assert_uint_eq(bring_back(&health, &now), rules.rise);
}
END_TEST

START_TEST(the_operator_forgives_flaps_at_once)
{
    struct health health;
    uint64_t now;

    health_init(&health, &rules, MORNING, 0);
    now = knock_down(&health, MORNING);
    for (int i = 0; i < 4; i++) {
        bring_back(&health, &now);
        now = knock_down(&health, now);
    }
    ck_assert_uint_gt(health.flaps, 0);
    apply(&health, HEALTH_RESTORE, now);
    ck_assert_uint_le(health_due_at(&health), now + 1);
    ck_assert_uint_eq(bring_back(&health, &now), 1);
    ck_assert_uint_eq(health.flaps, 0);
}
END_TEST

START_TEST(without_probes_only_the_dead_are_probed)
{
    struct health_rules passive = rules;
    struct health health;
    struct health_event event = {.kind = HEALTH_TRAFFIC_FAILED, .cause = HEALTH_REFUSED};
    uint64_t now = MORNING;

    passive.probe_interval_us = 0;
    health_init(&health, &passive, now, 9);
    ck_assert_uint_eq(health_due_at(&health), HEALTH_NEVER);
    for (int i = 0; i < 3; i++) {
        now += 1000 * MS;
        event.begun_us = now;
        event.ended_us = now;
        health_apply(&health, &passive, &event, now, 9);
    }
    ck_assert_int_eq(health.state, HEALTH_DOWN);
    ck_assert_uint_le(health_due_at(&health), now + 1000 * MS + 1);
    event = (struct health_event){.kind = HEALTH_PROBE_OK};
    for (int i = 0; i < 2; i++) {
        now = health_due_at(&health);
        event.begun_us = now;
        health_apply(&health, &passive, &event, now, 9);
    }
    event.kind = HEALTH_REJOINED;
    ck_assert_int_eq(health_apply(&health, &passive, &event, now, 9), HEALTH_WENT_UP);
    ck_assert_uint_eq(health_due_at(&health), HEALTH_NEVER);
}
END_TEST

START_TEST(new_rules_bring_the_next_probe_forward)
{
    struct health_rules slow = rules;
    struct health_rules off = rules;
    struct health_event event = {.kind = HEALTH_RULES_CHANGED};
    struct health health;

    slow.probe_interval_us = 600 * 1000 * (uint64_t)MS;
    off.probe_interval_us = 0;
    health_init(&health, &slow, MORNING, 1000);
    health_apply(&health, &rules, &event, MORNING, 0);
    ck_assert_uint_le(health_due_at(&health), MORNING + rules.probe_interval_us + 1);
    health_apply(&health, &off, &event, MORNING, 0);
    ck_assert_uint_eq(health_due_at(&health), HEALTH_NEVER);
    health_apply(&health, &rules, &event, MORNING, 0);
    ck_assert_uint_le(health_due_at(&health), MORNING + rules.probe_interval_us + 1);
}
END_TEST

START_TEST(the_first_probes_of_many_servers_are_spread)
{
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;

    for (uint32_t random = 0; random < 5000; random += 7) {
        struct health health;
        uint64_t wait;

        health_init(&health, &rules, MORNING, random);
        wait = health_due_at(&health) - MORNING;
        least = wait < least ? wait : least;
        most = wait > most ? wait : most;
    }
    ck_assert_uint_le(least, rules.probe_interval_us / 20);
    ck_assert_uint_ge(most, rules.probe_interval_us / 20 * 19);
    ck_assert_uint_le(most, rules.probe_interval_us);
}
END_TEST

/* clang-format off */
static const struct {
    uint32_t servers;
    uint32_t live;
    unsigned percent;
    bool want;
} shares[] = {
    { 1, 1, 50, false }, { 1, 1, 1, false }, { 1, 1, 0, true },  { 1, 0, 0, false },
    { 2, 2, 50, true },  { 2, 1, 50, false }, { 2, 1, 0, true }, { 2, 2, 51, false },
    { 3, 3, 50, true },  { 3, 2, 50, false }, { 3, 2, 33, true }, { 3, 2, 34, false },
    { 4, 3, 50, true },  { 4, 2, 50, false }, { 10, 6, 50, true }, { 10, 5, 50, false },
    { 5, 5, 100, false }, { 1000, 1000, 100, false }, { 4000000000u, 4000000000u, 99, true },
};
/* clang-format on */

START_TEST(a_pool_never_falls_below_its_share)
{
    ck_assert_int_eq(health_may_eject(shares[_i].servers, shares[_i].live, shares[_i].percent),
                     shares[_i].want);
}
END_TEST

START_TEST(every_cause_has_a_text)
{
    for (int cause = 0; cause < HEALTH_CAUSES; cause++) {
        ck_assert_ptr_nonnull(health_cause_text((enum health_cause)cause));
    }
}
END_TEST

START_TEST(the_gap_follows_the_interval)
{
    ck_assert_uint_eq(health_passive_gap(1000 * MS), 250 * MS);
    ck_assert_uint_eq(health_passive_gap(10 * MS), 50 * MS);
    ck_assert_uint_eq(health_passive_gap(0), 250 * MS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("health");
    TCase *tests = tcase_create("health");

    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, every_story_goes_as_told, 0, ARRAY_LEN(stories));
    tcase_add_test(tests, probes_of_a_dead_server_grow_rare_and_it_is_found_soon);
    tcase_add_test(tests, flapping_is_damped_and_forgiven);
    tcase_add_test(tests, the_operator_forgives_flaps_at_once);
    tcase_add_test(tests, without_probes_only_the_dead_are_probed);
    tcase_add_test(tests, new_rules_bring_the_next_probe_forward);
    tcase_add_test(tests, the_first_probes_of_many_servers_are_spread);
    tcase_add_loop_test(tests, a_pool_never_falls_below_its_share, 0, ARRAY_LEN(shares));
    tcase_add_test(tests, every_cause_has_a_text);
    tcase_add_test(tests, the_gap_follows_the_interval);
    return run_suite(suite);
}
