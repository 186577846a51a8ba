/*
 * ketamactl share: each server's share of the key space. Main thread.
 */
#ifndef CLI_SHARE_H
#define CLI_SHARE_H

#include "cli/arguments.h"

enum cli_exit share_run(const struct cli_arguments *arguments);

#endif
