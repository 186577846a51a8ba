/*
 * ketamactl -a ADMIN COMMAND...: asks a running ketamad. Main thread.
 */
#ifndef CLI_ASK_H
#define CLI_ASK_H

#include "cli/arguments.h"

enum cli_exit ask_run(const struct cli_arguments *arguments);

#endif
