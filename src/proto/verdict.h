/*
 * The outcomes of judging a request, each set in one place: answered here,
 * sent on, or refused together with its data block. Pure; any thread.
 */
#ifndef PROTO_VERDICT_H
#define PROTO_VERDICT_H

#include "proto/answer.h"
#include "proto/line.h"
#include "proto/request.h"

enum {
    BLOCK_BYTES_MAX = 2147483645, /* memcached's largest announced length: INT_MAX - 2 */
};

/* Answered here and nothing else. */
void verdict_answer(struct request *request, enum answer_id id);

/* Closed once the answer is out. */
void verdict_close(struct request *request, enum answer_id id);

/* Writes the request's line, or its answer, into its own text. */
struct line_writer verdict_writer(struct request *request);

/* Sent on by its key or to all, with a line as received or as written anew. */
void verdict_send(struct request *request, struct slice line);

/* Reads the length announced by a storage line; false where no block can be found by it. */
MUST_CHECK bool block_read_length(const struct line *line, size_t word, size_t *bytes);

/*
 * Refuses a storage line. word is the index of its length: a length that can
 * be read lets the block be skipped, any other leaves nothing but to close.
 */
void block_refuse(struct request *request, const struct line *line, size_t word, enum answer_id id);

/*
 * True where memcached has no item for so large a value though the value alone is no larger than
 * max_bytes: it keeps header, CAS, key, flags and value in one (1.6.18, items.c, measured).
 */
bool block_outgrows_item(size_t value_bytes, size_t key_bytes, bool has_flags, size_t max_bytes);

/* Takes the block of that many bytes from behind the line, or says what it waits for. */
MUST_CHECK enum parse_status block_take(struct request *request, struct line *line, size_t bytes);

#endif
