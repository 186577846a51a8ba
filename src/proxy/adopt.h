/*
 * A worker takes over a new topology between two ticks: connections for the
 * servers that are new, none for those that are gone, listeners likewise.
 * Runs on the worker's thread.
 */
#ifndef PROXY_ADOPT_H
#define PROXY_ADOPT_H

#include "proxy/worker.h"

struct listener;

/* Adopts what the slot holds, where it is new; where memory is short, all or nothing of it. */
void adopt_topology(struct worker *worker);

/* Tries again to get the listeners that could not be had. */
void adopt_missing_listeners(struct worker *worker);

/* Frees retired sets that have nothing under way any more, and removed listeners without clients.
 */
void adopt_free_retired(struct worker *worker);

/* Lets go of the topology, all sets and listeners; no client may be left. */
void adopt_nothing(struct worker *worker);

/* The worker's listener for the socket, or NULL. */
struct listener *adopt_find_listener(struct worker *worker, const struct listen_socket *socket);

#endif
