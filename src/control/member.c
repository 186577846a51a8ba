/* See control/member.h. */
#include "control/member.h"

#include "base/clock.h"
#include "base/log.h"
#include "config/units.h"
#include "control/event_log.h"
#include "control/leave.h"
#include "control/rebuild.h"
#include "control/resolver.h"
#include "control/return.h"
#include "control/timer.h"
#include "proxy/exchange.h"

#include <stdio.h>
#include <stdlib.h>

struct member *member_find(const struct control *control, const struct server *server)
{
    struct member *member =
        server->slot < control->member_count ? control->members[server->slot] : NULL;

    return member != NULL && member->server == server ? member : NULL;
}

struct member *member_find_named(struct control *control, struct slice name, char *error,
                                 size_t error_size)
{
    struct member *found = NULL;

    for (uint32_t i = 0; i < control->member_count; i++) {
        struct member *member = control->members[i];
        char full[ADDRESS_TEXT_MAX * 3];

        if (member == NULL) {
            continue;
        }
        snprintf(full, sizeof(full), "%s/%s", member->server->pool_name, member->server->label);
        if (slice_equals(name, slice_text(full))) {
            return member;
        }
        if (slice_equals(name, slice_text(member->server->label))) {
            if (found != NULL) {
                snprintf(error, error_size, "several pools have a server %.*s: say POOL/NAME",
                         (int)name.len, name.data);
                return NULL;
            }
            found = member;
        }
    }
    if (found == NULL) {
        snprintf(error, error_size, "no server is called %.*s", (int)name.len, name.data);
    }
    return found;
}

enum server_standing member_standing(const struct member *member, struct topology_server *at)
{
    at->is_cut = false;
    at->is_alone = member->is_tainted || member->has_debts;
    at->is_indebted = member->has_debts && !member->is_tainted;
    switch (member->phase) {
    case MEMBER_LIVE:
        return STANDING_LIVE;
    case MEMBER_LEAVING:
        at->is_cut = !member->health.is_draining;
        return STANDING_GATED;
    case MEMBER_OUT:
    case MEMBER_RETURNING:
        return member->is_gate_open ? STANDING_DOWN : STANDING_OUT;
    case MEMBER_JOINING:
        return STANDING_GATED;
    }
    return STANDING_DOWN;
}

const char *member_state_text(const struct member *member)
{
    switch (member->phase) {
    case MEMBER_LIVE:
        return "live";
    case MEMBER_LEAVING:
        return "leaving";
    case MEMBER_OUT:
        break;
    case MEMBER_RETURNING:
        return "replaying";
    case MEMBER_JOINING:
        return "joining";
    }
    if (member->health.is_draining) {
        return "drained";
    }
    return member->is_gate_open ? "down" : "ejected";
}

char *member_wish_text(const struct member *member, char *out)
{
    char duration[UNITS_TEXT_MAX];

    if (member->health.is_draining || member->ejected_for_us == 0) {
        snprintf(out, MEMBER_WISH_MAX, "%s", health_cause_text(member->health.cause));
    } else {
        snprintf(out, MEMBER_WISH_MAX, "%s for %s", health_cause_text(member->health.cause),
                 units_format_duration(member->ejected_for_us / 1000, duration));
    }
    return out;
}

uint64_t member_keys_to_delete(const struct member *member)
{
    return member->delete_count +
           atomic_load_explicit(&member->server->noted, memory_order_relaxed);
}

static uint32_t random_number(struct control *control)
{
    control->random = control->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(control->random >> 33);
}

/*
 * Sets the timer for the next probe or the next thing that time brings. What is due while a probe
 * is under way waits for its end, which comes here too.
 */
static void set_timer(struct member *member)
{
    uint64_t at_us = health_due_at(&member->health);
    uint64_t now_us = clock_us();

    if (at_us == HEALTH_NEVER || (at_us <= now_us && prober_is_busy(member->prober))) {
        evtimer_del(member->timer);
    } else {
        timer_set(member->timer, at_us > now_us ? at_us - now_us : 0);
    }
}

/* The one way that health changes; acts on what comes of it. */
static void apply(struct member *member, const struct health_event *event)
{
    enum health_change change = health_apply(&member->health, &member->rules, event, clock_us(),
                                             random_number(member->control));

    switch (change) {
    case HEALTH_SAME:
    case HEALTH_WENT_UP:
        break;
    case HEALTH_WENT_DOWN:
        leave_begin(member);
        break;
    case HEALTH_MAY_REJOIN:
        return_begin(member);
        break;
    case HEALTH_REJOIN_ENDED:
        return_give_up(member);
        break;
    }
    set_timer(member);
}

void member_rejoined(struct member *member)
{
    struct health_event event = {.kind = HEALTH_REJOINED};

    apply(member, &event);
}

void member_failed_to_return(struct member *member)
{
    uint64_t now_us = clock_us();
    struct health_event event = {.kind = HEALTH_PROBE_FAILED,
                                 .cause = HEALTH_PROBE_ERROR,
                                 .begun_us = now_us,
                                 .ended_us = now_us};

    apply(member, &event);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct member *member = arg;
    struct endpoint endpoints[TOPOLOGY_ENDPOINTS_MAX];
    struct health_event event = {.kind = HEALTH_TIME};

    (void)fd;
    (void)what;
    apply(member, &event);
    if (health_wants_probe(&member->health, clock_us()) && !prober_is_busy(member->prober)) {
        uint32_t count =
            resolver_lookup(member->control->resolver, &member->server->address, endpoints);

        event.kind = HEALTH_PROBE_BEGUN;
        apply(member, &event);
        prober_start(member->prober, endpoints, count, member->rules.probe_timeout_us);
    }
}

/* A name that is being looked up for the first time says nothing about its server. */
static enum health_cause judge_cause(const struct member *member, enum health_cause cause)
{
    uint64_t for_us;

    return cause == HEALTH_UNRESOLVED &&
                   resolver_is_awaited(member->control->resolver, &member->server->address, &for_us)
               ? HEALTH_PROXY_TROUBLE
               : cause;
}

static void on_probe(void *arg, const struct probe_result *result)
{
    struct member *member = arg;
    struct health_event event = {
        .kind = result->cause == HEALTH_NO_CAUSE ? HEALTH_PROBE_OK : HEALTH_PROBE_FAILED,
        .cause = judge_cause(member, result->cause),
        .begun_us = result->begun_us,
        .ended_us = result->ended_us,
    };

    if (result->cause == HEALTH_NO_CAUSE) {
        atomic_store_explicit(&member->server->version, server_version_parse(result->version),
                              memory_order_relaxed);
    }
    apply(member, &event);
}

static void on_uptime(void *arg, const struct uptime_result *result)
{
    return_on_uptime(arg, result);
}

void member_on_verdict(struct control *control, struct verdict_mail *mail)
{
    static const uint8_t causes[LEG_CAUSES] = {
        [LEG_REFUSED] = HEALTH_REFUSED,
        [LEG_UNREACHABLE] = HEALTH_UNREACHABLE,
        [LEG_CONNECT_TIMEOUT] = HEALTH_CONNECT_TIMEOUT,
        [LEG_RESET] = HEALTH_RESET,
        [LEG_CLOSED] = HEALTH_CLOSED,
        [LEG_CROWDED] = HEALTH_CLOSED,
        [LEG_TIMEOUT] = HEALTH_REQUEST_TIMEOUT,
        [LEG_BROKEN] = HEALTH_BROKEN,
        [LEG_UNRESOLVED] = HEALTH_UNRESOLVED,
        [LEG_OUT_OF_MEMORY] = HEALTH_PROXY_TROUBLE,
        [LEG_NO_DESCRIPTOR] = HEALTH_PROXY_TROUBLE,
    };
    struct member *member = member_find(control, mail->server);
    enum health_cause cause = (enum health_cause)causes[mail->cause];

    if (member != NULL && cause != HEALTH_NO_CAUSE) {
        uint64_t replied_us =
            atomic_load_explicit(&member->server->last_reply_us, memory_order_relaxed);
        struct health_event event = {.kind = HEALTH_TRAFFIC_OK, .begun_us = replied_us};

        if (replied_us > member->health.counted_us && replied_us < mail->begun_us) {
            apply(member, &event);
        }
        event = (struct health_event){.kind = HEALTH_TRAFFIC_FAILED,
                                      .cause = judge_cause(member, cause),
                                      .begun_us = mail->begun_us,
                                      .ended_us = mail->ended_us};
        apply(member, &event);
    }
    server_put(mail->server);
}

/* One that leaves says so once it is out; one that was out before, here. */
static void hold_out(struct member *member, const struct health_event *event)
{
    bool was_in = member->phase == MEMBER_LIVE || member->phase == MEMBER_LEAVING;
    char wish[MEMBER_WISH_MAX];

    apply(member, event);
    if (!was_in) {
        event_log_add(member->control, "server %s was out already; it is %s", member->server->label,
                      member_wish_text(member, wish));
    }
}

void member_eject(struct member *member, uint64_t for_us)
{
    struct health_event event = {.kind = HEALTH_EJECT, .for_us = for_us};

    member->ejected_for_us = for_us;
    hold_out(member, &event);
}

void member_drain(struct member *member)
{
    struct health_event event = {.kind = HEALTH_DRAIN};

    hold_out(member, &event);
}

void member_restore(struct member *member)
{
    struct health_event event = {.kind = HEALTH_RESTORE};

    member->is_tainted = false;
    apply(member, &event);
}

static void read_rules(struct member *member)
{
    const struct config_pool *pool = member->pool;

    member->rules = (struct health_rules){
        .fall = pool->fall,
        .rise = pool->rise,
        .probe_interval_us = pool->probe_interval_ms * 1000,
        .probe_timeout_us = pool->probe_timeout_ms * 1000,
        .passive_gap_us = health_passive_gap(pool->probe_interval_ms * 1000),
    };
}

/* The pool's rules may have changed. */
static void rules_changed(struct member *member)
{
    struct health_event event = {.kind = HEALTH_RULES_CHANGED};
    struct health_rules before = member->rules;

    read_rules(member);
    if (memcmp(&before, &member->rules, sizeof(before)) != 0) {
        apply(member, &event); /* for rules that did not change it would only put probes off */
    }
}

static void member_free(struct member *member)
{
    if (member == NULL) {
        return;
    }
    return_end(member);
    prober_free(member->prober);
    if (member->timer != NULL) {
        event_free(member->timer);
    }
    if (member->step_timer != NULL) {
        event_free(member->step_timer);
    }
    server_put(member->server);
    free(member);
}

static struct member *member_new(struct control *control, struct server *server,
                                 const struct config_pool *pool)
{
    static const struct prober_callbacks callbacks = {on_probe, on_uptime};
    struct member *member = calloc(1, sizeof(*member));

    if (member == NULL) {
        return NULL;
    }
    member->control = control;
    member->server = server_get(server);
    member->pool = pool;
    member->phase = MEMBER_LIVE;
    member->phase_since_us = clock_us();
    member->prober = prober_new(control->base, &callbacks, member);
    member->timer = evtimer_new(control->base, on_timer, member);
    member->step_timer = evtimer_new(control->base, return_on_step_timeout, member);
    if (member->prober == NULL || member->timer == NULL || member->step_timer == NULL) {
        member_free(member);
        return NULL;
    }
    read_rules(member);
    health_init(&member->health, &member->rules, clock_us(), random_number(control));
    set_timer(member);
    return member;
}

static bool grow(struct control *control, uint32_t count)
{
    struct member **members;

    if (count <= control->member_count) {
        return true;
    }
    members = realloc(control->members, count * sizeof(members[0]));
    if (members == NULL) {
        return false;
    }
    memset(members + control->member_count, 0,
           (count - control->member_count) * sizeof(members[0]));
    control->members = members;
    control->member_count = count;
    return true;
}

/* Members of servers that stand in the topology go by the configuration in force; others end. */
static void keep_known(struct control *control, const struct topology *topology)
{
    control->adoptions++;
    for (uint32_t p = 0; p < topology->pool_count; p++) {
        const struct topology_pool *pool = &topology->pools[p];
        const struct config_pool *config = config_find_pool(control->config, pool->name);

        for (uint32_t s = 0; s < pool->server_count; s++) {
            struct member *member = member_find(control, pool->servers[s].server);

            if (member != NULL) {
                member->pool = config;
                member->adoption = control->adoptions;
            }
        }
    }
    for (uint32_t i = 0; i < control->member_count; i++) {
        struct member *member = control->members[i];

        if (member != NULL && member->adoption != control->adoptions) {
            control->members[i] = NULL;
            member_free(member);
        }
    }
}

/* Makes members for servers that have none. False: out of memory. */
static bool add_unknown(struct control *control, const struct topology *topology)
{
    for (uint32_t p = 0; p < topology->pool_count; p++) {
        const struct topology_pool *pool = &topology->pools[p];
        const struct config_pool *config = config_find_pool(control->config, pool->name);

        for (uint32_t s = 0; s < pool->server_count; s++) {
            struct server *server = pool->servers[s].server;
            struct member *member;

            if (member_find(control, server) != NULL) {
                continue;
            }
            member = grow(control, server->slot + 1) ? member_new(control, server, config) : NULL;
            if (member == NULL) {
                return false;
            }
            member->adoption = control->adoptions;
            control->members[server->slot] = member;
        }
    }
    return true;
}

/* What kept others from standing in for some may be no longer so. */
static void reconsider_pools(struct control *control)
{
    for (uint32_t i = 0; i < control->member_count; i++) {
        struct member *member = control->members[i];

        if (member != NULL && member->phase == MEMBER_OUT && member->is_gate_open) {
            leave_reconsider_pool(member);
        }
    }
}

bool members_adopt(struct control *control, const struct topology *topology)
{
    bool has_all;

    keep_known(control, topology); /* needs no memory: nobody is left with what was before */
    has_all = add_unknown(control, topology);
    for (uint32_t i = 0; i < control->member_count; i++) {
        if (control->members[i] != NULL) { /* may publish another topology */
            rules_changed(control->members[i]);
        }
    }
    reconsider_pools(control);
    return has_all;
}

void members_free(struct control *control)
{
    for (uint32_t i = 0; i < control->member_count; i++) {
        member_free(control->members[i]);
    }
    free(control->members);
    control->members = NULL;
    control->member_count = 0;
}
