/*
 * Connections to a server that were given up while the server may still act on
 * what was sent. The write side is shut; what comes is dropped; the server's
 * close tells that everything sent before has been carried out. Runs on the
 * worker's thread.
 */
#ifndef PROXY_LINGER_H
#define PROXY_LINGER_H

#include "proxy/backend.h"

/* Takes over fd. */
void linger_start(struct backend_set *set, int fd);

/* Resets all at once. */
void linger_stop_all(struct backend_set *set);

/*
 * Resets those that have lingered for so long that the other end, which is alive, will not close
 * them: it may never have heard of their end.
 */
void linger_stop_old(struct backend_set *set);

#endif
