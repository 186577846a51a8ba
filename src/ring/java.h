/*
 * Text as Java sees it: keys as UTF-16 units, IPv6 addresses written out.
 * Pure.
 */
#ifndef RING_JAVA_H
#define RING_JAVA_H

#include "base/slice.h"

#include <stdint.h>

/* String.hashCode of the UTF-8 bytes in key. */
uint32_t java_string_hash(struct slice key);

/* FNV over the UTF-16 units of key; xor_first is FNV-1a. */
uint32_t java_fnv(struct slice key, uint32_t start, uint32_t prime, bool xor_first);

/* Takes one code point off the front of text; a byte that is not UTF-8 stands for itself. */
uint32_t utf8_take(struct slice *text);

/* Writes host:port as InetSocketAddress.toString does, but for the leading slash. */
void java_address(const char *host, uint16_t port, char *out, size_t size);

#endif
