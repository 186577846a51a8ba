/* See control/rebuild.h. */
#include "control/rebuild.h"

#include "base/log.h"
#include "base/socket.h"
#include "control/member.h"
#include "control/resolver.h"
#include "control/timer.h"
#include "ring/compare.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LATER_US = 100000 };

static struct listen_socket *find_open(const struct control *control, const struct address *address)
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

/* Opens the socket for one listen line and notes it among the fresh ones. */
static bool open_listen(struct control *control, const struct config_listen *listen, char *error,
                        size_t error_size)
{
    struct listen_socket *socket;
    struct listen_socket **fresh;
    struct endpoint endpoint;
    char text[ADDRESS_TEXT_MAX];

    address_format(&listen->address, text, sizeof(text));
    if (!address_to_endpoint(&listen->address, &endpoint)) {
        snprintf(error, error_size, "cannot listen on %s: not an address", text);
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

bool rebuild_open_listens(struct control *control, const struct config *config, char *error,
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

void rebuild_drop_fresh(struct control *control)
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

/* Requests for a server whose name is looked up for the first time are held for that moment. */
static enum server_standing source_standing(void *arg, struct topology_server *at)
{
    struct control *control = arg;
    const struct member *member = member_find(control, at->server);
    enum server_standing standing = member != NULL ? member_standing(member, at) : STANDING_LIVE;
    uint64_t for_us;

    if (standing == STANDING_LIVE &&
        resolver_is_awaited(control->resolver, &at->server->address, &for_us)) {
        if (!evtimer_pending(control->names_timer, NULL)) {
            timer_set(control->names_timer, for_us);
        }
        return STANDING_GATED;
    }
    return standing;
}

static uint32_t source_resolve(void *arg, const struct address *address, struct endpoint *endpoints)
{
    struct control *control = arg;

    return resolver_lookup(control->resolver, address, endpoints);
}

/* A server's name is its place on the ring, whichever host has it. */
static bool is_same_place(const struct topology_server *one, const struct topology_server *other)
{
    return one->server == other->server || strcmp(one->server->label, other->server->label) == 0;
}

/* Numbers of before's servers by the numbers of after's; PLACEMENT_NONE where one is new. */
static uint32_t *match_servers(const struct topology_pool *before,
                               const struct topology_pool *after)
{
    uint32_t *same = malloc(after->server_count * sizeof(same[0]));

    for (uint32_t a = 0; same != NULL && a < after->server_count; a++) {
        same[a] = PLACEMENT_NONE;
        for (uint32_t i = 0; i < before->server_count; i++) {
            uint32_t b = (a + i) % before->server_count; /* mostly in the same order */

            if (is_same_place(&before->servers[b], &after->servers[a])) {
                same[a] = b;
                break;
            }
        }
    }
    return same;
}

/* True where another server stands in some place, or one more or fewer is OUT. */
static bool lives_differ(const struct topology_pool *before, const struct topology_pool *after)
{
    if (before->server_count != after->server_count) {
        return true;
    }
    for (uint32_t s = 0; s < after->server_count; s++) {
        if ((before->live[s] == STANDING_OUT) != (after->live[s] == STANDING_OUT) ||
            !is_same_place(&before->servers[s], &after->servers[s])) {
            return true;
        }
    }
    return false;
}

/* The share of a pool's key space whose server is another one. */
static double pool_moved(const struct topology_pool *before, const struct topology_pool *after)
{
    uint32_t *same;
    double moved;

    if (before->placement == after->placement && !lives_differ(before, after)) {
        return 0;
    }
    same = match_servers(before, after);
    if (same == NULL) {
        return 0;
    }
    moved = placement_moved(before->placement, before->live, after->placement, after->live, same);
    free(same);
    return moved;
}

/*
 * The same for all pools that stand in both, at most one's worth each: counts it, and tells it in
 * out, of size bytes, which may be none.
 */
static double count_moved(struct control *control, const struct topology *before,
                          const struct topology *after, char *out, size_t size)
{
    double sum = 0;
    size_t at = 0;

    if (size > 0) {
        out[0] = '\0';
    }
    for (uint32_t a = 0; a < after->pool_count; a++) {
        for (uint32_t b = 0; b < before->pool_count; b++) {
            double moved;
            int n;

            if (strcmp(before->pools[b].name, after->pools[a].name) != 0) {
                continue;
            }
            moved = pool_moved(&before->pools[b], &after->pools[a]);
            if (moved <= 0) {
                continue;
            }
            sum += moved / after->pool_count;
            n = snprintf(size > 0 ? out + at : NULL, size - at, "%s%.2f %% of pool %s's keys move",
                         at == 0 ? "; " : ", ", moved * 100, after->pools[a].name);
            at += n > 0 && (size_t)n < size - at ? (size_t)n : 0;
        }
    }
    control->changes.moved_sum += sum;
    return sum;
}

/* Workers hold a removed socket until its clients are served; nobody else shall wait at it. */
static void shut_removed(const struct topology *before, const struct topology *after)
{
    for (uint32_t b = 0; b < before->listener_count; b++) {
        struct listen_socket *socket = before->listeners[b].socket;
        bool is_kept = false;

        for (uint32_t a = 0; a < after->listener_count && !is_kept; a++) {
            is_kept = after->listeners[a].socket == socket;
        }
        if (!is_kept) {
            listen_socket_shut(socket);
        }
    }
}

bool rebuild_publish(struct control *control, const struct config *config, char *moved,
                     size_t moved_size, char *error, size_t error_size)
{
    struct topology_source source = {
        .arg = control,
        .resolve = source_resolve,
        .listen = source_listen,
        .standing = source_standing,
    };
    struct topology *topology;

    evtimer_del(control->names_timer);
    topology = topology_new(config, control->slot.current, &source, error, error_size);

    rebuild_drop_fresh(control);
    if (topology == NULL) {
        return false;
    }
    if (control->slot.current != NULL) {
        double sum = count_moved(control, control->slot.current, topology, moved, moved_size);

        if (sum > 0 || config != control->config) { /* the steps of a return are one change */
            control->changes.moved = sum;
        }
    }
    if (control->slot.current != NULL) {
        shut_removed(control->slot.current, topology);
    }
    topology_publish(&control->slot, topology);
    control->is_unbuilt = false;
    if (control->workers.count > 0) {
        workers_wake(&control->workers);
    }
    return true;
}

void rebuild_standing(struct control *control, char *moved, size_t moved_size)
{
    char error[256];

    if (!rebuild_publish(control, control->config, moved, moved_size, error, sizeof(error))) {
        if (!control->is_unbuilt) {
            log_error("the topology could not be rebuilt yet: %s", error);
        }
        control->is_unbuilt = true;
        rebuild_later(control);
    }
}

uint64_t rebuild_generation(const struct control *control)
{
    return control->slot.current->generation + (control->is_unbuilt ? 1 : 0);
}

void rebuild_later(struct control *control)
{
    timer_set(control->later_timer, LATER_US);
}

void rebuild_on_names(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    rebuild_standing(arg, NULL, 0);
}

void rebuild_on_later(evutil_socket_t fd, short what, void *arg)
{
    struct control *control = arg;

    (void)fd;
    (void)what;
    if (control->is_unbuilt) {
        rebuild_standing(control, NULL, 0);
    }
    if (!members_adopt(control, control->slot.current)) {
        rebuild_later(control);
    }
}
