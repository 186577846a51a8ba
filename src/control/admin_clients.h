/*
 * `clients`: who is connected. Each worker lists its own and answers by mail;
 * the command's answer is complete when all have. Runs on the main thread.
 */
#ifndef CONTROL_ADMIN_CLIENTS_H
#define CONTROL_ADMIN_CLIENTS_H

#include "control/admin_command.h"
#include "proxy/roster.h"

bool admin_clients_run(struct admin_call *call);

/* A worker has answered. Takes over mail. */
void admin_clients_take(struct control *control, struct control_roster_mail *mail);

/* The session is gone. */
void admin_clients_forget(struct control *control, const struct session *session);
void admin_clients_free(struct control *control);

#endif
