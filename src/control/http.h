/*
 * The http port: metrics, health of the proxy itself, numbers as JSON, and a
 * page for people. Read-only. Runs on the main thread, on libevent's evhttp.
 */
#ifndef CONTROL_HTTP_H
#define CONTROL_HTTP_H

#include "control/control.h"

/* Opens the socket. NULL with a sentence in error. */
struct http *http_open(struct control *control, char *error, size_t error_size);

/* Begins to accept; control->base exists now. */
MUST_CHECK bool http_start(struct http *http);

void http_free(struct http *http); /* NULL is fine */

#endif
