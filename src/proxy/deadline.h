/*
 * Deadlines of requests and connects: what is due fails. Runs on the worker's
 * thread.
 */
#ifndef PROXY_DEADLINE_H
#define PROXY_DEADLINE_H

#include "proxy/backend.h"

/* Fails what is due at now; returns when to look again (UINT64_MAX: no need). */
uint64_t deadline_expire(struct backend *backend, uint64_t now_us);

#endif
