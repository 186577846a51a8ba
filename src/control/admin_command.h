/*
 * The commands of the admin port, one table. Runs on the main thread.
 */
#ifndef CONTROL_ADMIN_COMMAND_H
#define CONTROL_ADMIN_COMMAND_H

#include "control/control.h"

#include <event2/buffer.h>

/* Runs one line and appends its answer to out. False: the session is to end. */
MUST_CHECK bool admin_command_run(struct control *control, const char *line, size_t len,
                                  struct evbuffer *out);

#endif
