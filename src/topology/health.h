/*
 * The health of one server as a state machine: an event and the time go in,
 * what changed comes out. It says what is known of the server; whether a pool
 * can do without it (health_may_eject) and how it takes traffic again are
 * others' business. Pure; any thread.
 *
 * A failure counts where its evidence is newer than the last one counted, and
 * in traffic where some time passed too: connections that break together, and
 * all requests under way to a server that hung, are one incident. fall counted
 * ones in a row put the server down. Then probes find it again, fewer and fewer
 * while they fail; after rise good ones in a row it may rejoin, and is up
 * once whoever lets it back says so (HEALTH_REJOINED). Each fall soon after a
 * rejoin doubles the good probes asked for; time spent up halves them again.
 */
#ifndef TOPOLOGY_HEALTH_H
#define TOPOLOGY_HEALTH_H

#include "base/slice.h"

#include <stdint.h>

#define HEALTH_NEVER UINT64_MAX

enum {
    HEALTH_FLAPS_MAX = 4, /* at most rise << this good probes are asked for */
    HEALTH_BACKOFF_MAX_MS = 60 * 1000,
};

struct health_rules {
    unsigned fall;              /* >= 1 */
    unsigned rise;              /* >= 1 */
    uint64_t probe_interval_us; /* 0: servers that are up are judged by their traffic alone */
    uint64_t probe_timeout_us;
    uint64_t passive_gap_us; /* health_passive_gap */
};

enum health_state { HEALTH_UP, HEALTH_DOWN };

/* Why a probe or a request failed, or a server is out. Texts and rules are in health.c. */
enum health_cause {
    HEALTH_NO_CAUSE,
    HEALTH_REFUSED,
    HEALTH_UNREACHABLE,
    HEALTH_CONNECT_TIMEOUT,
    HEALTH_RESET,
    HEALTH_CLOSED,
    HEALTH_REQUEST_TIMEOUT,
    HEALTH_BROKEN,
    HEALTH_UNRESOLVED,    /* it has no address: down at the first */
    HEALTH_PROBE_TIMEOUT, /* connected, no answer */
    HEALTH_PROBE_ERROR,   /* answered with an error line */
    HEALTH_PROXY_TROUBLE, /* no descriptor or memory of our own: never counts */
    HEALTH_EJECTED,
    HEALTH_DRAINED,
    HEALTH_CAUSES,
};

struct health {
    enum health_state state;
    uint64_t since_us;            /* of state */
    enum health_cause cause;      /* HEALTH_DOWN: what put it there */
    enum health_cause last_cause; /* of the last counted failure; kept when it is up again */
    uint64_t counted_us;          /* when that was seen; 0: never */
    unsigned failures;            /* counted, in a row */
    unsigned successes;           /* HEALTH_DOWN: good probes in a row */
    bool may_rejoin;              /* HEALTH_DOWN: enough of them, and nothing holds it out */
    bool has_rejoined;            /* it was down once */
    unsigned flaps;               /* falls soon after a rejoin, fading; doubles what rise asks */
    uint64_t flaps_us;            /* when that last changed */
    uint64_t backoff_us;          /* HEALTH_DOWN: to wait after the next failed probe */
    uint64_t next_probe_at_us;    /* HEALTH_NEVER: none */
    /* the operator's */
    uint64_t ejected_until_us; /* 0: not; HEALTH_NEVER: until restored */
    bool is_draining;          /* until restored */
    bool is_restored;          /* one good probe will do */
};

enum health_event_kind {
    HEALTH_PROBE_BEGUN,
    HEALTH_PROBE_OK,       /* begun_us */
    HEALTH_PROBE_FAILED,   /* begun_us, ended_us, cause */
    HEALTH_TRAFFIC_OK,     /* begun_us: a request sent then was answered */
    HEALTH_TRAFFIC_FAILED, /* begun_us of the request or connect, ended_us, cause */
    HEALTH_EJECT,          /* for_us, or 0: until restored */
    HEALTH_DRAIN,
    HEALTH_RESTORE,
    HEALTH_REJOINED,      /* its journal is replayed and so on: it takes traffic */
    HEALTH_RULES_CHANGED, /* by a reload */
    HEALTH_TIME,          /* nothing but time passed */
};

struct health_event {
    enum health_event_kind kind;
    enum health_cause cause;
    uint64_t begun_us;
    uint64_t ended_us; /* when the failure was seen, by the clock that begun_us is of */
    uint64_t for_us;
};

enum health_change {
    HEALTH_SAME,
    HEALTH_WENT_DOWN,
    HEALTH_MAY_REJOIN,   /* begin to let it back; say HEALTH_REJOINED when done */
    HEALTH_REJOIN_ENDED, /* it failed again, or was ejected: stop that */
    HEALTH_WENT_UP,
};

/*
 * A server never heard of yet: up. random, here and below, is any number; it
 * spreads the probes of many servers.
 */
void health_init(struct health *health, const struct health_rules *rules, uint64_t now_us,
                 uint32_t random);

/* The one function that changes health. now_us never goes back. */
enum health_change health_apply(struct health *health, const struct health_rules *rules,
                                const struct health_event *event, uint64_t now_us, uint32_t random);

/* When HEALTH_TIME or a probe is due next; HEALTH_NEVER: not. */
uint64_t health_due_at(const struct health *health);

/* True where a probe is due. */
bool health_wants_probe(const struct health *health, uint64_t now_us);

/* Good probes in a row that a server that is down has to show. */
unsigned health_rise_wanted(const struct health *health, const struct health_rules *rules);

/* True where the operator holds it out: min_live does not apply. */
bool health_is_held_out(const struct health *health);

const char *health_cause_text(enum health_cause cause);

/* The least time between two counted failures of traffic. */
uint64_t health_passive_gap(uint64_t probe_interval_us);

/*
 * True where a pool of servers servers, live of them taking traffic, may lose
 * one more and still have min_live_percent of them.
 */
bool health_may_eject(uint32_t servers, uint32_t live, unsigned min_live_percent);

#endif
