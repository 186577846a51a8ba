/*
 * Why a part of a request brought no reply: the texts that clients are told,
 * and the names that counters have. Any thread.
 */
#ifndef PROXY_LEG_CAUSE_H
#define PROXY_LEG_CAUSE_H

enum leg_cause {
    LEG_OK,
    LEG_REFUSED,     /* the server's host refused the connection */
    LEG_UNREACHABLE, /* no route, or another failure to connect */
    LEG_CONNECT_TIMEOUT,
    LEG_RESET,      /* the connection broke */
    LEG_CLOSED,     /* the server closed the connection */
    LEG_CROWDED,    /* the server takes no more connections */
    LEG_TIMEOUT,    /* no reply within request_timeout */
    LEG_BROKEN,     /* the server sent what cannot be a reply */
    LEG_QUEUE_FULL, /* too many bytes wait for this server */
    LEG_UNRESOLVED, /* the server's name has no address */
    LEG_OUT_OF_MEMORY,
    LEG_NO_DESCRIPTOR, /* the proxy has no descriptor left for a connection */
    LEG_REMOVED,       /* the server was taken out of the configuration */
    LEG_SKIPPED,       /* flush_all, stats: an out server is not asked, and that is no failure */
    LEG_DOWN,          /* known to be down: fails fast, was not asked */
    LEG_CUT_OFF,       /* asked, and taken out: it may have been carried out */
    LEG_NO_SERVER,     /* every server of the pool is down */
    LEG_NO_POOL,       /* no pool takes this key */
    LEG_CAUSES,
};

const char *leg_cause_text(enum leg_cause cause);

/* As one word, for counters: "connect_timeout". */
const char *leg_cause_name(enum leg_cause cause);

#endif
