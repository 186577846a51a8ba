/*
 * Any bytes as a client's stream: each request is parsed from all there is and
 * again byte by byte, and both must say the same. The first byte of the input
 * chooses the limits.
 */
#include "proto/request.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void assert_same(struct slice a, struct slice b)
{
    assert(slice_equals(a, b));
}

/* What a server gets must be one line to it, whatever it makes of blanks and NULs. */
static void assert_one_line(struct slice line)
{
    assert(line.len >= 3);
    assert(memcmp(line.data + line.len - 2, "\r\n", 2) == 0);
    assert(memchr(line.data, '\n', line.len) == line.data + line.len - 1);
    assert(memchr(line.data, '\0', line.len) == NULL);
    assert(line.data[0] != ' ' && line.data[line.len - 3] != ' ');
}

static void assert_keys(const struct request *request)
{
    struct slice rest = request->keys;
    struct slice key;
    size_t count = 0;

    while (request_next_key(&rest, &key)) {
        assert(key.len > 0 && key.len <= REQUEST_KEY_MAX);
        assert(memchr(key.data, '\n', key.len) == NULL);
        assert(memchr(key.data, '\0', key.len) == NULL);
        count++;
    }
    assert(count == request->key_count && count > 0);
    assert(request->keys_prefix.data[request->keys_prefix.len - 1] == ' ');
    assert((count == 1) == (request->line.len > 0));
}

static void assert_sound(const struct request *request, const struct request_limits *limits)
{
    switch (request->route) {
    case ROUTE_LOCAL:
        assert(request->value.len == 0);
        break;
    case ROUTE_EACH_KEY:
        assert_keys(request);
        break;
    case ROUTE_KEY:
        assert(request->key.len > 0 && request->key.len <= REQUEST_KEY_MAX);
        assert_one_line(request->line);
        assert(request->line.len <= REQUEST_LINE_MAX + 2);
        break;
    case ROUTE_ALL:
        assert_one_line(request->line);
        break;
    }
    assert(request->value.len <= limits->max_value_bytes + 2);
    if (request->value.len > 0) {
        assert(memcmp(request->value.data + request->value.len - 2, "\r\n", 2) == 0);
    }
    if (request->answer.len > 0) {
        assert_one_line(request->answer);
        assert(!request->noreply);
    }
    assert(!(request->noreply && request->quiet));
}

/* The length of the line decides whether its split may matter, as it does to memcached. */
static bool is_long(const char *data, size_t len)
{
    const char *newline = memchr(data, '\n', len);

    return (newline != NULL ? (size_t)(newline - data) : len) > REQUEST_LINE_MAX;
}

static void assert_split_is_no_matter(const struct request *whole, const char *data, size_t len,
                                      size_t consumed, bool is_first,
                                      const struct request_limits *limits)
{
    static struct request pieces;
    size_t scanned = 0;
    size_t taken = 0;

    for (size_t have = 0; have < consumed; have++) {
        enum parse_status status =
            request_parse(&pieces, data, have, scanned, is_first, limits, &taken);

        if (status == PARSE_DONE) {
            assert(pieces.is_foreign); /* it only takes as much as there is */
            return;
        }
        assert(pieces.scanned >= scanned && pieces.scanned <= have);
        assert(pieces.need_bytes == 0 || pieces.need_bytes == consumed);
        scanned = pieces.scanned;
    }
    assert(request_parse(&pieces, data, consumed, scanned, is_first, limits, &taken) == PARSE_DONE);
    assert(taken == consumed && taken <= len);
    assert(pieces.command == whole->command && pieces.route == whole->route);
    assert_same(pieces.key, whole->key);
    assert_same(pieces.keys, whole->keys);
    assert_same(pieces.keys_prefix, whole->keys_prefix);
    assert_same(pieces.line, whole->line);
    assert_same(pieces.value, whole->value);
    assert_same(pieces.answer, whole->answer);
    assert(pieces.swallow_bytes == whole->swallow_bytes);
    assert(pieces.noreply == whole->noreply && pieces.quiet == whole->quiet);
    assert(pieces.close == whole->close && pieces.is_foreign == whole->is_foreign);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct request request;

    if (size == 0) {
        return 0;
    }
    struct request_limits limits = {(data[0] & 1) != 0 ? 16 : 4096, (data[0] & 2) == 0};
    bool is_first = (data[0] & 4) == 0;
    size_t left = size - 1;
    char *stream = malloc(left + 1);
    assert(stream != NULL);
    memcpy(stream, data + 1, left);

    const char *at = stream;
    size_t consumed = 0;
    while (request_parse(&request, at, left, 0, is_first, &limits, &consumed) == PARSE_DONE) {
        assert(consumed >= 1 && consumed <= left);
        assert_sound(&request, &limits);
        if (!is_long(at, left)) {
            assert_split_is_no_matter(&request, at, left, consumed, is_first, &limits);
        }
        at += consumed;
        left -= consumed;
        is_first = false;
    }
    assert(left == 0 || request.scanned <= left);
    free(stream);
    return 0;
}
