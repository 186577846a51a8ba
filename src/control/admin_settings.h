/*
 * `stats settings`: every configuration key with the value in force, from the
 * key table. Runs on the main thread.
 */
#ifndef CONTROL_ADMIN_SETTINGS_H
#define CONTROL_ADMIN_SETTINGS_H

#include "control/control.h"

#include <event2/buffer.h>

void admin_settings_add(struct control *control, struct evbuffer *out);

#endif
