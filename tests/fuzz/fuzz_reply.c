/*
 * Any bytes as a server's replies, taken from all there is and again in
 * pieces: both must end at the same byte with the same verdict. The first byte
 * of the input chooses the kind of reply, the second the size of the pieces.
 */
#include "proto/reply.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    MAX_VALUE = 1 << 16,
};

/* How far a reply was taken, and how it ended. */
struct outcome {
    enum reply_event last;
    enum reply_code code;
    size_t taken;
    size_t headers;
    uint64_t value_bytes;
};

static void note(struct outcome *outcome, const struct reply *reply, enum reply_event event)
{
    assert((event == REPLY_NEED_MORE) == (reply->bytes == 0) || event == REPLY_BROKEN);
    if (event == REPLY_HEADER) {
        assert(reply->value_bytes <= MAX_VALUE);
        outcome->headers++;
        outcome->value_bytes += reply->value_bytes;
    }
    if (event != REPLY_BROKEN) {
        outcome->taken += reply->bytes;
    }
    outcome->last = event;
    if (reply->is_final) {
        outcome->code = reply->code;
    }
}

static struct outcome run(enum reply_kind kind, const char *data, size_t len, size_t piece)
{
    struct outcome outcome = {.last = REPLY_NEED_MORE};
    struct reply_parser parser;
    struct reply reply;
    size_t have = piece < len ? piece : len;

    reply_begin(&parser, kind);
    for (;;) {
        enum reply_event event =
            reply_parse(&parser, data + outcome.taken, have - outcome.taken, MAX_VALUE, &reply);

        note(&outcome, &reply, event);
        assert(outcome.taken <= have);
        if (event == REPLY_BROKEN || reply.is_final) {
            return outcome;
        }
        if (event == REPLY_NEED_MORE) {
            if (have == len) {
                return outcome;
            }
            have = len - have < piece ? len : have + piece;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    enum reply_kind kind = data[0] % (REPLY_STATS + 1);
    size_t len = size - 2;
    char *bytes = malloc(len + 1);
    assert(bytes != NULL);
    memcpy(bytes, data + 2, len);

    struct outcome whole = run(kind, bytes, len, len + 1);
    struct outcome pieces = run(kind, bytes, len, 1 + data[1] % 16u);
    assert(pieces.last == whole.last);
    assert(pieces.code == whole.code);
    assert(pieces.headers == whole.headers && pieces.value_bytes == whole.value_bytes);
    /* of a broken body, pieces may have been taken before its end was seen */
    assert(pieces.taken == whole.taken || whole.last == REPLY_BROKEN);
    free(bytes);
    return 0;
}
