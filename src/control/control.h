/*
 * The control plane: one thread that reads the configuration, opens sockets,
 * publishes topologies, takes signals, and watches over the workers. Nothing
 * here is on the path of a request. Runs on the main thread.
 */
#ifndef CONTROL_CONTROL_H
#define CONTROL_CONTROL_H

#include "base/log.h"
#include "base/mailbox.h"
#include "config/config.h"
#include "proxy/worker.h"
#include "topology/topology.h"

#include <event2/event.h>

struct admin;
struct member;
struct resolver;
struct event_log;
struct http;
struct metrics;
struct questions;
struct watching;

enum { CONTROL_SIGNALS = 4 };

/* What changes of the topology came to. Whoever makes a change counts it here. */
struct change_counts {
    uint64_t reloads;         /* that were taken */
    uint64_t reloads_refused; /* because of a mistake */
    uint64_t reload_wall_us;  /* of the last attempt; 0: none */
    bool reload_was_taken;    /* the last attempt */
    uint64_t ejections;
    uint64_t rejoins;
    double moved;     /* part of the key space that the last change moved, 0 to 1 */
    double moved_sum; /* over all changes since the start */
};

struct control {
    struct config *config; /* the one in force */
    struct event_base *base;
    struct topology_slot slot;
    struct workers workers;
    struct mailbox mailbox;
    struct event *mail_event;
    struct event *signal_events[CONTROL_SIGNALS];
    struct event *drain_timer;
    struct event *later_timer; /* for what memory was short for */
    struct event *names_timer; /* for names that are not answered at once */
    struct admin *admin;
    struct http *http;
    struct metrics *metrics;
    struct event_log *events; /* NULL: none yet */
    struct watching *watch;
    struct questions *questions;
    uint64_t started_us; /* monotonic */
    uint64_t started_wall_us;
    struct change_counts changes;
    uint64_t denied; /* connections to the admin and http ports that allow does not name */
    struct log_limit denied_log;
    bool is_stopping;
    bool is_unbuilt; /* the topology is older than the standings in it */
    struct resolver *resolver;
    struct member **members; /* by server slot; NULL where none */
    uint32_t member_count;
    uint64_t adoptions;
    uint64_t random;
    /* listening sockets opened for the topology being built */
    struct listen_socket **fresh;
    size_t fresh_count;
};

/*
 * Runs the proxy until it is told to stop; takes over config. detach: goes to
 * the background once everything is open. Returns the exit status.
 */
int control_run(struct config *config, bool detach);

#endif
