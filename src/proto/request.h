/*
 * Parses one client request at the head of a buffer, exactly as memcached
 * 1.6.18 would read it, and says what to do with it. A storage line is judged
 * completely before anything of it may be forwarded. Pure; any thread.
 *
 * Reference for every text: docs/protocol.md.
 */
#ifndef PROTO_REQUEST_H
#define PROTO_REQUEST_H

#include "base/blank.h"
#include "proto/command.h"

enum {
    REQUEST_KEY_MAX = 250,
    REQUEST_LINE_MAX = 2048,          /* without a newline by then: closed, but see below */
    REQUEST_KEYS_LINE_MAX = 64 << 20, /* bound on get/gets/gat/gats lines, which may be long */
};

enum parse_status {
    PARSE_DONE, /* one whole request was taken, *consumed bytes long */
    PARSE_MORE, /* nothing was taken; call again with more bytes behind the same ones */
};

struct request_limits {
    size_t max_value_bytes; /* largest value taken; larger ones are swallowed and refused */
    bool allow_flush;
};

/*
 * A parsed request. Slices point into the parsed buffer or into this struct's
 * own text and are valid as long as both are.
 */
struct request {
    const struct command *command;
    enum command_route route; /* the command's, or ROUTE_LOCAL when it was refused here */

    /* ROUTE_KEY: the key's bytes as placed (base64 decoded) and as written on the wire. */
    struct slice key;
    struct slice wire_key;
    /* ROUTE_EACH_KEY: the keys, with the blanks between them; step with request_next_key. */
    struct slice keys;
    size_t key_count;
    /*
     * ROUTE_EACH_KEY: what a part's line begins with: "get ", "gets ", "gat 100 ".
     * A server closes on a gat line over REQUEST_LINE_MAX that comes in pieces,
     * so keep a part's line below that; get and gets may be as long as they like.
     * With key_count 1, key and line are set as for ROUTE_KEY.
     */
    struct slice keys_prefix;

    struct slice stats_group; /* COMMAND_STATS: "items", "reset"; empty for bare stats */

    /*
     * ROUTE_KEY, ROUTE_ALL: the line to send, "\r\n" included: noreply and q
     * removed, blanks single, numbers as parsed. Followed on the wire by value.
     */
    struct slice line;
    struct slice value; /* the data block with its "\r\n", else empty */

    /*
     * ROUTE_LOCAL: the whole answer, "\r\n" included, empty for silence. For
     * another route, if not empty: the request is sent, its reply awaited and
     * dropped, and this is answered instead (an oversized set that must also
     * remove the old value sends a delete).
     */
    struct slice answer;
    /* On any route: to be read and dropped behind *consumed, before the answer. */
    size_t swallow_bytes;

    bool noreply;      /* no answer at all, not even an error: answer is empty too */
    bool ends_with_mn; /* line is to be followed by "mn\r\n", and its reply is a REPLY_META_MN */
    bool quiet;        /* meta q: the replies that reply_is_quiet() names are dropped */
    bool is_safe_to_repeat; /* a second sending can change neither items nor replies */
    bool close;             /* close once the answer is out */
    bool is_foreign;        /* binary protocol or HTTP: for the counter */
    size_t need_bytes;      /* PARSE_MORE: total bytes of the request where known, else 0 */
    size_t scanned;         /* PARSE_MORE: bytes already searched for a newline */

    char text[REQUEST_LINE_MAX + 64]; /* rewritten line or keys_prefix or answer */
    char decoded_key[REQUEST_KEY_MAX + 6];
};

/*
 * Reads the request at data[0..len). is_first: nothing was read from this
 * client before. scanned: the value left by the last PARSE_MORE on the same
 * bytes, else 0. Never reads past len; on PARSE_DONE sets *consumed >= 1.
 */
MUST_CHECK enum parse_status request_parse(struct request *request, const char *data, size_t len,
                                           size_t scanned, bool is_first,
                                           const struct request_limits *limits, size_t *consumed);

/* Takes the next key from *rest; false when there is none. */
static inline bool request_next_key(struct slice *rest, struct slice *key)
{
    const char *at = rest->data;
    const char *end = at + rest->len;

    while (at < end && *at == ' ') {
        at++;
    }
    if (at == end) {
        return false;
    }
    const char *stop = blank_find(at, end);
    *key = slice_make(at, (size_t)(stop - at));
    *rest = slice_make(stop, (size_t)(end - stop));
    return true;
}

#endif
