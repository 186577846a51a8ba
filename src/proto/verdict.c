/* See verdict.h. */
#include "proto/verdict.h"

#include "proto/number.h"

void verdict_answer(struct request *request, enum answer_id id)
{
    request->route = ROUTE_LOCAL;
    request->answer = answer_text(id);
}

void verdict_close(struct request *request, enum answer_id id)
{
    verdict_answer(request, id);
    request->close = true;
}

struct line_writer verdict_writer(struct request *request)
{
    struct line_writer writer;

    line_writer_begin(&writer, request->text, sizeof(request->text));
    return writer;
}

void verdict_send(struct request *request, struct slice line)
{
    request->line = line;
}

bool block_read_length(const struct line *line, size_t word, size_t *bytes)
{
    int64_t length;

    if (word >= line->word_count || !number_read_i64(line->words[word], &length)) {
        return false;
    }
    /* 1.6.18 keeps the low 32 bits of a longer length, newer ones refuse it; so do we */
    if (length < 0 || length > BLOCK_BYTES_MAX) {
        return false;
    }
    *bytes = (size_t)length;
    return true;
}

void block_refuse(struct request *request, const struct line *line, size_t word, enum answer_id id)
{
    size_t bytes;

    verdict_answer(request, id);
    if (block_read_length(line, word, &bytes)) {
        request->swallow_bytes = bytes + 2;
    } else if (line->word_count > 1) {
        request->close = true;
    }
}

bool block_outgrows_item(size_t value_bytes, size_t key_bytes, bool has_flags, size_t max_bytes)
{
    enum { HEADER_BYTES = 48, CAS_BYTES = 8, FLAGS_BYTES = 4, ENDS_BYTES = 3 };

    return HEADER_BYTES + CAS_BYTES + key_bytes + (has_flags ? FLAGS_BYTES : 0) + value_bytes +
               ENDS_BYTES >
           max_bytes;
}

enum parse_status block_take(struct request *request, struct line *line, size_t bytes)
{
    size_t block_bytes = bytes + 2;

    if (line->rest.len < block_bytes) {
        request->need_bytes = line->whole.len + block_bytes;
        return PARSE_MORE;
    }
    line->block_taken = block_bytes;
    if (memcmp(line->rest.data + bytes, "\r\n", 2) != 0) {
        verdict_answer(request, ANSWER_BAD_CHUNK);
        return PARSE_DONE;
    }
    request->value = slice_make(line->rest.data, block_bytes);
    return PARSE_DONE;
}
