/*
 * Decoding is lenient: keys that are not UTF-8 never came from a Java client.
 */
#include "ring/java.h"

#include <stdio.h>

uint32_t utf8_take(struct slice *text)
{
    const unsigned char *at = (const unsigned char *)text->data;
    const unsigned first = at[0];
    size_t more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc2 ? 1 : 0;
    uint32_t point = first;

    if (first >= 0xf5 || more >= text->len) {
        more = 0;
    }
    if (more > 0) {
        point = first & (0x3fu >> more);
        for (size_t i = 1; i <= more; i++) {
            if ((at[i] & 0xc0) != 0x80) {
                more = 0;
                point = first;
                break;
            }
            point = point << 6 | (at[i] & 0x3fu);
        }
    }
    text->data += 1 + more;
    text->len -= 1 + more;
    return point;
}

/* Splits a code point into UTF-16 units; returns one or two. */
static int utf16_units(uint32_t point, uint32_t units[2])
{
    if (point < 0x10000) {
        units[0] = point;
        return 1;
    }
    units[0] = 0xd800 + ((point - 0x10000) >> 10);
    units[1] = 0xdc00 + ((point - 0x10000) & 0x3ff);
    return 2;
}

uint32_t java_string_hash(struct slice key)
{
    uint32_t hash = 0;
    uint32_t units[2];

    while (key.len > 0) {
        const int count = utf16_units(utf8_take(&key), units);

        for (int i = 0; i < count; i++) {
            hash = hash * 31 + units[i];
        }
    }
    return hash;
}

uint32_t java_fnv(struct slice key, uint32_t start, uint32_t prime, bool xor_first)
{
    uint32_t hash = start;
    uint32_t units[2];

    while (key.len > 0) {
        const int count = utf16_units(utf8_take(&key), units);

        for (int i = 0; i < count; i++) {
            hash = xor_first ? (hash ^ units[i]) * prime : hash * prime ^ units[i];
        }
    }
    return hash;
}

/* Reads four decimal numbers with dots between; true where text is that and no more. */
static bool read_ipv4(const char *text, unsigned char bytes[4])
{
    for (int i = 0; i < 4; i++) {
        unsigned value = 0;
        int digits = 0;

        for (; *text >= '0' && *text <= '9' && digits < 4; text++, digits++) {
            value = value * 10 + (unsigned)(*text - '0');
        }
        if (digits == 0 || value > 255 || *text++ != (i < 3 ? '.' : '\0')) {
            return false;
        }
        bytes[i] = (unsigned char)value;
    }
    return true;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/*
 * Reads groups with colons between, up to max of them. Returns where it stopped, at the end of
 * text or at "::"; NULL: that is no address.
 */
static const char *read_groups(const char *text, unsigned *groups, int max, int *count)
{
    for (*count = 0; *count < max;) {
        unsigned char tail[4];
        int digits = 0;

        if (*count + 2 <= max && read_ipv4(text, tail)) {
            groups[(*count)++] = (unsigned)tail[0] << 8 | tail[1];
            groups[(*count)++] = (unsigned)tail[2] << 8 | tail[3];
            return text + strlen(text);
        }
        groups[*count] = 0;
        for (; hex_digit(*text) >= 0 && digits < 5; text++, digits++) {
            groups[*count] = groups[*count] << 4 | (unsigned)hex_digit(*text);
        }
        if (digits == 0 || digits > 4) {
            return NULL;
        }
        (*count)++;
        if (*text == '\0' || (text[0] == ':' && text[1] == ':')) {
            return text;
        }
        if (*text++ != ':') {
            return NULL;
        }
    }
    return NULL;
}

/* Reads an IPv6 address into its groups; "::" stands for as many zeros as are missing. */
static bool read_ipv6(const char *text, unsigned groups[8])
{
    unsigned tail[8];
    int front = 0;
    int back = 0;

    if (strncmp(text, "::", 2) != 0) {
        text = read_groups(text, groups, 8, &front);
        if (text == NULL || *text == '\0') {
            return text != NULL && front == 8;
        }
    }
    text += 2;
    if (*text != '\0') {
        text = read_groups(text, tail, 8, &back);
        if (text == NULL || *text != '\0') {
            return false;
        }
    }
    if (front + back > 7) {
        return false;
    }
    for (int i = front; i < 8; i++) {
        groups[i] = i < 8 - back ? 0 : tail[i - (8 - back)];
    }
    return true;
}

void java_address(const char *host, uint16_t port, char *out, size_t size)
{
    unsigned char bytes[4];
    unsigned groups[8];

    if (read_ipv4(host, bytes)) {
        snprintf(out, size, "%s:%u", host, port);
    } else if (read_ipv6(host, groups)) {
        snprintf(out, size, "[%x:%x:%x:%x:%x:%x:%x:%x]:%u", groups[0], groups[1], groups[2],
                 groups[3], groups[4], groups[5], groups[6], groups[7], port);
    } else {
        /* Java 14 and later; the address of a resolved name can only be given as name= */
        snprintf(out, size, "%s/<unresolved>:%u", host, port);
    }
}
