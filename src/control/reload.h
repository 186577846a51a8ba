/*
 * Takes over an edited configuration: loads the whole file, changes nothing on
 * a mistake, publishes the rest as one topology. Runs on the main thread.
 */
#ifndef CONTROL_RELOAD_H
#define CONTROL_RELOAD_H

#include "control/control.h"

#include <event2/buffer.h>

/*
 * Reloads. out (or NULL) gets the answer, a line each. True: the file is in force, false: nothing
 * changed, and the reasons are in the log and in out.
 */
bool reload_run(struct control *control, struct evbuffer *out);

/* Wants the names of config's servers looked up. False: out of memory, none of them is. */
MUST_CHECK bool reload_want_names(struct control *control, const struct config *config);

#endif
