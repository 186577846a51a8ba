/*
 * The addresses a name stands for, in an order that does not depend on the
 * answer's, and how an answer changes them. Asks nobody. Runs on the control
 * thread.
 */
#ifndef CONTROL_ADDRESSES_H
#define CONTROL_ADDRESSES_H

#include "base/address.h"
#include "topology/topology.h"

#include <event2/util.h>

enum { ADDRESSES_TEXT_MAX = TOPOLOGY_ENDPOINTS_MAX * (INET6_ADDRSTRLEN + 2) };

struct addresses {
    struct endpoint at[TOPOLOGY_ENDPOINTS_MAX]; /* sorted, IPv4 first; port 0 */
    uint32_t count;
    unsigned missing_v4; /* answers in a row without it */
    unsigned missing_v6;
};

/* Takes an answer with at least one address; true where it changes something. */
bool addresses_take(struct addresses *addresses, const struct evutil_addrinfo *answer);

/* Copies them with port; returns how many. */
uint32_t addresses_copy(const struct addresses *addresses, uint16_t port,
                        struct endpoint *endpoints);

/* Writes "10.0.0.1, ::1" into out, of ADDRESSES_TEXT_MAX bytes; returns out. */
char *addresses_format(const struct addresses *addresses, char *out);

#endif
