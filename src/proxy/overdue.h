/*
 * Clients that are closed because they kept still for too long: at all
 * (client_idle_timeout), before they close a connection on which all is said,
 * or with memory that others are refused. Runs on the worker's thread.
 */
#ifndef PROXY_OVERDUE_H
#define PROXY_OVERDUE_H

#include "proxy/worker.h"

/* Once a second. */
void overdue_close_clients(struct worker *worker);

#endif
