/*
 * What is allowed in a pool but seldom meant. Main thread.
 */
#ifndef CLI_ADVICE_H
#define CLI_ADVICE_H

#include "cli/pools.h"

/* Takes one sentence. */
typedef void advice_fn(void *arg, const char *sentence);

void advice_give(const struct cli_pool *pool, advice_fn *fn, void *arg);

#endif
