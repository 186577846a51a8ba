/* The rules by which a server is up or down; see health.h. */
#include "topology/health.h"

#include <assert.h>

enum {
    SECOND_US = 1000 * 1000,
    PASSIVE_GAP_MIN_US = 50 * 1000,
    PASSIVE_GAP_UNPROBED_US = 250 * 1000,
    FLAP_WINDOW_PROBES = 60, /* a fall within so many probe intervals of a rejoin is a flap */
    RANDOM_STEPS = 1024,
};

/* clang-format off */
static const struct {
    const char *text;
    bool counts;     /* against the server */
    bool is_certain; /* one is enough */
} causes[HEALTH_CAUSES] = {
    [HEALTH_NO_CAUSE]        = { "no failure",                     false, false },
    [HEALTH_REFUSED]         = { "connection refused",             true,  false },
    [HEALTH_UNREACHABLE]     = { "cannot be reached",              true,  false },
    [HEALTH_CONNECT_TIMEOUT] = { "connect timed out",              true,  false },
    [HEALTH_RESET]           = { "connection reset",               true,  false },
    [HEALTH_CLOSED]          = { "connection closed",              true,  false },
    [HEALTH_REQUEST_TIMEOUT] = { "request timed out",              true,  false },
    [HEALTH_BROKEN]          = { "broken reply",                   true,  false },
    [HEALTH_UNRESOLVED]      = { "name does not resolve",          true,  true  },
    [HEALTH_PROBE_TIMEOUT]   = { "probe timed out",                true,  false },
    [HEALTH_PROBE_ERROR]     = { "probe answered with an error",   true,  false },
    [HEALTH_PROXY_TROUBLE]   = { "proxy out of descriptors or memory", false, false },
    [HEALTH_EJECTED]         = { "ejected by the operator",        false, false },
    [HEALTH_DRAINED]         = { "drained by the operator",        false, false },
};
/* clang-format on */

const char *health_cause_text(enum health_cause cause)
{
    return causes[cause].text;
}

bool health_is_held_out(const struct health *health)
{
    return health->ejected_until_us != 0 || health->is_draining;
}

uint64_t health_passive_gap(uint64_t probe_interval_us)
{
    uint64_t gap = probe_interval_us / 4;

    if (probe_interval_us == 0) {
        return PASSIVE_GAP_UNPROBED_US;
    }
    return gap > PASSIVE_GAP_MIN_US ? gap : PASSIVE_GAP_MIN_US;
}

bool health_may_eject(uint32_t servers, uint32_t live, unsigned min_live_percent)
{
    return live > 0 && (uint64_t)(live - 1) * 100 >= (uint64_t)servers * min_live_percent;
}

unsigned health_rise_wanted(const struct health *health, const struct health_rules *rules)
{
    return health->is_restored ? 1 : rules->rise << health->flaps;
}

/* Between probes where nothing is wrong, and what back-off begins with. */
static uint64_t base_interval(const struct health_rules *rules)
{
    return rules->probe_interval_us != 0 ? rules->probe_interval_us : SECOND_US;
}

static uint64_t backoff_max(const struct health_rules *rules)
{
    uint64_t interval = base_interval(rules);
    uint64_t max = (uint64_t)HEALTH_BACKOFF_MAX_MS * 1000;

    return interval > max ? interval : max;
}

static uint64_t flap_window(const struct health_rules *rules)
{
    return base_interval(rules) * FLAP_WINDOW_PROBES;
}

/* Between three quarters of length and all of it; never 0. */
static uint64_t jitter(uint64_t length, uint32_t random)
{
    return length - length / 4 * (random % RANDOM_STEPS) / RANDOM_STEPS + 1;
}

static void schedule_probe(struct health *health, uint64_t length, uint64_t now_us, uint32_t random)
{
    health->next_probe_at_us = now_us + jitter(length, random);
}

/* The next probe of a server that is up: none where it is judged by its traffic alone. */
static void schedule_up(struct health *health, const struct health_rules *rules, uint64_t now_us,
                        uint32_t random)
{
    health->next_probe_at_us = HEALTH_NEVER;
    if (rules->probe_interval_us != 0) {
        schedule_probe(health, rules->probe_interval_us, now_us, random);
    }
}

/* What time spent up forgives. */
static void fade_flaps(struct health *health, const struct health_rules *rules, uint64_t now_us)
{
    uint64_t window = flap_window(rules);

    while (health->state == HEALTH_UP && health->flaps > 0 && now_us - health->flaps_us >= window) {
        health->flaps--;
        health->flaps_us += window;
    }
}

static void note_flap(struct health *health, const struct health_rules *rules, uint64_t now_us)
{
    fade_flaps(health, rules, now_us);
    if (health->has_rejoined && now_us - health->since_us < flap_window(rules) &&
        health->flaps < HEALTH_FLAPS_MAX) {
        health->flaps++;
    }
}

/* Up or down, goes out or stays out. */
static enum health_change go_down(struct health *health, const struct health_rules *rules,
                                  enum health_cause cause, uint64_t now_us, uint32_t random)
{
    bool was_up = health->state == HEALTH_UP;
    bool was_rejoining = health->may_rejoin;

    if (was_up) {
        health->state = HEALTH_DOWN;
        health->since_us = now_us;
    }
    health->cause = cause;
    health->successes = 0;
    health->may_rejoin = false;
    health->is_restored = false;
    health->backoff_us = base_interval(rules);
    schedule_probe(health, health->backoff_us, now_us, random);
    if (was_up) {
        return HEALTH_WENT_DOWN;
    }
    return was_rejoining ? HEALTH_REJOIN_ENDED : HEALTH_SAME;
}

/* Counts a failure where it is news. */
static enum health_change count_failure(struct health *health, const struct health_rules *rules,
                                        const struct health_event *event, uint64_t now_us,
                                        uint32_t random)
{
    bool is_passive = event->kind == HEALTH_TRAFFIC_FAILED;
    bool is_first = health->counted_us == 0;

    if (!causes[event->cause].counts) {
        return HEALTH_SAME;
    }
    if (!is_first && event->begun_us < health->counted_us) {
        return HEALTH_SAME;
    }
    if (!is_first && is_passive && event->ended_us < health->counted_us + rules->passive_gap_us) {
        return HEALTH_SAME;
    }
    health->counted_us = event->ended_us;
    health->last_cause = event->cause;
    health->failures++;
    if (health->failures < rules->fall && !causes[event->cause].is_certain) {
        return HEALTH_SAME;
    }
    note_flap(health, rules, now_us);
    return go_down(health, rules, event->cause, now_us, random);
}

/* A server that is down failed a probe. */
static enum health_change stay_down(struct health *health, const struct health_rules *rules,
                                    const struct health_event *event, uint64_t now_us,
                                    uint32_t random)
{
    bool was_rejoining = health->may_rejoin;

    if (!causes[event->cause].counts) {
        schedule_probe(health, base_interval(rules), now_us, random);
        return HEALTH_SAME;
    }
    health->counted_us = event->ended_us;
    health->last_cause = event->cause;
    if (!health_is_held_out(health)) {
        health->cause = event->cause;
    }
    health->failures++;
    health->successes = 0;
    health->may_rejoin = false;
    schedule_probe(health, health->backoff_us, now_us, random);
    health->backoff_us *= 2;
    if (health->backoff_us > backoff_max(rules)) {
        health->backoff_us = backoff_max(rules);
    }
    return was_rejoining ? HEALTH_REJOIN_ENDED : HEALTH_SAME;
}

/* May it rejoin now, by what its probes have shown? */
static enum health_change consider_rejoin(struct health *health, const struct health_rules *rules)
{
    if (health->state == HEALTH_UP || health->may_rejoin || health_is_held_out(health) ||
        health->successes < health_rise_wanted(health, rules)) {
        return HEALTH_SAME;
    }
    health->may_rejoin = true;
    return HEALTH_MAY_REJOIN;
}

static enum health_change probe_ok(struct health *health, const struct health_rules *rules,
                                   const struct health_event *event, uint64_t now_us,
                                   uint32_t random)
{
    uint64_t interval = base_interval(rules);
    bool is_news = event->begun_us >= health->counted_us;

    if (is_news) {
        health->failures = 0;
    }
    if (health->state == HEALTH_UP) {
        schedule_up(health, rules, now_us, random);
        return HEALTH_SAME;
    }
    health->backoff_us = interval;
    if (!is_news || event->begun_us < health->since_us) {
        schedule_probe(health, interval / 2, now_us, random);
        return HEALTH_SAME;
    }
    if (health->successes < UINT32_MAX) {
        health->successes++;
    }
    if (health_is_held_out(health) || health->may_rejoin) {
        schedule_probe(health, interval, now_us, random);
        return HEALTH_SAME;
    }
    schedule_probe(health, interval / 2, now_us, random);
    return consider_rejoin(health, rules);
}

static enum health_change probe_failed(struct health *health, const struct health_rules *rules,
                                       const struct health_event *event, uint64_t now_us,
                                       uint32_t random)
{
    if (health->state == HEALTH_DOWN) {
        return stay_down(health, rules, event, now_us, random);
    }
    schedule_up(health, rules, now_us, random);
    return count_failure(health, rules, event, now_us, random);
}

/* The operator's hold is over: what its probes say counts again. */
static enum health_change release(struct health *health, const struct health_rules *rules,
                                  uint64_t now_us)
{
    health->ejected_until_us = 0;
    health->is_draining = false;
    if (health->state == HEALTH_UP) {
        return HEALTH_SAME;
    }
    health->backoff_us = base_interval(rules);
    if (!health->may_rejoin) {
        health->next_probe_at_us = now_us + 1;
    }
    return consider_rejoin(health, rules);
}

static enum health_change hold_out(struct health *health, const struct health_rules *rules,
                                   const struct health_event *event, uint64_t now_us,
                                   uint32_t random)
{
    bool is_drain = event->kind == HEALTH_DRAIN;

    health->is_draining = is_drain;
    health->ejected_until_us = is_drain             ? 0
                               : event->for_us != 0 ? now_us + event->for_us
                                                    : HEALTH_NEVER;
    return go_down(health, rules, is_drain ? HEALTH_DRAINED : HEALTH_EJECTED, now_us, random);
}

static enum health_change rejoined(struct health *health, const struct health_rules *rules,
                                   uint64_t now_us, uint32_t random)
{
    if (!health->may_rejoin) {
        return HEALTH_SAME;
    }
    health->state = HEALTH_UP;
    health->since_us = now_us;
    health->flaps_us = now_us;
    health->cause = HEALTH_NO_CAUSE;
    health->failures = 0;
    health->successes = 0;
    health->may_rejoin = false;
    health->has_rejoined = true;
    health->is_restored = false;
    schedule_up(health, rules, now_us, random);
    return HEALTH_WENT_UP;
}

/* The next probe as new rules would have it: never later than they allow. */
static enum health_change rules_changed(struct health *health, const struct health_rules *rules,
                                        uint64_t now_us, uint32_t random)
{
    uint64_t soon = now_us + jitter(base_interval(rules), random);

    if (health->state == HEALTH_UP) {
        schedule_up(health, rules, now_us, random);
        return HEALTH_SAME;
    }
    health->backoff_us = base_interval(rules);
    if (soon < health->next_probe_at_us) {
        health->next_probe_at_us = soon;
    }
    return consider_rejoin(health, rules);
}

void health_init(struct health *health, const struct health_rules *rules, uint64_t now_us,
                 uint32_t random)
{
    *health = (struct health){
        .state = HEALTH_UP,
        .since_us = now_us,
        .flaps_us = now_us,
        .backoff_us = base_interval(rules),
        .next_probe_at_us = HEALTH_NEVER,
    };
    if (rules->probe_interval_us != 0) {
        /* anywhere within the interval: servers configured together are not probed together */
        health->next_probe_at_us =
            now_us + 1 + rules->probe_interval_us / RANDOM_STEPS * (random % RANDOM_STEPS);
    }
}

enum health_change health_apply(struct health *health, const struct health_rules *rules,
                                const struct health_event *event, uint64_t now_us, uint32_t random)
{
    fade_flaps(health, rules, now_us);
    switch (event->kind) {
    case HEALTH_PROBE_BEGUN:
        /* its end schedules the next one; this is for the case that none is reported */
        health->next_probe_at_us = now_us + 1 + rules->probe_timeout_us + backoff_max(rules);
        break;
    case HEALTH_PROBE_OK:
        return probe_ok(health, rules, event, now_us, random);
    case HEALTH_PROBE_FAILED:
        return probe_failed(health, rules, event, now_us, random);
    case HEALTH_TRAFFIC_OK:
        if (health->state == HEALTH_UP && event->begun_us >= health->counted_us) {
            health->failures = 0;
        }
        break;
    case HEALTH_TRAFFIC_FAILED:
        if (health->state == HEALTH_UP) {
            return count_failure(health, rules, event, now_us, random);
        }
        break;
    case HEALTH_EJECT:
    case HEALTH_DRAIN:
        return hold_out(health, rules, event, now_us, random);
    case HEALTH_RESTORE:
        health->flaps = 0;
        health->is_restored = health->state == HEALTH_DOWN;
        return release(health, rules, now_us);
    case HEALTH_REJOINED:
        return rejoined(health, rules, now_us, random);
    case HEALTH_RULES_CHANGED:
        return rules_changed(health, rules, now_us, random);
    case HEALTH_TIME:
        if (health->ejected_until_us != 0 && now_us >= health->ejected_until_us) {
            return release(health, rules, now_us);
        }
        break;
    }
    return HEALTH_SAME;
}

uint64_t health_due_at(const struct health *health)
{
    if (health->ejected_until_us != 0 && health->ejected_until_us < health->next_probe_at_us) {
        return health->ejected_until_us;
    }
    return health->next_probe_at_us;
}

bool health_wants_probe(const struct health *health, uint64_t now_us)
{
    return now_us >= health->next_probe_at_us;
}
