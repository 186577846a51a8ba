/*
 * set, add, replace, append, prepend, cas: the line is judged whole, as a
 * server that refuses one runs the block behind it as commands. Pure; any thread.
 */
#ifndef PROTO_STORAGE_H
#define PROTO_STORAGE_H

#include "proto/line.h"
#include "proto/request.h"

MUST_CHECK enum parse_status storage_judge(struct request *request, struct line *line,
                                           const struct request_limits *limits);

#endif
