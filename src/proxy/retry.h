/*
 * What is tried again, and where: a leg whose connection broke, or whose server
 * was not reached or is configured no longer. Runs on the worker's thread.
 */
#ifndef PROXY_RETRY_H
#define PROXY_RETRY_H

#include "proxy/backend.h"

/*
 * Sends leg, which failed for cause and is in no pipeline, once more where that can do no harm.
 * False: it has failed for good.
 */
MUST_CHECK bool retry_leg(struct leg *leg, enum leg_cause cause);

#endif
