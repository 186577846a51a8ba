/* delete, incr, decr, touch: one key, no block. Pure; any thread. */
#ifndef PROTO_KEYED_H
#define PROTO_KEYED_H

#include "proto/line.h"
#include "proto/request.h"

void keyed_judge(struct request *request, struct line *line);

#endif
