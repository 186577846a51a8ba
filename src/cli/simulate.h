/*
 * ketamactl simulate: keys counted a server. Main thread.
 */
#ifndef CLI_SIMULATE_H
#define CLI_SIMULATE_H

#include "cli/arguments.h"

enum cli_exit simulate_run(const struct cli_arguments *arguments);

#endif
