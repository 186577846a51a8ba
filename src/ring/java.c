/*
 * Decoding is lenient: keys that are not UTF-8 never came from a Java client.
 */
#include "ring/java.h"

#include <arpa/inet.h>
#include <netinet/in.h>
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

void java_address(const char *host, uint16_t port, char *out, size_t size)
{
    unsigned char bytes[sizeof(struct in6_addr)];

    if (inet_pton(AF_INET, host, bytes) == 1) {
        snprintf(out, size, "%s:%u", host, port);
    } else if (inet_pton(AF_INET6, host, bytes) == 1) {
        int used = snprintf(out, size, "[");

        for (size_t i = 0; i < sizeof(bytes); i += 2) {
            used += snprintf(out + used, size - (size_t)used, "%s%x", i > 0 ? ":" : "",
                             bytes[i] << 8 | bytes[i + 1]);
        }
        snprintf(out + used, size - (size_t)used, "]:%u", port);
    } else {
        /* Java 14 and later; the address of a resolved name can only be given as name= */
        snprintf(out, size, "%s/<unresolved>:%u", host, port);
    }
}
