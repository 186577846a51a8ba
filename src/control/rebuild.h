/*
 * Builds topologies from the configuration: opens listening sockets, looks up
 * addresses, publishes. Runs on the main thread.
 */
#ifndef CONTROL_REBUILD_H
#define CONTROL_REBUILD_H

#include "control/control.h"

/* Builds and publishes the first topology. False with a sentence in error. */
MUST_CHECK bool rebuild_first(struct control *control, char *error, size_t error_size);

/* Lets go of what building holds. */
void rebuild_fini(struct control *control);

#endif
