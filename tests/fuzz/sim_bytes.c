/* See sim_bytes.h. */
#include "sim_bytes.h"

#include <assert.h>
#include <stdlib.h>

void sim_bytes_reserve(struct sim_bytes *bytes, size_t more)
{
    if (bytes->room - bytes->len < more) {
        bytes->room = (bytes->len + more) * 2;
        bytes->data = realloc(bytes->data, bytes->room);
        assert(bytes->data != NULL);
    }
}

void sim_bytes_add(struct sim_bytes *bytes, const char *data, size_t len)
{
    sim_bytes_reserve(bytes, len);
    memcpy(bytes->data + bytes->len, data, len);
    bytes->len += len;
}

void sim_bytes_drop(struct sim_bytes *bytes, size_t len)
{
    bytes->len -= len;
    if (bytes->len > 0) {
        memmove(bytes->data, bytes->data + len, bytes->len);
    }
}

struct slice sim_next_word(struct slice *rest)
{
    struct slice word = {rest->data, 0};

    while (word.len < rest->len && rest->data[word.len] != ' ') {
        word.len++;
    }
    rest->data += word.len < rest->len ? word.len + 1 : word.len;
    rest->len -= word.len < rest->len ? word.len + 1 : word.len;
    return word;
}

bool sim_is_one_of(struct slice word, const char *words)
{
    const char *found = words;

    while ((found = strstr(found, " ")) != NULL) {
        found++;
        if (strncmp(found, word.data, word.len) == 0 && found[word.len] == ' ') {
            return true;
        }
    }
    return false;
}
