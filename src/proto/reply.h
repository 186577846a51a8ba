/*
 * Parses a memcached server's reply, piece by piece, and checks that it can be
 * an answer to what was asked. Pure; any thread.
 */
#ifndef PROTO_REPLY_H
#define PROTO_REPLY_H

#include "proto/command.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    REPLY_LINE_BYTES_MAX = 8192, /* a longer line from a server is broken */
    REPLY_END_BYTES = 5,
};

enum reply_event {
    REPLY_NEED_MORE, /* nothing taken: give the same bytes again with more behind them */
    REPLY_HEADER,    /* a VALUE or VA line: key and value_bytes are set; its body follows */
    REPLY_BODY,      /* some bytes of the body, its "\r\n" included */
    REPLY_STAT,      /* one STAT line, or another that does not end the reply */
    REPLY_FINAL,     /* the line that ends the reply (END, STORED, HD ..., an error line) */
    REPLY_BROKEN,    /* this cannot be: the connection is out of step */
};

/* What the final line says; what counters and the quiet rule need. */
/* clang-format off */
enum reply_code {
    CODE_END,          /* END, for values and stats */
    CODE_STORED, CODE_NOT_STORED, CODE_EXISTS, CODE_NOT_FOUND,
    CODE_DELETED, CODE_TOUCHED, CODE_OK, CODE_NUMBER, CODE_VERSION, CODE_RESET,
    CODE_HD, CODE_VA, CODE_EN, CODE_NF, CODE_NS, CODE_EX, CODE_ME, CODE_MN,
    CODE_ERROR, CODE_CLIENT_ERROR, CODE_SERVER_ERROR,
};
/* clang-format on */

/* Zero it (or reply_begin) before each reply. */
struct reply_parser {
    enum reply_kind kind;
    bool in_body;
    uint64_t body_left;  /* bytes of the body still to come, "\r\n" included */
    bool ends_with_body; /* VA: the body ends the reply */
    bool has_reply;      /* REPLY_META_MN: one came, MN is due */
    /*
     * A decoded key that a meta reply may give back as it is, whatever bytes it has; else empty.
     * Somebody else's, to be set before each reply_parse.
     */
    struct slice raw_key;
};

struct reply {
    size_t bytes;       /* how many bytes of the buffer this event took */
    struct slice key;   /* REPLY_HEADER of a VALUE; REPLY_HEADER/FINAL of a meta reply with k */
    bool key_is_base64; /* the meta reply carries b */
    uint64_t value_bytes;
    enum reply_code code; /* REPLY_FINAL; for a VA, the last REPLY_BODY has is_final */
    bool is_final;        /* this event is the last of the reply */
};

void reply_begin(struct reply_parser *parser, enum reply_kind kind);

/*
 * Takes the next event from data[0..len). max_value_bytes bounds what a header
 * may announce. Slices in *reply point into data.
 */
MUST_CHECK enum reply_event reply_parse(struct reply_parser *parser, const char *data, size_t len,
                                        uint64_t max_value_bytes, struct reply *reply);

/*
 * Bytes of the body went another way, unseen: fewer than parser->body_left by its line end at
 * least.
 */
void reply_skip_body(struct reply_parser *parser, uint64_t bytes);

/*
 * The common case in one step: where data begins with a VALUE of this key (no blank, no line end in
 * it), its body and both their line ends, returns how many bytes that is. 0: some of it is not
 * there or is another thing, which is for reply_parse to judge. Takes nothing that reply_parse
 * would not.
 */
size_t reply_whole_value(const char *data, size_t len, struct slice key, uint64_t max_value_bytes,
                         uint64_t *value_bytes);

/* True where data begins with the line that ends the values. */
static inline bool reply_begins_with_end(const char *data, size_t len)
{
    return len >= REPLY_END_BYTES && memcmp(data, "END\r\n", REPLY_END_BYTES) == 0;
}

/* True where a meta request with q hides this code ("command" is its row). */
bool reply_is_quiet(const struct command *command, enum reply_code code);

#endif
