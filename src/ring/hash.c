/*
 * One small function a hash, and the table of the names that each client or
 * proxy has for them.
 */
#include "ring/hash.h"

#include "ring/crc.h"
#include "ring/java.h"
#include "ring/md5.h"

#include <endian.h>
#include <stdio.h>
#include <strings.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    FNV_32_START = 0x811c9dc5,
    FNV_32_PRIME = 0x01000193,
    FNV_64_START_LOW = 0x84222325, /* the low halves: the low 32 bits need no more */
    FNV_64_PRIME_LOW = 0x000001b3,
};

struct hash_row {
    const char *name;
    enum hash hash;
    unsigned families;
};

#define C_CLIENTS (HASH_OF_LIBMEMCACHED | HASH_OF_TWEMPROXY | HASH_OF_ANY)
#define MD5_USERS (C_CLIENTS | HASH_OF_MD5_ONLY | HASH_OF_MCPROXY | HASH_OF_SPYMEMCACHED)

/* clang-format off */
static const struct hash_row hash_rows[] = {
    /* the first row of a hash in a family is what messages call it */
    { "md5",           HASH_MD5,           MD5_USERS },
    { "md5-64",        HASH_MD5_64,        HASH_OF_MD5_64_ONLY },
    { "ketama_hash",   HASH_MD5,           HASH_OF_SPYMEMCACHED },
    { "xxh3",          HASH_XXH3,          HASH_OF_XXH3_ONLY | HASH_OF_ANY },
    { "xxh3",          HASH_XXH3_32,       HASH_OF_MCPROXY },
    { "one_at_a_time", HASH_ONE_AT_A_TIME, C_CLIENTS },
    { "default",       HASH_ONE_AT_A_TIME, HASH_OF_LIBMEMCACHED },
    { "crc",           HASH_CRC15,         C_CLIENTS | HASH_OF_SPYMEMCACHED },
    { "crc32",         HASH_CRC15,         HASH_OF_TWEMPROXY | HASH_OF_LIBMEMCACHED },
    { "crc_hash",      HASH_CRC15,         HASH_OF_SPYMEMCACHED },
    { "crc32",         HASH_CRC32,         HASH_OF_PECL | HASH_OF_PERL | HASH_OF_ANY },
    { "crc32a",        HASH_CRC32,         HASH_OF_TWEMPROXY | HASH_OF_PECL | HASH_OF_PERL | HASH_OF_ANY },
    { "crc16",         HASH_CRC16,         HASH_OF_TWEMPROXY | HASH_OF_ANY },
    { "fnv1_32",       HASH_FNV1_32,       C_CLIENTS },
    { "fnv1a_32",      HASH_FNV1A_32,      C_CLIENTS | HASH_OF_PECL },
    { "fnv",           HASH_FNV1A_32,      HASH_OF_PECL },
    { "fnv1_64",       HASH_FNV1_64,       C_CLIENTS },
    { "fnv1a_64",      HASH_FNV1A_64,      C_CLIENTS },
    { "hsieh",         HASH_HSIEH,         HASH_OF_TWEMPROXY | HASH_OF_ANY },
    { "murmur",        HASH_MURMUR,        C_CLIENTS },
    { "murmur3",       HASH_MURMUR3,       HASH_OF_LIBMEMCACHED | HASH_OF_ANY },
    { "jenkins",       HASH_JENKINS,       C_CLIENTS },
    { "native",        HASH_JAVA_STRING,   HASH_OF_SPYMEMCACHED },
    { "native_hash",   HASH_JAVA_STRING,   HASH_OF_SPYMEMCACHED | HASH_OF_ANY },
    { "fnv1_32",       HASH_JAVA_FNV1_32,  HASH_OF_SPYMEMCACHED },
    { "fnv1_32_hash",  HASH_JAVA_FNV1_32,  HASH_OF_SPYMEMCACHED | HASH_OF_ANY },
    { "fnv1a_32",      HASH_JAVA_FNV1A_32, HASH_OF_SPYMEMCACHED },
    { "fnv1a_32_hash", HASH_JAVA_FNV1A_32, HASH_OF_SPYMEMCACHED | HASH_OF_ANY },
    { "fnv1_64",       HASH_JAVA_FNV1_64,  HASH_OF_SPYMEMCACHED },
    { "fnv1_64_hash",  HASH_JAVA_FNV1_64,  HASH_OF_SPYMEMCACHED | HASH_OF_ANY },
    { "fnv1a_64",      HASH_JAVA_FNV1A_64, HASH_OF_SPYMEMCACHED },
    { "fnv1a_64_hash", HASH_JAVA_FNV1A_64, HASH_OF_SPYMEMCACHED | HASH_OF_ANY },
};
/* clang-format on */

/* What a signed char of this byte widens to, whatever the machine's char is. */
static inline uint32_t widened(char byte)
{
    return (uint32_t)(int32_t)(signed char)byte;
}

static inline uint32_t load16(const char *at)
{
    uint16_t value;

    memcpy(&value, at, sizeof(value));
    return le16toh(value);
}

static inline uint32_t load32(const char *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof(value));
    return le32toh(value);
}

/* The last len < 4 bytes at at, as one little-endian number. */
static inline uint32_t load_tail(const char *at, size_t len)
{
    uint32_t value = 0;

    for (size_t i = 0; i < len; i++) {
        value |= (uint32_t)(unsigned char)at[i] << (8 * i);
    }
    return value;
}

static inline uint32_t turn_left(uint32_t x, unsigned by)
{
    return x << by | x >> (32 - by);
}

static uint32_t one_at_a_time(struct slice key)
{
    uint32_t hash = 0;

    for (size_t i = 0; i < key.len; i++) {
        hash += widened(key.data[i]);
        hash += hash << 10;
        hash ^= hash >> 6;
    }
    hash += hash << 3;
    hash ^= hash >> 11;
    hash += hash << 15;
    return hash;
}

static uint32_t fnv1(struct slice key, uint32_t start, uint32_t prime)
{
    uint32_t hash = start;

    for (size_t i = 0; i < key.len; i++) {
        hash *= prime;
        hash ^= widened(key.data[i]);
    }
    return hash;
}

static inline uint32_t fnv1a(struct slice key, uint32_t start, uint32_t prime)
{
    uint32_t hash = start;

#pragma GCC unroll 4
    for (size_t i = 0; i < key.len; i++) {
        hash ^= widened(key.data[i]);
        hash *= prime;
    }
    return hash;
}

static uint32_t hsieh(struct slice key)
{
    const char *at = key.data;
    uint32_t hash = 0;

    for (size_t left = key.len / 4; left > 0; left--, at += 4) {
        hash += load16(at);
        hash = hash << 16 ^ load16(at + 2) << 11 ^ hash;
        hash += hash >> 11;
    }
    switch (key.len % 4) {
    case 3:
        hash += load16(at);
        hash ^= hash << 16;
        hash ^= widened(at[2]) << 18;
        hash += hash >> 11;
        break;
    case 2:
        hash += load16(at);
        hash ^= hash << 11;
        hash += hash >> 17;
        break;
    case 1:
        hash += (unsigned char)at[0];
        hash ^= hash << 10;
        hash += hash >> 1;
        break;
    }
    if (key.len == 0) {
        return 0;
    }
    hash ^= hash << 3;
    hash += hash >> 5;
    hash ^= hash << 4;
    hash += hash >> 17;
    hash ^= hash << 25;
    hash += hash >> 6;
    return hash;
}

static uint32_t murmur2(struct slice key)
{
    const uint32_t factor = 0x5bd1e995;
    const char *at = key.data;
    size_t left = key.len;
    uint32_t hash = (0xdeadbeefu * (uint32_t)key.len) ^ (uint32_t)key.len;

    for (; left >= 4; left -= 4, at += 4) {
        uint32_t word = load32(at) * factor;

        word ^= word >> 24;
        hash = hash * factor ^ word * factor;
    }
    if (left > 0) {
        hash = (hash ^ load_tail(at, left)) * factor;
    }
    hash ^= hash >> 13;
    hash *= factor;
    hash ^= hash >> 15;
    return hash;
}

uint32_t hash_murmur3(const void *data, size_t len, uint32_t seed)
{
    const char *at = data;
    uint32_t hash = seed;
    size_t left = len;

    for (; left >= 4; left -= 4, at += 4) {
        hash ^= turn_left(load32(at) * 0xcc9e2d51u, 15) * 0x1b873593u;
        hash = turn_left(hash, 13) * 5 + 0xe6546b64u;
    }
    if (left > 0) {
        hash ^= turn_left(load_tail(at, left) * 0xcc9e2d51u, 15) * 0x1b873593u;
    }
    hash ^= (uint32_t)len;
    hash ^= hash >> 16;
    hash *= 0x85ebca6bu;
    hash ^= hash >> 13;
    hash *= 0xc2b2ae35u;
    hash ^= hash >> 16;
    return hash;
}

/* Bob Jenkins' lookup3, little-endian, initial value 13. */
static uint32_t jenkins(struct slice key)
{
    const char *at = key.data;
    size_t left = key.len;
    uint32_t a = 0xdeadbeefu + (uint32_t)key.len + 13;
    uint32_t b = a;
    uint32_t c = a;

    for (; left > 12; left -= 12, at += 12) {
        a += load32(at);
        b += load32(at + 4);
        c += load32(at + 8);
        a = (a - c) ^ turn_left(c, 4), c += b;
        b = (b - a) ^ turn_left(a, 6), a += c;
        c = (c - b) ^ turn_left(b, 8), b += a;
        a = (a - c) ^ turn_left(c, 16), c += b;
        b = (b - a) ^ turn_left(a, 19), a += c;
        c = (c - b) ^ turn_left(b, 4), b += a;
    }
    if (left == 0) {
        return c;
    }
    a += left >= 4 ? load32(at) : load_tail(at, left);
    if (left > 4) {
        b += left >= 8 ? load32(at + 4) : load_tail(at + 4, left - 4);
    }
    if (left > 8) {
        c += left >= 12 ? load32(at + 8) : load_tail(at + 8, left - 8);
    }
    c = (c ^ b) - turn_left(b, 14);
    a = (a ^ c) - turn_left(c, 11);
    b = (b ^ a) - turn_left(a, 25);
    c = (c ^ b) - turn_left(b, 16);
    a = (a ^ c) - turn_left(c, 4);
    b = (b ^ a) - turn_left(a, 14);
    c = (c ^ b) - turn_left(b, 24);
    return c;
}

static uint64_t md5_64(struct slice key)
{
    uint32_t words[4];

    md5_digest(key.data, key.len, words);
    /* the ring is in signed order: turning the top bit over gives it */
    return ((uint64_t)__builtin_bswap32(words[0]) << 32 | __builtin_bswap32(words[1])) ^ 1ull << 63;
}

uint64_t hash_value(enum hash hash, uint64_t seed, struct slice key)
{
    switch (hash) {
    case HASH_XXH3:
        return XXH3_64bits_withSeed(key.data, key.len, seed);
    case HASH_XXH3_32:
        return (uint32_t)XXH3_64bits_withSeed(key.data, key.len, seed);
    case HASH_MD5:
        return md5_first_word(key.data, key.len);
    case HASH_MD5_64:
        return md5_64(key);
    case HASH_ONE_AT_A_TIME:
        return one_at_a_time(key);
    case HASH_CRC15:
        return crc32_extend(0, key.data, key.len) >> 16 & 0x7fff;
    case HASH_CRC32:
        return crc32_extend(0, key.data, key.len);
    case HASH_CRC16:
        return crc16_wide(key.data, key.len);
    case HASH_FNV1_32:
        return fnv1(key, FNV_32_START, FNV_32_PRIME);
    case HASH_FNV1A_32:
        return fnv1a(key, FNV_32_START, FNV_32_PRIME);
    case HASH_FNV1_64:
        return fnv1(key, FNV_64_START_LOW, FNV_64_PRIME_LOW);
    case HASH_FNV1A_64:
        return fnv1a(key, FNV_64_START_LOW, FNV_64_PRIME_LOW);
    case HASH_HSIEH:
        return hsieh(key);
    case HASH_MURMUR:
        return murmur2(key);
    case HASH_MURMUR3:
        return hash_murmur3(key.data, key.len, 0xdeadbeefu * (uint32_t)key.len);
    case HASH_JENKINS:
        return jenkins(key);
    case HASH_JAVA_STRING:
        return java_string_hash(key);
    case HASH_JAVA_FNV1_32:
        return java_fnv(key, FNV_32_START, FNV_32_PRIME, false);
    case HASH_JAVA_FNV1A_32:
        return java_fnv(key, FNV_32_START, FNV_32_PRIME, true);
    case HASH_JAVA_FNV1_64:
        return java_fnv(key, FNV_64_START_LOW, FNV_64_PRIME_LOW, false);
    case HASH_JAVA_FNV1A_64:
        return java_fnv(key, FNV_64_START_LOW, FNV_64_PRIME_LOW, true);
    }
    return 0;
}

unsigned hash_bits(enum hash hash)
{
    switch (hash) {
    case HASH_XXH3:
    case HASH_MD5_64:
        return 64;
    case HASH_CRC15:
        return 15;
    default:
        return 32;
    }
}

bool hash_find(const char *name, enum hash_family family, enum hash *hash)
{
    for (size_t i = 0; i < ARRAY_LEN(hash_rows); i++) {
        if ((hash_rows[i].families & family) != 0 && strcasecmp(hash_rows[i].name, name) == 0) {
            *hash = hash_rows[i].hash;
            return true;
        }
    }
    return false;
}

const char *hash_name(enum hash hash, enum hash_family family)
{
    for (size_t i = 0; i < ARRAY_LEN(hash_rows); i++) {
        if ((hash_rows[i].families & family) != 0 && hash_rows[i].hash == hash) {
            return hash_rows[i].name;
        }
    }
    return "?";
}

char *hash_names(enum hash_family family, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < ARRAY_LEN(hash_rows) && used < size; i++) {
        if ((hash_rows[i].families & family) != 0) {
            used += (size_t)snprintf(out + used, size - used, "%s%s", used > 0 ? ", " : "",
                                     hash_rows[i].name);
        }
    }
    return out;
}
