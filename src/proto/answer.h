/*
 * The one place for every constant text that a client is answered with. The
 * texts are memcached 1.6.18's own, but for those only a proxy needs. Pure;
 * any thread.
 */
#ifndef PROTO_ANSWER_H
#define PROTO_ANSWER_H

#include "base/slice.h"

/* clang-format off */
enum answer_id {
    ANSWER_NONE, /* silence */
    ANSWER_OK, ANSWER_MN, ANSWER_END,
    ANSWER_ERROR,
    ANSWER_BAD_FORMAT, ANSWER_BAD_DELETE, ANSWER_BAD_EXPTIME, ANSWER_BAD_DELTA, ANSWER_BAD_CHUNK,
    ANSWER_TOO_LARGE,
    ANSWER_NO_FLUSH,
    ANSWER_INVALID_FLAG, ANSWER_DUPLICATE_FLAG, ANSWER_INVALID_OR_DUPLICATE_FLAG,
    ANSWER_BAD_TOKEN, ANSWER_BAD_MODE_LENGTH, ANSWER_BAD_MS_MODE, ANSWER_BAD_INITIAL,
    ANSWER_BAD_META_DELTA, ANSWER_BAD_BASE64, ANSWER_LONG_OPAQUE, ANSWER_MANY_FLAGS,
    ANSWER_MANY_MG_FLAGS,
    ANSWER_NOT_BINARY, ANSWER_NOT_HTTP,
    ANSWER_COUNT,
};
/* clang-format on */

/* The text with its "\r\n"; it lives for ever. Empty for ANSWER_NONE. */
struct slice answer_text(enum answer_id id);

#endif
