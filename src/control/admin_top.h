/*
 * `top`: rates over the last second, on one screen. Runs on the main thread.
 */
#ifndef CONTROL_ADMIN_TOP_H
#define CONTROL_ADMIN_TOP_H

#include "control/admin_command.h"

bool admin_top_run(struct admin_call *call);

#endif
