/* See proxy/adopt.h. */
#include "proxy/adopt.h"

#include "base/log.h"
#include "proxy/backend_set.h"
#include "proxy/client.h"
#include "proxy/linger.h"
#include "proxy/listener.h"
#include "proxy/standin.h"

#include <stdlib.h>

struct listener *adopt_find_listener(struct worker *worker, const struct listen_socket *socket)
{
    list_each (at, &worker->listeners) {
        struct listener *listener = list_entry(at, struct listener, link);

        if (listener->socket == socket) {
            return listener;
        }
    }
    return NULL;
}

/* Makes the tables by server slot large enough. False: out of memory. */
static bool grow_tables(struct worker *worker, uint32_t count)
{
    struct backend_set **sets;
    uint32_t *leg_of_server;

    if (count <= worker->set_count && worker->leg_of_server != NULL) {
        return true;
    }
    sets = realloc(worker->sets, count * sizeof(sets[0]));
    if (sets == NULL) {
        return false;
    }
    worker->sets = sets;
    leg_of_server = realloc(worker->leg_of_server, (count + 1) * sizeof(leg_of_server[0]));
    if (leg_of_server == NULL) {
        return false;
    }
    worker->leg_of_server = leg_of_server;
    for (uint32_t i = worker->set_count; i < count; i++) {
        sets[i] = NULL;
    }
    for (uint32_t i = 0; i <= count; i++) {
        leg_of_server[i] = UINT32_MAX;
    }
    worker->set_count = count;
    return true;
}

/* The largest slot in use, and one more. */
static uint32_t slots_of(const struct topology *topology)
{
    uint32_t count = 1;

    for (uint32_t p = 0; p < topology->pool_count; p++) {
        const struct topology_pool *pool = &topology->pools[p];

        for (uint32_t s = 0; s < pool->server_count; s++) {
            if (pool->servers[s].server->slot >= count) {
                count = pool->servers[s].server->slot + 1;
            }
        }
    }
    return count;
}

/* Takes the set out of service; it is freed once nothing is under way. */
static void retire_set(struct worker *worker, struct backend_set *set)
{
    worker->sets[set->server->slot] = NULL;
    set->pool = NULL;
    set->entry = NULL;
    list_add_tail(&worker->retired_sets, &set->retired_link);
}

/* What waits for a connection of a retired set goes elsewhere: everything new must be in place. */
static void send_away_from_retired(struct worker *worker)
{
    list_each (at, &worker->retired_sets) {
        struct backend_set *set = list_entry(at, struct backend_set, retired_link);

        for (unsigned i = 0; i < set->count; i++) {
            backend_retire(&set->backends[i]);
        }
    }
}

/* True where the set in use, or none, is not the one that the server is to have. */
static bool needs_set(const struct backend_set *set, const struct server *server,
                      const struct topology_pool *pool)
{
    return set == NULL || set->server != server || set->count != pool->connections;
}

/*
 * Makes the sets that topology calls for beyond those in use, in its order. False: out of memory,
 * and none was made.
 */
static bool make_sets(struct worker *worker, const struct topology *topology, struct list *made)
{
    for (uint32_t p = 0; p < topology->pool_count; p++) {
        const struct topology_pool *pool = &topology->pools[p];

        for (uint32_t s = 0; s < pool->server_count; s++) {
            struct server *server = pool->servers[s].server;
            struct backend_set *set;

            if (!needs_set(worker->sets[server->slot], server, pool)) {
                continue;
            }
            set = backend_set_new(worker, server, pool->connections);
            if (set == NULL) {
                struct list *at;

                while ((at = list_pop(made)) != NULL) {
                    backend_set_free(list_entry(at, struct backend_set, retired_link));
                }
                return false;
            }
            list_add_tail(made, &set->retired_link);
        }
    }
    return true;
}

/* Gives every server of topology a set that knows its pool: a present one, or the next made. */
static void adopt_servers(struct worker *worker, const struct topology *topology, struct list *made)
{
    for (uint32_t p = 0; p < topology->pool_count; p++) {
        const struct topology_pool *pool = &topology->pools[p];

        for (uint32_t s = 0; s < pool->server_count; s++) {
            struct server *server = pool->servers[s].server;
            struct backend_set *old = worker->sets[server->slot];
            struct backend_set *set = old;

            if (needs_set(old, server, pool)) {
                if (old != NULL) {
                    retire_set(worker, old);
                }
                set = list_entry(list_pop(made), struct backend_set, retired_link);
                list_init(&set->retired_link);
                worker->sets[server->slot] = set;
                if (old != NULL && old->server == server) {
                    set->journal = old->journal;
                    old->journal = (struct journal){0};
                }
            }
            backend_set_adopt(set, pool, &pool->servers[s]);
        }
    }
}

/* Retires the sets that topology does not mention. */
static void drop_servers(struct worker *worker, const struct topology *topology)
{
    for (uint32_t slot = 0; slot < worker->set_count; slot++) {
        struct backend_set *set = worker->sets[slot];

        if (set == NULL) {
            continue;
        }
        if (topology == NULL || set->pool < topology->pools ||
            set->pool >= topology->pools + topology->pool_count) {
            retire_set(worker, set);
        }
    }
}

/* Sends away what is under way to servers that were ejected. */
static void cut_servers(struct worker *worker)
{
    for (uint32_t slot = 0; slot < worker->set_count; slot++) {
        struct backend_set *set = worker->sets[slot];
        bool is_cut = set != NULL && backend_set_is_cut(set);

        for (unsigned i = 0; is_cut && !set->was_cut && i < set->count; i++) {
            backend_cut(&set->backends[i]);
        }
        if (set != NULL) {
            set->was_cut = is_cut;
        }
    }
}

/*
 * The clients of a listen line that was removed are still served: they go by the pools of the
 * names that the line stood for.
 */
static void keep_route(struct listener *listener, const struct topology *before,
                       const struct topology *after)
{
    const struct topology_listener *old = listener->route;
    uint32_t *pools = listener->next_pools;
    uint32_t count = 0;

    listener->next_pools = NULL;
    for (uint32_t i = 0; i < old->pool_count; i++) {
        for (uint32_t p = 0; p < after->pool_count; p++) {
            if (strcmp(after->pools[p].name, before->pools[old->pools[i]].name) == 0) {
                pools[count++] = p;
            }
        }
    }
    free(listener->kept_route.pools);
    listener->kept_route =
        (struct topology_listener){.socket = listener->socket, .pools = pools, .pool_count = count};
    listener->route = &listener->kept_route;
}

/* Makes room for keep_route of each listener. False: out of memory. */
static bool make_room_for_routes(struct worker *worker)
{
    list_each (at, &worker->listeners) {
        struct listener *listener = list_entry(at, struct listener, link);
        uint32_t count = listener->route->pool_count;

        free(listener->next_pools);
        listener->next_pools = malloc((count + 1) * sizeof(listener->next_pools[0]));
        if (listener->next_pools == NULL) {
            return false;
        }
    }
    return true;
}

static void judge_flush(struct listener *listener, const struct topology *topology)
{
    listener->allow_flush = true;
    for (uint32_t p = 0; p < listener->route->pool_count; p++) {
        listener->allow_flush &= topology->pools[listener->route->pools[p]].allow_flush;
    }
}

void adopt_missing_listeners(struct worker *worker)
{
    const struct topology *topology = worker->topology;

    worker->lacks_listeners = false;
    for (uint32_t i = 0; i < topology->listener_count && !worker->is_draining; i++) {
        const struct topology_listener *route = &topology->listeners[i];
        struct listener *listener;

        if (adopt_find_listener(worker, route->socket) != NULL) {
            continue;
        }
        listener = listener_new(worker, route->socket);
        if (listener == NULL) {
            worker->lacks_listeners = true;
            continue;
        }
        listener->route = route;
        judge_flush(listener, topology);
    }
}

static void adopt_listeners(struct worker *worker, const struct topology *before)
{
    const struct topology *topology = worker->topology;

    list_each (at, &worker->listeners) {
        struct listener *listener = list_entry(at, struct listener, link);

        listener->is_removed = true;
        listener->allow_differs = false;
    }
    for (uint32_t i = 0; i < topology->listener_count; i++) {
        const struct topology_listener *route = &topology->listeners[i];
        struct listener *listener = adopt_find_listener(worker, route->socket);

        if (listener != NULL) {
            listener->allow_differs = !networks_equal(&listener->route->allow, &route->allow);
            listener->route = route;
            listener->is_removed = false;
        }
    }
    list_each (at, &worker->listeners) {
        struct listener *listener = list_entry(at, struct listener, link);

        if (listener->is_removed) {
            keep_route(listener, before, topology);
        }
        judge_flush(listener, topology);
    }
    adopt_missing_listeners(worker);
}

/*
 * A listener that is gone takes no new clients. Those it has stay as long as its pools are there;
 * then they are closed, once they are served. So are those of networks that are allowed no longer.
 */
static void drop_listeners(struct worker *worker)
{
    list_each_safe (at, after, &worker->clients) {
        struct client *client = list_entry(at, struct client, link);

        if ((client->listener->is_removed && client->listener->route->pool_count == 0) ||
            (client->listener->allow_differs &&
             !listener_admits(client->listener, client->watch.fd))) {
            client_drain(client);
        }
    }
    list_each (at, &worker->listeners) {
        struct listener *listener = list_entry(at, struct listener, link);

        if (listener->is_removed) {
            listener_stop(listener);
        }
    }
}

/* Gets all that adopting topology takes, so that nothing stops it half-way. */
static bool prepare(struct worker *worker, const struct topology *topology, struct list *made)
{
    return grow_tables(worker, slots_of(topology)) && make_room_for_routes(worker) &&
           make_sets(worker, topology, made);
}

void adopt_topology(struct worker *worker)
{
    struct topology_slot *slot = worker->all->slot;
    struct topology *old = worker->topology;
    struct topology *topology;
    struct list made;

    if (old != NULL &&
        atomic_load_explicit(&slot->generation, memory_order_acquire) == old->generation) {
        return;
    }
    topology = topology_current(slot);
    list_init(&made);
    if (!prepare(worker, topology, &made)) {
        if (!worker->is_behind) {
            log_error("worker %u cannot adopt the new topology yet: out of memory", worker->number);
        }
        worker->is_behind = true; /* it is tried again at the end of every tick */
        topology_put(topology);
        return;
    }
    worker->is_behind = false;
    adopt_servers(worker, topology, &made);
    worker->topology = topology;
    adopt_listeners(worker, old);
    worker->memory_max = topology->max_memory_bytes / worker->all->count;
    drop_servers(worker, topology);
    send_away_from_retired(worker);
    cut_servers(worker);
    drop_listeners(worker);
    standin_resume(worker);
    topology_put(old);
    atomic_store(&worker->adopted, topology->generation);
    mailbox_wake(worker->all->control);
}

/* What waited for the requests of old, which has none any more, is let go. */
static void let_successors_go(struct worker *worker, const struct backend_set *old)
{
    for (uint32_t slot = 0; slot < worker->set_count; slot++) {
        struct backend_set *set = worker->sets[slot];

        for (unsigned i = 0; set != NULL && i < set->count; i++) {
            struct backend *backend = &set->backends[i];

            if (backend->is_behind && backend->state == BACKEND_WAITING &&
                backend_set_leads_to(old, set->server)) {
                backend->endpoints_tried = 0;
                backend_connect(backend);
            }
        }
    }
}

void adopt_free_retired(struct worker *worker)
{
    list_each_safe (at, after, &worker->retired_sets) {
        struct backend_set *set = list_entry(at, struct backend_set, retired_link);

        const struct backend_set *now = backend_set_of(worker, set->server);

        if (now == NULL || backend_set_standing(now) == STANDING_LIVE) {
            linger_stop_old(set);
        }
        if (!backend_set_has_requests(set)) {
            let_successors_go(worker, set);
        }
        if (backend_set_is_idle(set) && set->bound == 0) {
            list_remove(&set->retired_link);
            backend_set_free(set);
        }
    }
    list_each_safe (at, after, &worker->listeners) {
        struct listener *listener = list_entry(at, struct listener, link);

        if (listener->is_removed && listener->clients == 0) {
            listener_free(listener);
        }
    }
}

void adopt_nothing(struct worker *worker)
{
    drop_servers(worker, NULL);
    list_each (at, &worker->retired_sets) {
        struct backend_set *set = list_entry(at, struct backend_set, retired_link);

        for (unsigned i = 0; i < set->count; i++) {
            backend_close(&set->backends[i]);
        }
    }
    list_each_safe (at, after, &worker->retired_sets) /* no leg points at one any more */
    {
        struct backend_set *set = list_entry(at, struct backend_set, retired_link);

        list_remove(&set->retired_link);
        backend_set_free(set);
    }
    list_each_safe (at, after, &worker->listeners) {
        listener_free(list_entry(at, struct listener, link));
    }
    free(worker->sets);
    free(worker->leg_of_server);
    topology_put(worker->topology);
    worker->topology = NULL;
}
