/* See keyed.h. */
#include "proto/keyed.h"

#include "proto/number.h"
#include "proto/verdict.h"

enum {
    WORD_KEY = 1,
    WORD_NUMBER = 2,
};

/* The line sent is the command, its key and, for all but delete, a number. */
static bool is_sendable(const struct line *line, size_t words)
{
    return line->is_canonical && line->word_count == words;
}

static struct line_writer begin_line(struct request *request)
{
    struct line_writer writer = verdict_writer(request);

    line_writer_word(&writer, slice_make(request->command->name, request->command->name_len));
    line_writer_word(&writer, request->wire_key);
    return writer;
}

/* memcached's order: the words behind the key are judged before the key's length. */
static void judge_delete(struct request *request, const struct line *line)
{
    if (line->word_count > 2) {
        bool holds_zero = slice_equals(line->words[WORD_NUMBER], SLICE("0"));
        bool is_valid =
            line->word_count == 3 ? holds_zero || request->noreply : holds_zero && request->noreply;

        if (!is_valid) {
            verdict_answer(request, ANSWER_BAD_DELETE);
            return;
        }
    }
    if (request->wire_key.len > REQUEST_KEY_MAX) {
        verdict_answer(request, ANSWER_BAD_FORMAT);
    } else if (is_sendable(line, 2)) {
        verdict_send(request, line->whole);
    } else {
        struct line_writer writer = begin_line(request);

        verdict_send(request, line_writer_end(&writer));
    }
}

static void judge_arithmetic(struct request *request, const struct line *line)
{
    struct slice word = line->words[WORD_NUMBER];
    uint64_t delta;

    if (request->wire_key.len > REQUEST_KEY_MAX) {
        verdict_answer(request, ANSWER_BAD_FORMAT);
    } else if (!number_read_u64(word, &delta)) {
        verdict_answer(request, ANSWER_BAD_DELTA);
    } else if (is_sendable(line, 3) && word_is_u64(word, delta)) {
        verdict_send(request, line->whole);
    } else {
        struct line_writer writer = begin_line(request);

        line_writer_u64(&writer, delta);
        verdict_send(request, line_writer_end(&writer));
    }
}

static void judge_touch(struct request *request, const struct line *line)
{
    struct slice word = line->words[WORD_NUMBER];
    int64_t exptime;

    if (request->wire_key.len > REQUEST_KEY_MAX) {
        verdict_answer(request, ANSWER_BAD_FORMAT);
    } else if (!number_read_i64(word, &exptime)) {
        verdict_answer(request, ANSWER_BAD_EXPTIME);
    } else if (is_sendable(line, 3) && word_is_i64(word, (int32_t)exptime)) {
        verdict_send(request, line->whole);
    } else {
        struct line_writer writer = begin_line(request);

        line_writer_i64(&writer, (int32_t)exptime);
        verdict_send(request, line_writer_end(&writer));
    }
}

void keyed_judge(struct request *request, struct line *line)
{
    request->noreply = line_ends_in_noreply(line) &&
                       (request->command->id != COMMAND_DELETE || line->word_count > 2);
    request->key = line->words[WORD_KEY];
    request->wire_key = request->key;
    switch (request->command->id) {
    case COMMAND_DELETE:
        judge_delete(request, line);
        break;
    case COMMAND_TOUCH:
        judge_touch(request, line);
        break;
    default:
        judge_arithmetic(request, line);
        break;
    }
}
