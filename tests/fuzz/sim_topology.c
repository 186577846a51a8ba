/* See sim_topology.h. */
#include "sim_topology.h"

#include "sim_server.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>

static struct topology_slot slot;
static const char *const listens[] = {"127.0.0.1:91", "127.0.0.1:92", "127.0.0.1:93",
                                      "127.0.0.1:94", "127.0.0.1:95"};
static struct listen_socket *listen_socket; /* the one in use */
static unsigned listen_number;
static unsigned pool_number; /* of the pool, in its name */
static struct sim_limits limits;
static unsigned server_mask;
static unsigned connection_count;
static enum server_standing standings[SIM_SERVERS];
static bool is_cut[SIM_SERVERS];
static bool is_alone[SIM_SERVERS];

static unsigned number_of(const struct address *address)
{
    return address->port - 1u;
}

static uint32_t resolve(void *arg, const struct address *address, struct endpoint *endpoints)
{
    (void)arg;
    return address_to_endpoint(address, &endpoints[0]) ? 1 : 0;
}

static struct listen_socket *listen_on(void *arg, const struct config_listen *listen)
{
    (void)arg;
    (void)listen;
    return listen_socket_get(listen_socket);
}

static enum server_standing stand(void *arg, struct topology_server *at)
{
    unsigned number = number_of(&at->server->address);

    (void)arg;
    at->is_cut = is_cut[number] && standings[number] == STANDING_GATED;
    at->is_alone = is_alone[number];
    return standings[number];
}

static struct config *configure(void)
{
    static const char *const names[SIM_SERVERS] = {"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3",
                                                   "127.0.0.1:4"};
    const char *servers[SIM_SERVERS];
    size_t count = 0;
    struct config_errors errors;
    struct config *config;
    struct config_pool *pool;

    for (unsigned i = 0; i < SIM_SERVERS; i++) {
        if ((server_mask >> i & 1) != 0) {
            servers[count++] = names[i];
        }
    }
    config = config_from_words(&listens[listen_number], 1, servers, count, &errors);
    assert(config != NULL);
    config_errors_fini(&errors);
    config->max_clients = 100;
    config->max_value_bytes = limits.max_value_bytes;
    config->max_memory_bytes = limits.max_memory_bytes;
    config->client_idle_timeout_ms = limits.client_idle_timeout_ms;
    pool = &config->pools[0];
    free(pool->name);
    if (asprintf(&pool->name, "pool%u", pool_number) == -1) {
        abort();
    }
    pool->points = 8;
    pool->connections = connection_count;
    pool->connect_timeout_ms = SIM_TIMEOUT_MS / 2;
    pool->request_timeout_ms = SIM_TIMEOUT_MS;
    pool->on_failure = limits.on_failure;
    pool->rejoin = limits.rejoin;
    return config;
}

void sim_topology_publish(void)
{
    const struct topology_source source = {NULL, resolve, listen_on, stand};
    struct config *config = configure();
    char error[200];
    struct topology *topology = topology_new(config, slot.current, &source, error, sizeof(error));

    assert(topology != NULL);
    config_free(config);
    topology_publish(&slot, topology);
}

/* Another listening socket, which nobody ever connects to. */
static void open_listen_socket(void)
{
    const char *error;

    listen_socket_put(listen_socket);
    listen_socket = calloc(1, sizeof(*listen_socket));
    assert(listen_socket != NULL);
    atomic_init(&listen_socket->refs, 1);
    listen_socket->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    error = address_parse(&listen_socket->address, slice_text(listens[listen_number]), -1);
    assert(error == NULL);
}

void sim_topology_begin(const struct sim_limits *of, unsigned server_count, unsigned connections)
{
    limits = *of;
    listen_number = 0;
    open_listen_socket();
    pool_number = 0;
    topology_slot_init(&slot);
    for (unsigned i = 0; i < SIM_SERVERS; i++) {
        standings[i] = STANDING_LIVE;
        is_cut[i] = false;
        is_alone[i] = false;
    }
    server_mask = (1u << server_count) - 1;
    connection_count = connections;
    sim_topology_publish();
}

void sim_topology_end(void)
{
    topology_slot_fini(&slot);
    listen_socket_put(listen_socket);
    listen_socket = NULL;
}

struct topology_slot *sim_topology_slot(void)
{
    return &slot;
}

void sim_topology_stand(unsigned server, enum server_standing standing, bool cuts, bool alone)
{
    server %= SIM_SERVERS;
    if (standing == STANDING_OUT && limits.on_failure != ON_FAILURE_EJECT) {
        standing = STANDING_DOWN;
    }
    standings[server] = standing;
    is_cut[server] = cuts;
    is_alone[server] = alone;
}

void sim_topology_change(unsigned mask, unsigned connections)
{
    server_mask = mask % (1u << SIM_SERVERS);
    if (server_mask == 0) {
        server_mask = (1u << SIM_SERVERS) - 1;
    }
    connection_count = connections;
}

bool sim_topology_listen_elsewhere(bool has_new_pool)
{
    if (listen_number + 1 == ARRAY_LEN(listens)) {
        return false;
    }
    listen_number++;
    open_listen_socket();
    pool_number += has_new_pool;
    sim_topology_publish();
    return true;
}

struct server *sim_topology_server(unsigned server)
{
    const struct topology_pool *pool = &slot.current->pools[0];

    for (uint32_t i = 0; i < pool->server_count; i++) {
        if (number_of(&pool->servers[i].server->address) == server % SIM_SERVERS) {
            return pool->servers[i].server;
        }
    }
    return NULL;
}
