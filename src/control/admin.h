/*
 * The admin port: one command a line, answers for people and programs. Runs on
 * the main thread, on libevent's buffers, since nothing here is in a hurry.
 */
#ifndef CONTROL_ADMIN_H
#define CONTROL_ADMIN_H

#include "control/control.h"

#include <event2/buffer.h>

struct admin_call;
struct session;

/* Opens the socket. NULL with a sentence in error. */
struct admin *admin_open(struct control *control, char *error, size_t error_size);

/* Begins to accept; control->base exists now. */
MUST_CHECK bool admin_start(struct admin *admin);

/* Ends, once they have their answers, sessions from networks that are allowed no longer. */
void admin_end_denied(struct admin *admin);

void admin_free(struct admin *admin); /* NULL is fine */

/* The session's next commands wait until session_go_on: its answer is not complete yet. */
void session_wait(struct session *session);
void session_go_on(struct session *session);

/* Answers OK, at once or when every worker goes by the topology published last. */
void admin_answer_adopted(struct admin_call *call);

/* Answers who waits for that; some worker has adopted a topology. */
void admin_on_adopted(struct admin *admin);

/* Where its answers go. */
struct evbuffer *session_output(struct session *session);

#endif
