/*
 * ketamactl plan: what an edit moves. Main thread.
 */
#ifndef CLI_PLAN_H
#define CLI_PLAN_H

#include "cli/arguments.h"

enum cli_exit plan_run(const struct cli_arguments *arguments);

#endif
