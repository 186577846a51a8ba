/* See topology/topology.h. */
#include "topology/topology.h"

#include "base/socket.h"
#include "config/pool_placement.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xxhash.h>

struct listen_socket *listen_socket_get(struct listen_socket *socket)
{
    atomic_fetch_add_explicit(&socket->refs, 1, memory_order_relaxed);
    return socket;
}

void listen_socket_put(struct listen_socket *socket)
{
    if (socket != NULL && atomic_fetch_sub_explicit(&socket->refs, 1, memory_order_acq_rel) == 1) {
        if (!socket->is_shut) {
            listen_socket_shut(socket);
        }
        close(socket->fd);
        free(socket);
    }
}

void listen_socket_shut(struct listen_socket *socket)
{
    socket->is_shut = true;
    shutdown(socket->fd, SHUT_RDWR);
    socket_remove_file(&socket->address);
}

static void placement_share_put(struct placement_share *share)
{
    if (share != NULL && atomic_fetch_sub_explicit(&share->refs, 1, memory_order_acq_rel) == 1) {
        placement_free(share->placement);
        free(share);
    }
}

static void pool_fini(struct topology_pool *pool)
{
    for (uint32_t i = 0; pool->servers != NULL && i < pool->server_count; i++) {
        server_put(pool->servers[i].server);
    }
    free(pool->servers);
    free(pool->live);
    free(pool->name);
    free(pool->prefix);
    placement_share_put(pool->share);
}

struct topology *topology_get(struct topology *topology)
{
    atomic_fetch_add_explicit(&topology->refs, 1, memory_order_relaxed);
    return topology;
}

void topology_put(struct topology *topology)
{
    if (topology == NULL ||
        atomic_fetch_sub_explicit(&topology->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    for (uint32_t i = 0; topology->pools != NULL && i < topology->pool_count; i++) {
        pool_fini(&topology->pools[i]);
    }
    for (uint32_t i = 0; topology->listeners != NULL && i < topology->listener_count; i++) {
        listen_socket_put(topology->listeners[i].socket);
        free(topology->listeners[i].pools);
        networks_fini(&topology->listeners[i].allow);
    }
    free(topology->pools);
    free(topology->listeners);
    free(topology);
}

/*
 * Finds the server of an earlier generation that is the same one, or NULL; from number hint on,
 * since most stand where they stood.
 */
static struct server *same_server(const struct topology *previous, const char *pool_name,
                                  const struct config_server *config, uint32_t hint)
{
    for (uint32_t p = 0; previous != NULL && p < previous->pool_count; p++) {
        const struct topology_pool *pool = &previous->pools[p];

        if (strcmp(pool->name, pool_name) != 0) {
            continue;
        }
        for (uint32_t s = 0; s < pool->server_count; s++) {
            struct server *server = pool->servers[(hint + s) % pool->server_count].server;

            if (address_equals(&server->address, &config->address) &&
                strcmp(server->label, config->label) == 0) {
                return server;
            }
        }
    }
    return NULL;
}

static bool pool_add_servers(struct topology_pool *pool, const struct config_pool *config,
                             const struct topology *previous, const struct topology_source *source)
{
    pool->servers = calloc(config->server_count, sizeof(pool->servers[0]));
    pool->live = calloc(config->server_count, 1);
    if (pool->servers == NULL || pool->live == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < config->server_count; i++) {
        struct topology_server *at = &pool->servers[i];
        struct server *same = same_server(previous, config->name, &config->servers[i], i);

        at->server = same != NULL ? server_get(same)
                                  : server_new(config->name, config->servers[i].label,
                                               &config->servers[i].address);
        if (at->server == NULL) {
            return false;
        }
        pool->server_count = i + 1;
        at->endpoint_count = source->resolve(source->arg, &at->server->address, at->endpoints);
        pool->live[i] = (uint8_t)source->standing(source->arg, at);
        pool->has_out |= pool->live[i] == STANDING_OUT;
    }
    return true;
}

static void digest_text(XXH3_state_t *state, const char *text)
{
    if (text != NULL) {
        XXH3_128bits_update(state, text, strlen(text) + 1);
    } else {
        XXH3_128bits_update(state, "\1", 1);
    }
}

/* A number that tells apart what a placement is built from. False: out of memory. */
static bool fingerprint(const struct config_pool *config, uint64_t out[2])
{
    XXH3_state_t *state = XXH3_createState();
    XXH128_hash_t hash;

    if (state == NULL) {
        return false;
    }
    XXH3_128bits_reset(state);
    digest_text(state, config->placement);
    digest_text(state, config->key_hash);
    digest_text(state, config->hash_tag);
    digest_text(state, config->hash_skip);
    XXH3_128bits_update(state, &config->points, sizeof(config->points));
    for (size_t i = 0; i < config->server_count; i++) {
        const struct config_server *server = &config->servers[i];

        digest_text(state, server->address.host);
        XXH3_128bits_update(state, &server->address.port, sizeof(server->address.port));
        digest_text(state, server->name);
        XXH3_128bits_update(state, &server->weight, sizeof(server->weight));
    }
    hash = XXH3_128bits_digest(state);
    XXH3_freeState(state);
    out[0] = hash.low64;
    out[1] = hash.high64;
    return true;
}

/* Takes the placement of the earlier generation where it is the same, or builds one. */
static bool pool_place(struct topology_pool *pool, const struct config_pool *config,
                       const struct topology *previous, char *error, size_t error_size)
{
    uint64_t print[2];

    if (!fingerprint(config, print)) {
        return false;
    }
    for (uint32_t p = 0; previous != NULL && p < previous->pool_count; p++) {
        struct placement_share *share = previous->pools[p].share;

        if (memcmp(share->fingerprint, print, sizeof(print)) == 0) {
            atomic_fetch_add_explicit(&share->refs, 1, memory_order_relaxed);
            pool->share = share;
            pool->placement = share->placement;
            return true;
        }
    }
    pool->share = calloc(1, sizeof(*pool->share));
    if (pool->share == NULL) {
        return false;
    }
    atomic_init(&pool->share->refs, 1);
    memcpy(pool->share->fingerprint, print, sizeof(print));
    pool->share->placement = pool_placement_new(config, error, error_size);
    pool->placement = pool->share->placement;
    return pool->placement != NULL;
}

static bool pool_init(struct topology_pool *pool, const struct config_pool *config,
                      const struct topology *previous, const struct topology_source *source,
                      char *error, size_t error_size)
{
    snprintf(error, error_size, "out of memory");
    pool->name = strdup(config->name);
    pool->prefix = strdup(config->prefix);
    if (pool->name == NULL || pool->prefix == NULL) {
        return false;
    }
    pool->prefix_len = strlen(pool->prefix);
    pool->connections = config->connections;
    pool->connect_timeout_us = config->connect_timeout_ms * 1000;
    pool->request_timeout_us = config->request_timeout_ms * 1000;
    pool->on_failure = config->on_failure;
    pool->rejoin = config->rejoin;
    pool->allow_flush = config->allow_flush;
    if (!pool_add_servers(pool, config, previous, source)) {
        return false;
    }
    return pool_place(pool, config, previous, error, error_size);
}

/* Adds pool number p to the listener of the address, keeping the longest prefix first. */
static bool listener_add_pool(struct topology *topology, const struct config_listen *listen,
                              uint32_t p, const struct topology_source *source)
{
    struct topology_listener *listener = NULL;
    uint32_t *pools;
    uint32_t at;

    for (uint32_t i = 0; i < topology->listener_count; i++) {
        if (address_equals(&topology->listeners[i].socket->address, &listen->address)) {
            listener = &topology->listeners[i];
        }
    }
    if (listener == NULL) {
        listener = &topology->listeners[topology->listener_count];
        listener->socket = source->listen(source->arg, listen);
        topology->listener_count++;
        if (!networks_copy(&listener->allow, &listen->allow)) {
            return false;
        }
    }
    pools = realloc(listener->pools, (listener->pool_count + 1) * sizeof(pools[0]));
    if (pools == NULL) {
        return false;
    }
    listener->pools = pools;
    at = listener->pool_count++;
    while (at > 0 && topology->pools[pools[at - 1]].prefix_len < topology->pools[p].prefix_len) {
        pools[at] = pools[at - 1];
        at--;
    }
    pools[at] = p;
    return true;
}

static bool add_listeners(struct topology *topology, const struct config *config,
                          const struct topology_source *source)
{
    size_t count = 0;

    for (size_t p = 0; p < config->pool_count; p++) {
        count += config->pools[p].listen_count;
    }
    topology->listeners = calloc(count, sizeof(topology->listeners[0]));
    if (topology->listeners == NULL) {
        return false;
    }
    for (uint32_t p = 0; p < config->pool_count; p++) {
        for (size_t i = 0; i < config->pools[p].listen_count; i++) {
            if (!listener_add_pool(topology, &config->pools[p].listens[i], p, source)) {
                return false;
            }
        }
    }
    return true;
}

struct topology *topology_new(const struct config *config, const struct topology *previous,
                              const struct topology_source *source, char *error, size_t error_size)
{
    struct topology *topology = calloc(1, sizeof(*topology));

    snprintf(error, error_size, "out of memory");
    if (topology == NULL) {
        return NULL;
    }
    atomic_init(&topology->refs, 1);
    topology->max_clients = config->max_clients;
    topology->client_idle_timeout_us = config->client_idle_timeout_ms * 1000;
    topology->max_value_bytes = config->max_value_bytes;
    topology->max_memory_bytes = config->max_memory_bytes;
    topology->pools = calloc(config->pool_count, sizeof(topology->pools[0]));
    if (topology->pools == NULL) {
        goto fail;
    }
    for (uint32_t p = 0; p < config->pool_count; p++) {
        topology->pool_count = p + 1;
        if (!pool_init(&topology->pools[p], &config->pools[p], previous, source, error,
                       error_size)) {
            goto fail;
        }
    }
    if (!add_listeners(topology, config, source)) {
        goto fail;
    }
    return topology;

fail:
    topology_put(topology);
    return NULL;
}

void topology_slot_init(struct topology_slot *slot)
{
    pthread_mutex_init(&slot->lock, NULL);
    slot->current = NULL;
    atomic_init(&slot->generation, 0);
}

void topology_slot_fini(struct topology_slot *slot)
{
    topology_put(slot->current);
    slot->current = NULL;
    pthread_mutex_destroy(&slot->lock);
}

void topology_publish(struct topology_slot *slot, struct topology *topology)
{
    struct topology *old;

    pthread_mutex_lock(&slot->lock);
    old = slot->current;
    topology->generation = (old != NULL ? old->generation : 0) + 1;
    slot->current = topology;
    atomic_store(&slot->generation, topology->generation);
    pthread_mutex_unlock(&slot->lock);
    topology_put(old);
}

struct topology *topology_current(struct topology_slot *slot)
{
    struct topology *topology;

    pthread_mutex_lock(&slot->lock);
    topology = topology_get(slot->current);
    pthread_mutex_unlock(&slot->lock);
    return topology;
}
