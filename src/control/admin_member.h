/*
 * The admin commands that concern single servers. Runs on the main thread.
 */
#ifndef CONTROL_ADMIN_MEMBER_H
#define CONTROL_ADMIN_MEMBER_H

#include "control/control.h"

#include <event2/buffer.h>

/* Each appends its answer to out and returns true: the session goes on. */
bool admin_member_servers(struct control *control, struct slice arguments, struct evbuffer *out);
bool admin_member_eject(struct control *control, struct slice arguments, struct evbuffer *out);
bool admin_member_restore(struct control *control, struct slice arguments, struct evbuffer *out);
bool admin_member_drain(struct control *control, struct slice arguments, struct evbuffer *out);

#endif
