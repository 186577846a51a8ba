/*
 * A listening socket as one worker sees it: accepts clients, spreads them,
 * pauses while descriptors are short. Runs on the worker's thread.
 */
#ifndef PROXY_LISTENER_H
#define PROXY_LISTENER_H

#include "proxy/worker.h"

struct listener {
    struct list link;
    struct worker *worker;
    struct listen_socket *socket;          /* a reference */
    const struct topology_listener *route; /* in the adopted topology; or kept_route */
    struct topology_listener kept_route;   /* is_removed: the pools that its clients still reach */
    uint32_t *next_pools;                  /* room for the next kept_route */
    struct watch watch;                    /* its fd is -1 once stopped */
    bool is_paused;
    bool is_removed;    /* the adopted topology does not know it: it goes with its last client */
    bool allow_flush;   /* every pool behind it does */
    bool allow_differs; /* the topology just adopted admits others than the one before */
    uint32_t clients;   /* of this worker that came through it */
};

/* NULL: out of memory, or, with a log line, the kernel will not wait for it. */
struct listener *listener_new(struct worker *worker, struct listen_socket *socket);

/* Takes no more clients. */
void listener_stop(struct listener *listener);
void listener_free(struct listener *listener);

/* Tries again after a pause. */
void listener_resume(struct listener *listener);

/* True where the listen line's allow names the network of fd's peer, or names none. */
bool listener_admits(const struct listener *listener, int fd);

/* Says so to one that is not admitted, counts it where it is still there, and closes fd. */
void listener_deny(struct listener *listener, int fd);

/*
 * Takes a client that was accepted, maybe by another worker; where its worker drains, only to
 * answer what it has sent. Closes fd where it cannot.
 */
void listener_take(struct listener *listener, int fd);

/* Takes in those who have connected, and no more from now on. */
void listener_finish(struct listener *listener);

#endif
