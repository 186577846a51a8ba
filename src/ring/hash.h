/*
 * The functions that turn a key, or a point's text, into a number, each with
 * the value that the clients of that name compute on x86: bytes from 0x80 on
 * are sign-extended where theirs are. Pure.
 */
#ifndef RING_HASH_H
#define RING_HASH_H

#include "base/slice.h"

#include <stdint.h>

enum hash {
    HASH_XXH3,    /* all 64 bits */
    HASH_XXH3_32, /* the low 32 */
    HASH_MD5,     /* first four bytes, little-endian */
    HASH_MD5_64,  /* first eight bytes, big-endian, in signed order */
    HASH_ONE_AT_A_TIME,
    HASH_CRC15, /* bits 16 to 30 of CRC-32 */
    HASH_CRC32,
    HASH_CRC16,
    HASH_FNV1_32,
    HASH_FNV1A_32,
    HASH_FNV1_64,  /* the low 32 bits, as all clients use it */
    HASH_FNV1A_64, /* the same */
    HASH_HSIEH,
    HASH_MURMUR,
    HASH_MURMUR3,
    HASH_JENKINS,
    HASH_JAVA_STRING, /* String.hashCode */
    HASH_JAVA_FNV1_32,
    HASH_JAVA_FNV1A_32,
    HASH_JAVA_FNV1_64,
    HASH_JAVA_FNV1A_64,
};

/* Who may choose from which names; a bit each. */
enum hash_family {
    HASH_OF_MD5_ONLY = 1,
    HASH_OF_XXH3_ONLY = 2,
    HASH_OF_LIBMEMCACHED = 4,
    HASH_OF_TWEMPROXY = 8,
    HASH_OF_MCPROXY = 16,
    HASH_OF_SPYMEMCACHED = 32,
    HASH_OF_PECL = 64,
    HASH_OF_PERL = 128,
    HASH_OF_ANY = 256,
    HASH_OF_MD5_64_ONLY = 512,
};

/* The value, in the low hash_bits(hash) bits. seed counts for XXH3 alone. */
uint64_t hash_value(enum hash hash, uint64_t seed, struct slice key);

/* 64, 32, or 15: how many bits of a value vary. */
unsigned hash_bits(enum hash hash);

/* What family calls by this name; false: nothing. */
MUST_CHECK bool hash_find(const char *name, enum hash_family family, enum hash *hash);

/* The name that family has for it, for messages. */
const char *hash_name(enum hash hash, enum hash_family family);

/* Writes the family's names, ", " between them; returns out. */
char *hash_names(enum hash_family family, char *out, size_t size);

/* MurmurHash3, 32 bits, seed given. */
uint32_t hash_murmur3(const void *data, size_t len, uint32_t seed);

/* Mixes the bits of x so that each of them counts in all of the result. */
static inline uint64_t hash_mix(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    return x;
}

#endif
