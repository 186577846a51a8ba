/*
 * Reads replies and hands them to the legs they belong to. Runs on the
 * worker's thread.
 */
#ifndef PROXY_BACKEND_IN_H
#define PROXY_BACKEND_IN_H

#include "proxy/backend.h"

/* Reads what the server sent; one read. */
void backend_in_read(struct backend *backend);

/* Drops the tube of a body under way, if there is one, and what was counted for it. */
void backend_in_drop_tube(struct backend *backend);

#endif
