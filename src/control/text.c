/* See text.h. */
#include "control/text.h"

#include <stdio.h>
#include <time.h>

/* What a byte becomes; NULL: itself. */
typedef const char *escape_fn(unsigned char c, char *buffer, size_t size);

static void add_escaped(struct evbuffer *out, struct slice text, escape_fn *escape)
{
    char buffer[8];
    size_t plain = 0;

    for (size_t i = 0; i < text.len; i++) {
        const char *instead = escape((unsigned char)text.data[i], buffer, sizeof(buffer));

        if (instead != NULL) {
            evbuffer_add(out, text.data + plain, i - plain);
            evbuffer_add(out, instead, strlen(instead));
            plain = i + 1;
        }
    }
    evbuffer_add(out, text.data + plain, text.len - plain);
}

static const char *escape_word(unsigned char c, char *buffer, size_t size)
{
    if (c > ' ' && c <= '~' && c != '%') {
        return NULL;
    }
    snprintf(buffer, size, "%%%02X", c);
    return buffer;
}

static const char *escape_line(unsigned char c, char *buffer, size_t size)
{
    return c == ' ' || c == '%' ? NULL : escape_word(c, buffer, size);
}

static const char *escape_json(unsigned char c, char *buffer, size_t size)
{
    if (c >= ' ' && c <= '~' && c != '"' && c != '\\' && c != '<') {
        return NULL;
    }
    snprintf(buffer, size, "\\u%04x", c);
    return buffer;
}

static const char *escape_label(unsigned char c, char *buffer, size_t size)
{
    if (c == '"' || c == '\\') {
        snprintf(buffer, size, "\\%c", c);
        return buffer;
    }
    if (c >= ' ' && c <= '~') {
        return NULL;
    }
    snprintf(buffer, size, "%%%02X", c);
    return buffer;
}

void text_add_word(struct evbuffer *out, struct slice text)
{
    add_escaped(out, text, escape_word);
}

void text_add_line(struct evbuffer *out, struct slice text)
{
    add_escaped(out, text, escape_line);
}

void text_add_json(struct evbuffer *out, struct slice text)
{
    evbuffer_add(out, "\"", 1);
    add_escaped(out, text, escape_json);
    evbuffer_add(out, "\"", 1);
}

void text_add_label(struct evbuffer *out, struct slice text)
{
    add_escaped(out, text, escape_label);
}

char *text_time(uint64_t wall_us, char *out)
{
    time_t seconds = (time_t)(wall_us / 1000000);
    struct tm parts;
    size_t len;

    gmtime_r(&seconds, &parts);
    len = strftime(out, 32, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(out + len, 32 - len, ".%03uZ", (unsigned)(wall_us / 1000 % 1000));
    return out;
}
