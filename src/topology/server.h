/*
 * A configured server, as every generation of the topology and every worker
 * know it. It lives as long as anybody holds it; what may change (address
 * resolved, live or not, timeouts) is not here but in the topology. The
 * atomics are what workers and the control thread tell each other.
 */
#ifndef TOPOLOGY_SERVER_H
#define TOPOLOGY_SERVER_H

#include "base/address.h"

#include <stdatomic.h>

struct server {
    _Atomic uint32_t refs;
    uint32_t slot; /* small number, unique among living servers: an index for workers */
    char *pool_name;
    char *label; /* what messages call it */
    struct address address;
    _Atomic(void *) counters; /* the data plane's, or NULL; freed by counters_free */
    void (*_Atomic counters_free)(void *counters);
    _Atomic uint64_t last_reply_us; /* when a worker last had a reply, to some 50 ms */
    _Atomic uint64_t noted;         /* keys that workers have noted for its return and still hold */
    _Atomic uint32_t version;       /* a.b.c as a << 20 | b << 10 | c; 0: not known */
};

/* Makes a server with one reference, or NULL out of memory. Texts are copied. */
struct server *server_new(const char *pool_name, const char *label, const struct address *address);
struct server *server_get(struct server *server);
void server_put(struct server *server); /* NULL is fine */

/* Reads "VERSION a.b.c" (text behind the word) into the packed form; 0 where it cannot. */
uint32_t server_version_parse(struct slice text);

#endif
