/* See proxy/standin.h. */
#include "proxy/standin.h"

#include "base/log.h"
#include "base/socket.h"
#include "proxy/backend_set.h"
#include "proxy/linger.h"
#include "proxy/pipeline.h"

#include <stdlib.h>

enum {
    LIST_FIRST = 64, /* servers of a key's list that are looked at; all, where that is not enough */
    JOURNAL_BYTES_MAX = 8 << 20, /* a worker's notes for one server */
};

/* Notes a key for the set's server, and tells the control plane how many there are. */
static void note(struct backend_set *set, struct slice key, struct server *standin)
{
    size_t before = set->journal.bytes;

    if (journal_add(&set->journal, key, standin, JOURNAL_BYTES_MAX)) {
        atomic_fetch_add_explicit(&set->server->noted, 1, memory_order_relaxed);
    }
    set->worker->pool.used_bytes += set->journal.bytes - before; /* counts, is never refused */
}

/* The notes are no longer the worker's. */
static void uncount(struct backend_set *set)
{
    atomic_fetch_sub_explicit(&set->server->noted, set->journal.count, memory_order_relaxed);
    set->worker->pool.used_bytes -= set->journal.bytes;
}

void standin_forget_journal(struct backend_set *set)
{
    uncount(set);
    journal_clear(&set->journal);
}

/* Whose key it was cannot be said: nobody's notes are whole any more. */
static void overflow_all(struct worker *worker, const struct topology_pool *pool)
{
    for (uint32_t s = 0; s < pool->server_count; s++) {
        if (pool->live[s] == STANDING_OUT) {
            worker->sets[pool->servers[s].server->slot]->journal.is_overflowed = true;
        }
    }
}

/* Lists the servers before to in the key's list; returns how many, SIZE_MAX where to is not found.
 */
static size_t list_before(const struct topology_pool *pool, struct slice key, uint32_t to,
                          uint32_t *list, size_t max)
{
    size_t count = placement_list(pool->placement, key, list, max);

    for (size_t i = 0; i < count; i++) {
        if (list[i] == to) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* Notes that leg's write of key goes to standin on behalf of the set's server, which is out. */
static void stand_in_for(struct backend_set *set, struct leg *leg, struct slice key,
                         struct server *standin)
{
    uint32_t known = leg->standing != NULL ? leg->standing->count : 0;
    struct standing *grown;

    note(set, key, standin);
    grown = realloc(leg->standing, sizeof(*grown) + (known + 1) * sizeof(grown->sets[0]));
    if (grown == NULL) {
        set->journal.is_overflowed = true;
        return;
    }
    leg->standing = grown;
    grown->count = known + 1;
    grown->sets[known] = set;
    set->standing_in++;
}

void standin_record(struct worker *worker, struct leg *leg, const struct topology_pool *pool,
                    uint32_t to, struct slice key)
{
    uint32_t first[LIST_FIRST];
    uint32_t *list = first;
    uint32_t *all = NULL;
    size_t before;

    if (!pool->has_out || pool->rejoin == REJOIN_KEEP) {
        return;
    }
    before = list_before(pool, key, to, first, LIST_FIRST);
    if (before == SIZE_MAX) { /* most are out */
        all = malloc(pool->server_count * sizeof(all[0]));
        list = all;
        before = all != NULL ? list_before(pool, key, to, all, pool->server_count) : SIZE_MAX;
    }
    if (before == SIZE_MAX) {
        overflow_all(worker, pool); /* out of memory */
        before = 0;
    }
    for (size_t i = 0; i < before; i++) {
        if (pool->live[list[i]] == STANDING_OUT) {
            stand_in_for(worker->sets[pool->servers[list[i]].server->slot], leg, key,
                         pool->servers[to].server);
        }
    }
    free(all);
}

void standin_release(struct leg *leg)
{
    if (leg->standing == NULL) {
        return;
    }
    for (uint32_t i = 0; i < leg->standing->count; i++) {
        leg->standing->sets[i]->standing_in--;
    }
    free(leg->standing);
    leg->standing = NULL;
}

void standin_note_unanswered(struct backend_set *set, struct slice key)
{
    set = backend_set_of(set->worker, set->server); /* it may have been replaced */
    if (set != NULL && set->pool->rejoin != REJOIN_KEEP && key.len > 0) {
        note(set, key, NULL);
    }
}

void standin_forget_notes(struct worker *worker)
{
    for (uint32_t slot = 0; slot < worker->set_count; slot++) {
        struct backend_set *set = worker->sets[slot];

        if (set != NULL && set->journal.bucket_count > 0 &&
            backend_set_standing(set) == STANDING_LIVE && backend_set_is_quiet(set, true)) {
            standin_forget_journal(set);
        }
    }
}

void standin_promise_flush(struct backend_set *set, struct leg *leg)
{
    set->journal.needs_flush = true;
    exchange_leg_failed(leg, LEG_SKIPPED);
}

void standin_hold(struct worker *worker, struct leg *leg)
{
    pipeline_own(leg);
    leg->next = NULL;
    leg->is_held = true;
    leg->exchange->legs_piped++;
    leg->deadline_us = worker->now_us + leg->backend->set->entry_timeout_us;
    if (worker->last_held != NULL) {
        worker->last_held->next = leg;
    } else {
        worker->first_held = leg;
    }
    worker->last_held = leg;
    worker_want_deadline(worker, leg->deadline_us);
}

static void unhold(struct leg *leg)
{
    leg->next = NULL;
    leg->is_held = false;
    leg->exchange->legs_piped--;
}

void standin_resume(struct worker *worker)
{
    struct leg *leg = worker->first_held;

    worker->first_held = NULL;
    worker->last_held = NULL;
    while (leg != NULL) {
        struct leg *next = leg->next;

        unhold(leg);
        if (leg->is_done || leg->exchange->is_released) {
            exchange_free_if_over(leg->exchange);
        } else {
            exchange_leg_route(leg);
        }
        leg = next;
    }
}

uint64_t standin_expire(struct worker *worker, uint64_t now_us)
{
    struct leg *due = NULL;
    struct leg **due_end = &due;
    struct leg **at = &worker->first_held;
    uint64_t next_us = UINT64_MAX;

    worker->last_held = NULL;
    while (*at != NULL) { /* all of them: their pools' timeouts differ */
        struct leg *leg = *at;

        if (leg->deadline_us <= now_us) {
            *at = leg->next;
            leg->next = NULL;
            *due_end = leg;
            due_end = &leg->next;
        } else {
            next_us = leg->deadline_us < next_us ? leg->deadline_us : next_us;
            worker->last_held = leg;
            at = &leg->next;
        }
    }
    while (due != NULL) {
        struct leg *leg = due;

        due = leg->next;
        unhold(leg);
        exchange_leg_failed(leg, LEG_TIMEOUT);
    }
    return next_us;
}

/* What the server was sent and has not taken yet must not reach it any more. */
static void cut_off(struct backend_set *set)
{
    for (unsigned i = 0; i < set->count; i++) {
        struct backend *backend = &set->backends[i];

        if (backend->watch.fd != -1) {
            socket_drop_unsent(backend->watch.fd);
        }
        backend_close(backend);
    }
    linger_stop_all(set);
}

void standin_ask(struct worker *worker, struct worker_surrender_mail *mail)
{
    list_init(&mail->mail.link);
    list_add_tail(&worker->surrenders, &mail->mail.link);
    if (mail->closes) {
        struct backend_set *set = backend_set_of(worker, mail->server);

        if (set != NULL) {
            cut_off(set);
        }
        list_each (other, &worker->retired_sets) {
            set = list_entry(other, struct backend_set, retired_link);
            if (backend_set_leads_to(set, mail->server)) {
                cut_off(set);
            }
        }
    }
}

/*
 * True where a live server of the pool may still carry out a write that was given up: done on
 * another's behalf, its copy would come behind the delete that is to undo it. One that is out
 * waits for that itself before its deletes.
 */
static bool some_stand_in_lingers(const struct backend_set *set)
{
    for (uint32_t s = 0; s < set->pool->server_count; s++) {
        const struct backend_set *other = backend_set_of(set->worker, set->pool->servers[s].server);

        if (set->pool->live[s] == STANDING_LIVE && other != set && backend_set_lingers(other)) {
            return true;
        }
    }
    return false;
}

/* True where the wait is over. */
static bool is_ripe(const struct backend_set *set, enum surrender_quiet quiet)
{
    switch (quiet) {
    case SURRENDER_WHEN_QUIET:
        return backend_set_is_quiet(set, false);
    case SURRENDER_WHEN_ALL_QUIET:
        return backend_set_is_quiet(set, true) && !some_stand_in_lingers(set);
    case SURRENDER_AT_ONCE:
    case SURRENDER_NOTES_AT_ONCE:
        break;
    }
    return true;
}

void standin_surrender(struct worker *worker)
{
    list_each_safe (at, after, &worker->surrenders) {
        struct worker_surrender_mail *mail =
            list_entry(at, struct worker_surrender_mail, mail.link);
        struct backend_set *set = backend_set_of(worker, mail->server);
        bool is_known = set != NULL;

        if (worker->topology->generation < mail->generation ||
            (is_known && !is_ripe(set, mail->quiet))) {
            continue;
        }
        list_remove(&mail->mail.link);
        mail->mail.kind = CONTROL_MAIL_SURRENDER;
        mail->entries = NULL;
        mail->is_overflowed = false;
        mail->needs_flush = false;
        if (is_known && mail->quiet != SURRENDER_AT_ONCE) {
            mail->is_overflowed = set->journal.is_overflowed;
            mail->needs_flush = set->journal.needs_flush;
            uncount(set);
            mail->entries = journal_take(&set->journal);
        }
        mailbox_post(worker->all->control, &mail->mail);
    }
}

void standin_forget(struct worker *worker)
{
    list_each_safe (at, after, &worker->surrenders) {
        struct worker_surrender_mail *mail =
            list_entry(at, struct worker_surrender_mail, mail.link);

        list_remove(&mail->mail.link);
        server_put(mail->server);
        free(mail);
    }
    while (worker->first_held != NULL) {
        struct leg *leg = worker->first_held;

        worker->first_held = leg->next;
        unhold(leg);
        exchange_leg_failed(leg, LEG_REMOVED);
    }
    worker->last_held = NULL;
}
