/*
 * ketamactl locate: which server has a key. Main thread.
 */
#ifndef CLI_LOCATE_H
#define CLI_LOCATE_H

#include "cli/arguments.h"

enum cli_exit locate_run(const struct cli_arguments *arguments);

#endif
