/* See control/leave.h. */
#include "control/leave.h"

#include "base/clock.h"
#include "base/log.h"
#include "control/event_log.h"
#include "control/rebuild.h"
#include "control/return.h"
#include "control/step.h"

bool leave_pool_has_debts(const struct member *member)
{
    const struct control *control = member->control;

    for (uint32_t i = 0; i < control->member_count; i++) {
        const struct member *other = control->members[i];

        if (other != NULL && other != member && other->pool == member->pool &&
            other->phase == MEMBER_LIVE && (other->deletes != NULL || other->replaying != NULL)) {
            return true;
        }
    }
    return false;
}

static uint32_t live_members(const struct member *member)
{
    const struct control *control = member->control;
    uint32_t live = 0;

    for (uint32_t i = 0; i < control->member_count; i++) {
        const struct member *other = control->members[i];

        if (other != NULL && other->pool == member->pool && other->phase == MEMBER_LIVE) {
            live++;
        }
    }
    return live;
}

/* True where others could stand in for the member, whatever their number. */
static bool is_replaceable(const struct member *member)
{
    return member->pool->on_failure == ON_FAILURE_EJECT && !member->is_tainted;
}

/*
 * True where others may stand in for the member, which is counted as live. Asked once, when it
 * begins to leave: of several that fail together the first come are let out.
 */
static bool may_be_replaced(const struct member *member, uint32_t live)
{
    if (!is_replaceable(member)) {
        return false;
    }
    return health_is_held_out(&member->health)
               ? live > 1
               : health_may_eject((uint32_t)member->pool->server_count, live,
                                  member->pool->min_live_percent);
}

/* The server is out, and the topology says so. */
static void tell_out(struct member *member, const char *moved)
{
    const char *label = member->server->label;
    char wish[MEMBER_WISH_MAX];

    member->control->changes.ejections += member->is_gate_open ? 0 : 1;
    if (!health_is_held_out(&member->health)) {
        event_log_add(member->control, "server %s is %s: %s%s", label, member_state_text(member),
                      health_cause_text(member->health.cause), moved);
    } else {
        event_log_add(member->control, "server %s is %s%s%s", label,
                      member->is_gate_open && !member->health.is_draining ? "down, " : "",
                      member_wish_text(member, wish), moved);
    }
    if (member->health.may_rejoin) {
        return_begin(member);
    }
}

/* The server is out, and nobody stands in for it. */
static void leave_unreplaced(struct member *member)
{
    char moved[96] = "";

    step_to(member, MEMBER_OUT);
    member->is_gate_open = true;
    rebuild_standing(member->control, moved, sizeof(moved));
    tell_out(member, moved);
}

/* True where one of the pool is about to be out any moment. */
static bool is_awaiting_others(const struct member *member)
{
    const struct control *control = member->control;

    for (uint32_t i = 0; i < control->member_count; i++) {
        const struct member *other = control->members[i];

        if (other != NULL && other->pool == member->pool && other->phase == MEMBER_LEAVING &&
            !other->has_left && !other->health.is_draining) {
            return true;
        }
    }
    return false;
}

/* True where others may stand in once they have lost some copies, which is soon. */
static bool is_awaiting_debts(const struct member *member)
{
    return is_replaceable(member) && leave_pool_has_debts(member);
}

/*
 * All of the member's pool that every worker knows to be out leave together, in one topology;
 * is_overdue: the member waits for nothing any more.
 */
static void leave_together(struct member *member, bool is_overdue)
{
    struct control *control = member->control;
    const struct config_pool *pool = member->pool;
    char moved[96] = "";

    for (uint32_t i = 0; i < control->member_count; i++) {
        struct member *other = control->members[i];

        if (other != NULL && other->pool == pool && other->has_left &&
            (!is_awaiting_debts(other) || (is_overdue && other == member))) {
            step_to(other, MEMBER_OUT);
            other->is_gate_open = !is_replaceable(other) || leave_pool_has_debts(other);
        }
    }
    rebuild_standing(control, moved, sizeof(moved));
    for (uint32_t i = 0; i < control->member_count; i++) {
        struct member *other = control->members[i];

        if (other != NULL && other->pool == pool && other->has_left && other->phase == MEMBER_OUT) {
            other->has_left = false;
            tell_out(other, moved);
            moved[0] = '\0';
        }
    }
}

void leave_go_on(struct member *member, bool waits_for_others)
{
    member->has_left = true;
    if (!waits_for_others || (!is_awaiting_others(member) && !is_awaiting_debts(member))) {
        leave_together(member, !waits_for_others);
    }
}

/* Closes the gate: once every worker knows, others stand in for the member. */
static void begin_leaving(struct member *member)
{
    step_to(member, MEMBER_LEAVING);
    member->has_left = false;
    rebuild_standing(member->control, NULL, 0);
    step_allow_ms(member, STEP_GATE_MAX_MS);
    step_ask_workers(member, member->health.is_draining ? SURRENDER_WHEN_QUIET : SURRENDER_AT_ONCE,
                     false);
}

void leave_begin(struct member *member)
{
    uint32_t live = live_members(member);

    if (member->phase != MEMBER_LIVE) {
        return;
    }
    member->out_since_us = clock_us();
    member->has_restarted = false;
    return_stop_replay(member);
    if (live == 1 && health_is_held_out(&member->health)) {
        log_warn("server %s was the last live one of pool %s, and the operator takes it out",
                 member->server->label, member->server->pool_name);
    }
    if (may_be_replaced(member, live)) {
        begin_leaving(member);
    } else {
        leave_unreplaced(member);
    }
}

void leave_reconsider_pool(struct member *member)
{
    struct control *control = member->control;

    for (uint32_t i = 0; i < control->member_count; i++) {
        struct member *other = control->members[i];

        if (other == NULL || other->pool != member->pool) {
            continue;
        }
        if (other->phase == MEMBER_LEAVING && other->has_left && !leave_pool_has_debts(other)) {
            leave_together(other, false);
        } else if (other->phase == MEMBER_OUT && other->is_gate_open &&
                   may_be_replaced(other, live_members(other) + 1) &&
                   !leave_pool_has_debts(other)) {
            begin_leaving(other);
        }
    }
}
