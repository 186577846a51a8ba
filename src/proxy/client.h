/*
 * One client's connection: reads and parses its requests, keeps its exchanges
 * in order, writes its answers. Runs on the worker's thread.
 */
#ifndef PROXY_CLIENT_H
#define PROXY_CLIENT_H

#include "base/outq.h"
#include "proxy/exchange.h"

enum {
    CLIENT_EXCHANGES_MAX = 1024,      /* under way for one client; more are read later */
    CLIENT_EXCHANGES_FIRST = 64,      /* the same while the size of its replies is not known */
    CLIENT_OUTPUT_MAX = 1 << 20,      /* bytes not taken by the client before it is read no more */
    CLIENT_IN_FLIGHT_BYTES = 4 << 20, /* expected replies under way, by the client's average */
};

enum client_state {
    CLIENT_OPEN,
    CLIENT_FINISHING, /* reads no more; closes once its answers are out */
    CLIENT_LINGERING, /* said all; waits for the peer's close so that nothing is cut off */
    CLIENT_GONE,      /* on the retired list */
};

struct listener;

struct client {
    struct list link; /* worker's clients, or retired */
    struct list dirty_link;
    struct list resumed_link;
    struct worker *worker;
    struct listener *listener;
    struct watch watch;
    uint8_t state;
    bool is_first;  /* nothing parsed yet */
    bool is_paused; /* reads no more until exchanges finish or output is taken */
    bool lingers;   /* close gently: the peer may still be sending */
    bool at_eof;
    bool is_draining;  /* to be closed once what it has sent is answered */
    bool is_releasing; /* client_release is under way */
    bool is_broken;    /* to be retired at the end of the tick */
    uint32_t number;   /* pins it to one of several connections */
    uint32_t exchange_count;
    uint32_t exchange_limit;
    uint32_t reply_average; /* bytes of a reply, lately */
    struct exchange *first; /* in order */
    struct exchange *last;
    struct outq out;
    struct chunk *held; /* bytes read and not parsed */
    uint32_t held_start;
    size_t scanned;              /* of held, searched for a newline */
    size_t need_bytes;           /* total of the request held, where known */
    size_t swallow_bytes;        /* to be dropped ... */
    struct exchange *swallowing; /* ... before this is answered */
    uint64_t active_us;
    uint64_t since_us; /* accepted */
};

/*
 * Takes over fd. The client is the worker's, and may be gone already; its memory stays to the end
 * of the turn. NULL: out of memory, fd closed.
 */
MUST_CHECK struct client *client_new(struct worker *worker, struct listener *listener, int fd);

/* Ends the client now. The struct lives until the end of the tick. */
void client_retire(struct client *client);

/* Frees retired clients. Tick end. */
void client_free(struct client *client);

/* Moves the answers of finished exchanges, in order, to the output. */
void client_release(struct client *client);

/* Writes what it can. Tick end. */
void client_flush(struct client *client);

/* Goes on with bytes held back. */
void client_resume(struct client *client);

/* Takes what has already arrived, answers it, then closes. */
void client_drain(struct client *client);

/* Writes the peer's address into out; leaves it alone where the kernel does not know it any more.
 */
void client_peer(const struct client *client, char *out, size_t size);

#endif
