/*
 * A worker's connections to one server, and what the worker knows of that
 * server: its place in the topology, its journal. Runs on the worker's thread.
 */
#ifndef PROXY_BACKEND_SET_H
#define PROXY_BACKEND_SET_H

#include "proxy/backend.h"

/* Makes the connections' structs (not yet connected), or NULL out of memory. */
struct backend_set *backend_set_new(struct worker *worker, struct server *server, unsigned count);

/* Closes everything; the pipelines must be empty. */
void backend_set_free(struct backend_set *set);

/* The worker's set for server in the adopted topology, or NULL: it is not in there. */
struct backend_set *backend_set_of(const struct worker *worker, const struct server *server);

/* The set's server stands in a new topology. */
void backend_set_adopt(struct backend_set *set, const struct topology_pool *pool,
                       const struct topology_server *entry);

/*
 * True where the set's connections lead to server, which may have been taken out of the
 * configuration and put in again, perhaps under another name.
 */
bool backend_set_leads_to(const struct backend_set *set, const struct server *server);

/* True where something is under way over this very set. */
bool backend_set_has_requests(const struct backend_set *set);

/*
 * True where a set that this one replaced still has requests under way to the same server: what is
 * sent now must not overtake them.
 */
bool backend_set_is_behind(const struct backend_set *set);

/* What the adopted topology says of the set's server. */
enum server_standing backend_set_standing(const struct backend_set *set);

/* True where its requests are not to be sent, nor what is under way waited for. */
bool backend_set_is_cut(const struct backend_set *set);

/*
 * True where nothing is under way to the set's server, over this set or one that it replaced, and
 * nothing lingers; with stand_ins_too nor anything on its behalf.
 */
bool backend_set_is_quiet(const struct backend_set *set, bool stand_ins_too);

/* True where a connection to the set's server that was given up may still be acted on. */
bool backend_set_lingers(const struct backend_set *set);

/* True where nothing is under way over this very set or on its behalf, and nothing lingers. */
bool backend_set_is_idle(const struct backend_set *set);

/* True where some other server of the pool is connected: one that could stand in. */
bool backend_set_has_standin(const struct backend_set *set);

/* Tells the control plane that the server failed at something begun at begun_us. */
void backend_set_blame(struct backend_set *set, enum leg_cause cause, uint64_t begun_us);

#endif
