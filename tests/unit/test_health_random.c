/*
 * The state machine of a server's health under random events: what must hold
 * in every story.
 */
#include "topology/health.h"
#include "unit/run_suite.h"

#include <check.h>
#include <stdlib.h>

enum { MS = 1000, RANDOM_STORIES = 2000, RANDOM_EVENTS = 400 };

static const struct health_rules rules = {
    .fall = 3,
    .rise = 2,
    .probe_interval_us = 1000 * MS,
    .probe_timeout_us = 500 * MS,
    .passive_gap_us = 250 * MS,
};

/* So that 0 is not special. */
static const uint64_t MORNING = (uint64_t)3600 * 1000 * MS;

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

/* What the test itself counts, to compare with. */
struct witness {
    unsigned failures_since_success; /* told, whether counted or not */
    uint64_t failed_us;
};

/* ck_assert notes down every call, which is slow a million times over. */
#define MUST_HOLD(claim)                                                                           \
    do {                                                                                           \
        if (!(claim)) {                                                                            \
            ck_abort_msg("not so: %s", #claim);                                                    \
        }                                                                                          \
    } while (0)

static void check_invariants(const struct health *health, const struct health *before,
                             const struct health_rules *r, const struct health_event *event,
                             enum health_change change, uint64_t now)
{
    const uint64_t longest = (uint64_t)HEALTH_BACKOFF_MAX_MS * MS;

    MUST_HOLD(health->flaps <= HEALTH_FLAPS_MAX);
    MUST_HOLD(health->backoff_us <= longest);
    if (health->state == HEALTH_DOWN || r->probe_interval_us != 0) {
        MUST_HOLD(health->next_probe_at_us < (now + longest * 2 + r->probe_timeout_us));
    }
    if (event->kind == HEALTH_PROBE_BEGUN || event->kind == HEALTH_PROBE_OK ||
        event->kind == HEALTH_PROBE_FAILED) {
        MUST_HOLD(health->next_probe_at_us > now);
    }
    MUST_HOLD(!health->may_rejoin || (health->state == HEALTH_DOWN && !health_is_held_out(health)));
    MUST_HOLD(!health_is_held_out(health) || health->state == HEALTH_DOWN);
    MUST_HOLD((change == HEALTH_WENT_DOWN) ==
              (before->state == HEALTH_UP && health->state == HEALTH_DOWN));
    MUST_HOLD((change == HEALTH_WENT_UP) ==
              (before->state == HEALTH_DOWN && health->state == HEALTH_UP));
    MUST_HOLD((change == HEALTH_MAY_REJOIN) == (!before->may_rejoin && health->may_rejoin));
    MUST_HOLD((change == HEALTH_REJOIN_ENDED) ==
              (before->may_rejoin && !health->may_rejoin && health->state == HEALTH_DOWN));
    if (health->may_rejoin) {
        MUST_HOLD(health->successes >= 1);
    }
    if (change == HEALTH_WENT_UP) {
        MUST_HOLD(event->kind == HEALTH_REJOINED);
    }
}

static struct health_event random_event(unsigned *seed, uint64_t now, uint64_t last)
{
    static const enum health_event_kind kinds[] = {
        HEALTH_PROBE_BEGUN,    HEALTH_PROBE_OK,       HEALTH_PROBE_OK,       HEALTH_PROBE_OK,
        HEALTH_PROBE_FAILED,   HEALTH_PROBE_FAILED,   HEALTH_PROBE_FAILED,   HEALTH_TRAFFIC_OK,
        HEALTH_TRAFFIC_FAILED, HEALTH_TRAFFIC_FAILED, HEALTH_TRAFFIC_FAILED, HEALTH_EJECT,
        HEALTH_DRAIN,          HEALTH_RESTORE,        HEALTH_REJOINED,       HEALTH_REJOINED,
        HEALTH_RULES_CHANGED,  HEALTH_TIME,           HEALTH_TIME,
    };
    struct health_event event = {
        .kind = kinds[(unsigned)rand_r(seed) % ARRAY_LEN(kinds)],
        .cause = (enum health_cause)((unsigned)rand_r(seed) % HEALTH_EJECTED),
        .begun_us = last + (uint64_t)rand_r(seed) % (now - last + 1),
        .ended_us = now,
        .for_us = (uint64_t)rand_r(seed) % 3 * 5000 * MS,
    };

    if ((event.kind == HEALTH_EJECT || event.kind == HEALTH_DRAIN) && rand_r(seed) % 4 != 0) {
        event.kind = HEALTH_TIME;
    }
    return event;
}

/* Failures and successes told since the machine last was up anew, as the test sees them. */
static void witness_note(struct witness *witness, const struct health_event *event,
                         enum health_change change)
{
    bool is_failure = event->kind == HEALTH_PROBE_FAILED || event->kind == HEALTH_TRAFFIC_FAILED;

    bool is_success = event->kind == HEALTH_PROBE_OK || event->kind == HEALTH_TRAFFIC_OK;

    if (is_failure) {
        witness->failures_since_success++;
        witness->failed_us = event->ended_us;
    }
    if (change == HEALTH_WENT_UP || (is_success && event->begun_us > witness->failed_us)) {
        witness->failures_since_success = 0;
    }
}

START_TEST(whatever_happens_it_keeps_its_rules)
{
    for (unsigned story = 0; story < RANDOM_STORIES; story++) {
        unsigned seed = story;
        struct health_rules r = rules;
        struct witness witness = {0};
        struct health health;
        uint64_t now = MORNING;

        r.fall = 1 + story % 5;
        r.rise = 1 + story % 3;
        r.probe_interval_us = story % 7 == 0 ? 0 : (uint64_t)(10 + story % 3000) * MS;
        r.passive_gap_us = health_passive_gap(r.probe_interval_us);
        health_init(&health, &r, now, story * 2654435761u);
        for (unsigned i = 0; i < RANDOM_EVENTS; i++) {
            struct health before = health;
            uint64_t last = now;
            struct health_event event;
            enum health_change change;

            now += (uint64_t)rand_r(&seed) % (rand_r(&seed) % 9 == 0 ? 90000 * MS : 900 * MS);
            event = random_event(&seed, now, last);
            change = health_apply(&health, &r, &event, now, (uint32_t)rand_r(&seed));
            witness_note(&witness, &event, change);
            check_invariants(&health, &before, &r, &event, change, now);
            if (change == HEALTH_WENT_DOWN && !health_is_held_out(&health) &&
                health.cause != HEALTH_UNRESOLVED) {
                MUST_HOLD(health.failures >= r.fall);
                MUST_HOLD(witness.failures_since_success >= r.fall);
            }
        }
    }
}
END_TEST

START_TEST(a_server_that_recovers_comes_back_whatever_happened_before)
{
    for (unsigned story = 0; story < RANDOM_STORIES; story++) {
        unsigned seed = story + 77;
        struct health health;
        uint64_t now = MORNING;
        unsigned probes = 0;

        health_init(&health, &rules, now, seed);
        for (unsigned i = 0; i < 100; i++) {
            uint64_t last = now;
            struct health_event event;

            now += (uint64_t)rand_r(&seed) % (3000 * MS);
            event = random_event(&seed, now, last);
            health_apply(&health, &rules, &event, now, (uint32_t)rand_r(&seed));
        }
        if (health_is_held_out(&health)) {
            apply(&health, HEALTH_RESTORE, now);
        }
        while (health.state == HEALTH_DOWN) {
            now = health_due_at(&health) > now ? health_due_at(&health) : now + 1;
            apply(&health, HEALTH_PROBE_OK, now);
            if (health.may_rejoin) {
                apply(&health, HEALTH_REJOINED, now);
            }
            MUST_HOLD(++probes <= ((rules.rise << HEALTH_FLAPS_MAX) + 2));
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("health, at random");
    TCase *tests = tcase_create("health, at random");

    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, whatever_happens_it_keeps_its_rules);
    tcase_add_test(tests, a_server_that_recovers_comes_back_whatever_happened_before);
    return run_suite(suite);
}
