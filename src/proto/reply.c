/*
 * See reply.h. Strict on purpose: a line that memcached would not write here
 * means that a reply was lost or mistaken, and nothing behind it can be trusted.
 */
#include "proto/reply.h"

#include "proto/number.h"

#include <assert.h>

enum {
    REPLY_KEY_MAX = 250,
};

/* A whole line of a reply, and which kinds of request it may answer. */
struct final_line {
    const char *text;
    size_t text_len;
    enum reply_code code;
    unsigned int kinds; /* bits 1 << enum reply_kind */
    bool has_more;      /* a blank and anything else may follow */
};

#define LINE_OF(literal) literal, sizeof(literal) - 1

enum {
    IN_LINE = 1 << REPLY_LINE,
    IN_VALUES = 1 << REPLY_VALUES,
    IN_META = 1 << REPLY_META | 1 << REPLY_META_MN,
    IN_STATS = 1 << REPLY_STATS,
    IN_ANY = IN_LINE | IN_VALUES | IN_META | IN_STATS,
};

/* clang-format off */
static const struct final_line final_lines[] = {
    { LINE_OF("END"),          CODE_END,          IN_VALUES | IN_STATS, false },
    { LINE_OF("STORED"),       CODE_STORED,       IN_LINE,  false },
    { LINE_OF("HD"),           CODE_HD,           IN_META,  true  },
    { LINE_OF("EN"),           CODE_EN,           IN_META,  true  },
    { LINE_OF("NF"),           CODE_NF,           IN_META,  true  },
    { LINE_OF("NS"),           CODE_NS,           IN_META,  true  },
    { LINE_OF("EX"),           CODE_EX,           IN_META,  true  },
    { LINE_OF("ME"),           CODE_ME,           IN_META,  true  },
    { LINE_OF("MN"),           CODE_MN,           IN_META,  false },
    { LINE_OF("NOT_STORED"),   CODE_NOT_STORED,   IN_LINE,  false },
    { LINE_OF("EXISTS"),       CODE_EXISTS,       IN_LINE,  false },
    { LINE_OF("NOT_FOUND"),    CODE_NOT_FOUND,    IN_LINE,  false },
    { LINE_OF("DELETED"),      CODE_DELETED,      IN_LINE,  false },
    { LINE_OF("TOUCHED"),      CODE_TOUCHED,      IN_LINE,  false },
    { LINE_OF("OK"),           CODE_OK,           IN_LINE | IN_STATS,  false },
    { LINE_OF("RESET"),        CODE_RESET,        IN_LINE | IN_STATS,  false },
    { LINE_OF("VERSION"),      CODE_VERSION,      IN_LINE,  true  },
    { LINE_OF("ERROR"),        CODE_ERROR,        IN_ANY,   true  },
    { LINE_OF("CLIENT_ERROR"), CODE_CLIENT_ERROR, IN_ANY,   true  },
    { LINE_OF("SERVER_ERROR"), CODE_SERVER_ERROR, IN_ANY,   true  },
};
/* clang-format on */

void reply_begin(struct reply_parser *parser, enum reply_kind kind)
{
    *parser = (struct reply_parser){.kind = kind};
}

/* Takes the next word of a line whose words are parted by one blank each; empty at its end. */
static struct slice take_word(struct slice *line)
{
    const char *blank = memchr(line->data, ' ', line->len);
    size_t len = blank != NULL ? (size_t)(blank - line->data) : line->len;
    struct slice word = slice_make(line->data, len);
    size_t taken = blank != NULL ? len + 1 : len;

    *line = slice_make(line->data + taken, line->len - taken);
    return word;
}

static bool begins_with_word(struct slice line, const char *word, size_t len)
{
    return line.len >= len && memcmp(line.data, word, len) == 0 &&
           (line.len == len || line.data[len] == ' ');
}

/* A value of bytes follows the header that was just read. */
static enum reply_event begin_body(struct reply_parser *parser, uint64_t bytes, uint64_t max,
                                   struct reply *reply)
{
    if (bytes > max || bytes > UINT64_MAX - 2) {
        return REPLY_BROKEN;
    }
    parser->in_body = true;
    parser->body_left = bytes + 2;
    reply->value_bytes = bytes;
    return REPLY_HEADER;
}

/* "VALUE key flags bytes[ cas]", the first word already taken. */
static enum reply_event read_value(struct reply_parser *parser, struct slice line, uint64_t max,
                                   struct reply *reply)
{
    uint64_t flags;
    uint64_t bytes;
    uint64_t unique;

    reply->key = take_word(&line);
    if (reply->key.len == 0 || reply->key.len > REPLY_KEY_MAX ||
        !number_read_digits(take_word(&line), &flags) ||
        !number_read_digits(take_word(&line), &bytes)) {
        return REPLY_BROKEN;
    }
    /* a blank behind the length promises a cas, and nothing follows that */
    if (line.data[-1] == ' ' &&
        (!number_read_digits(take_word(&line), &unique) || line.len > 0 || line.data[-1] == ' ')) {
        return REPLY_BROKEN;
    }
    parser->ends_with_body = false;
    return begin_body(parser, bytes, max, reply);
}

/* Finds the key among the flags that a meta reply gives back. */
static void read_flags(const struct reply_parser *parser, struct slice flags, struct reply *reply)
{
    struct slice raw = parser->raw_key;

    while (flags.len > 0) {
        struct slice flag;

        if (raw.len > 0 && flags.data[0] == 'k' &&
            begins_with_word(slice_make(flags.data + 1, flags.len - 1), raw.data, raw.len)) {
            reply->key = slice_make(flags.data + 1, raw.len);
            flags = slice_make(flags.data + 1 + raw.len, flags.len - 1 - raw.len);
        }
        flag = take_word(&flags);
        if (flag.len > 0 && flag.data[0] == 'k') {
            reply->key = slice_make(flag.data + 1, flag.len - 1);
        } else if (flag.len == 1 && flag.data[0] == 'b') {
            reply->key_is_base64 = true;
        }
    }
}

/* "VA bytes flags", the first word already taken. */
static enum reply_event read_meta_value(struct reply_parser *parser, struct slice line,
                                        uint64_t max, struct reply *reply)
{
    uint64_t bytes;

    if (!number_read_digits(take_word(&line), &bytes)) {
        return REPLY_BROKEN;
    }
    read_flags(parser, line, reply);
    reply->code = CODE_VA;
    parser->ends_with_body = parser->kind == REPLY_META;
    return begin_body(parser, bytes, max, reply);
}

/* The line that ends the reply. */
static enum reply_event read_final(const struct reply_parser *parser, struct slice line,
                                   struct reply *reply)
{
    uint64_t number;

    reply->is_final = true;
    for (size_t row = 0; row < ARRAY_LEN(final_lines); row++) {
        const struct final_line *final = &final_lines[row];

        if ((final->kinds >> parser->kind & 1) == 0 ||
            !begins_with_word(line, final->text, final->text_len)) {
            continue;
        }
        if (line.len > final->text_len && !final->has_more) {
            return REPLY_BROKEN;
        }
        reply->code = final->code;
        if ((parser->kind == REPLY_META || parser->kind == REPLY_META_MN) &&
            final->code != CODE_ME && line.len > final->text_len) {
            size_t skip = final->text_len + 1;

            read_flags(parser, slice_make(line.data + skip, line.len - skip), reply);
        }
        if (parser->kind == REPLY_META_MN && final->code != CODE_MN) {
            reply->is_final = false;
            return REPLY_STAT;
        }
        return REPLY_FINAL;
    }
    if (parser->kind == REPLY_LINE && number_read_digits(line, &number)) {
        reply->code = CODE_NUMBER;
        return REPLY_FINAL;
    }
    return REPLY_BROKEN;
}

/*
 * Takes note of a line of REPLY_META_MN. False where it is a second reply before MN: a server that
 * answers mn in another way would be heard on and on, other requests' replies too.
 */
static bool comes_once(struct reply_parser *parser, struct slice line)
{
    bool is_first = !parser->has_reply;

    parser->has_reply = true;
    return is_first || slice_equals(line, SLICE("MN"));
}

static enum reply_event read_line(struct reply_parser *parser, struct slice line, uint64_t max,
                                  struct reply *reply)
{
    struct slice rest = line;
    struct slice word = take_word(&rest);

    if (parser->kind == REPLY_META_MN && !comes_once(parser, line)) {
        return REPLY_BROKEN;
    }
    switch (parser->kind) {
    case REPLY_VALUES:
        if (slice_equals(word, SLICE("VALUE"))) {
            return read_value(parser, rest, max, reply);
        }
        break;
    case REPLY_META:
    case REPLY_META_MN:
        if (slice_equals(word, SLICE("VA"))) {
            return read_meta_value(parser, rest, max, reply);
        }
        break;
    case REPLY_STATS:
        if (slice_equals(word, SLICE("STAT"))) {
            return rest.len > 0 ? REPLY_STAT : REPLY_BROKEN;
        }
        break;
    case REPLY_LINE:
        break;
    }
    return read_final(parser, line, reply);
}

/* Hands on what there is of the body and checks that it ends where the header said. */
static enum reply_event read_body(struct reply_parser *parser, const char *data, size_t len,
                                  struct reply *reply)
{
    uint64_t left = parser->body_left;
    size_t take = len < left ? len : (size_t)left;

    if ((left >= 2 && take > left - 2 && data[left - 2] != '\r') ||
        (take == left && data[left - 1] != '\n')) {
        return REPLY_BROKEN;
    }
    parser->body_left = left - take;
    reply->bytes = take;
    if (parser->body_left == 0) {
        parser->in_body = false;
        reply->is_final = parser->ends_with_body;
        reply->code = parser->ends_with_body ? CODE_VA : CODE_END;
    }
    return REPLY_BODY;
}

void reply_skip_body(struct reply_parser *parser, uint64_t bytes)
{
    assert(parser->in_body && bytes + 2 <= parser->body_left);
    parser->body_left -= bytes;
}

/* True where the raw key stands at key, as far as there are bytes before data_end. */
static bool is_raw_key(struct slice raw, const char *key, const char *data_end)
{
    size_t here = (size_t)(data_end - key);

    return memcmp(key, raw.data, here < raw.len ? here : raw.len) == 0;
}

/*
 * Where the raw key is given back from data on before end, as a flag or as the second word of ME,
 * returns the byte behind it, which may lie behind data_end; NULL where it is not.
 */
static const char *skip_raw_key(struct slice raw, const char *data, const char *end,
                                const char *data_end)
{
    const struct slice debug = SLICE("ME ");

    if ((size_t)(end - data) >= debug.len && memcmp(data, debug.data, debug.len) == 0) {
        const char *key = data + debug.len;

        return is_raw_key(raw, key, data_end) ? key + raw.len : NULL;
    }
    for (const char *at = data; end - at >= 2; at++) {
        if (at[0] == ' ' && at[1] == 'k' && is_raw_key(raw, at + 2, data_end)) {
            return at + 2 + raw.len;
        }
    }
    return NULL;
}

/* The end of the line that begins at data; NULL where it is not there yet. */
static const char *find_newline(struct slice raw, const char *data, const char *end)
{
    const char *newline = memchr(data, '\n', (size_t)(end - data));
    const char *behind;

    if (raw.len == 0 || newline == NULL) {
        return newline;
    }
    behind = skip_raw_key(raw, data, newline, end);
    if (behind == NULL || behind <= newline) {
        return newline;
    }
    return behind < end ? memchr(behind, '\n', (size_t)(end - behind)) : NULL;
}

enum reply_event reply_parse(struct reply_parser *parser, const char *data, size_t len,
                             uint64_t max_value_bytes, struct reply *reply)
{
    *reply = (struct reply){.code = CODE_END};
    if (len == 0) {
        return REPLY_NEED_MORE;
    }
    if (parser->in_body) {
        return read_body(parser, data, len, reply);
    }
    size_t span = len < REPLY_LINE_BYTES_MAX ? len : REPLY_LINE_BYTES_MAX;
    const char *newline = find_newline(parser->raw_key, data, data + span);
    if (newline == NULL) {
        return len < REPLY_LINE_BYTES_MAX ? REPLY_NEED_MORE : REPLY_BROKEN;
    }
    if (newline == data || newline[-1] != '\r') {
        return REPLY_BROKEN;
    }
    struct slice line = slice_make(data, (size_t)(newline - 1 - data));
    reply->bytes = line.len + 2;
    return read_line(parser, line, max_value_bytes, reply);
}

/* Reads digits up to end, of which most fit in 64 bits for sure; NULL where there is none or more.
 */
static inline const char *take_digits(const char *at, const char *end, ptrdiff_t most,
                                      uint64_t *value)
{
    const char *start = at;
    uint64_t sum = 0;

    for (; at < end && (unsigned char)(*at - '0') <= 9; at++) {
        sum = sum * 10 + (uint64_t)(*at - '0');
    }
    *value = sum;
    return at > start && at - start <= most ? at : NULL;
}

size_t reply_whole_value(const char *data, size_t len, struct slice key, uint64_t max_value_bytes,
                         uint64_t *value_bytes)
{
    enum { WORD_BYTES = 6, DIGITS_SAFE = 19 };
    const char *end = data + len;
    const char *at = data + WORD_BYTES + key.len;
    uint64_t number;

    if (key.len == 0 || key.len > REPLY_KEY_MAX || len <= WORD_BYTES + key.len ||
        memcmp(data, "VALUE ", WORD_BYTES) != 0 ||
        memcmp(data + WORD_BYTES, key.data, key.len) != 0 || *at != ' ') {
        return 0;
    }
    at = take_digits(at + 1, end, DIGITS_SAFE, &number);
    if (at == NULL || at == end || *at != ' ') {
        return 0;
    }
    at = take_digits(at + 1, end, DIGITS_SAFE, value_bytes);
    if (at != NULL && at < end && *at == ' ') {
        at = take_digits(at + 1, end, DIGITS_SAFE, &number); /* of a gets */
    }
    if (at == NULL || end - at < 4 || at[0] != '\r' || at[1] != '\n' ||
        *value_bytes > max_value_bytes || *value_bytes > (uint64_t)(end - at - 4)) {
        return 0;
    }
    at += 2 + *value_bytes;
    return at[0] == '\r' && at[1] == '\n' ? (size_t)(at + 2 - data) : 0;
}

bool reply_is_quiet(const struct command *command, enum reply_code code)
{
    switch (command->id) {
    case COMMAND_MG:
        return code == CODE_EN;
    case COMMAND_MS:
    case COMMAND_MD:
        return code == CODE_HD;
    case COMMAND_MA:
        return code == CODE_HD || code == CODE_VA;
    default:
        return false;
    }
}
