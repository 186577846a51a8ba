/*
 * Networks as people write them ("10.0.0.0/8", "::1") and whether an address
 * belongs to one. An IPv4 address inside an IPv6 one (::ffff:10.0.0.1) is the
 * IPv4 address. Asks nobody. Any thread.
 */
#ifndef BASE_NETWORK_H
#define BASE_NETWORK_H

#include "base/address.h"

enum {
    NETWORK_TEXT_MAX = INET6_ADDRSTRLEN + sizeof("/128"),
    NETWORK_WRONG_MAX = NETWORK_TEXT_MAX + 64,
};

struct network {
    bool is_v6;
    uint8_t bits;      /* that an address shares with it */
    uint8_t bytes[16]; /* the first 4 for IPv4; none set beyond bits */
};

/* Those who may connect; none: everybody. Owned by whoever holds it. */
struct networks {
    struct network *at;
    size_t count;
};

/* False where text is no network: then wrong, of NETWORK_WRONG_MAX bytes, says why. */
MUST_CHECK bool network_parse(struct network *network, struct slice text, char *wrong);

/* Writes "10.0.0.0/8" or "::1/128" into out, of NETWORK_TEXT_MAX bytes; returns out. */
char *network_format(const struct network *network, char *out);

bool network_holds(const struct network *network, const struct sockaddr *address);

/* True where the list is empty or one of it holds the address. */
bool networks_admit(const struct networks *networks, const struct sockaddr *address);

/* True where both lists are the same, one by one. */
bool networks_equal(const struct networks *a, const struct networks *b);

/* False: out of memory, and copy is empty. */
MUST_CHECK bool networks_copy(struct networks *copy, const struct networks *networks);
void networks_fini(struct networks *networks);

#endif
