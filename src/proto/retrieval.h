/*
 * get, gets, gat, gats: any number of keys on a line of any length, so no
 * list of words is made. Pure; any thread.
 */
#ifndef PROTO_RETRIEVAL_H
#define PROTO_RETRIEVAL_H

#include "proto/line.h"
#include "proto/request.h"

/* arguments: the line behind the command's name. */
void retrieval_judge(struct request *request, const struct line *line, struct slice arguments);

#endif
