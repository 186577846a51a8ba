/*
 * One question to a server, a line of text, and its whole answer, with one
 * deadline: connects (each address in turn), writes, reads, and asks a judge
 * whether that was all. The connection may be kept for the next question. Runs
 * on the control thread.
 */
#ifndef CONTROL_QUERY_H
#define CONTROL_QUERY_H

#include "base/address.h"
#include "topology/health.h"
#include "topology/topology.h"

#include <event2/event.h>
#include <event2/event_struct.h>

enum query_verdict { QUERY_MORE, QUERY_DONE, QUERY_FAILED };

/* What is asked, and how an answer is told. */
struct query_kind {
    struct slice question;
    size_t answer_max; /* bytes; more is a broken reply */
    /* Reads all that came so far; QUERY_FAILED with *cause set. QUERY_DONE: it ends there. */
    enum query_verdict (*judge)(struct slice answer, enum health_cause *cause);
    bool keeps_connection;
};

enum query_state {
    QUERY_IDLE, /* fd is -1, or a connection kept */
    QUERY_CONNECTING,
    QUERY_ASKING,
};

struct query {
    const struct query_kind *kind;
    struct event_base *base;
    /* The last thing the query does; the answer is valid during the call, empty on failure. */
    void (*on_end)(struct query *query, enum health_cause cause, struct slice answer);
    void *arg; /* the owner's */

    enum query_state state;
    int fd;
    struct event io;
    struct event timer;
    bool is_kept_over; /* the connection in use answered an earlier question */
    struct endpoint endpoints[TOPOLOGY_ENDPOINTS_MAX];
    uint32_t endpoint_count;
    uint32_t endpoint; /* in use, or to begin with */
    uint32_t tried;    /* of this question */
    uint64_t begun_us;
    uint64_t timer_us; /* when timer is to go off */
    uint64_t deadline_us;
    enum health_cause pending_cause; /* the question has failed; told when the timer fires */
    size_t sent;
    char *answer;
    size_t answer_len;
};

void query_init(struct query *query, const struct query_kind *kind, struct event_base *base);

/* Ends what is under way without a call. */
void query_fini(struct query *query);

/* Asks; on_end is called from the loop, exactly once. Must be QUERY_IDLE. */
void query_start(struct query *query, const struct endpoint *endpoints, uint32_t count,
                 uint64_t timeout_us);

#endif
