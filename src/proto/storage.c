/* See storage.h. */
#include "proto/storage.h"

#include "proto/number.h"
#include "proto/verdict.h"

enum {
    WORD_KEY = 1,
    WORD_FLAGS = 2,
    WORD_EXPTIME = 3,
    WORD_LENGTH = 4,
    WORD_UNIQUE = 5,
};

/* What the line says, as memcached keeps it. */
struct storage {
    uint32_t flags;
    int32_t exptime;
    size_t value_bytes;
    uint64_t unique;
    bool is_plain; /* the numbers stand there as they would be written */
};

/* Nearly all lines: nothing in flags, exptime and length to be read in memcached's own way. */
static bool read_plain_numbers(const struct line *line, struct storage *storage)
{
    uint32_t exptime;
    uint32_t length;

    if (!number_read_plain(line->words[WORD_FLAGS], &storage->flags) ||
        !number_read_plain(line->words[WORD_EXPTIME], &exptime) ||
        !number_read_plain(line->words[WORD_LENGTH], &length)) {
        return false;
    }
    storage->exptime = (int32_t)exptime;
    storage->value_bytes = length;
    return true;
}

/* The numbers of a line that has words enough; false where memcached refuses one of them. */
static bool read_numbers(const struct request *request, const struct line *line,
                         struct storage *storage)
{
    uint64_t flags;
    int64_t exptime;

    storage->unique = 0;
    storage->is_plain = read_plain_numbers(line, storage);
    if (storage->is_plain) {
        return request->command->id != COMMAND_CAS ||
               number_read_u64(line->words[WORD_UNIQUE], &storage->unique);
    }
    if (!number_read_u64(line->words[WORD_FLAGS], &flags) ||
        !number_read_i64(line->words[WORD_EXPTIME], &exptime) ||
        !block_read_length(line, WORD_LENGTH, &storage->value_bytes)) {
        return false;
    }
    /* memcached takes 64 bits and keeps 32: what it would keep is what it is sent */
    storage->flags = (uint32_t)flags;
    storage->exptime = (int32_t)exptime;
    return request->command->id != COMMAND_CAS ||
           number_read_u64(line->words[WORD_UNIQUE], &storage->unique);
}

static bool is_sendable(const struct request *request, const struct line *line,
                        const struct storage *storage)
{
    return line->is_canonical && line->word_count == request->command->words_min &&
           (storage->is_plain || (word_is_u64(line->words[WORD_FLAGS], storage->flags) &&
                                  word_is_i64(line->words[WORD_EXPTIME], storage->exptime) &&
                                  word_is_u64(line->words[WORD_LENGTH], storage->value_bytes))) &&
           (request->command->id != COMMAND_CAS ||
            word_is_u64(line->words[WORD_UNIQUE], storage->unique));
}

static struct slice write_line(struct request *request, const struct storage *storage)
{
    struct line_writer writer = verdict_writer(request);

    line_writer_word(&writer, slice_make(request->command->name, request->command->name_len));
    line_writer_word(&writer, request->wire_key);
    line_writer_u64(&writer, storage->flags);
    line_writer_i64(&writer, storage->exptime);
    line_writer_u64(&writer, storage->value_bytes);
    if (request->command->id == COMMAND_CAS) {
        line_writer_u64(&writer, storage->unique);
    }
    return line_writer_end(&writer);
}

/* A set must not leave the old value behind, so it becomes a delete. */
static void refuse_large(struct request *request)
{
    if (request->command->id != COMMAND_SET) {
        verdict_answer(request, ANSWER_TOO_LARGE);
        return;
    }
    struct line_writer writer = verdict_writer(request);
    request->route = request->command->route;
    line_writer_word(&writer, SLICE("delete"));
    line_writer_word(&writer, request->wire_key);
    verdict_send(request, line_writer_end(&writer));
    request->answer = answer_text(ANSWER_TOO_LARGE);
}

enum parse_status storage_judge(struct request *request, struct line *line,
                                const struct request_limits *limits)
{
    const struct command *command = request->command;
    struct storage storage;

    if (line->word_count < command->words_min || line->word_count > command->words_max) {
        block_refuse(request, line, WORD_LENGTH, ANSWER_ERROR);
        return PARSE_DONE;
    }
    request->noreply = line_ends_in_noreply(line);
    if (line->has_nul || line->words[WORD_KEY].len > REQUEST_KEY_MAX ||
        !read_numbers(request, line, &storage)) {
        block_refuse(request, line, WORD_LENGTH, ANSWER_BAD_FORMAT);
        return PARSE_DONE;
    }
    request->key = line->words[WORD_KEY];
    request->wire_key = request->key;
    if (storage.value_bytes > limits->max_value_bytes) {
        request->swallow_bytes = storage.value_bytes + 2;
        refuse_large(request);
        return PARSE_DONE;
    }
    enum parse_status status = block_take(request, line, storage.value_bytes);
    if (status == PARSE_DONE && request->route == ROUTE_LOCAL &&
        block_outgrows_item(storage.value_bytes, request->key.len, storage.flags != 0,
                            limits->max_value_bytes)) {
        refuse_large(request); /* as memcached does, before it comes to the end */
    } else if (status == PARSE_DONE && request->route != ROUTE_LOCAL) {
        verdict_send(request, is_sendable(request, line, &storage) ? line->whole
                                                                   : write_line(request, &storage));
    }
    return status;
}
