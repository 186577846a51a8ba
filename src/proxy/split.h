/*
 * Splits a request over several servers: a get of many keys by their owners,
 * flush_all and stats to everyone. Runs on the worker's thread.
 */
#ifndef PROXY_SPLIT_H
#define PROXY_SPLIT_H

#include "proxy/exchange.h"

/* Each splits exchange into legs and submits them. False: out of memory. */
MUST_CHECK bool split_keys(struct exchange *exchange, const struct request *request);
MUST_CHECK bool split_all(struct exchange *exchange, struct slice line);

/* The client's version: answered from what is known of the servers, or else asked of all. */
MUST_CHECK bool split_version(struct exchange *exchange);

#endif
