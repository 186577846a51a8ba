/*
 * Lists a worker's clients for the control thread: asked by mail, answered by
 * mail. roster_ask is for the control thread, roster_answer for the worker.
 */
#ifndef PROXY_ROSTER_H
#define PROXY_ROSTER_H

#include "proxy/worker.h"

enum { ROSTER_PEER_BYTES = 64 };

struct roster_row {
    char peer[ROSTER_PEER_BYTES];
    const char *state;
    uint64_t age_us;
    uint64_t idle_us;
    uint32_t in_flight;
    uint32_t held_bytes; /* read and not parsed */
    uint64_t unsent_bytes;
};

struct control_roster_mail {
    struct mail mail;
    uint64_t id; /* of the question */
    unsigned worker;
    uint32_t client_count;
    uint32_t row_count;
    struct roster_row *rows; /* malloc'ed; the reader's */
};

struct worker_roster_mail {
    struct mail mail;
    uint64_t id;
    uint32_t max;
    struct control_roster_mail *answer; /* made beforehand: one that is asked always answers */
};

/* Asks for up to max clients. False: out of memory, no answer will come. */
MUST_CHECK bool roster_ask(struct worker *worker, uint64_t id, uint32_t max);

void roster_answer(struct worker *worker, const struct worker_roster_mail *question);

#endif
