/*
 * The steps by which a member leaves and returns: its phase, the time a step
 * may take, and what it asks of the workers. Runs on the control thread.
 */
#ifndef CONTROL_STEP_H
#define CONTROL_STEP_H

#include "control/member.h"

enum { STEP_GATE_MAX_MS = 1000 }; /* a gate closed for longer is opened again */

/* The one function that changes member's phase; it may take any time at first. */
void step_to(struct member *member, enum member_phase next);

/* After ms return_on_step_timeout is called, unless another step begins. */
void step_allow_ms(struct member *member, unsigned ms);

/* Asks every worker for member's journal: see worker_surrender_mail. */
void step_ask_workers(struct member *member, enum surrender_quiet quiet, bool closes);

#endif
