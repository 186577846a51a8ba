/* See base/network.h. */
#include "base/network.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

enum { V4_BITS = 32, V6_BITS = 128, MAPPED_BITS = 96 };

static unsigned bits_of(const struct network *network)
{
    return network->is_v6 ? V6_BITS : V4_BITS;
}

/* An IPv4 address inside an IPv6 one becomes the IPv4 one. */
static void set_v6(struct network *network, const struct in6_addr *v6)
{
    if (IN6_IS_ADDR_V4MAPPED(v6)) {
        memcpy(network->bytes, v6->s6_addr + 12, 4);
    } else {
        network->is_v6 = true;
        memcpy(network->bytes, v6->s6_addr, sizeof(v6->s6_addr));
    }
}

/* As the network of that one address; false for what is no IP address. */
static bool take_address(struct network *network, const struct sockaddr *address)
{
    *network = (struct network){0};
    switch (address->sa_family) {
    case AF_INET:
        memcpy(network->bytes, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
        break;
    case AF_INET6:
        set_v6(network, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
        break;
    default:
        return false;
    }
    network->bits = (uint8_t)bits_of(network);
    return true;
}

static bool parse_bits(struct slice text, unsigned most, unsigned *bits)
{
    unsigned value = 0;

    if (text.len == 0 || text.len > 3) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return false;
        }
        value = value * 10 + (unsigned)(text.data[i] - '0');
    }
    *bits = value;
    return value <= most;
}

/* Clears what follows the bits; true where something was set there. */
static bool clear_host(struct network *network)
{
    bool had_host = false;

    for (unsigned i = network->bits; i < bits_of(network); i++) {
        uint8_t bit = (uint8_t)(0x80 >> i % 8);

        had_host |= (network->bytes[i / 8] & bit) != 0;
        network->bytes[i / 8] &= (uint8_t)~bit;
    }
    return had_host;
}

/* The address before the slash. was_v6: written as IPv6, so that bits count from there. */
static bool parse_address(struct network *network, struct slice text, bool *was_v6)
{
    char host[INET6_ADDRSTRLEN];
    struct in6_addr v6;

    *network = (struct network){0};
    *was_v6 = false;
    if (text.len >= sizeof(host)) {
        return false;
    }
    memcpy(host, text.data, text.len);
    host[text.len] = '\0';
    if (strlen(host) != text.len) {
        return false;
    }
    if (inet_pton(AF_INET, host, network->bytes) == 1) {
        return true;
    }
    if (inet_pton(AF_INET6, host, &v6) != 1) {
        return false;
    }
    *was_v6 = true;
    set_v6(network, &v6);
    return true;
}

bool network_parse(struct network *network, struct slice text, char *wrong)
{
    const char *slash = text.len == 0 ? NULL : (const char *)memchr(text.data, '/', text.len);
    size_t host_len = slash == NULL ? text.len : (size_t)(slash - text.data);
    bool was_v6;
    unsigned most;
    unsigned bits;

    if (!parse_address(network, slice_make(text.data, host_len), &was_v6)) {
        snprintf(wrong, NETWORK_WRONG_MAX, "it does not begin with an IPv4 or IPv6 address");
        return false;
    }
    most = was_v6 ? V6_BITS : V4_BITS;
    bits = most;
    if (slash != NULL && !parse_bits(slice_make(slash + 1, text.len - host_len - 1), most, &bits)) {
        snprintf(wrong, NETWORK_WRONG_MAX, "behind the slash stands no number from 0 to %u", most);
        return false;
    }
    if (was_v6 && !network->is_v6) {
        if (bits < MAPPED_BITS) {
            snprintf(wrong, NETWORK_WRONG_MAX, "IPv4 addresses inside IPv6 ones have 96 to 128");
            return false;
        }
        bits -= MAPPED_BITS;
    }
    network->bits = (uint8_t)bits;
    if (clear_host(network)) {
        char right[NETWORK_TEXT_MAX];

        snprintf(wrong, NETWORK_WRONG_MAX, "bits are set behind the first %u; the network is %s",
                 network->bits, network_format(network, right));
        return false;
    }
    return true;
}

char *network_format(const struct network *network, char *out)
{
    char host[INET6_ADDRSTRLEN] = "";

    inet_ntop(network->is_v6 ? AF_INET6 : AF_INET, network->bytes, host, sizeof(host));
    snprintf(out, NETWORK_TEXT_MAX, "%s/%u", host, network->bits);
    return out;
}

static bool shares_bits(const struct network *network, const struct network *address)
{
    unsigned whole = network->bits / 8;
    unsigned rest = network->bits % 8;

    if (network->is_v6 != address->is_v6 || memcmp(network->bytes, address->bytes, whole) != 0) {
        return false;
    }
    return rest == 0 || (network->bytes[whole] ^ address->bytes[whole]) >> (8 - rest) == 0;
}

bool network_holds(const struct network *network, const struct sockaddr *address)
{
    struct network one;

    return take_address(&one, address) && shares_bits(network, &one);
}

bool networks_admit(const struct networks *networks, const struct sockaddr *address)
{
    struct network one;

    if (networks->count == 0) {
        return true;
    }
    if (!take_address(&one, address)) {
        return false;
    }
    for (size_t i = 0; i < networks->count; i++) {
        if (shares_bits(&networks->at[i], &one)) {
            return true;
        }
    }
    return false;
}

static bool network_equals(const struct network *a, const struct network *b)
{
    return a->is_v6 == b->is_v6 && a->bits == b->bits &&
           memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

bool networks_equal(const struct networks *a, const struct networks *b)
{
    if (a->count != b->count) {
        return false;
    }
    for (size_t i = 0; i < a->count; i++) {
        if (!network_equals(&a->at[i], &b->at[i])) {
            return false;
        }
    }
    return true;
}

bool networks_copy(struct networks *copy, const struct networks *networks)
{
    *copy = (struct networks){0};
    if (networks->count == 0) {
        return true;
    }
    copy->at = malloc(networks->count * sizeof(copy->at[0]));
    if (copy->at == NULL) {
        return false;
    }
    memcpy(copy->at, networks->at, networks->count * sizeof(copy->at[0]));
    copy->count = networks->count;
    return true;
}

void networks_fini(struct networks *networks)
{
    free(networks->at);
    *networks = (struct networks){0};
}
