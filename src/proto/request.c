/*
 * See request.h. Finds the line, what it begins with, and hands it to the file
 * that knows its family; the outcomes are set in verdict.c.
 */
#include "proto/request.h"

#include "base/blank.h"
#include "proto/keyed.h"
#include "proto/keyless.h"
#include "proto/line.h"
#include "proto/meta.h"
#include "proto/retrieval.h"
#include "proto/storage.h"
#include "proto/verdict.h"

enum {
    BINARY_MAGIC = 0x80,
    LEADING_BLANKS_MAX = 100, /* before a long get line, as memcached has it */
};

/* Field by field: the texts at the end are large and need no clearing. */
static void request_begin(struct request *request)
{
    const struct slice nothing = {"", 0};

    request->command = &commands[COMMAND_ROW_NONE];
    request->route = ROUTE_LOCAL;
    request->key = nothing;
    request->wire_key = nothing;
    request->keys = nothing;
    request->key_count = 0;
    request->keys_prefix = nothing;
    request->stats_group = nothing;
    request->line = nothing;
    request->value = nothing;
    request->answer = nothing;
    request->swallow_bytes = 0;
    request->noreply = false;
    request->quiet = false;
    request->is_safe_to_repeat = false;
    request->ends_with_mn = false;
    request->close = false;
    request->is_foreign = false;
    request->need_bytes = 0;
    request->scanned = 0;
}

static bool begins_with(struct slice text, struct slice prefix)
{
    return text.len >= prefix.len && memcmp(text.data, prefix.data, prefix.len) == 0;
}

/* True for the start of a line whose keys may go on for as long as they like. */
static bool is_keys_line(struct slice text)
{
    size_t blanks = 0;

    while (blanks < text.len && text.data[blanks] == ' ') {
        blanks++;
    }
    if (blanks > LEADING_BLANKS_MAX) {
        return false;
    }
    text = slice_make(text.data + blanks, text.len - blanks);
    return begins_with(text, SLICE("get ")) || begins_with(text, SLICE("gets ")) ||
           begins_with(text, SLICE("gat ")) || begins_with(text, SLICE("gats "));
}

static size_t line_limit(struct slice text)
{
    return text.len > REQUEST_LINE_MAX && is_keys_line(text) ? REQUEST_KEYS_LINE_MAX
                                                             : REQUEST_LINE_MAX;
}

/* No newline yet: wait for it, or close without a word, as memcached does. */
static enum parse_status await_newline(struct request *request, struct slice text, size_t *consumed)
{
    if (text.len > line_limit(text)) {
        verdict_close(request, ANSWER_NONE);
        *consumed = text.len;
        return PARSE_DONE;
    }
    request->scanned = text.len;
    return PARSE_MORE;
}

/* True for "GET /path HTTP/1.1" and its like: a method, a target and a version. */
static bool is_http(struct slice text)
{
    size_t method = 0;

    while (method < text.len && text.data[method] >= 'A' && text.data[method] <= 'Z') {
        method++;
    }
    if (method == 0 || method == text.len || text.data[method] != ' ') {
        return false;
    }
    const char *last = memrchr(text.data, ' ', text.len);
    struct slice version = slice_make(last + 1, text.len - (size_t)(last + 1 - text.data));
    return last > text.data + method && begins_with(version, SLICE("HTTP/"));
}

/* The line without its end: "\r\n" or a bare newline, but a lone "\r" before it is a word. */
static void line_begin(struct line *line, const char *data, const char *newline, size_t len)
{
    size_t bytes = (size_t)(newline - data);

    line->whole = slice_make(data, bytes + 1);
    line->rest = slice_make(newline + 1, len - bytes - 1);
    line->block_taken = 0;
    if (bytes > 1 && newline[-1] == '\r') {
        bytes--;
    }
    line->text = slice_make(data, bytes);
    line->has_nul = memchr(data, '\0', bytes) != NULL;
}

/* Takes the first word off the text. */
static struct slice take_command(struct slice *text)
{
    const char *at = text->data;
    const char *end = at + text->len;

    while (at < end && *at == ' ') {
        at++;
    }
    const char *start = at;
    while (at < end && *at != ' ') {
        at++;
    }
    *text = slice_make(at, (size_t)(end - at));
    return slice_make(start, (size_t)(at - start));
}

/* A NUL ends the line for some readers and not for others: two readings of a line are refused. */
static void refuse_nul(struct request *request, struct line *line)
{
    line_split(line);
    request->noreply = request->command->takes_noreply && line_ends_in_noreply(line);
    verdict_answer(request, ANSWER_BAD_FORMAT);
}

static bool has_fitting_words(const struct command *command, const struct line *line)
{
    return line->word_count >= command->words_min &&
           (command->words_max == 0 || line->word_count <= command->words_max);
}

static enum parse_status judge(struct request *request, struct line *line,
                               const struct request_limits *limits)
{
    struct slice arguments = line->text;
    const struct command *command = command_find(take_command(&arguments));

    request->command = command;
    request->route = command->route;
    if (line->has_nul && !command->takes_value) {
        refuse_nul(request, line);
        return PARSE_DONE;
    }
    if (command->route == ROUTE_EACH_KEY) {
        retrieval_judge(request, line, arguments);
        return PARSE_DONE;
    }
    line_split(line);
    if (command->takes_value) {
        return command->id == COMMAND_MS ? meta_judge(request, line, limits)
                                         : storage_judge(request, line, limits);
    }
    if (!has_fitting_words(command, line)) {
        verdict_answer(request, ANSWER_ERROR);
        return PARSE_DONE;
    }
    if (command->reply == REPLY_META && command->route == ROUTE_KEY) {
        return meta_judge(request, line, limits);
    }
    if (command->route == ROUTE_KEY) {
        keyed_judge(request, line);
    } else {
        keyless_judge(request, line, limits);
    }
    return PARSE_DONE;
}

static bool is_overlong(const struct line *line)
{
    return line->whole.len > REQUEST_LINE_MAX + 1 && line->whole.len - 1 > line_limit(line->text);
}

/*
 * memcached reads a long line when its newline is there at the first look, and
 * closes when it is not. The same here, but no server gets to see such a line:
 * to it, the newline might come later.
 */
static void close_overlong(struct request *request)
{
    if (request->route != ROUTE_LOCAL) {
        request->swallow_bytes = 0;
        verdict_close(request, ANSWER_NONE);
    }
}

/*
 * The common case, "get KEY\r\n" as one would write it; what is not as plain, and every refusal, is
 * for judge. False: it is not that, or not whole.
 */
static bool take_plain_get(struct request *request, const char *data, size_t len, size_t *consumed)
{
    const struct slice prefix = SLICE("get ");
    const size_t longest = prefix.len + REQUEST_KEY_MAX + 2;
    const char *key;
    const char *end;
    const char *stop;

    if (!begins_with(slice_make(data, len), prefix)) {
        return false;
    }
    key = data + prefix.len;
    end = data + (len < longest ? len : longest); /* the line may be long, and come bit by bit */
    stop = blank_or_control_find(key, end);
    if (stop == key || end - stop < 2 || stop[0] != '\r' || stop[1] != '\n') {
        return false;
    }
    request->command = &commands[COMMAND_ROW_GET];
    request->route = ROUTE_EACH_KEY;
    request->keys_prefix = prefix;
    request->keys = slice_make(key, (size_t)(stop - key));
    request->key = slice_make(key, (size_t)(stop - key));
    request->wire_key = slice_make(key, (size_t)(stop - key));
    request->key_count = 1;
    request->is_safe_to_repeat = true;
    request->line = slice_make(data, (size_t)(stop + 2 - data));
    *consumed = request->line.len;
    return true;
}

enum parse_status request_parse(struct request *request, const char *data, size_t len,
                                size_t scanned, bool is_first, const struct request_limits *limits,
                                size_t *consumed)
{
    struct line line;

    request_begin(request);
    if (len == 0) {
        return PARSE_MORE;
    }
    if (take_plain_get(request, data, len, consumed)) {
        return PARSE_DONE;
    }
    if (is_first && (unsigned char)data[0] == BINARY_MAGIC) {
        request->is_foreign = true;
        verdict_close(request, ANSWER_NOT_BINARY);
        *consumed = len;
        return PARSE_DONE;
    }
    const char *newline = memchr(data + scanned, '\n', len - scanned);
    if (newline == NULL) {
        return await_newline(request, slice_make(data, len), consumed);
    }
    line_begin(&line, data, newline, len);
    *consumed = line.whole.len;
    if (is_first && is_http(line.text)) {
        request->is_foreign = true;
        verdict_close(request, ANSWER_NOT_HTTP);
        return PARSE_DONE;
    }
    if (judge(request, &line, limits) == PARSE_MORE && !is_overlong(&line)) {
        request->scanned = line.whole.len - 1;
        return PARSE_MORE;
    }
    *consumed += line.block_taken;
    if (is_overlong(&line)) { /* not once its block is there: a line is not read at each piece */
        close_overlong(request);
    }
    if (request->noreply) {
        request->answer = slice_make("", 0);
    }
    return PARSE_DONE;
}
