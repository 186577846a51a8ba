/*
 * Text is taken to be UTF-8 where it is; a byte that is not becomes U+FFFD.
 */
#include "cli/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

void json_init(struct json *json, FILE *out)
{
    *json = (struct json){.out = out, .is_first = true};
}

/* How many bytes at text[0] are one well-formed UTF-8 character; 0: none. */
static size_t utf8_length(const unsigned char *text, size_t len)
{
    const size_t more = text[0] < 0x80                       ? 0
                        : text[0] >= 0xc2 && text[0] < 0xe0  ? 1
                        : (text[0] & 0xf0) == 0xe0           ? 2
                        : text[0] >= 0xf0 && text[0] <= 0xf4 ? 3
                                                             : 4;

    if (more == 4 || more >= len) {
        return 0;
    }
    for (size_t i = 1; i <= more; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
        (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f)) {
        return 0;
    }
    return more + 1;
}

static void write_string(FILE *out, struct slice text)
{
    const unsigned char *at = (const unsigned char *)text.data;
    const unsigned char *end = at + text.len;

    fputc('"', out);
    while (at < end) {
        const size_t len = utf8_length(at, (size_t)(end - at));

        if (len == 0) {
            fputs("\\ufffd", out);
            at++;
            continue;
        }
        if (*at == '"' || *at == '\\') {
            fputc('\\', out);
        }
        if (*at < ' ' || *at == 0x7f) {
            fprintf(out, "\\u%04x", *at);
        } else {
            fwrite(at, 1, len, out);
        }
        at += len;
    }
    fputc('"', out);
}

static void begin_value(struct json *json, const char *name)
{
    if (!json->is_first) {
        fputs(", ", json->out);
    }
    json->is_first = false;
    if (name != NULL) {
        write_string(json->out, slice_text(name));
        fputs(": ", json->out);
    }
}

static void begin_nest(struct json *json, const char *name, char open, char closing)
{
    begin_value(json, name);
    assert(json->depth < JSON_DEPTH_MAX);
    fputc(open, json->out);
    json->closing[json->depth++] = closing;
    json->is_first = true;
}

void json_object(struct json *json, const char *name)
{
    begin_nest(json, name, '{', '}');
}

void json_array(struct json *json, const char *name)
{
    begin_nest(json, name, '[', ']');
}

void json_end(struct json *json)
{
    assert(json->depth > 0);
    fputc(json->closing[--json->depth], json->out);
    json->is_first = false;
    if (json->depth == 0) {
        fputc('\n', json->out);
    }
}

static void add_slice(struct json *json, const char *name, struct slice text)
{
    begin_value(json, name);
    write_string(json->out, text);
}

void json_text(struct json *json, const char *name, const char *text)
{
    add_slice(json, name, slice_text(text));
}

void json_number(struct json *json, const char *name, double number)
{
    begin_value(json, name);
    if (isfinite(number)) {
        fprintf(json->out, "%.15g", number);
    } else {
        fputs("null", json->out);
    }
}

void json_count(struct json *json, const char *name, uint64_t count)
{
    begin_value(json, name);
    fprintf(json->out, "%" PRIu64, count);
}

void json_bool(struct json *json, const char *name, bool value)
{
    begin_value(json, name);
    fputs(value ? "true" : "false", json->out);
}
