/*
 * A key given to pymemcache as str is hashed a character at a time, each cut to
 * its low byte; one given as bytes is first written as repr() writes it.
 */
#include "ring/pymemcache.h"

#include "ring/java.h"
#include "ring/label.h"
#include "ring/lookup.h"

#include <stdio.h>

enum { KEY_TEXT_MAX = 2048, TEXT_LABEL_MAX = LABEL_MAX + 1 };

static size_t put_characters(struct slice key, char *out)
{
    size_t used = 0;

    while (key.len > 0 && used < KEY_TEXT_MAX) {
        out[used++] = (char)(unsigned char)utf8_take(&key);
    }
    return used;
}

static size_t put_repr(struct slice key, char *out)
{
    const bool has_single = memchr(key.data, '\'', key.len) != NULL;
    const bool has_double = memchr(key.data, '"', key.len) != NULL;
    const char quote = has_single && !has_double ? '"' : '\'';
    size_t used = 0;

    out[used++] = 'b';
    out[used++] = quote;
    for (size_t i = 0; i < key.len && used < KEY_TEXT_MAX - 8; i++) {
        const unsigned char byte = (unsigned char)key.data[i];
        const char *escapes = "\tt\nn\rr";
        const char *escape = byte != '\0' ? strchr(escapes, byte) : NULL;

        if (byte == (unsigned char)quote || byte == '\\') {
            out[used++] = '\\';
            out[used++] = (char)byte;
        } else if (escape != NULL && byte < ' ') {
            out[used++] = '\\';
            out[used++] = escape[1];
        } else if (byte < ' ' || byte > '~') {
            used += (size_t)snprintf(out + used, 5, "\\x%02x", byte);
        } else {
            out[used++] = (char)byte;
        }
    }
    out[used++] = quote;
    return used;
}

void pymemcache_scores(const struct placement *placement, struct slice key, uint32_t *scores)
{
    char text[TEXT_LABEL_MAX + KEY_TEXT_MAX];
    char *const at = text + TEXT_LABEL_MAX;
    const struct slice part = placement_hashed_part(placement, key);
    const size_t len = placement->recipe.bytes_repr ? put_repr(part, at) : put_characters(part, at);

    for (uint32_t server = 0; server < placement->servers; server++) {
        const struct slice label = placement->labels[server];

        memcpy(at - label.len, label.data, label.len);
        scores[server] = hash_murmur3(at - label.len, label.len + len, 0);
    }
}

uint32_t pymemcache_find(const struct placement *placement, struct slice key, const uint8_t *live)
{
    char text[TEXT_LABEL_MAX + KEY_TEXT_MAX];
    char *const at = text + TEXT_LABEL_MAX;
    const struct slice part = placement_hashed_part(placement, key);
    const size_t len = placement->recipe.bytes_repr ? put_repr(part, at) : put_characters(part, at);
    uint32_t winner = PLACEMENT_NONE;
    uint32_t best = 0;

    for (uint32_t rank = 0; rank < placement->servers; rank++) {
        const uint32_t server = placement->by_rank[rank];
        const struct slice label = placement->labels[server];

        if (!is_live(live, server)) {
            continue;
        }
        memcpy(at - label.len, label.data, label.len);
        const uint32_t score = hash_murmur3(at - label.len, label.len + len, 0);

        /* a draw goes to the greater text */
        if (winner == PLACEMENT_NONE || score >= best) {
            winner = server;
            best = score;
        }
    }
    return winner;
}
