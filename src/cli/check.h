/*
 * ketamactl check: is a configuration good. Main thread.
 */
#ifndef CLI_CHECK_H
#define CLI_CHECK_H

#include "cli/arguments.h"

enum cli_exit check_run(const struct cli_arguments *arguments);

#endif
