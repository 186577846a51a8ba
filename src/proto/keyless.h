/*
 * Commands about the server as a whole: stats, flush_all, version, verbosity,
 * mn, quit, and those that a proxy refuses. Pure; any thread.
 */
#ifndef PROTO_KEYLESS_H
#define PROTO_KEYLESS_H

#include "proto/line.h"
#include "proto/request.h"

void keyless_judge(struct request *request, struct line *line, const struct request_limits *limits);

#endif
