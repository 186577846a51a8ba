/*
 * One connection from a worker to a server. Owns the socket and the pipeline
 * of legs sent or waiting. Does not choose servers (route.h) and does not
 * order replies (exchange.h). Runs on the worker's thread.
 */
#ifndef PROXY_BACKEND_H
#define PROXY_BACKEND_H

#include "proxy/exchange.h"
#include "proxy/journal.h"

enum backend_state {
    BACKEND_IDLE,       /* no socket; the next leg opens one */
    BACKEND_CONNECTING, /* legs wait */
    BACKEND_READY,
    BACKEND_WAITING, /* no socket until retry_at_us; legs fail fast */
};

struct backend {
    struct worker *worker;
    struct backend_set *set;
    unsigned number; /* in the set */
    enum backend_state state;
    struct watch watch; /* its fd is -1 where there is no socket */
    struct list dirty_link;

    struct leg *first; /* the pipeline, oldest first */
    struct leg *last;
    struct leg *late;     /* it and those before it are done; NULL: not known of any */
    struct leg *unsent;   /* first not wholly sent; NULL: all are */
    uint32_t unsent_done; /* bytes of unsent that left */
    struct leg *fresh;    /* first that may not own yet what it has to send; NULL: all do */
    bool is_choked;       /* the socket had no room: it is written to once it says it has */
    uint32_t piped;
    uint64_t unsent_bytes;
    uint64_t published_unsent_bytes; /* of these, how many the server's counter has */
    uint32_t published_piped;

    struct reply_parser parser;
    bool is_mid_reply;
    struct chunk *partial; /* an incomplete line; reads continue behind it */
    struct chunk *body;    /* a large body being read */
    uint64_t body_left;    /* bytes still to be read into body */
    struct chunk *tube;    /* instead of body: what comes of it is moved there */
    uint64_t tube_left;    /* bytes still to be moved to tube, counted as used already */
    bool is_large;         /* the reply under way has a body fit for a tube */
    bool reads_little;     /* the one before it had, so this one may: only its header is wanted */

    uint64_t connect_deadline_us;
    uint64_t connect_begun_us;
    uint64_t retry_at_us;
    uint64_t last_read_us;
    uint64_t last_reply_us; /* the last whole reply */
    uint32_t backoff_ms;
    uint32_t endpoint;           /* number of the address in use */
    uint32_t endpoints_tried;    /* of this attempt */
    enum leg_cause last_cause;   /* BACKEND_WAITING: why */
    enum leg_cause broken_cause; /* why the bytes just read cannot be a reply */
    bool is_behind;              /* BACKEND_WAITING: for the requests of a set that was replaced */
    bool was_connected;          /* at any time */
    bool has_replied;            /* since it was connected */
};

/* A worker's connections to one server. */
struct backend_set {
    struct worker *worker;
    struct server *server;            /* a reference */
    struct server_counters *counters; /* the server's, this worker's part */
    const struct topology_pool *pool; /* in the adopted topology; NULL once removed */
    const struct topology_server *entry;
    uint64_t entry_timeout_us; /* the pool's request_timeout, kept when the pool is gone */
    struct journal journal;    /* what was written on its behalf while it was out */
    uint32_t bound;            /* legs that name a backend of it */
    uint32_t standing_in;      /* writes under way elsewhere on its behalf */
    uint64_t last_verdict_us;
    uint64_t last_alive_us; /* as told to server->last_reply_us */
    bool was_cut;           /* its legs were sent away when its standing changed */
    struct list retired_link;
    struct list lingering; /* connections given up, until the server has closed them */
    unsigned count;
    struct backend backends[];
};

/* leg is backend's from now on (NULL: nobody's); the set lives as long as legs name it. */
void backend_bind(struct backend *backend, struct leg *leg);

/*
 * Queues leg; it is sent at the end of the tick, or fails now (exchange_leg_failed).
 * leg->line and leg->value are set.
 */
void backend_submit(struct backend *backend, struct leg *leg);

/* Opens the connection; the address after the last one tried. */
void backend_connect(struct backend *backend);

/* The address in use did not work: the next one, or failure. */
void backend_connect_failed(struct backend *backend, enum leg_cause cause);

/* The connection failed: answers every leg sent, counts, logs once, schedules the retry. */
void backend_fail(struct backend *backend, enum leg_cause cause);

/*
 * The server closed the connection, or it broke. Where nothing of what was sent is unanswered that
 * is no failure: what is yet to be sent goes over a new connection, once this one has worked.
 */
void backend_ended(struct backend *backend, enum leg_cause cause);

/* Closes at once; what is under way fails. Counts and logs nothing: it is our own doing. */
void backend_close(struct backend *backend);

/* The server was removed: what was begun is finished, what was not fails or moves. */
void backend_retire(struct backend *backend);

/*
 * Sends the legs under way elsewhere, or fails them where that is not safe; their late replies
 * are dropped. The connections stay, to see when the server has done what it was sent.
 */
void backend_cut(struct backend *backend);

/* Waits for these events. */
void backend_listen_for(struct backend *backend, uint32_t events);
enum { BACKEND_HEARS = (int)(EPOLLIN | EPOLLRDHUP) }; /* a connection in use */

/* The watch's callback. */
void backend_on_ready(struct watch *watch, uint32_t events);

/* What a failed system call says of the server. */
enum leg_cause backend_cause_of_errno(int error);

#endif
