/*
 * Addresses as written by people ("host:port", "[::1]:port", "unix:/path") and
 * as the kernel takes them. Never resolves a name. Any thread.
 */
#ifndef BASE_ADDRESS_H
#define BASE_ADDRESS_H

#include "base/slice.h"

#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

enum {
    ADDRESS_HOST_MAX = 255,
    ADDRESS_TEXT_MAX = ADDRESS_HOST_MAX + 16,
};

struct address {
    bool is_unix;
    char host[ADDRESS_HOST_MAX + 1]; /* host as written, without brackets; the path for unix */
    uint16_t port;                   /* 0 for unix */
};

/* The kernel's form of a numeric or unix address. */
struct endpoint {
    socklen_t len;
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_un path;
    } at;
};

/*
 * Reads "host:port", "[v6]:port", "v6:port" is refused, "unix:/path" or "/path".
 * default_port is used where none is written; -1 makes the port compulsory.
 * Returns NULL, or a constant text that says what is wrong.
 */
MUST_CHECK const char *address_parse(struct address *address, struct slice text, int default_port);

/* Writes the text form ("h:p", "[v6]:p", "unix:/path") into out; returns out. */
char *address_format(const struct address *address, char *out, size_t size);

/* True and *endpoint filled where the address is a literal IP or a unix path. */
MUST_CHECK bool address_to_endpoint(const struct address *address, struct endpoint *endpoint);

/* Text of a peer's or own kernel address: "1.2.3.4:5", "[::1]:5", "unix". */
char *endpoint_format(const struct endpoint *endpoint, char *out, size_t size);

/*
 * The one text of all spellings of an address: numeric ones as the kernel
 * writes them, names in lower case. For comparing, not for showing.
 */
char *address_canonical(const struct address *address, char *out, size_t size);

/* True for loopback and unix addresses: nothing outside this host reaches them. */
bool endpoint_is_local(const struct endpoint *endpoint);

/* True where both are the same address, however spelled. */
bool address_equals(const struct address *a, const struct address *b);

#endif
