/*
 * Growable bytes and a seeded random source, for the differential test.
 */
#ifndef DIFFERENTIAL_BYTES_H
#define DIFFERENTIAL_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct bytes {
    char *data;
    size_t len;
    size_t room;
};

void bytes_fini(struct bytes *bytes);
void bytes_add(struct bytes *bytes, const void *data, size_t len);
void bytes_fill(struct bytes *bytes, char byte, size_t len);
void bytes_printf(struct bytes *bytes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void bytes_reserve(struct bytes *bytes, size_t more);
void bytes_remove(struct bytes *bytes, size_t at, size_t len);
bool bytes_equal(const struct bytes *a, const struct bytes *b);

/* Prints as a C string's inside; a long run of one byte as \{x*1000}. */
void print_escaped(FILE *out, const char *data, size_t len);

struct chance {
    uint64_t state;
};

struct chance chance_make(uint64_t seed, uint64_t stream);
uint64_t chance_next(struct chance *chance);
/* 0 .. limit-1 */
unsigned chance_below(struct chance *chance, unsigned limit);
/* True once in so many times. */
bool chance_one_in(struct chance *chance, unsigned times);

#define PICK(chance, list) ((list)[chance_below((chance), sizeof(list) / sizeof((list)[0]))])

#endif
