/* See line.h. */
#include "proto/line.h"

#include "proto/number.h"

void line_split(struct line *line)
{
    const char *at = line->text.data;
    const char *end = at + line->text.len;
    size_t word_bytes = 0;

    line->word_count = 0;
    while (line->word_count < LINE_WORDS_MAX) {
        while (at < end && *at == ' ') {
            at++;
        }
        if (at == end) {
            break;
        }
        const char *start = at;
        while (at < end && *at != ' ') {
            at++;
        }
        line->words[line->word_count++] = slice_make(start, (size_t)(at - start));
        word_bytes += (size_t)(at - start);
    }
    line->is_canonical = line->word_count > 0 &&
                         word_bytes + line->word_count - 1 == line->text.len &&
                         line->whole.len == line->text.len + 2;
}

bool line_ends_in_noreply(const struct line *line)
{
    return line->word_count > 1 &&
           slice_equals(line->words[line->word_count - 1], SLICE("noreply"));
}

bool word_is_u64(struct slice word, uint64_t value)
{
    char text[NUMBER_TEXT_MAX];
    uint32_t plain;

    return number_read_plain(word, &plain) ||
           slice_equals(word, slice_make(text, number_write_u64(text, value)));
}

bool word_is_i64(struct slice word, int64_t value)
{
    char text[NUMBER_TEXT_MAX];
    uint32_t plain;

    return number_read_plain(word, &plain) ||
           slice_equals(word, slice_make(text, number_write_i64(text, value)));
}

static void writer_put(struct line_writer *writer, struct slice bytes)
{
    size_t room = (size_t)(writer->end - writer->at);
    size_t len = bytes.len < room ? bytes.len : room;

    memcpy(writer->at, bytes.data, len);
    writer->at += len;
}

void line_writer_begin(struct line_writer *writer, char *text, size_t capacity)
{
    writer->start = text;
    writer->at = text;
    writer->end = text + capacity;
}

void line_writer_word(struct line_writer *writer, struct slice word)
{
    if (writer->at != writer->start) {
        writer_put(writer, SLICE(" "));
    }
    writer_put(writer, word);
}

void line_writer_u64(struct line_writer *writer, uint64_t value)
{
    char text[NUMBER_TEXT_MAX];

    line_writer_word(writer, slice_make(text, number_write_u64(text, value)));
}

void line_writer_i64(struct line_writer *writer, int64_t value)
{
    char text[NUMBER_TEXT_MAX];

    line_writer_word(writer, slice_make(text, number_write_i64(text, value)));
}

struct slice line_writer_end(struct line_writer *writer)
{
    writer_put(writer, SLICE("\r\n"));
    return slice_make(writer->start, (size_t)(writer->at - writer->start));
}
