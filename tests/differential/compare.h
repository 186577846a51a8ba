/*
 * Compares two streams of replies byte for byte, but for what belongs to one
 * server: CAS numbers (one must stand for the other throughout an episode),
 * seconds that may have passed between the two, a number's padding.
 */
#ifndef DIFFERENTIAL_COMPARE_H
#define DIFFERENTIAL_COMPARE_H

#include "bytes.h"
#include "generate.h"

struct cas_pair {
    int key; /* or NO_KEY */
    uint64_t one;
    uint64_t other;
};

/* What an episode has shown so far. Zero it before each. */
struct cas_book {
    struct cas_pair *pairs;
    size_t count;
    size_t room;
    uint64_t last_one[KEY_COUNT]; /* the last seen of each key; 0: none */
    uint64_t last_other[KEY_COUNT];
};

void cas_book_fini(struct cas_book *book);

/* Where two streams of replies part. */
struct difference {
    size_t one; /* the reply's first byte */
    size_t other;
    const char *why;
};

/* True when equal; else *difference says where they are not. */
bool replies_equal(struct cas_book *book, const struct bytes *one, const struct bytes *other,
                   struct difference *difference);

#endif
