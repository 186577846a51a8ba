/*
 * Admin commands about rings: `ring`, `locate`. Runs on the main thread.
 */
#ifndef CONTROL_ADMIN_RING_H
#define CONTROL_ADMIN_RING_H

#include "control/admin_command.h"

bool admin_ring_run(struct admin_call *call);
bool admin_locate_run(struct admin_call *call);

#endif
