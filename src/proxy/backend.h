/*
 * One connection from a worker to a server. Owns the socket and the pipeline
 * of legs sent or waiting. Does not choose servers (route.h) and does not
 * order replies (exchange.h). Runs on the worker's thread.
 */
#ifndef PROXY_BACKEND_H
#define PROXY_BACKEND_H

#include "proxy/exchange.h"

enum backend_state {
    BACKEND_IDLE,       /* no socket; the next leg opens one */
    BACKEND_CONNECTING, /* legs wait */
    BACKEND_READY,
    BACKEND_WAITING,    /* no socket until retry_at_us; legs fail fast */
};

struct backend {
    struct worker *worker;
    struct backend_set *set;
    unsigned number; /* in the set */
    enum backend_state state;
    int fd;
    struct event event;
    short events_on; /* what event waits for */
    struct list dirty_link;

    struct leg *first;  /* the pipeline, oldest first */
    struct leg *last;
    struct leg *unsent; /* first not wholly sent; NULL: all are */
    uint32_t unsent_done; /* bytes of unsent that left */
    uint32_t piped;
    uint64_t unsent_bytes;
    uint64_t counted_unsent_bytes; /* of these, how many the server's counter has */

    struct reply_parser parser;
    bool is_mid_reply;
    struct chunk *partial; /* an incomplete line; reads continue behind it */
    struct chunk *body;    /* a large body being read */
    uint64_t body_left;    /* bytes still to be read into body */

    uint64_t connect_deadline_us;
    uint64_t retry_at_us;
    uint64_t last_read_us;
    uint32_t backoff_ms;
    uint32_t endpoint; /* number of the address in use */
    uint32_t endpoints_tried; /* of this attempt */
    enum leg_cause last_cause; /* BACKEND_WAITING: why */
    bool has_replied;          /* since it was connected */
    bool was_connected;        /* at any time */
};

/* A worker's connections to one server. */
struct backend_set {
    struct worker *worker;
    struct server *server;            /* a reference */
    struct server_counters *counters; /* the server's, this worker's part */
    const struct topology_pool *pool; /* in the adopted topology; NULL once removed */
    const struct topology_server *entry;
    uint64_t entry_timeout_us; /* the pool's request_timeout, kept when the pool is gone */
    struct list retired_link;
    struct list lingering; /* connections given up, until the server has closed them */
    unsigned count;
    struct backend backends[];
};

const char *backend_state_text(enum backend_state state);

/* Makes the connections' structs (not yet connected), or NULL out of memory. */
struct backend_set *backend_set_new(struct worker *worker, struct server *server, unsigned count);

/* Closes everything; the pipelines must be empty. */
void backend_set_free(struct backend_set *set);

/* The set's server stands in a new topology. */
void backend_set_adopt(struct backend_set *set, const struct topology_pool *pool,
                       const struct topology_server *entry);

/* True where no leg is under way and nothing lingers. */
bool backend_set_is_idle(const struct backend_set *set);

/*
 * Queues leg; it is sent at the end of the tick, or fails now (exchange_leg_failed).
 * leg->line and leg->value are set; slices without a chunk must live until settled.
 */
void backend_submit(struct backend *backend, struct leg *leg);

/* The server was removed: what was begun is finished, what was not fails or moves. */
void backend_retire(struct backend *backend);

/* Writes what waits. Tick end. */
void backend_flush(struct backend *backend);

/* Copies what could not be written out of shared chunks. Tick end, after the flush. */
void backend_settle(struct backend *backend);

/* Fails what is due at now; returns when to look again (UINT64_MAX: no need). */
uint64_t backend_expire(struct backend *backend, uint64_t now_us);

/* The connection failed: answers every leg sent, counts, logs once, schedules the retry. */
void backend_fail(struct backend *backend, enum leg_cause cause);

#endif
