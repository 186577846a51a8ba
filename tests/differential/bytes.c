#include "bytes.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void bytes_fini(struct bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct bytes){0};
}

void bytes_reserve(struct bytes *bytes, size_t more)
{
    size_t need = bytes->len + more;

    if (need <= bytes->room) {
        return;
    }
    bytes->room = need < 256 ? 256 : need * 2;
    bytes->data = realloc(bytes->data, bytes->room);
    if (bytes->data == NULL) {
        abort();
    }
}

void bytes_add(struct bytes *bytes, const void *data, size_t len)
{
    bytes_reserve(bytes, len + 1);
    memcpy(bytes->data + bytes->len, data, len);
    bytes->len += len;
}

void bytes_fill(struct bytes *bytes, char byte, size_t len)
{
    bytes_reserve(bytes, len + 1);
    memset(bytes->data + bytes->len, byte, len);
    bytes->len += len;
}

void bytes_printf(struct bytes *bytes, const char *format, ...)
{
    va_list words;
    int need;

    bytes_reserve(bytes, 512);
    va_start(words, format);
    need = vsnprintf(bytes->data + bytes->len, bytes->room - bytes->len, format, words);
    va_end(words);
    if (need < 0 || (size_t)need >= bytes->room - bytes->len) {
        abort();
    }
    bytes->len += (size_t)need;
}

void bytes_remove(struct bytes *bytes, size_t at, size_t len)
{
    memmove(bytes->data + at, bytes->data + at + len, bytes->len - at - len);
    bytes->len -= len;
}

bool bytes_equal(const struct bytes *a, const struct bytes *b)
{
    return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

void print_escaped(FILE *out, const char *data, size_t len)
{
    for (size_t i = 0; i < len;) {
        unsigned char byte = (unsigned char)data[i];
        size_t run = 1;

        while (i + run < len && data[i + run] == data[i]) {
            run++;
        }
        if (run > 20) {
            fprintf(out, "\\{%c*%zu}", byte > ' ' && byte < 0x7f ? byte : '?', run);
            i += run;
            continue;
        }
        if (byte == '\r' || byte == '\n') {
            fputs(byte == '\r' ? "\\r" : "\\n", out);
        } else if (byte == '\\' || byte == '"') {
            fprintf(out, "\\%c", byte);
        } else if (byte < ' ' || byte >= 0x7f) {
            fprintf(out, "\\x%02x", byte);
        } else {
            fputc(byte, out);
        }
        i++;
    }
}

/* splitmix64: small, good enough, the same everywhere. */
uint64_t chance_next(struct chance *chance)
{
    uint64_t z = chance->state += 0x9e3779b97f4a7c15U;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

struct chance chance_make(uint64_t seed, uint64_t stream)
{
    struct chance chance = {seed};

    chance.state = chance_next(&chance) ^ stream;
    chance.state = chance_next(&chance);
    return chance;
}

unsigned chance_below(struct chance *chance, unsigned limit)
{
    return (unsigned)(chance_next(chance) % limit);
}

bool chance_one_in(struct chance *chance, unsigned times)
{
    return chance_below(chance, times) == 0;
}
