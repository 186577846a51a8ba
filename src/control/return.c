/* See control/return.h. */
#include "control/return.h"

#include "base/clock.h"
#include "base/log.h"
#include "control/event_log.h"
#include "control/leave.h"
#include "control/rebuild.h"
#include "control/resolver.h"
#include "control/step.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    LATE_MAX_MS = 10000,      /* to wait for what was sent before; then it is cut off */
    REPLAY_IDLE_US = 1000000, /* the longest silence of a server while it is brought up to date */
    ENTRIES_MAX = 4 << 20,    /* keys kept here for one server; more, and it is flushed */
};

/* ---- lists of keys */

static void free_entries(struct journal_entry **list)
{
    while (*list != NULL) {
        struct journal_entry *next = (*list)->next;

        journal_entry_free(*list);
        *list = next;
    }
}

static void push_entry(struct journal_entry **list, struct journal_entry *entry)
{
    entry->next = *list;
    *list = entry;
}

/* Puts the whole of from behind to; from is empty afterwards. */
static void splice(struct journal_entry **to, struct journal_entry **from)
{
    while (*from != NULL) {
        struct journal_entry *entry = *from;

        *from = entry->next;
        push_entry(to, entry);
    }
}

/* A copy of entry for another list, without its stand-in; NULL out of memory. */
static struct journal_entry *copy_entry(const struct journal_entry *entry)
{
    struct journal_entry *copy = malloc(sizeof(*copy) + entry->key_len);

    if (copy != NULL) {
        memcpy(copy, entry, sizeof(*copy) + entry->key_len);
        copy->standin = NULL;
        copy->next = NULL;
    }
    return copy;
}

/* ---- bringing up to date */

static void begin_replay(struct member *member);

void return_stop_replay(struct member *member)
{
    replayer_free(member->replayer);
    member->replayer = NULL;
    splice(&member->deletes, &member->replaying);
}

static void on_replayed(void *arg, bool is_done)
{
    struct member *member = arg;
    uint64_t done = replayer_done(member->replayer);

    replayer_free(member->replayer);
    member->replayer = NULL;
    member->replayed_total += done;
    if (!is_done) {
        splice(&member->deletes, &member->replaying);
        if (member->phase == MEMBER_LIVE) {
            step_allow_ms(member, STEP_GATE_MAX_MS); /* tries again then */
        } else {
            log_warn("server %s could not be brought up to date, it stays out",
                     member->server->label);
            member_failed_to_return(member);
            return_give_up(member);
        }
        return;
    }
    free_entries(&member->replaying);
    if (member->is_flushing) {
        member->is_flushing = false;
        member->needs_flush = false;
        if (member->phase != MEMBER_LIVE) {
            free_entries(&member->deletes);
            if (!member->was_flushed) { /* once more while its requests are held is no news */
                event_log_add(member->control, "server %s was flushed before its return",
                              member->server->label);
            }
            member->was_flushed = true;
        }
    }
    begin_replay(member); /* what came meanwhile, or the next step */
}

/* Stand-ins may have lost the last of what they had to: their copies can be trusted again. */
static void forget_debts(struct member *member)
{
    const struct control *control = member->control;
    bool had_debts = member->has_debts;

    if (member->deletes != NULL || member->replaying != NULL || leave_pool_has_debts(member)) {
        return;
    }
    for (uint32_t i = 0; i < control->member_count; i++) {
        struct member *other = control->members[i];

        if (other != NULL && other->pool == member->pool && other->phase == MEMBER_LIVE) {
            had_debts |= other->has_debts;
            other->has_debts = false;
        }
    }
    if (had_debts) {
        rebuild_standing(member->control, NULL, 0);
    }
}

/* Gives the stand-ins their deletes: the server is live, so nobody reads their copies. */
static void settle_debts(struct member *member)
{
    while (member->owed != NULL) {
        struct journal_entry *entry = member->owed;
        struct member *standin = member_find(member->control, entry->standin);

        member->owed = entry->next;
        member->owed_count--;
        if (standin == NULL || standin == member) {
            journal_entry_free(entry);
            continue;
        }
        push_entry(&standin->deletes, entry);
        if (standin->phase == MEMBER_LIVE && standin->replayer == NULL) {
            begin_replay(standin);
        }
    }
}

static void become_live(struct member *member)
{
    uint64_t out_ms = (clock_us() - member->out_since_us) / 1000;
    char moved[96] = "";
    char deleted[64] = "";

    if (!member->was_flushed) {
        snprintf(deleted, sizeof(deleted), ", %" PRIu64 " key%s deleted from it",
                 member->delete_count, member->delete_count == 1 ? "" : "s");
    }
    step_to(member, MEMBER_LIVE);
    member->has_debts = member->owed != NULL || leave_pool_has_debts(member);
    rebuild_standing(member->control, moved, sizeof(moved));
    member->control->changes.rejoins++;
    event_log_add(member->control, "server %s is live again after %" PRIu64 ".%03u s%s%s%s",
                  member->server->label, out_ms / 1000, (unsigned)(out_ms % 1000), deleted,
                  member->has_restarted ? " (it was restarted empty)" : "", moved);
    member->delete_count = 0;
    member_rejoined(member);
    settle_debts(member);
    forget_debts(member);
    leave_reconsider_pool(member);
}

/* Nothing is left to be deleted: the next step. */
static void replay_done(struct member *member)
{
    switch (member->phase) {
    case MEMBER_RETURNING:
        step_to(member, MEMBER_JOINING);
        rebuild_standing(member->control, NULL, 0);
        step_allow_ms(member, STEP_GATE_MAX_MS);
        step_ask_workers(member,
                         member->pool->rejoin == REJOIN_KEEP ? SURRENDER_NOTES_AT_ONCE
                                                             : SURRENDER_WHEN_ALL_QUIET,
                         false);
        break;
    case MEMBER_JOINING:
        become_live(member);
        break;
    case MEMBER_LIVE:
        forget_debts(member);
        leave_reconsider_pool(member);
        break;
    case MEMBER_LEAVING:
    case MEMBER_OUT:
        break;
    }
}

/* Sends what the member is to lose, where there is anything. */
static void begin_replay(struct member *member)
{
    struct endpoint endpoints[TOPOLOGY_ENDPOINTS_MAX];
    bool flushes = member->needs_flush && member->phase != MEMBER_LIVE;
    uint32_t count;

    if (member->replayer != NULL) {
        return; /* its end looks at what came meanwhile */
    }
    if (!flushes && member->deletes == NULL) {
        replay_done(member);
        return;
    }
    count = resolver_lookup(member->control->resolver, &member->server->address, endpoints);
    member->replaying = member->deletes;
    member->deletes = NULL;
    member->is_flushing = flushes;
    if (member->phase == MEMBER_RETURNING) {
        evtimer_del(member->step_timer); /* the replayer has a patience of its own */
    }
    member->replayer = replayer_start(member->control->base, endpoints, count, member->replaying,
                                      flushes, REPLAY_IDLE_US, on_replayed, member);
    if (member->replayer == NULL) {
        splice(&member->deletes, &member->replaying);
        if (member->phase == MEMBER_LIVE) {
            step_allow_ms(member, STEP_GATE_MAX_MS); /* tries again then */
            return;
        }
        member_failed_to_return(member);
        return_give_up(member);
    }
}

static void ask_uptime(struct member *member)
{
    struct endpoint endpoints[TOPOLOGY_ENDPOINTS_MAX];
    uint32_t count =
        resolver_lookup(member->control->resolver, &member->server->address, endpoints);

    prober_uptime(member->prober, endpoints, count, member->rules.probe_timeout_us);
}

static const char *reason_to_return(const struct member *member)
{
    if (member->health.is_restored) {
        return "is restored by the operator";
    }
    return member->health.cause == HEALTH_EJECTED ? "has been out for the time the operator said"
                                                  : "is well again";
}

void return_begin(struct member *member)
{
    if (member->phase != MEMBER_OUT) {
        return;
    }
    step_to(member, MEMBER_RETURNING);
    member->was_flushed = false;
    if (member->pool->rejoin == REJOIN_KEEP) {
        free_entries(&member->deletes);
        step_allow_ms(member, LATE_MAX_MS);
        step_ask_workers(member, SURRENDER_NOTES_AT_ONCE, false); /* a flush_all is kept too */
        return;
    }
    event_log_add(member->control, "server %s %s; it is brought up to date", member->server->label,
                  reason_to_return(member));
    step_allow_ms(member, LATE_MAX_MS);
    ask_uptime(member);
}

/* The age of its process is known, or will not be: its workers' notes are asked for. */
static void collect(struct member *member)
{
    if (member->has_restarted) {
        free_entries(&member->deletes);
        member->needs_flush = false;
    }
    step_allow_ms(member, LATE_MAX_MS);
    step_ask_workers(member, SURRENDER_WHEN_QUIET, member->has_restarted);
}

void return_on_uptime(struct member *member, const struct uptime_result *result)
{
    if (member->phase != MEMBER_RETURNING) {
        return;
    }
    if (result->cause == HEALTH_NO_CAUSE) {
        uint64_t age_us = (result->uptime_s + 1) * 1000000; /* told in whole seconds */

        member->has_restarted =
            result->ended_us > age_us && result->ended_us - age_us > member->out_since_us;
    }
    collect(member);
}

/* Takes a worker's notes. */
static void take_notes(struct member *member, struct worker_surrender_mail *mail)
{
    if (member->pool->rejoin == REJOIN_KEEP) { /* notes are of before a reload */
        free_entries(&mail->entries);
        member->needs_flush |= mail->needs_flush;
        return;
    }
    while (mail->entries != NULL) {
        struct journal_entry *entry = mail->entries;
        struct journal_entry *copy;

        mail->entries = entry->next;
        if (!member->has_restarted) {
            copy = copy_entry(entry);
            if (copy == NULL || member->delete_count >= ENTRIES_MAX) {
                free(copy);
                member->needs_flush = true;
            } else {
                push_entry(&member->deletes, copy);
                member->delete_count++;
            }
        }
        if (entry->standin != NULL && member->owed_count < ENTRIES_MAX) {
            push_entry(&member->owed, entry);
            member->owed_count++;
        } else {
            member->is_tainted |= entry->standin != NULL;
            journal_entry_free(entry);
        }
    }
    if (mail->is_overflowed) {
        log_warn("server %s: more keys were written while it was out than can be noted; it is "
                 "flushed, and nobody stands in for it again until it is restored by hand",
                 member->server->label);
        member->is_tainted = true;
    }
    if (!member->has_restarted &&
        (mail->is_overflowed || mail->needs_flush || member->pool->rejoin == REJOIN_FLUSH)) {
        member->needs_flush = true;
    }
}

void return_on_surrender(struct control *control, struct worker_surrender_mail *mail)
{
    struct member *member = member_find(control, mail->server);

    server_put(mail->server);
    if (member == NULL) {
        free_entries(&mail->entries);
        return;
    }
    take_notes(member, mail);
    if (mail->ticket != member->ticket || member->surrenders_due == 0 ||
        --member->surrenders_due > 0) {
        return;
    }
    switch (member->phase) {
    case MEMBER_LEAVING:
        leave_go_on(member, true);
        break;
    case MEMBER_RETURNING:
    case MEMBER_JOINING:
        begin_replay(member);
        break;
    case MEMBER_LIVE:
    case MEMBER_OUT:
        break;
    }
}

void return_give_up(struct member *member)
{
    return_stop_replay(member);
    if (member->phase == MEMBER_RETURNING || member->phase == MEMBER_JOINING) {
        bool was_gated = member->phase == MEMBER_JOINING;

        step_to(member, MEMBER_OUT);
        if (was_gated) {
            rebuild_standing(member->control, NULL, 0);
        }
    }
}

/* A step has taken too long. */
void return_on_step_timeout(evutil_socket_t fd, short what, void *arg)
{
    struct member *member = arg;

    (void)fd;
    (void)what;
    switch (member->phase) {
    case MEMBER_LEAVING:
        member->surrenders_due = 0;
        leave_go_on(member, false);
        break;
    case MEMBER_RETURNING:
        /* a connection that was given up is still open at the other end: cut it off; what it
         * may yet do is undone by a flush */
        log_warn("server %s has not closed a connection that was given up; it is flushed",
                 member->server->label);
        member->needs_flush = true;
        step_ask_workers(member, SURRENDER_NOTES_AT_ONCE, true);
        step_allow_ms(member, LATE_MAX_MS);
        break;
    case MEMBER_JOINING:
        log_warn("server %s: its return took too long, trying again", member->server->label);
        member_failed_to_return(member);
        return_give_up(member);
        break;
    case MEMBER_LIVE:
        if (member->deletes != NULL && member->replayer == NULL) {
            begin_replay(member);
        }
        break;
    case MEMBER_OUT:
        break;
    }
}

void return_end(struct member *member)
{
    replayer_free(member->replayer);
    member->replayer = NULL;
    free_entries(&member->deletes);
    free_entries(&member->replaying);
    free_entries(&member->owed);
}
