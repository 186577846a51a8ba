/*
 * Everything the page shows, as one JSON object. Runs on the main thread.
 */
#ifndef CONTROL_STATS_JSON_H
#define CONTROL_STATS_JSON_H

#include "control/control.h"

#include <event2/buffer.h>

void stats_json_add(struct control *control, struct evbuffer *out);

#endif
