/*
 * What a daemon asks of the system: descriptors, background, pid file, user.
 * Main thread, at the start.
 */
#ifndef CONTROL_PROCESS_H
#define CONTROL_PROCESS_H

#include "config/config.h"

/* Raises the soft limit on descriptors as far as allowed; warns where it is short of clients. */
void process_raise_descriptor_limit(unsigned clients, unsigned others);

/* Goes to the background; only the child returns. False with a sentence in error. */
MUST_CHECK bool process_detach(char *error, size_t error_size);

/* Writes the pid file where one is configured. False with a sentence in error. */
MUST_CHECK bool process_write_pidfile(const struct config *config, char *error, size_t error_size);
void process_remove_pidfile(const struct config *config);

/* Becomes the configured user. False with a sentence in error. */
MUST_CHECK bool process_drop_privileges(const struct config *config, char *error,
                                        size_t error_size);

#endif
