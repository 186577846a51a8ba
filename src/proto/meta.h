/*
 * mg, ms, md, ma, me. The flags are judged by 1.6.18's rules and in its order;
 * what only the server can know, and flags it may know and we do not, are sent
 * on, as it stays in step whatever it answers. Pure; any thread.
 */
#ifndef PROTO_META_H
#define PROTO_META_H

#include "proto/line.h"
#include "proto/request.h"

MUST_CHECK enum parse_status meta_judge(struct request *request, struct line *line,
                                        const struct request_limits *limits);

#endif
