/*
 * The addresses of servers configured by name: asked of the system's files and
 * DNS without blocking, again and again, the last good answer kept. One look-up
 * a name, whoever uses it. Runs on the control thread.
 */
#ifndef CONTROL_RESOLVER_H
#define CONTROL_RESOLVER_H

#include "base/address.h"

#include <event2/event.h>

struct resolver;

/* NULL for any of the texts: the system's. */
struct resolver_options {
    const char *nameserver;  /* "127.0.0.1:5353": instead of resolv.conf's */
    const char *resolv_conf; /* path */
    const char *hosts;       /* path */
    uint64_t timeout_us;     /* of one question; 0: as resolv.conf says */
};

/*
 * on_change is called from the loop, once for all names whose addresses have
 * changed since; never from within a function below. NULL out of memory.
 */
struct resolver *resolver_new(struct event_base *base, const struct resolver_options *options,
                              void (*on_change)(void *arg), void *arg);

/*
 * Gives up all names. Look-ups under way are ended by turning the loop of the
 * base without waiting, so nothing else may be pending on it that minds. NULL
 * is fine.
 */
void resolver_free(struct resolver *resolver);

/*
 * Wants the name of address looked up every interval_us (of several wishes the
 * shortest counts), beginning now; literal addresses and unix paths need
 * nothing and get nothing. Each add is undone by one remove with the same
 * arguments. False out of memory.
 */
MUST_CHECK bool resolver_add(struct resolver *resolver, const struct address *address,
                             uint64_t interval_us);
void resolver_remove(struct resolver *resolver, const struct address *address,
                     uint64_t interval_us);

/*
 * What is known: up to TOPOLOGY_ENDPOINTS_MAX endpoints, sorted, with the port
 * of address; 0 where the name was never resolved or never added. resolver is
 * a struct resolver: fits topology_source.resolve.
 */
uint32_t resolver_lookup(void *resolver, const struct address *address, struct endpoint *endpoints);

/*
 * True where the first answer for the name may come any moment, within *for_us. on_change is
 * called when it comes.
 */
bool resolver_is_awaited(struct resolver *resolver, const struct address *address,
                         uint64_t *for_us);

/*
 * Turns the loop until every name has been answered or given up once, at most
 * for timeout_us. For the start: on_change is not called for what comes
 * meanwhile.
 */
void resolver_wait(struct resolver *resolver, uint64_t timeout_us);

/* Why the last look-up of the name failed, or NULL: it did not, or the address needs none. */
const char *resolver_error(struct resolver *resolver, const struct address *address);

#endif
