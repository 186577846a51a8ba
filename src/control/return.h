/*
 * How a member returns, step by step; see member.h for the whole.
 * Runs on the control thread.
 */
#ifndef CONTROL_RETURN_H
#define CONTROL_RETURN_H

#include "control/member.h"

/* It is well again: brings it up to date and back. */
void return_begin(struct member *member);

/* It leaves: what was being deleted from it is put back among what is to be. */
void return_stop_replay(struct member *member);

/* It failed while it was coming back, or was ejected. */
void return_give_up(struct member *member);

/* Frees what the steps hold; the member goes. */
void return_end(struct member *member);

/* A worker surrendered its journal. Takes over what mail holds. */
void return_on_surrender(struct control *control, struct worker_surrender_mail *mail);

/* Its process told its age, or would not. */
void return_on_uptime(struct member *member, const struct uptime_result *result);

void return_on_step_timeout(evutil_socket_t fd, short what, void *arg);

#endif
