/*
 * An exchange: one request of a client under way, and its legs, the parts sent
 * to servers. Decides what has failed. Does not choose servers (route.h), split
 * requests (split.h), try again (retry.h), word answers (merge.h) or touch
 * sockets (backend.h, client.h). Runs on the worker's thread.
 */
#ifndef PROXY_EXCHANGE_H
#define PROXY_EXCHANGE_H

#include "base/outq.h"
#include "proto/reply.h"
#include "proto/request.h"
#include "proxy/leg_cause.h"
#include "proxy/worker.h"

struct client;
struct backend;
struct standing;

enum {
    EXCHANGE_TEXT_BYTES = 104, /* key or line kept without an allocation of their own */
};

struct leg {
    struct leg *next; /* in the backend's pipeline */
    struct exchange *exchange;
    struct backend *backend;
    struct piece line; /* to send; kept until the reply where keys are checked or may be resent */
    struct piece value;
    uint64_t deadline_us;
    uint64_t queued_us;
    const char *next_key;      /* VALUES: where in line the next key to be answered is looked for */
    uint32_t next_ordinal;     /* its number among the leg's keys */
    uint32_t value_ordinal;    /* of the value being read */
    uint32_t taken;            /* merging: pieces of replies used up */
    struct standing *standing; /* the out servers this write stands in for; NULL: none */
    uint32_t hits;
    uint32_t key_count;      /* a retrieval's keys on this leg */
    uint32_t keys_at;        /* where in line the first key stands */
    uint8_t kind;            /* enum reply_kind */
    uint8_t code;            /* enum reply_code, once done */
    uint8_t cause;           /* enum leg_cause, once done */
    bool is_sent;            /* every byte of it left */
    bool is_begun;           /* some byte of it left */
    bool is_done;            /* has its reply or its failure: the exchange counts on it no more */
    bool is_piped;           /* it is in its backend's pipeline */
    bool is_answered;        /* its reply came before all of it was sent */
    bool is_discarding;      /* what comes is dropped */
    bool is_held;            /* waits for the next topology */
    bool skips_keys;         /* its reply is dropped: what keys it names does not matter */
    bool is_alone;           /* until its server is judged, no other may be asked in its place */
    bool may_move;           /* a failure may be answered by the key's next server */
    bool is_miss_on_failure; /* a failed retrieval is answered as a miss */
    uint8_t tries;           /* sendings after the first */
    uint8_t moves;           /* to another server since its own was removed */
    struct outq replies;     /* what came, piece by piece; of a multi-get the values only */
};

struct exchange {
    struct exchange *next; /* in the client's order; or in the worker's free list */
    struct client *client; /* NULL once the client is gone or the answer is out */
    struct worker *worker;
    const struct command *command;
    struct command_counters *counters; /* the worker's, of the command */
    struct list waiting_link;
    uint64_t started_us;
    uint32_t leg_count;
    uint32_t legs_open;  /* not done */
    uint32_t legs_piped; /* in pipelines: keep the exchange alive */
    uint32_t key_count;
    uint32_t beside_bytes; /* what it holds in memory that is no chunk */
    struct leg *legs;      /* &first, or malloc'ed */
    uint32_t *leg_of_key;  /* multi-get over several legs: leg number by key */
    bool is_write;         /* may change what the server holds */
    bool noreply;
    bool quiet;
    bool is_safe_to_repeat;
    bool is_released;      /* the client has its answer, or is gone */
    bool is_settings;      /* stats settings: the first server's, no sums */
    enum leg_cause cause;  /* where it failed without any leg */
    struct piece answer;   /* if not empty, the answer whatever the legs say */
    struct slice key;      /* the key as placed, of a one-key exchange */
    struct slice wire_key; /* the key as servers will echo it */
    char *more_text;       /* malloc'ed where text is too small */
    struct leg first;
    char text[EXCHANGE_TEXT_BYTES];
};

/* Counts memory that is no chunk, and goes with the exchange, as in use. */
static inline void exchange_charge(struct exchange *exchange, size_t bytes)
{
    exchange->beside_bytes += (uint32_t)bytes;
    exchange->worker->pool.used_bytes += bytes;
}

/* The key that was decoded from what the client sent; memcached gives some back undecoded. */
static inline struct slice exchange_raw_key(const struct exchange *exchange)
{
    return exchange->key.data != exchange->wire_key.data ? exchange->key : slice_make(NULL, 0);
}

/* What of an exchange must be zero at its start: not the room at its end. */
#define EXCHANGE_CLEAR_BYTES offsetof(struct exchange, first.replies.inline_pieces)

/*
 * Takes the parsed request from client and gets it under way: answers it here,
 * or routes it and queues its legs. chunk holds the request, so many bytes.
 * False: out of memory, the client must be closed.
 */
MUST_CHECK bool exchange_start(struct client *client, const struct request *request,
                               struct chunk *chunk, size_t bytes);

/* Answers, behind all that is due before, a request that could not be read. False: as above. */
MUST_CHECK bool exchange_refuse(struct client *client, enum leg_cause cause);

/* Sends leg to a server, as its standing permits, over the connection its client is pinned to. */
void exchange_submit_leg(struct exchange *exchange, struct leg *leg,
                         const struct topology_server *to, enum server_standing standing);

/* Routes a one-key exchange and submits its leg, or fails it. avoid, cause: of an earlier try. */
void exchange_route(struct exchange *exchange, const struct server *avoid, enum leg_cause cause);

/* Sends leg, which is in no pipeline, wherever the topology says now. */
void exchange_leg_route(struct leg *leg);

/* Lets go of one of the holds counted in legs_open; the last one finishes the exchange. */
void exchange_unhold(struct exchange *exchange);

/* A leg has its whole reply. */
void exchange_leg_done(struct leg *leg, enum reply_code code);

/* A leg will get none. May be retried elsewhere when nothing can go wrong by it. */
void exchange_leg_failed(struct leg *leg, enum leg_cause cause);

/* The client has its answer, or is gone: nothing is kept of what came, or comes late. */
void exchange_release(struct exchange *exchange);

/* Frees the exchange where nothing refers to it any more. */
void exchange_free_if_over(struct exchange *exchange);

static inline bool exchange_is_done(const struct exchange *exchange)
{
    return exchange->legs_open == 0;
}

/* Copies reply bytes that pin shared chunks; tick end. */
void exchange_settle(struct exchange *exchange);

#endif
