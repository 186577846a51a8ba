/*
 * Topologies as the control plane would publish them, but at the script's will.
 */
#ifndef SIM_TOPOLOGY_H
#define SIM_TOPOLOGY_H

#include "topology/topology.h"

struct sim_limits {
    enum config_on_failure on_failure;
    enum config_rejoin rejoin;
    size_t max_value_bytes;
    uint64_t max_memory_bytes;
    uint64_t client_idle_timeout_ms;
};

enum { SIM_TIMEOUT_MS = 100 };

/* server_count servers, connections to each. Publishes the first topology. */
void sim_topology_begin(const struct sim_limits *limits, unsigned server_count,
                        unsigned connections);
void sim_topology_end(void);

struct topology_slot *sim_topology_slot(void);

/* Publishes what was changed by the others. */
void sim_topology_publish(void);

/* cuts and alone: is_cut and is_alone of struct topology_server. */
void sim_topology_stand(unsigned server, enum server_standing standing, bool cuts, bool alone);

/* A bit of mask a server; 0 stands for all. connections: to each of them. */
void sim_topology_change(unsigned mask, unsigned connections);

/*
 * Another listening socket, and maybe pool, takes the place of the one there is. Publishes. False:
 * there have been enough.
 */
bool sim_topology_listen_elsewhere(bool has_new_pool);

/* The server in the published topology, or NULL. */
struct server *sim_topology_server(unsigned server);

#endif
