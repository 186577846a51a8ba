#include "control/rebuild.h"

#include "base/log.h"
#include "base/socket.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct listen_socket *find_open(const struct control *control,
                                       const struct address *address)
{
    const struct topology *current = control->slot.current;

    for (uint32_t i = 0; current != NULL && i < current->listener_count; i++) {
        if (address_equals(&current->listeners[i].socket->address, address)) {
            return current->listeners[i].socket;
        }
    }
    for (size_t i = 0; i < control->fresh_count; i++) {
        if (address_equals(&control->fresh[i]->address, address)) {
            return control->fresh[i];
        }
    }
    return NULL;
}

/* Looks a name up; blocks. */
static bool resolve_listen(const struct address *address, struct endpoint *endpoint)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    char port[8];

    if (address_to_endpoint(address, endpoint)) {
        return true;
    }
    snprintf(port, sizeof(port), "%u", address->port);
    if (getaddrinfo(address->host, port, &hints, &found) != 0) {
        return false;
    }
    memcpy(&endpoint->at, found->ai_addr, found->ai_addrlen);
    endpoint->len = found->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

/* Opens the socket for one listen line and notes it among the fresh ones. */
static bool open_listen(struct control *control, const struct config_listen *listen, char *error,
                        size_t error_size)
{
    struct listen_socket *socket;
    struct listen_socket **fresh;
    struct endpoint endpoint;
    char text[ADDRESS_TEXT_MAX];

    address_format(&listen->address, text, sizeof(text));
    if (!resolve_listen(&listen->address, &endpoint)) {
        snprintf(error, error_size, "cannot listen on %s: the name does not resolve", text);
        return false;
    }
    fresh = realloc(control->fresh, (control->fresh_count + 1) * sizeof(fresh[0]));
    if (fresh == NULL) {
        snprintf(error, error_size, "out of memory");
        return false;
    }
    control->fresh = fresh;
    socket = calloc(1, sizeof(*socket));
    if (socket == NULL) {
        snprintf(error, error_size, "out of memory");
        return false;
    }
    socket->address = listen->address;
    atomic_init(&socket->refs, 1);
    socket->fd = socket_listen(&endpoint, listen->mode);
    if (socket->fd == -1) {
        snprintf(error, error_size, "cannot listen on %s: %s", text, strerror(errno));
        free(socket);
        return false;
    }
    fresh[control->fresh_count++] = socket;
    return true;
}

/* Opens every listen line that is not open yet. */
static bool open_listens(struct control *control, const struct config *config, char *error,
                         size_t error_size)
{
    for (size_t p = 0; p < config->pool_count; p++) {
        const struct config_pool *pool = &config->pools[p];

        for (size_t i = 0; i < pool->listen_count; i++) {
            if (find_open(control, &pool->listens[i].address) == NULL &&
                !open_listen(control, &pool->listens[i], error, error_size)) {
                return false;
            }
        }
    }
    return true;
}

static void drop_fresh(struct control *control)
{
    for (size_t i = 0; i < control->fresh_count; i++) {
        listen_socket_put(control->fresh[i]);
    }
    free(control->fresh);
    control->fresh = NULL;
    control->fresh_count = 0;
}

static struct listen_socket *source_listen(void *arg, const struct config_listen *listen)
{
    return listen_socket_get(find_open(arg, &listen->address));
}

static uint32_t source_resolve(void *arg, const struct address *address,
                               struct endpoint *endpoints)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char port[8];
    uint32_t n = 0;

    (void)arg;
    if (address_to_endpoint(address, &endpoints[0])) {
        return 1;
    }
    snprintf(port, sizeof(port), "%u", address->port);
    if (getaddrinfo(address->host, port, &hints, &found) != 0) {
        log_warn("server %s: the name does not resolve", address->host);
        return 0;
    }
    for (struct addrinfo *at = found; at != NULL && n < TOPOLOGY_ENDPOINTS_MAX; at = at->ai_next) {
        memcpy(&endpoints[n].at, at->ai_addr, at->ai_addrlen);
        endpoints[n++].len = at->ai_addrlen;
    }
    freeaddrinfo(found);
    return n;
}

static enum server_standing source_standing(void *arg, const struct server *server, bool *is_cut)
{
    (void)arg;
    (void)server;
    *is_cut = false;
    return STANDING_LIVE;
}

bool rebuild_first(struct control *control, char *error, size_t error_size)
{
    struct topology_source source = {
        .arg = control,
        .resolve = source_resolve,
        .listen = source_listen,
        .standing = source_standing,
    };
    struct topology *topology = NULL;

    if (open_listens(control, control->config, error, error_size)) {
        topology = topology_new(control->config, control->slot.current, &source, error, error_size);
    }
    drop_fresh(control);
    if (topology == NULL) {
        return false;
    }
    topology_publish(&control->slot, topology);
    return true;
}

void rebuild_fini(struct control *control)
{
    drop_fresh(control);
}
