/*
 * The immutable snapshot that workers route by: pools, their servers and which
 * of them are live, listeners. A new one is built beside the running one and
 * published by one pointer; a reload and an ejection differ only in what they
 * build it from. Built on the control thread, read on any.
 */
#ifndef TOPOLOGY_TOPOLOGY_H
#define TOPOLOGY_TOPOLOGY_H

#include "config/config.h"
#include "ring/placement.h"
#include "topology/server.h"

#include <pthread.h>
#include <stdatomic.h>

enum { TOPOLOGY_ENDPOINTS_MAX = 8 };

/* A socket that is listened on; the descriptor is closed with the last reference. */
struct listen_socket {
    _Atomic uint32_t refs;
    struct address address;
    int fd;
    bool is_shut; /* the control thread's: by listen_socket_shut */
};

struct listen_socket *listen_socket_get(struct listen_socket *socket);
void listen_socket_put(struct listen_socket *socket);

/* New clients are refused from now on, and the address may be had again, though it is still held.
 */
void listen_socket_shut(struct listen_socket *socket);

/* A placement shared by generations that differ in nothing it depends on. */
struct placement_share {
    _Atomic uint32_t refs;
    struct placement *placement;
    uint64_t fingerprint[2]; /* of everything it was built from */
};

/* What a server may be asked, as the topology's "live" says; placement takes all but OUT. */
enum server_standing {
    STANDING_OUT = 0, /* ejected: others stand in for it */
    STANDING_LIVE = 1,
    STANDING_DOWN = 2,  /* nobody stands in: requests for it fail at once */
    STANDING_GATED = 3, /* between two of these: its requests are held for a moment */
};

struct topology_server {
    struct server *server;
    bool is_cut;   /* GATED: what is under way is not waited for */
    bool is_alone; /* other servers may hold old values of its keys: none is asked in its place */
    bool is_indebted; /* is_alone, but only until its stand-ins have lost some copies */
    struct endpoint endpoints[TOPOLOGY_ENDPOINTS_MAX];
    uint32_t endpoint_count; /* 0: the name does not resolve */
};

struct topology_pool {
    char *name;
    char *prefix;
    size_t prefix_len;
    struct placement_share *share;
    const struct placement *placement; /* share's */
    struct topology_server *servers;   /* in the order of the file: placement's numbers */
    uint32_t server_count;
    uint8_t *live; /* enum server_standing, one a server */
    bool has_out;  /* some server is OUT */
    unsigned connections;
    uint64_t connect_timeout_us;
    uint64_t request_timeout_us;
    enum config_on_failure on_failure;
    enum config_rejoin rejoin;
    bool allow_flush;
};

struct topology_listener {
    struct listen_socket *socket;
    uint32_t *pools; /* indexes, longest prefix first */
    uint32_t pool_count;
    struct networks allow; /* who may connect */
};

struct topology {
    _Atomic uint32_t refs;
    uint64_t generation;
    struct topology_pool *pools;
    uint32_t pool_count;
    struct topology_listener *listeners;
    uint32_t listener_count;
    /* limits that change live */
    unsigned max_clients;
    uint64_t client_idle_timeout_us;
    uint64_t max_value_bytes;
    uint64_t max_memory_bytes;
};

/* What the builder asks of the control plane. */
struct topology_source {
    void *arg;
    /* Fills up to TOPOLOGY_ENDPOINTS_MAX endpoints; returns how many are known. */
    uint32_t (*resolve)(void *arg, const struct address *address, struct endpoint *endpoints);
    /* Returns a reference to the socket listening on the address. Never NULL. */
    struct listen_socket *(*listen)(void *arg, const struct config_listen *listen);
    /* What may the server of at be asked? Fills at's is_cut, is_alone and is_indebted. */
    enum server_standing (*standing)(void *arg, struct topology_server *at);
};

/*
 * Builds a snapshot of config with one reference. previous (or NULL) lends the
 * servers and placements that did not change. NULL on failure, with one
 * sentence in error.
 */
MUST_CHECK struct topology *topology_new(const struct config *config,
                                         const struct topology *previous,
                                         const struct topology_source *source, char *error,
                                         size_t error_size);
struct topology *topology_get(struct topology *topology);
void topology_put(struct topology *topology); /* NULL is fine */

/* Where the current topology is published. */
struct topology_slot {
    pthread_mutex_t lock;
    struct topology *current;
    _Atomic uint64_t generation; /* of current; read without the lock to see a change */
};

void topology_slot_init(struct topology_slot *slot);
void topology_slot_fini(struct topology_slot *slot);

/* Publishes topology, numbering it, and takes over the caller's reference. */
void topology_publish(struct topology_slot *slot, struct topology *topology);

/* Returns a new reference to the current topology. */
struct topology *topology_current(struct topology_slot *slot);

#endif
