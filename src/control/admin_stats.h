/*
 * The admin command `stats` and its groups. Runs on the main thread.
 */
#ifndef CONTROL_ADMIN_STATS_H
#define CONTROL_ADMIN_STATS_H

#include "control/admin_command.h"

bool admin_stats_run(struct admin_call *call);

#endif
