/*
 * Labels are bytes: one rule puts a zero byte into them. All of a list's lie
 * one after another in one block.
 */
#include "ring/label.h"

#include "ring/java.h"

#include <stdio.h>
#include <stdlib.h>

enum { DEFAULT_PORT = 11211, PORT_TEXT_MAX = 16 };

static size_t text_max(const struct placement_server *server)
{
    const size_t host = strlen(server->host);

    if (server->name != NULL) {
        return strlen(server->name) + 1;
    }
    /* twice the host in one rule; IPv6 written out in another */
    return 2 * host + PORT_TEXT_MAX + 48;
}

/* Writes the label of a server without a name; returns its length. */
static size_t write_label(enum label_rule rule, const struct placement_server *server, char *out,
                          size_t size)
{
    const char *host = server->host;
    const unsigned port = server->port;
    const bool is_v6 = !server->is_unix && strchr(host, ':') != NULL;

    if (server->is_unix) {
        const char *tail = rule == LABEL_SHORT ? ":0" : rule == LABEL_SHORT_COLON ? ":" : "";
        return (size_t)snprintf(out, size, "%s%s", host, tail);
    }
    switch (rule) {
    case LABEL_SHORT:
    case LABEL_SHORT_COLON:
        if (port == DEFAULT_PORT) {
            return (size_t)snprintf(out, size, "%s", host);
        }
        break;
    case LABEL_ADDRESS:
        if (is_v6) {
            return (size_t)snprintf(out, size, "[%s]:%u", host, port);
        }
        break;
    case LABEL_SLASH:
        return (size_t)snprintf(out, size, "/%s:%u", host, port);
    case LABEL_HOST_AND_FULL:
        return (size_t)snprintf(out, size, "%s/%s:%u", host, host, port);
    case LABEL_JAVA:
        java_address(host, server->port, out, size);
        return strlen(out);
    case LABEL_HOST_NUL_PORT:
        return (size_t)snprintf(out, size, "%s%c%u", host, '\0', port);
    case LABEL_FULL:
        break;
    }
    return (size_t)snprintf(out, size, "%s:%u", host, port);
}

/* What a sort of server numbers looks at. */
struct order {
    const struct placement_server *servers;
    const struct slice *of;
    enum tie_rule tie;
};

static int compare_bytes(struct slice a, struct slice b)
{
    const size_t common = a.len < b.len ? a.len : b.len;
    const int order = common > 0 ? memcmp(a.data, b.data, common) : 0;

    return order != 0 ? order : a.len < b.len ? -1 : a.len > b.len;
}

static int compare_servers(const void *left, const void *right, void *arg)
{
    const struct order *order = arg;
    const uint32_t a = *(const uint32_t *)left;
    const uint32_t b = *(const uint32_t *)right;
    const int listed = a < b ? -1 : a > b;
    int differ = 0;

    switch (order->tie) {
    case TIE_LISTED:
        return listed;
    case TIE_LAST_LISTED:
        return -listed;
    case TIE_SHORT_LABEL:
        if (order->of[a].len != order->of[b].len) {
            return order->of[a].len < order->of[b].len ? -1 : 1;
        }
        differ = compare_bytes(order->of[a], order->of[b]);
        break;
    case TIE_LABEL:
        differ = compare_bytes(order->of[a], order->of[b]);
        break;
    case TIE_HOST_PORT:
        differ = strcmp(order->servers[a].host, order->servers[b].host);
        if (differ == 0) {
            differ = (int)order->servers[a].port - (int)order->servers[b].port;
        }
        break;
    }
    return differ != 0 ? differ : listed;
}

bool labels_init(struct labels *labels, enum label_rule rule, enum tie_rule tie,
                 const struct placement_server *servers, size_t count)
{
    size_t bytes = 1;
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        bytes += text_max(&servers[i]);
    }
    *labels = (struct labels){
        .count = count,
        .of = calloc(count + 1, sizeof(struct slice)),
        .by_rank = calloc(count + 1, sizeof(uint32_t)),
        .rank = calloc(count + 1, sizeof(uint32_t)),
        .text = malloc(bytes),
    };
    if (labels->of == NULL || labels->by_rank == NULL || labels->rank == NULL ||
        labels->text == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        char *text = labels->text + used;
        size_t len;

        if (servers[i].name != NULL) {
            len = strlen(servers[i].name);
            memcpy(text, servers[i].name, len);
        } else {
            len = write_label(rule, &servers[i], text, bytes - used);
        }
        labels->of[i] = slice_make(text, len);
        labels->by_rank[i] = (uint32_t)i;
        used += len;
    }
    struct order order = {servers, labels->of, tie};

    qsort_r(labels->by_rank, count, sizeof(uint32_t), compare_servers, &order);
    for (size_t i = 0; i < count; i++) {
        labels->rank[labels->by_rank[i]] = (uint32_t)i;
    }
    return true;
}

void labels_fini(struct labels *labels)
{
    free(labels->of);
    free(labels->by_rank);
    free(labels->rank);
    free(labels->text);
    *labels = (struct labels){0};
}

bool labels_find_twins(const struct labels *labels, size_t *one, size_t *other)
{
    uint32_t *sorted = malloc((labels->count + 1) * sizeof(*sorted));
    struct order order = {NULL, labels->of, TIE_LABEL};
    bool found = false;

    if (sorted == NULL) {
        return false;
    }
    for (size_t i = 0; i < labels->count; i++) {
        sorted[i] = (uint32_t)i;
    }
    qsort_r(sorted, labels->count, sizeof(*sorted), compare_servers, &order);
    for (size_t i = 1; i < labels->count && !found; i++) {
        if (slice_equals(labels->of[sorted[i - 1]], labels->of[sorted[i]])) {
            *one = sorted[i - 1];
            *other = sorted[i];
            found = true;
        }
    }
    free(sorted);
    return found;
}
