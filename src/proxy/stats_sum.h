/*
 * Sums the STAT lines of several servers, by name, where a sum means
 * something. Runs on the worker's thread.
 */
#ifndef PROXY_STATS_SUM_H
#define PROXY_STATS_SUM_H

#include "proxy/exchange.h"

/* Appends one STAT list for all legs that answered, or an error line where none did. */
MUST_CHECK bool stats_sum(struct exchange *exchange, struct outq *q);

#endif
