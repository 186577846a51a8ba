/*
 * Where the next blank is: the end of a key. Keys are short, so most of
 * what memchr costs is the call; sixteen bytes are compared at once where the processor can.
 */
#ifndef BASE_BLANK_H
#define BASE_BLANK_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/*
 * Looks through blocks of sixteen bytes from *at on for ' ', or with or_control for any byte up to
 * that. Returns where one is, or NULL with *at behind the last whole block.
 */
static inline const char *blank_find_in_blocks(const char **at, const char *end, bool or_control)
{
#ifdef __SSE2__
    const __m128i blanks = _mm_set1_epi8(' ');

    for (; end - *at >= (ptrdiff_t)sizeof(blanks); *at += sizeof(blanks)) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)*at);
        const __m128i looked_for = or_control ? _mm_min_epu8(bytes, blanks) : blanks;
        const int found = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, looked_for));

        if (found != 0) {
            return *at + __builtin_ctz((unsigned)found);
        }
    }
#else
    (void)at;
    (void)end;
    (void)or_control;
#endif
    return NULL;
}

/* The first byte of ' ' or below in at..end, or end where there is none. Reads no byte beyond. */
static inline const char *blank_or_control_find(const char *at, const char *end)
{
    const char *found = blank_find_in_blocks(&at, end, true);

    if (found != NULL) {
        return found;
    }
    while (at < end && (unsigned char)*at > ' ') {
        at++;
    }
    return at;
}

/* The first ' ' in at..end, or end where there is none. Reads no byte beyond. */
static inline const char *blank_find(const char *at, const char *end)
{
    const char *found = blank_find_in_blocks(&at, end, false);

    if (found == NULL && at < end) {
        found = memchr(at, ' ', (size_t)(end - at));
    }
    return found != NULL ? found : end;
}

#endif
