/* See admin_ring.h. */
#include "control/admin_ring.h"

#include "control/server_status.h"
#include "control/text.h"
#include "proto/request.h"
#include "ring/compare.h"
#include "ring/explain.h"
#include "topology/route.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { LOCATE_MAX = 16 };

/* A text as a word in a column of at least width. */
static void add_column(struct evbuffer *out, const char *text, int width)
{
    size_t before = evbuffer_get_length(out);
    int used;

    text_add_word(out, slice_text(text[0] != '\0' ? text : "-"));
    used = (int)(evbuffer_get_length(out) - before);
    evbuffer_add_printf(out, "%*s", used < width ? width - used + 1 : 1, "");
}

static void add_ring(struct admin_call *call, const struct topology_pool *pool)
{
    double *configured = calloc(pool->server_count, sizeof(configured[0]));
    double *now = calloc(pool->server_count, sizeof(now[0]));
    char text[256];
    bool is_exact = false;

    if (configured != NULL && now != NULL) {
        is_exact = placement_shares(pool->placement, NULL, configured);
        is_exact = placement_shares(pool->placement, pool->live, now) && is_exact;
    }
    evbuffer_add_printf(call->out, "POOL ");
    text_add_word(call->out, slice_text(pool->name));
    evbuffer_add_printf(call->out, " %s, %zu bytes, shares %s\r\n",
                        placement_describe(pool->placement, text, sizeof(text)),
                        placement_bytes(pool->placement), is_exact ? "exact" : "estimated");
    for (uint32_t s = 0; configured != NULL && now != NULL && s < pool->server_count; s++) {
        add_column(call->out, pool->servers[s].server->label, 20);
        evbuffer_add_printf(call->out, "points %zu share %.4f%% now %.4f%%\r\n",
                            placement_points_of(pool->placement, s), configured[s] * 100,
                            now[s] * 100);
    }
    free(configured);
    free(now);
}

bool admin_ring_run(struct admin_call *call)
{
    const struct topology *topology = call->control->slot.current;
    bool found = call->arguments.len == 0;

    for (uint32_t p = 0; p < topology->pool_count; p++) {
        const struct topology_pool *pool = &topology->pools[p];

        if (call->arguments.len == 0 || slice_equals(call->arguments, slice_text(pool->name))) {
            add_ring(call, pool);
            found = true;
        }
    }
    evbuffer_add_printf(call->out, found ? "END\r\n" : "ERROR there is no pool of that name\r\n");
    return true;
}

/* Undoes %XX; false where one is not whole. */
static bool decode(struct slice text, char *to, size_t size, size_t *len)
{
    *len = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned byte = (unsigned char)text.data[i];

        if (byte == '%') {
            char digits[3] = {0};

            if (i + 2 >= text.len) {
                return false;
            }
            memcpy(digits, text.data + i + 1, 2);
            if (strspn(digits, "0123456789abcdefABCDEF") != 2) {
                return false;
            }
            byte = (unsigned)strtoul(digits, NULL, 16);
            i += 2;
        }
        if (*len == size) {
            return false;
        }
        to[(*len)++] = (char)byte;
    }
    return *len > 0;
}

static void add_location(struct admin_call *call, const struct topology_listener *listener,
                         struct slice key)
{
    struct route route = route_key(call->control->slot.current, listener, key);
    char text[ADDRESS_TEXT_MAX > 256 ? ADDRESS_TEXT_MAX : 256];
    uint32_t list[LOCATE_MAX];
    size_t count;

    evbuffer_add_printf(call->out, "LISTEN %s\r\n",
                        address_format(&listener->socket->address, text, sizeof(text)));
    if (route.pool == NULL) {
        evbuffer_add_printf(call->out, "  no pool here takes this key: no prefix matches\r\n");
        return;
    }
    evbuffer_add_printf(call->out, "  pool ");
    text_add_word(call->out, slice_text(route.pool->name));
    if (route.pool->prefix_len > 0) {
        evbuffer_add_printf(call->out, " by prefix ");
        text_add_word(call->out, slice_text(route.pool->prefix));
    }
    evbuffer_add_printf(call->out, ", placement %s\r\n",
                        placement_describe(route.pool->placement, text, sizeof(text)));
    placement_explain(route.pool->placement, key, text, sizeof(text));
    evbuffer_add_printf(call->out, "  %s\r\n", text);
    count = placement_list(route.pool->placement, key, list, LOCATE_MAX);
    for (size_t i = 0; i < count; i++) {
        struct server_status status;

        server_status_get(call->control, route.pool, list[i], &status);
        evbuffer_add_printf(call->out, "  %zu ", i + 1);
        add_column(call->out, route.pool->servers[list[i]].server->label, 12);
        address_format(&route.pool->servers[list[i]].server->address, text, sizeof(text));
        add_column(call->out, text, 21);
        evbuffer_add_printf(call->out, "%s%s\r\n", status.state,
                            list[i] == route.server ? ", has it now" : "");
    }
}

bool admin_locate_run(struct admin_call *call)
{
    const struct topology *topology = call->control->slot.current;
    char key[REQUEST_KEY_MAX];
    size_t len;

    if (call->arguments.len == 0 ||
        memchr(call->arguments.data, ' ', call->arguments.len) != NULL ||
        !decode(call->arguments, key, sizeof(key), &len)) {
        evbuffer_add_printf(call->out,
                            "ERROR locate takes one key of up to %d bytes; bytes that "
                            "are no plain letters may be written as %%XX\r\n",
                            REQUEST_KEY_MAX);
        return true;
    }
    for (uint32_t i = 0; i < topology->listener_count; i++) {
        add_location(call, &topology->listeners[i], slice_make(key, len));
    }
    evbuffer_add_printf(call->out, "END\r\n");
    return true;
}
