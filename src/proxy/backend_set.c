/* See proxy/backend_set.h. */
#include "proxy/backend_set.h"

#include "proxy/linger.h"
#include "proxy/server_counter.h"
#include "proxy/standin.h"

#include <stdlib.h>

enum { VERDICT_GAP_US = 20000 };

struct backend_set *backend_set_new(struct worker *worker, struct server *server, unsigned count)
{
    /* whole cache lines: the sets of different workers may lie side by side */
    size_t size = (sizeof(struct backend_set) + count * sizeof(struct backend) + 63) & ~(size_t)63;
    struct backend_set *set = aligned_alloc(64, size);

    if (set == NULL) {
        return NULL;
    }
    memset(set, 0, size);
    set->worker = worker;
    set->counters = server_counters_get(server, worker->number, worker->all->count);
    if (set->counters == NULL) {
        free(set);
        return NULL;
    }
    set->server = server_get(server);
    set->count = count;
    list_init(&set->retired_link);
    list_init(&set->lingering);
    for (unsigned i = 0; i < count; i++) {
        struct backend *backend = &set->backends[i];

        backend->worker = worker;
        backend->set = set;
        backend->number = i;
        backend->watch = (struct watch){.on_ready = backend_on_ready, .fd = -1};
        list_init(&backend->dirty_link);
    }
    return set;
}

void backend_set_free(struct backend_set *set)
{
    for (unsigned i = 0; i < set->count; i++) {
        assert(set->backends[i].first == NULL);
        backend_close(&set->backends[i]);
    }
    linger_stop_all(set);
    standin_forget_journal(set);
    server_put(set->server);
    free(set);
}

struct backend_set *backend_set_of(const struct worker *worker, const struct server *server)
{
    struct backend_set *set = server->slot < worker->set_count ? worker->sets[server->slot] : NULL;

    return set != NULL && set->server == server ? set : NULL;
}

bool backend_set_leads_to(const struct backend_set *set, const struct server *server)
{
    return set->server == server || address_equals(&set->server->address, &server->address);
}

bool backend_set_has_requests(const struct backend_set *set)
{
    for (unsigned i = 0; i < set->count; i++) {
        if (set->backends[i].first != NULL) {
            return true;
        }
    }
    return false;
}

bool backend_set_is_behind(const struct backend_set *set)
{
    list_each (at, &set->worker->retired_sets) {
        const struct backend_set *old = list_entry(at, struct backend_set, retired_link);

        if (old != set && backend_set_has_requests(old) && backend_set_leads_to(old, set->server)) {
            return true;
        }
    }
    return false;
}

/* Sets of the same server that were replaced, and have something under way still, are part of it.
 */
static bool is_part_quiet(const struct backend_set *set)
{
    return !backend_set_has_requests(set) && list_is_empty(&set->lingering);
}

bool backend_set_is_idle(const struct backend_set *set)
{
    return set->standing_in == 0 && is_part_quiet(set);
}

bool backend_set_lingers(const struct backend_set *set)
{
    list_each (at, &set->worker->retired_sets) {
        const struct backend_set *old = list_entry(at, struct backend_set, retired_link);

        if (!list_is_empty(&old->lingering) && backend_set_leads_to(old, set->server)) {
            return true;
        }
    }
    return !list_is_empty(&set->lingering);
}

bool backend_set_is_quiet(const struct backend_set *set, bool stand_ins_too)
{
    list_each (at, &set->worker->retired_sets) {
        const struct backend_set *old = list_entry(at, struct backend_set, retired_link);

        if ((!is_part_quiet(old) || (stand_ins_too && old->standing_in > 0)) &&
            backend_set_leads_to(old, set->server)) {
            return false;
        }
    }
    return is_part_quiet(set) && (!stand_ins_too || set->standing_in == 0);
}

enum server_standing backend_set_standing(const struct backend_set *set)
{
    return set->pool == NULL
               ? STANDING_DOWN
               : (enum server_standing)set->pool->live[set->entry - set->pool->servers];
}

bool backend_set_is_cut(const struct backend_set *set)
{
    switch (backend_set_standing(set)) {
    case STANDING_LIVE:
        return false;
    case STANDING_GATED:
        return set->entry->is_cut;
    case STANDING_OUT:
    case STANDING_DOWN:
        break;
    }
    return true;
}

void backend_set_blame(struct backend_set *set, enum leg_cause cause, uint64_t begun_us)
{
    struct worker *worker = set->worker;
    struct verdict_mail *mail;

    if (backend_set_of(worker, set->server) == NULL ||
        worker->now_us - set->last_verdict_us < VERDICT_GAP_US) {
        return;
    }
    mail = malloc(sizeof(*mail));
    if (mail == NULL) {
        return;
    }
    set->last_verdict_us = worker->now_us;
    mail->mail.kind = CONTROL_MAIL_VERDICT;
    mail->server = server_get(set->server);
    mail->cause = (int)cause;
    mail->begun_us = begun_us;
    mail->ended_us = worker->now_us;
    mailbox_post(worker->all->control, &mail->mail);
}

bool backend_set_has_standin(const struct backend_set *set)
{
    for (uint32_t s = 0; set->pool != NULL && s < set->pool->server_count; s++) {
        const struct backend_set *other = set->worker->sets[set->pool->servers[s].server->slot];

        for (unsigned i = 0; other != set && i < other->count; i++) {
            if (other->backends[i].state == BACKEND_READY) {
                return true;
            }
        }
    }
    return false;
}

void backend_set_adopt(struct backend_set *set, const struct topology_pool *pool,
                       const struct topology_server *entry)
{
    set->pool = pool;
    set->entry = entry;
    set->entry_timeout_us = pool->request_timeout_us;
}
