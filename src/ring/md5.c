/*
 * The steps are written out: as a loop the register rotation costs more than
 * the arithmetic. A digest's time is the chain of additions from step to step,
 * so the terms are ordered for a short one. test_hash.c holds this against libmd.
 */
#include "ring/md5.h"

#include <endian.h>
#include <string.h>

#define CHOOSE(x, y, z)      ((z) ^ ((x) & ((y) ^ (z))))
#define CHOOSE_BY_D(x, y, z) (((y) & ~(z)) + ((x) & (z)))
#define PARITY(x, y, z)      ((x) ^ (y) ^ (z))
#define ODD(x, y, z)         ((y) ^ ((x) | ~(z)))

#define STEP(f, a, b, c, d, word, constant, turn)                                                  \
    a += words[word] + (constant);                                                                 \
    a += f(b, c, d);                                                                               \
    a = ((a) << (turn)) | ((a) >> (32 - (turn)));                                                  \
    a += b;

enum { BLOCK_BYTES = 64, LENGTH_AT = 56 };

static inline __attribute__((always_inline)) void md5_block(uint32_t state[4],
                                                            const unsigned char *block)
{
    uint32_t words[16];
    uint32_t a = state[0];
    uint32_t b = state[1];
    uint32_t c = state[2];
    uint32_t d = state[3];

    memcpy(words, block, sizeof(words));
    for (int i = 0; i < 16; i++) {
        words[i] = le32toh(words[i]);
    }
    /* clang-format off */
    STEP(CHOOSE, a, b, c, d, 0, 0xd76aa478, 7) STEP(CHOOSE, d, a, b, c, 1, 0xe8c7b756, 12)
    STEP(CHOOSE, c, d, a, b, 2, 0x242070db, 17) STEP(CHOOSE, b, c, d, a, 3, 0xc1bdceee, 22)
    STEP(CHOOSE, a, b, c, d, 4, 0xf57c0faf, 7) STEP(CHOOSE, d, a, b, c, 5, 0x4787c62a, 12)
    STEP(CHOOSE, c, d, a, b, 6, 0xa8304613, 17) STEP(CHOOSE, b, c, d, a, 7, 0xfd469501, 22)
    STEP(CHOOSE, a, b, c, d, 8, 0x698098d8, 7) STEP(CHOOSE, d, a, b, c, 9, 0x8b44f7af, 12)
    STEP(CHOOSE, c, d, a, b, 10, 0xffff5bb1, 17) STEP(CHOOSE, b, c, d, a, 11, 0x895cd7be, 22)
    STEP(CHOOSE, a, b, c, d, 12, 0x6b901122, 7) STEP(CHOOSE, d, a, b, c, 13, 0xfd987193, 12)
    STEP(CHOOSE, c, d, a, b, 14, 0xa679438e, 17) STEP(CHOOSE, b, c, d, a, 15, 0x49b40821, 22)
    STEP(CHOOSE_BY_D, a, b, c, d, 1, 0xf61e2562, 5) STEP(CHOOSE_BY_D, d, a, b, c, 6, 0xc040b340, 9)
    STEP(CHOOSE_BY_D, c, d, a, b, 11, 0x265e5a51, 14) STEP(CHOOSE_BY_D, b, c, d, a, 0, 0xe9b6c7aa, 20)
    STEP(CHOOSE_BY_D, a, b, c, d, 5, 0xd62f105d, 5) STEP(CHOOSE_BY_D, d, a, b, c, 10, 0x02441453, 9)
    STEP(CHOOSE_BY_D, c, d, a, b, 15, 0xd8a1e681, 14) STEP(CHOOSE_BY_D, b, c, d, a, 4, 0xe7d3fbc8, 20)
    STEP(CHOOSE_BY_D, a, b, c, d, 9, 0x21e1cde6, 5) STEP(CHOOSE_BY_D, d, a, b, c, 14, 0xc33707d6, 9)
    STEP(CHOOSE_BY_D, c, d, a, b, 3, 0xf4d50d87, 14) STEP(CHOOSE_BY_D, b, c, d, a, 8, 0x455a14ed, 20)
    STEP(CHOOSE_BY_D, a, b, c, d, 13, 0xa9e3e905, 5) STEP(CHOOSE_BY_D, d, a, b, c, 2, 0xfcefa3f8, 9)
    STEP(CHOOSE_BY_D, c, d, a, b, 7, 0x676f02d9, 14) STEP(CHOOSE_BY_D, b, c, d, a, 12, 0x8d2a4c8a, 20)
    STEP(PARITY, a, b, c, d, 5, 0xfffa3942, 4) STEP(PARITY, d, a, b, c, 8, 0x8771f681, 11)
    STEP(PARITY, c, d, a, b, 11, 0x6d9d6122, 16) STEP(PARITY, b, c, d, a, 14, 0xfde5380c, 23)
    STEP(PARITY, a, b, c, d, 1, 0xa4beea44, 4) STEP(PARITY, d, a, b, c, 4, 0x4bdecfa9, 11)
    STEP(PARITY, c, d, a, b, 7, 0xf6bb4b60, 16) STEP(PARITY, b, c, d, a, 10, 0xbebfbc70, 23)
    STEP(PARITY, a, b, c, d, 13, 0x289b7ec6, 4) STEP(PARITY, d, a, b, c, 0, 0xeaa127fa, 11)
    STEP(PARITY, c, d, a, b, 3, 0xd4ef3085, 16) STEP(PARITY, b, c, d, a, 6, 0x04881d05, 23)
    STEP(PARITY, a, b, c, d, 9, 0xd9d4d039, 4) STEP(PARITY, d, a, b, c, 12, 0xe6db99e5, 11)
    STEP(PARITY, c, d, a, b, 15, 0x1fa27cf8, 16) STEP(PARITY, b, c, d, a, 2, 0xc4ac5665, 23)
    STEP(ODD, a, b, c, d, 0, 0xf4292244, 6) STEP(ODD, d, a, b, c, 7, 0x432aff97, 10)
    STEP(ODD, c, d, a, b, 14, 0xab9423a7, 15) STEP(ODD, b, c, d, a, 5, 0xfc93a039, 21)
    STEP(ODD, a, b, c, d, 12, 0x655b59c3, 6) STEP(ODD, d, a, b, c, 3, 0x8f0ccc92, 10)
    STEP(ODD, c, d, a, b, 10, 0xffeff47d, 15) STEP(ODD, b, c, d, a, 1, 0x85845dd1, 21)
    STEP(ODD, a, b, c, d, 8, 0x6fa87e4f, 6) STEP(ODD, d, a, b, c, 15, 0xfe2ce6e0, 10)
    STEP(ODD, c, d, a, b, 6, 0xa3014314, 15) STEP(ODD, b, c, d, a, 13, 0x4e0811a1, 21)
    STEP(ODD, a, b, c, d, 4, 0xf7537e82, 6) STEP(ODD, d, a, b, c, 11, 0xbd3af235, 10)
    STEP(ODD, c, d, a, b, 2, 0x2ad7d2bb, 15) STEP(ODD, b, c, d, a, 9, 0xeb86d391, 21)
        /* clang-format on */
        state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

static inline void md5_start(uint32_t state[4])
{
    state[0] = 0x67452301;
    state[1] = 0xefcdab89;
    state[2] = 0x98badcfe;
    state[3] = 0x10325476;
}

uint32_t md5_first_word(const void *data, size_t len)
{
    uint32_t state[4];

    if (len < LENGTH_AT) {
        unsigned char block[BLOCK_BYTES] = {0};
        const uint64_t bits = htole64((uint64_t)len * 8);

        md5_start(state);
        if (len > 0) {
            memcpy(block, data, len);
        }
        block[len] = 0x80;
        memcpy(block + LENGTH_AT, &bits, sizeof(bits));
        md5_block(state, block); /* the steps that only feed the other words are left out */
    } else {
        md5_digest(data, len, state);
    }
    return state[0];
}

void md5_digest(const void *data, size_t len, uint32_t state[4])
{
    const unsigned char *at = data;
    uint64_t bits = htole64((uint64_t)len * 8);
    unsigned char block[BLOCK_BYTES];

    md5_start(state);
    for (; len >= BLOCK_BYTES; len -= BLOCK_BYTES, at += BLOCK_BYTES) {
        md5_block(state, at);
    }
    memset(block, 0, sizeof(block));
    if (len > 0) {
        memcpy(block, at, len);
    }
    block[len] = 0x80;
    if (len >= LENGTH_AT) {
        md5_block(state, block);
        memset(block, 0, sizeof(block));
    }
    memcpy(block + LENGTH_AT, &bits, sizeof(bits));
    md5_block(state, block);
}
