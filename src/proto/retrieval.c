/* See retrieval.h. */
#include "proto/retrieval.h"

#include "proto/number.h"
#include "proto/verdict.h"

static bool takes_exptime(const struct command *command)
{
    return command->id == COMMAND_GAT || command->id == COMMAND_GATS;
}

/* Writes "gat 100 " into the request's text; the exptime is what memcached keeps of it. */
static void write_prefix(struct request *request, int32_t exptime)
{
    char *text = request->text;
    size_t len = request->command->name_len;

    memcpy(text, request->command->name, len);
    text[len++] = ' ';
    len += number_write_i64(text + len, exptime);
    text[len++] = ' ';
    request->keys_prefix = slice_make(text, len);
}

/* Counts the keys; false where one is too long, which voids the whole line. */
static bool count_keys(struct request *request, struct slice keys)
{
    struct slice key;

    while (request_next_key(&keys, &key)) {
        if (key.len > REQUEST_KEY_MAX) {
            return false;
        }
        request->key_count++;
        request->key = key;
    }
    return true;
}

/* A line of one key, the common case, can be sent as it is. */
static void send_single(struct request *request, const struct line *line)
{
    struct slice prefix = request->keys_prefix;
    struct slice key = request->key;

    request->wire_key = key;
    if (line->whole.len == prefix.len + key.len + 2 && key.data == line->whole.data + prefix.len &&
        memcmp(line->whole.data, prefix.data, prefix.len) == 0) {
        verdict_send(request, line->whole);
        return;
    }
    char *text = request->text;
    if (prefix.data != text) {
        memcpy(text, prefix.data, prefix.len);
    }
    memcpy(text + prefix.len, key.data, key.len);
    memcpy(text + prefix.len + key.len, "\r\n", 2);
    verdict_send(request, slice_make(text, prefix.len + key.len + 2));
}

void retrieval_judge(struct request *request, const struct line *line, struct slice arguments)
{
    const struct command *command = request->command;
    struct slice keys = arguments;
    struct slice word;

    if (command->id == COMMAND_GET) {
        request->keys_prefix = SLICE("get ");
    } else if (command->id == COMMAND_GETS) {
        request->keys_prefix = SLICE("gets ");
    } else if (takes_exptime(command) && request_next_key(&keys, &word)) {
        int64_t exptime;

        if (!number_read_i64(word, &exptime)) {
            verdict_answer(request, ANSWER_BAD_EXPTIME);
            return;
        }
        write_prefix(request, (int32_t)exptime);
    } else {
        verdict_answer(request, ANSWER_ERROR);
        return;
    }
    request->key_count = 0;
    if (!count_keys(request, keys)) {
        verdict_answer(request, ANSWER_BAD_FORMAT);
        return;
    }
    if (request->key_count == 0) {
        verdict_answer(request, takes_exptime(command) ? ANSWER_END : ANSWER_ERROR);
        return;
    }
    request->keys = keys;
    request->is_safe_to_repeat = !command->is_write;
    if (request->key_count == 1) {
        send_single(request, line);
    }
}
