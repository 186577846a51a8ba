/*
 * Memory that will soon be wanted is asked for early. What a worker's requests
 * hold is more than the first-level cache does, so that each looks its own up
 * in the second level, line by line, unless that is done while another is served.
 */
#ifndef BASE_PREFETCH_H
#define BASE_PREFETCH_H

#include <stddef.h>
#include <stdint.h>

enum { CACHE_LINE_BYTES = 64 };

/* Asks for bytes bytes at at, which will be written. Any address will do, NULL too. */
static inline void prefetch(const void *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += CACHE_LINE_BYTES) {
        __builtin_prefetch((const void *)((uintptr_t)at + i), 1);
    }
}

#endif
