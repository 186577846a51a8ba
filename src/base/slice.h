/*
 * A slice: bytes that somebody else owns. It says where and how many, never
 * who frees them; the owner's lifetime is stated where a slice is handed out.
 */
#ifndef BASE_SLICE_H
#define BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define MUST_CHECK   __attribute__((warn_unused_result))
#define likely(x)    __builtin_expect(!!(x), 1)
#define unlikely(x)  __builtin_expect(!!(x), 0)
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

struct slice {
    const char *data;
    size_t len;
};

/* A slice over a string literal. */
#define SLICE(literal) ((struct slice){"" literal, sizeof(literal) - 1})

static inline struct slice slice_make(const char *data, size_t len)
{
    return (struct slice){data, len};
}

static inline struct slice slice_text(const char *text)
{
    return (struct slice){text, strlen(text)};
}

static inline bool slice_equals(struct slice a, struct slice b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

#endif
