/*
 * Addresses: reading, writing and comparing. Nothing here asks the network.
 */
#include "base/address.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>

static const char *const bad_port = "the port is not a number from 1 to 65535";

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool port_parse(uint16_t *port, struct slice text)
{
    unsigned value = 0;

    if (text.len == 0 || text.len > 5) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (!is_digit(text.data[i])) {
            return false;
        }
        value = value * 10 + (unsigned)(text.data[i] - '0');
    }
    if (value == 0 || value > UINT16_MAX) {
        return false;
    }
    *port = (uint16_t)value;
    return true;
}

/* A last label of digits alone belongs to an IPv4 address, never to a name. */
static bool looks_numeric(const char *host)
{
    const char *label = strrchr(host, '.');

    label = label == NULL ? host : label + 1;
    return *label != '\0' && label[strspn(label, "0123456789")] == '\0';
}

static const char *host_check(const char *host)
{
    struct in_addr v4;
    char before = '.';

    for (const char *p = host; *p != '\0'; p++) {
        if (!isalnum((unsigned char)*p) && strchr("-_.", *p) == NULL) {
            return "the host has a character that no host name has";
        }
        if (*p == '.' && before == '.') {
            return "the host has an empty part between dots";
        }
        before = *p;
    }
    if (looks_numeric(host) && inet_pton(AF_INET, host, &v4) != 1) {
        return "the host is not an IPv4 address, four numbers from 0 to 255";
    }
    return NULL;
}

static const char *host_copy(struct address *address, struct slice host)
{
    if (host.len == 0) {
        return "the host is missing";
    }
    if (host.len > ADDRESS_HOST_MAX) {
        return "the host is longer than 255 characters";
    }
    if (memchr(host.data, '\0', host.len) != NULL) {
        return "the host has a character that no host name has";
    }
    memcpy(address->host, host.data, host.len);
    address->host[host.len] = '\0';
    return NULL;
}

static const char *unix_parse(struct address *address, struct slice path)
{
    const struct sockaddr_un *room = NULL;

    if (path.len == 0 || path.data[0] != '/') {
        return "a unix socket's path begins with /";
    }
    if (path.len >= sizeof(room->sun_path)) {
        return "a unix socket's path has at most 107 bytes";
    }
    for (size_t i = 0; i < path.len; i++) {
        unsigned char c = (unsigned char)path.data[i];

        if (c <= ' ' || c == 0x7f) {
            return "a unix socket's path has a blank or a control character";
        }
    }
    address->is_unix = true;
    memcpy(address->host, path.data, path.len);
    address->host[path.len] = '\0';
    return NULL;
}

static const char *v6_parse(struct address *address, struct slice text, struct slice *rest)
{
    const char *close = memchr(text.data, ']', text.len);
    struct in6_addr v6;
    const char *wrong;

    if (close == NULL) {
        return "the bracket ] after the IPv6 address is missing";
    }
    wrong = host_copy(address, slice_make(text.data + 1, (size_t)(close - text.data) - 1));
    if (wrong != NULL) {
        return wrong;
    }
    if (inet_pton(AF_INET6, address->host, &v6) != 1) {
        return "what stands between brackets is not an IPv6 address";
    }
    *rest = slice_make(close + 1, text.len - (size_t)(close + 1 - text.data));
    return NULL;
}

static const char *name_parse(struct address *address, struct slice text, struct slice *rest)
{
    const char *colon = text.len == 0 ? NULL : memchr(text.data, ':', text.len);
    size_t len = colon == NULL ? text.len : (size_t)(colon - text.data);
    const char *wrong;

    *rest = slice_make(text.data + len, text.len - len);
    if (rest->len > 1 && memchr(rest->data + 1, ':', rest->len - 1) != NULL) {
        return "there is more than one colon; an IPv6 address stands between brackets";
    }
    wrong = host_copy(address, slice_make(text.data, len));
    return wrong != NULL ? wrong : host_check(address->host);
}

const char *address_parse(struct address *address, struct slice text, int default_port)
{
    struct slice rest = {NULL, 0};
    const char *wrong;

    memset(address, 0, sizeof(*address));
    if (text.len >= 5 && memcmp(text.data, "unix:", 5) == 0) {
        return unix_parse(address, slice_make(text.data + 5, text.len - 5));
    }
    if (text.len > 0 && text.data[0] == '/') {
        return unix_parse(address, text);
    }
    wrong = text.len > 0 && text.data[0] == '[' ? v6_parse(address, text, &rest)
                                                : name_parse(address, text, &rest);
    if (wrong != NULL) {
        return wrong;
    }
    if (rest.len == 0) {
        if (default_port < 0) {
            return "the port is missing";
        }
        address->port = (uint16_t)default_port;
        return NULL;
    }
    if (rest.data[0] != ':') {
        return "after the bracket ] only :port may follow";
    }
    return port_parse(&address->port, slice_make(rest.data + 1, rest.len - 1)) ? NULL : bad_port;
}

char *address_format(const struct address *address, char *out, size_t size)
{
    if (address->is_unix) {
        snprintf(out, size, "unix:%s", address->host);
    } else if (strchr(address->host, ':') != NULL) {
        snprintf(out, size, "[%s]:%u", address->host, address->port);
    } else {
        snprintf(out, size, "%s:%u", address->host, address->port);
    }
    return out;
}

bool address_to_endpoint(const struct address *address, struct endpoint *endpoint)
{
    memset(endpoint, 0, sizeof(*endpoint));
    if (address->is_unix) {
        size_t len = strlen(address->host);

        if (len >= sizeof(endpoint->at.path.sun_path)) {
            return false;
        }
        endpoint->at.path.sun_family = AF_UNIX;
        memcpy(endpoint->at.path.sun_path, address->host, len + 1);
        endpoint->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
        return true;
    }
    if (inet_pton(AF_INET, address->host, &endpoint->at.v4.sin_addr) == 1) {
        endpoint->at.v4.sin_family = AF_INET;
        endpoint->at.v4.sin_port = htons(address->port);
        endpoint->len = sizeof(endpoint->at.v4);
        return true;
    }
    if (inet_pton(AF_INET6, address->host, &endpoint->at.v6.sin6_addr) == 1) {
        endpoint->at.v6.sin6_family = AF_INET6;
        endpoint->at.v6.sin6_port = htons(address->port);
        endpoint->len = sizeof(endpoint->at.v6);
        return true;
    }
    return false;
}

char *endpoint_format(const struct endpoint *endpoint, char *out, size_t size)
{
    char host[INET6_ADDRSTRLEN] = "";

    switch (endpoint->at.any.sa_family) {
    case AF_INET:
        inet_ntop(AF_INET, &endpoint->at.v4.sin_addr, host, sizeof(host));
        snprintf(out, size, "%s:%u", host, ntohs(endpoint->at.v4.sin_port));
        break;
    case AF_INET6:
        inet_ntop(AF_INET6, &endpoint->at.v6.sin6_addr, host, sizeof(host));
        snprintf(out, size, "[%s]:%u", host, ntohs(endpoint->at.v6.sin6_port));
        break;
    default:
        snprintf(out, size, "unix");
        break;
    }
    return out;
}

char *address_canonical(const struct address *address, char *out, size_t size)
{
    struct endpoint endpoint;

    if (!address->is_unix && address_to_endpoint(address, &endpoint)) {
        return endpoint_format(&endpoint, out, size);
    }
    address_format(address, out, size);
    for (char *p = out; !address->is_unix && *p != '\0'; p++) {
        *p = (char)tolower((unsigned char)*p);
    }
    return out;
}

bool address_equals(const struct address *a, const struct address *b)
{
    char text_a[ADDRESS_TEXT_MAX];
    char text_b[ADDRESS_TEXT_MAX];

    if (a->is_unix != b->is_unix || a->port != b->port) {
        return false;
    }
    if (strcmp(a->host, b->host) == 0) {
        return true;
    }
    return strcmp(address_canonical(a, text_a, sizeof(text_a)),
                  address_canonical(b, text_b, sizeof(text_b))) == 0;
}

bool endpoint_is_local(const struct endpoint *endpoint)
{
    switch (endpoint->at.any.sa_family) {
    case AF_UNIX:
        return true;
    case AF_INET:
        return (ntohl(endpoint->at.v4.sin_addr.s_addr) >> 24) == 127;
    case AF_INET6:
        return IN6_IS_ADDR_LOOPBACK(&endpoint->at.v6.sin6_addr);
    default:
        return false;
    }
}
