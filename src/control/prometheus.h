/*
 * The counters in Prometheus's text format, from the same tables as the admin
 * port. Runs on the main thread.
 */
#ifndef CONTROL_PROMETHEUS_H
#define CONTROL_PROMETHEUS_H

#include "control/control.h"

#include <event2/buffer.h>

#define PROMETHEUS_TYPE "text/plain; version=0.0.4; charset=utf-8"

void prometheus_add(const struct control *control, struct evbuffer *out);

#endif
