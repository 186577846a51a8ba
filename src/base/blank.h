/*
 * Where the next blank is: the end of a key. Keys are short, so most of
 * what memchr costs is the call; sixteen bytes are compared at once where the processor can.
 */
#ifndef BASE_BLANK_H
#define BASE_BLANK_H

#include <stddef.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* The first byte of ' ' or below in at..end, or end where there is none. Reads no byte beyond. */
static inline const char *blank_or_control_find(const char *at, const char *end)
{
#ifdef __SSE2__
    const __m128i blanks = _mm_set1_epi8(' ');

    for (; end - at >= (ptrdiff_t)sizeof(blanks); at += sizeof(blanks)) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
        const int found = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(bytes, blanks), bytes));

        if (found != 0) {
            return at + __builtin_ctz((unsigned)found);
        }
    }
#endif
    while (at < end && (unsigned char)*at > ' ') {
        at++;
    }
    return at;
}

/* The first ' ' in at..end, or end where there is none. Reads no byte beyond. */
static inline const char *blank_find(const char *at, const char *end)
{
#ifdef __SSE2__
    const __m128i blanks = _mm_set1_epi8(' ');

    for (; end - at >= (ptrdiff_t)sizeof(blanks); at += sizeof(blanks)) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
        const int found = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, blanks));

        if (found != 0) {
            return at + __builtin_ctz((unsigned)found);
        }
    }
#endif
    const char *blank = at < end ? memchr(at, ' ', (size_t)(end - at)) : NULL;

    return blank != NULL ? blank : end;
}

#endif
