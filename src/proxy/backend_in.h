/*
 * Reads replies and hands them to the legs they belong to. Runs on the
 * worker's thread.
 */
#ifndef PROXY_BACKEND_IN_H
#define PROXY_BACKEND_IN_H

#include "proxy/backend.h"

/* Reads what the server sent; one read. */
void backend_in_read(struct backend *backend);

#endif
