/* See meta.h. */
#include "proto/meta.h"

#include "proto/base64.h"
#include "proto/number.h"
#include "proto/verdict.h"

enum {
    WORD_KEY = 1,
    WORD_LENGTH = 2,         /* of ms */
    META_WORDS_MAX = 19,     /* the command, its key and, for ms, its length among them */
    META_OPAQUE_MAX = 32,    /* with its O */
    META_FLAGS_BEYOND = 127, /* a first byte from here on is called a duplicate */
};

/* What the flags of a line say. */
struct meta_flags {
    enum answer_id error; /* what 1.6.18 refuses the flags with, or ANSWER_NONE */
    bool has_unknown;     /* a flag that 1.6.18 does not know: newer servers may */
    bool is_repeatable;   /* only flags that read */
    bool has_long_opaque;
    bool has_autovivify;
    size_t quiet_count;
    size_t base64_count;
    uint32_t client_flags;
    char mode;
};

/* Judges a number behind a flag's letter. */
static void judge_number(struct meta_flags *flags, struct slice word)
{
    struct slice digits = slice_make(word.data + 1, word.len - 1);
    int64_t i64;
    uint64_t u64;

    switch (word.data[0]) {
    case 'N':
    case 'T':
    case 'R':
        flags->is_repeatable = false;
        flags->has_autovivify |= word.data[0] == 'N';
        if (!number_read_i64(digits, &i64)) {
            flags->error = ANSWER_BAD_TOKEN;
        }
        break;
    case 'C':
        if (!number_read_u64(digits, &u64)) {
            flags->error = ANSWER_BAD_TOKEN;
        }
        break;
    case 'F':
        /* a bad F keeps the text of an error found before it */
        if (number_read_u64(digits, &u64)) {
            flags->client_flags = (uint32_t)u64;
        } else if (flags->error == ANSWER_NONE) {
            flags->error = ANSWER_BAD_FORMAT;
        }
        break;
    case 'J':
        if (!number_read_u64(digits, &u64)) {
            flags->error = ANSWER_BAD_INITIAL;
        }
        break;
    default: /* D */
        if (!number_read_u64(digits, &u64)) {
            flags->error = ANSWER_BAD_META_DELTA;
        }
        break;
    }
}

/* Judges one flag; false where 1.6.18 looks no further. */
static bool judge_flag(struct request *request, struct meta_flags *flags, struct slice word)
{
    switch (word.data[0]) {
    case 'b':
        flags->base64_count++;
        request->key.len = base64_decode(request->wire_key, request->decoded_key);
        request->key.data = request->decoded_key;
        if (request->key.len == 0) {
            flags->error = ANSWER_BAD_BASE64;
        }
        return true;
    case 'q':
        flags->quiet_count++;
        return true;
    case 'O':
        flags->has_long_opaque |= word.len > META_OPAQUE_MAX;
        return true;
    case 'M':
        if (word.len != 2) {
            flags->error = ANSWER_BAD_MODE_LENGTH;
        } else {
            flags->mode = word.data[1];
        }
        return true;
    case 'P':
    case 'L':
    case 'k':
    case 's':
    case 't':
    case 'c':
    case 'f':
    case 'v':
    case 'u':
        return true;
    case 'h':
    case 'l':
    case 'I':
        flags->is_repeatable = false;
        return true;
    case 'N':
    case 'T':
    case 'R':
    case 'C':
    case 'F':
    case 'J':
    case 'D':
        judge_number(flags, word);
        return true;
    default:
        return false;
    }
}

/*
 * Reads the flags from word first on. Behind an unknown flag only q and b are
 * looked for, as we act on them ourselves; 1.6.18 refuses such a line whatever follows.
 */
static void judge_flags(struct request *request, const struct line *line, size_t first,
                        struct meta_flags *flags)
{
    uint64_t seen[2] = {0, 0};

    *flags = (struct meta_flags){.is_repeatable = true};
    for (size_t i = first; i < line->word_count; i++) {
        struct slice word = line->words[i];
        unsigned char letter = (unsigned char)word.data[0];

        if (flags->has_unknown && letter != 'q' && letter != 'b') {
            continue;
        }
        if (letter >= META_FLAGS_BEYOND || (seen[letter / 64] >> letter % 64 & 1) != 0) {
            flags->error = flags->has_unknown ? ANSWER_INVALID_FLAG : ANSWER_DUPLICATE_FLAG;
            return;
        }
        seen[letter / 64] |= UINT64_C(1) << letter % 64;
        if (!judge_flag(request, flags, word)) {
            flags->has_unknown = true;
            flags->is_repeatable = false;
            flags->error = ANSWER_NONE;
        }
        if (flags->has_unknown && request->key.len == 0) {
            flags->error = ANSWER_INVALID_FLAG; /* no server to ask: the key has no bytes */
            return;
        }
    }
}

/* The line without q; for ms with the length as we read it. */
static struct slice write_line(struct request *request, const struct line *line, size_t first,
                               size_t value_bytes)
{
    struct line_writer writer = verdict_writer(request);

    line_writer_word(&writer, line->words[0]);
    line_writer_word(&writer, line->words[WORD_KEY]);
    if (first > WORD_LENGTH) {
        line_writer_u64(&writer, value_bytes);
    }
    for (size_t i = first; i < line->word_count; i++) {
        if (line->words[i].data[0] != 'q') {
            line_writer_word(&writer, line->words[i]);
        }
    }
    return line_writer_end(&writer);
}

/* The line with single blanks. */
static struct slice write_all(struct request *request, const struct line *line)
{
    struct line_writer writer = verdict_writer(request);

    for (size_t i = 0; i < line->word_count; i++) {
        line_writer_word(&writer, line->words[i]);
    }
    return line_writer_end(&writer);
}

/* mg, md, ma: one line, judged by its flags. */
static void judge_plain(struct request *request, const struct line *line)
{
    bool is_get = request->command->id == COMMAND_MG;
    struct meta_flags flags;

    if (request->wire_key.len > REQUEST_KEY_MAX) {
        verdict_answer(request, ANSWER_BAD_FORMAT);
        return;
    }
    if (line->word_count > META_WORDS_MAX) {
        verdict_answer(request, is_get ? ANSWER_MANY_MG_FLAGS : ANSWER_MANY_FLAGS);
        return;
    }
    judge_flags(request, line, WORD_KEY + 1, &flags);
    if (flags.error != ANSWER_NONE) {
        verdict_answer(request, is_get ? flags.error : ANSWER_INVALID_OR_DUPLICATE_FLAG);
        return;
    }
    request->quiet = flags.quiet_count > 0;
    request->is_safe_to_repeat = is_get && flags.is_repeatable;
    if (request->quiet && flags.has_autovivify && request->command->id == COMMAND_MA) {
        /* told only where the item was made, which the reply alone does not show */
        request->quiet = false;
        request->ends_with_mn = true;
        verdict_send(request, line->is_canonical ? line->whole : write_all(request, line));
        return;
    }
    verdict_send(request, line->is_canonical && !request->quiet
                              ? line->whole
                              : write_line(request, line, WORD_KEY + 1, 0));
}

/* me looks at one flag only, and has a text of its own for a key it cannot decode. */
static void judge_debug(struct request *request, const struct line *line)
{
    if (line->word_count == 1 || request->wire_key.len > REQUEST_KEY_MAX) {
        verdict_answer(request, ANSWER_BAD_FORMAT);
        return;
    }
    if (line->word_count > 2 && slice_equals(line->words[2], SLICE("b"))) {
        request->key = slice_make(request->decoded_key,
                                  base64_decode(request->wire_key, request->decoded_key));
        if (request->key.len == 0) {
            verdict_answer(request, ANSWER_BAD_FORMAT);
            return;
        }
    }
    request->is_safe_to_repeat = true;
    if (line->is_canonical) {
        verdict_send(request, line->whole);
        return;
    }
    verdict_send(request, write_all(request, line));
}

static bool is_ms_mode(char mode)
{
    return mode == '\0' || strchr("EAPRS", mode) != NULL;
}

/*
 * What 1.6.18 would refuse a line with that is otherwise left to the server.
 * It comes before anything wrong with the block.
 */
static enum answer_id find_server_error(const struct meta_flags *flags, enum answer_id otherwise)
{
    if (flags->has_unknown) {
        return ANSWER_INVALID_FLAG;
    }
    return is_ms_mode(flags->mode) ? otherwise : ANSWER_BAD_MS_MODE;
}

/*
 * A value over the limit never reaches a server, which would have removed the
 * old one in every mode, so an md is sent in its place.
 */
static void refuse_large(struct request *request, const struct meta_flags *flags)
{
    enum answer_id error = find_server_error(flags, ANSWER_TOO_LARGE);

    if (error != ANSWER_TOO_LARGE) {
        verdict_answer(request, error);
        return;
    }
    struct line_writer writer = verdict_writer(request);
    request->route = request->command->route;
    line_writer_word(&writer, SLICE("md"));
    line_writer_word(&writer, request->wire_key);
    if (flags->base64_count > 0) {
        line_writer_word(&writer, SLICE("b"));
    }
    verdict_send(request, line_writer_end(&writer));
    request->answer = answer_text(ANSWER_TOO_LARGE);
}

/* What ms is refused with before its length and flags are looked at. */
static enum answer_id find_ms_error(const struct request *request, const struct line *line)
{
    if (line->word_count == 1) {
        return ANSWER_ERROR;
    }
    if (line->has_nul || request->wire_key.len > REQUEST_KEY_MAX || line->word_count == 2) {
        return ANSWER_BAD_FORMAT;
    }
    return line->word_count > META_WORDS_MAX ? ANSWER_MANY_FLAGS : ANSWER_NONE;
}

static enum parse_status judge_set(struct request *request, struct line *line,
                                   const struct request_limits *limits)
{
    struct meta_flags flags;
    size_t value_bytes = 0;
    enum answer_id error = find_ms_error(request, line);

    if (error == ANSWER_NONE && !block_read_length(line, WORD_LENGTH, &value_bytes)) {
        error = ANSWER_BAD_FORMAT;
    }
    if (error == ANSWER_NONE) {
        judge_flags(request, line, WORD_LENGTH + 1, &flags);
        error = flags.error;
        /* a bad mode is found first, but newer servers know more modes */
        if (error == ANSWER_NONE && flags.has_long_opaque && is_ms_mode(flags.mode)) {
            error = flags.has_unknown ? ANSWER_INVALID_FLAG : ANSWER_LONG_OPAQUE;
        }
    }
    if (error != ANSWER_NONE) {
        block_refuse(request, line, WORD_LENGTH, error);
        return PARSE_DONE;
    }
    if (value_bytes > limits->max_value_bytes) {
        request->swallow_bytes = value_bytes + 2;
        refuse_large(request, &flags);
        return PARSE_DONE;
    }
    enum parse_status status = block_take(request, line, value_bytes);
    if (status == PARSE_DONE && request->route == ROUTE_LOCAL &&
        block_outgrows_item(value_bytes, request->key.len, flags.client_flags != 0,
                            limits->max_value_bytes)) {
        refuse_large(request, &flags); /* as memcached does, before it comes to the end */
    } else if (status == PARSE_DONE && request->route == ROUTE_LOCAL) {
        verdict_answer(request, find_server_error(&flags, ANSWER_BAD_CHUNK));
    } else if (status == PARSE_DONE) {
        request->quiet = flags.quiet_count > 0;
        bool is_sendable = line->is_canonical && !request->quiet &&
                           word_is_u64(line->words[WORD_LENGTH], value_bytes);

        verdict_send(request, is_sendable
                                  ? line->whole
                                  : write_line(request, line, WORD_LENGTH + 1, value_bytes));
    }
    return status;
}

enum parse_status meta_judge(struct request *request, struct line *line,
                             const struct request_limits *limits)
{
    if (line->word_count > WORD_KEY) {
        request->wire_key = line->words[WORD_KEY];
        request->key = request->wire_key;
    }
    switch (request->command->id) {
    case COMMAND_MS:
        return judge_set(request, line, limits);
    case COMMAND_ME:
        judge_debug(request, line);
        return PARSE_DONE;
    default:
        judge_plain(request, line);
        return PARSE_DONE;
    }
}
