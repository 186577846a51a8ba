/* How answers for a name become a sorted, steady set of addresses; see addresses.h. */
#include "control/addresses.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    FAMILY_MISSES = 3, /* so many answers without a family, before its addresses are dropped */
};

static int compare(const void *left, const void *right)
{
    const struct endpoint *a = left;
    const struct endpoint *b = right;

    if (a->at.any.sa_family != b->at.any.sa_family) {
        return a->at.any.sa_family == AF_INET ? -1 : 1;
    }
    return memcmp(&a->at, &b->at, a->len);
}

static void add(struct addresses *addresses, const struct endpoint *endpoint)
{
    for (uint32_t i = 0; i < addresses->count; i++) {
        if (compare(&addresses->at[i], endpoint) == 0) {
            return;
        }
    }
    if (addresses->count < TOPOLOGY_ENDPOINTS_MAX) {
        addresses->at[addresses->count++] = *endpoint;
    }
}

/* The kernel's form without anything that two answers could differ in. */
static bool to_endpoint(const struct evutil_addrinfo *answer, struct endpoint *endpoint)
{
    memset(endpoint, 0, sizeof(*endpoint));
    switch (answer->ai_family) {
    case AF_INET: {
        const struct sockaddr_in *from = (const void *)answer->ai_addr;

        endpoint->at.v4.sin_family = AF_INET;
        endpoint->at.v4.sin_addr = from->sin_addr;
        endpoint->len = sizeof(endpoint->at.v4);
        return true;
    }
    case AF_INET6: {
        const struct sockaddr_in6 *from = (const void *)answer->ai_addr;

        endpoint->at.v6.sin6_family = AF_INET6;
        endpoint->at.v6.sin6_addr = from->sin6_addr;
        endpoint->at.v6.sin6_scope_id = from->sin6_scope_id;
        endpoint->len = sizeof(endpoint->at.v6);
        return true;
    }
    default:
        return false;
    }
}

/* Adds an answer's addresses of a family; false: it has none. */
static bool add_family(struct addresses *addresses, const struct evutil_addrinfo *answer,
                       int family)
{
    bool has_any = false;

    for (; answer != NULL; answer = answer->ai_next) {
        struct endpoint endpoint;

        if (answer->ai_family == family && to_endpoint(answer, &endpoint)) {
            has_any = true;
            add(addresses, &endpoint);
        }
    }
    return has_any;
}

static void keep_family(struct addresses *addresses, const struct addresses *old, int family)
{
    for (uint32_t i = 0; i < old->count; i++) {
        if (old->at[i].at.any.sa_family == family) {
            add(addresses, &old->at[i]);
        }
    }
}

bool addresses_take(struct addresses *addresses, const struct evutil_addrinfo *answer)
{
    struct addresses now;
    bool is_same;

    memset(&now, 0, sizeof(now));
    /* The question for a family that an answer lacks may just have got lost; libevent does not
     * say. So what is known of that family is dropped only when it is missing again and again. */
    if (!add_family(&now, answer, AF_INET)) {
        now.missing_v4 = addresses->missing_v4 + 1;
    }
    if (!add_family(&now, answer, AF_INET6)) {
        now.missing_v6 = addresses->missing_v6 + 1;
    }
    if (now.missing_v4 > 0 && now.missing_v4 < FAMILY_MISSES) {
        keep_family(&now, addresses, AF_INET);
    }
    if (now.missing_v6 > 0 && now.missing_v6 < FAMILY_MISSES) {
        keep_family(&now, addresses, AF_INET6);
    }
    qsort(now.at, now.count, sizeof(now.at[0]), compare);
    is_same = now.count == addresses->count;
    for (uint32_t i = 0; is_same && i < now.count; i++) {
        is_same = compare(&now.at[i], &addresses->at[i]) == 0;
    }
    *addresses = now;
    return !is_same;
}

uint32_t addresses_copy(const struct addresses *addresses, uint16_t port,
                        struct endpoint *endpoints)
{
    for (uint32_t i = 0; i < addresses->count; i++) {
        endpoints[i] = addresses->at[i];
        if (endpoints[i].at.any.sa_family == AF_INET) {
            endpoints[i].at.v4.sin_port = htons(port);
        } else {
            endpoints[i].at.v6.sin6_port = htons(port);
        }
    }
    return addresses->count;
}

char *addresses_format(const struct addresses *addresses, char *out)
{
    size_t len = 0;

    out[0] = '\0';
    for (uint32_t i = 0; i < addresses->count; i++) {
        const struct endpoint *at = &addresses->at[i];
        bool is_v4 = at->at.any.sa_family == AF_INET;
        const void *bytes =
            is_v4 ? (const void *)&at->at.v4.sin_addr : (const void *)&at->at.v6.sin6_addr;
        char one[INET6_ADDRSTRLEN] = "";

        inet_ntop(at->at.any.sa_family, bytes, one, sizeof(one));
        len +=
            (size_t)snprintf(out + len, ADDRESSES_TEXT_MAX - len, "%s%s", i > 0 ? ", " : "", one);
    }
    return out;
}
