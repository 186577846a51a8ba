/*
 * Writes requests, many in one call. Runs on the worker's thread.
 */
#ifndef PROXY_BACKEND_OUT_H
#define PROXY_BACKEND_OUT_H

#include "proxy/backend.h"

/* Writes what waits, and copies what could not be written out of shared chunks. Tick end. */
void backend_flush(struct backend *backend);

#endif
