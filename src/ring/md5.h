/*
 * MD5 of short keys. A lookup in a compatible ring is mostly this, and libmd's
 * would not leave it at half of libmemcached's time. Rings are built with libmd. Pure.
 */
#ifndef RING_MD5_H
#define RING_MD5_H

#include <stddef.h>
#include <stdint.h>

/* The digest as four words: each the little-endian reading of its four bytes. */
void md5_digest(const void *data, size_t len, uint32_t state[4]);

/* The digest's first word alone. */
uint32_t md5_first_word(const void *data, size_t len);

#endif
