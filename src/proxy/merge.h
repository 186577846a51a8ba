/*
 * Words the answer to a finished exchange out of what its legs brought: values
 * in the order of the keys asked, one line for all servers, sums of stats.
 * Runs on the worker's thread.
 */
#ifndef PROXY_MERGE_H
#define PROXY_MERGE_H

#include "proxy/exchange.h"

/* Appends the answer to q. False: out of memory, q may hold a part of it. */
MUST_CHECK bool merge_answer(struct exchange *exchange, struct outq *q);

#endif
