/*
 * One line of a request, cut into words as memcached cuts it, and the means to
 * write a line anew. Owns no bytes but those a writer is given. Pure; any thread.
 */
#ifndef PROTO_LINE_H
#define PROTO_LINE_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    LINE_WORDS_MAX = 23, /* memcached looks at no more, but in the keys of a get */
};

struct line {
    struct slice whole; /* as received, with its line end */
    struct slice text;  /* without it */
    struct slice rest;  /* what was received behind it */
    size_t block_taken; /* bytes of rest that belong to the request too */
    bool has_nul;
    bool is_canonical; /* one blank between words, none around them, "\r\n" behind */
    size_t word_count;
    struct slice words[LINE_WORDS_MAX];
};

/* Fills in words, word_count and is_canonical from whole and text. */
void line_split(struct line *line);

/* True where the last word, not counting the command itself, is "noreply". */
bool line_ends_in_noreply(const struct line *line);

/* True where the word, which was read as value, maybe cut to 32 bits, is how we would write it. */
bool word_is_u64(struct slice word, uint64_t value);
bool word_is_i64(struct slice word, int64_t value);

/* Writes a line word by word. What does not fit is cut off. */
struct line_writer {
    char *start;
    char *at;
    char *end;
};

void line_writer_begin(struct line_writer *writer, char *text, size_t capacity);
void line_writer_word(struct line_writer *writer, struct slice word);
void line_writer_u64(struct line_writer *writer, uint64_t value);
void line_writer_i64(struct line_writer *writer, int64_t value);

/* Ends the line with "\r\n" and returns all of it. */
struct slice line_writer_end(struct line_writer *writer);

#endif
