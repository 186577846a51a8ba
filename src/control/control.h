/*
 * The control plane: one thread that reads the configuration, opens sockets,
 * publishes topologies, takes signals, and watches over the workers. Nothing
 * here is on the path of a request. Runs on the main thread.
 */
#ifndef CONTROL_CONTROL_H
#define CONTROL_CONTROL_H

#include "base/mailbox.h"
#include "config/config.h"
#include "proxy/worker.h"
#include "topology/topology.h"

#include <event2/event.h>

struct admin;

struct control {
    struct config *config; /* the one in force */
    struct event_base *base;
    struct topology_slot slot;
    struct workers workers;
    struct mailbox mailbox;
    struct event *mail_event;
    struct event *signal_events[5];
    struct event *drain_timer;
    struct admin *admin;
    uint64_t started_us;      /* monotonic */
    uint64_t started_wall_us;
    unsigned workers_stopped;
    bool is_stopping;
    int exit_status;
    /* listening sockets opened for the topology being built */
    struct listen_socket **fresh;
    size_t fresh_count;
};

/*
 * Runs the proxy until it is told to stop; takes over config. detach: goes to
 * the background once everything is open. Returns the exit status.
 */
int control_run(struct config *config, bool detach);

/* Begins to stop: gently the first time, at once the second. */
void control_stop(struct control *control);

/* Opens the log as config says. False with a sentence in error. */
MUST_CHECK bool control_open_log(const struct config *config, char *error, size_t error_size);

#endif
