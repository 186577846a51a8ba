/*
 * Builds topologies from the configuration: opens listening sockets, looks up
 * addresses, publishes, and says what moved. Runs on the main thread.
 */
#ifndef CONTROL_REBUILD_H
#define CONTROL_REBUILD_H

#include "control/control.h"

/* Opens every listen line of config that is not open yet. False with a sentence in error. */
MUST_CHECK bool rebuild_open_listens(struct control *control, const struct config *config,
                                     char *error, size_t error_size);

/* Closes what was opened for a topology that was not published. */
void rebuild_drop_fresh(struct control *control);

/*
 * Builds the topology of config and publishes it; its listens are open. NULL or moved: where to
 * say how much of the key space moved, "; 12.50 % of pool main's keys move", or nothing. False with
 * a sentence in error, and nothing changed.
 */
MUST_CHECK bool rebuild_publish(struct control *control, const struct config *config, char *moved,
                                size_t moved_size, char *error, size_t error_size);

/*
 * The same for the configuration in force: a standing or an address changed. Where memory is short
 * it is done later.
 */
void rebuild_standing(struct control *control, char *moved, size_t moved_size);

/* The generation that shows all standings as they are; it may be still to come. */
uint64_t rebuild_generation(const struct control *control);

/* Tries again soon what memory was short for: the topology, members of servers. */
void rebuild_later(struct control *control);
void rebuild_on_later(evutil_socket_t fd, short what, void *arg);

/* Names have been awaited for long enough. */
void rebuild_on_names(evutil_socket_t fd, short what, void *arg);

#endif
