/*
 * While a server is out others stand in for it. Notes what is written on its
 * behalf, holds its requests while it leaves or returns, and surrenders the
 * notes to the control plane once nothing sent before can still take effect.
 * Runs on the worker's thread.
 */
#ifndef PROXY_STANDIN_H
#define PROXY_STANDIN_H

#include "proxy/backend.h"

/* The servers a leg's write stands in for; their sets count it until it has left its pipeline. */
struct standing {
    uint32_t count;
    struct backend_set *sets[];
};

/*
 * Notes that leg, a write of key, goes to server number to of pool although out servers come
 * before it in the key's list.
 */
void standin_record(struct worker *worker, struct leg *leg, const struct topology_pool *pool,
                    uint32_t to, struct slice key);

/* The leg's write can take effect no more, or has been answered. */
void standin_release(struct leg *leg);

/* A write that was begun on the set's server will not be answered: notes its key. */
void standin_note_unanswered(struct backend_set *set, struct slice key);

/* Drops what the set has noted. */
void standin_forget_journal(struct backend_set *set);

/* Forgets the notes of servers that are live and owe nothing: all that was noted is done. */
void standin_forget_notes(struct worker *worker);

/*
 * A flush_all need not reach a server that is out, or about to be: it is flushed before anybody
 * reads it again. Skips leg.
 */
void standin_promise_flush(struct backend_set *set, struct leg *leg);

/* Keeps leg until the next topology tells where it may go. */
void standin_hold(struct worker *worker, struct leg *leg);

/* Sends the held legs on their way; a new topology was adopted. */
void standin_resume(struct worker *worker);

/* Fails held legs that are due; returns the next deadline or UINT64_MAX. */
uint64_t standin_expire(struct worker *worker, uint64_t now_us);

/* The control plane asks for a server's journal. Takes over mail. */
void standin_ask(struct worker *worker, struct worker_surrender_mail *mail);

/* Surrenders what is ripe. Tick end. */
void standin_surrender(struct worker *worker);

/* Answers nobody any more, lets go of held legs; the worker stops and has no client. */
void standin_forget(struct worker *worker);

#endif
