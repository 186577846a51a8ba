/* See answer.h. */
#include "proto/answer.h"

#include <assert.h>

#define TEXT(literal)                                                                              \
    {                                                                                              \
        literal "\r\n", sizeof(literal "\r\n") - 1                                                 \
    }

/* clang-format off */
static const struct slice texts[ANSWER_COUNT] = {
    [ANSWER_NONE] = {"", 0},
    [ANSWER_OK] = TEXT("OK"),
    [ANSWER_MN] = TEXT("MN"),
    [ANSWER_END] = TEXT("END"),
    [ANSWER_ERROR] = TEXT("ERROR"),
    [ANSWER_BAD_FORMAT] = TEXT("CLIENT_ERROR bad command line format"),
    [ANSWER_BAD_DELETE] =
        TEXT("CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]"),
    [ANSWER_BAD_EXPTIME] = TEXT("CLIENT_ERROR invalid exptime argument"),
    [ANSWER_BAD_DELTA] = TEXT("CLIENT_ERROR invalid numeric delta argument"),
    [ANSWER_BAD_CHUNK] = TEXT("CLIENT_ERROR bad data chunk"),
    [ANSWER_TOO_LARGE] = TEXT("SERVER_ERROR object too large for cache"),
    [ANSWER_NO_FLUSH] = TEXT("CLIENT_ERROR flush_all not allowed"),
    [ANSWER_INVALID_FLAG] = TEXT("CLIENT_ERROR invalid flag"),
    [ANSWER_DUPLICATE_FLAG] = TEXT("CLIENT_ERROR duplicate flag"),
    [ANSWER_INVALID_OR_DUPLICATE_FLAG] = TEXT("CLIENT_ERROR invalid or duplicate flag"),
    [ANSWER_BAD_TOKEN] = TEXT("CLIENT_ERROR bad token in command line format"),
    [ANSWER_BAD_MODE_LENGTH] = TEXT("CLIENT_ERROR incorrect length for M token"),
    [ANSWER_BAD_MS_MODE] = TEXT("CLIENT_ERROR invalid mode for ms M token"),
    [ANSWER_BAD_INITIAL] = TEXT("CLIENT_ERROR invalid numeric initial value"),
    [ANSWER_BAD_META_DELTA] = TEXT("CLIENT_ERROR invalid numeric delta value"),
    [ANSWER_BAD_BASE64] = TEXT("CLIENT_ERROR error decoding key"),
    [ANSWER_LONG_OPAQUE] = TEXT("CLIENT_ERROR opaque token too long"),
    [ANSWER_MANY_FLAGS] = TEXT("CLIENT_ERROR options flags too long"),
    [ANSWER_MANY_MG_FLAGS] = TEXT("CLIENT_ERROR options flags are too long"),
    [ANSWER_NOT_BINARY] =
        TEXT("CLIENT_ERROR this proxy speaks memcached's text protocol, not the binary one"),
    [ANSWER_NOT_HTTP] =
        TEXT("CLIENT_ERROR this port speaks memcached's text protocol, not HTTP"),
};
/* clang-format on */

struct slice answer_text(enum answer_id id)
{
    assert(id < ANSWER_COUNT);
    return texts[id];
}
