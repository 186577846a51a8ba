/*
 * The admin commands that concern single servers. Runs on the main thread.
 */
#ifndef CONTROL_ADMIN_MEMBER_H
#define CONTROL_ADMIN_MEMBER_H

#include "control/admin_command.h"

/* Each appends its answer to out and returns true: the session goes on. */
bool admin_member_servers(struct admin_call *call);
bool admin_member_eject(struct admin_call *call);
bool admin_member_restore(struct admin_call *call);
bool admin_member_drain(struct admin_call *call);

#endif
