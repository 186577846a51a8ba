/*
 * A number that one thread adds to and any thread reads.
 */
#ifndef PROXY_CELL_H
#define PROXY_CELL_H

#include "base/slice.h"

#include <stdatomic.h>
#include <stdint.h>

#ifdef KETAMAD_NO_COUNTERS
#define COUNTING 0 /* to measure what counting costs */
#else
#define COUNTING 1
#endif

/* Adds, whether anything else is counted or not. Only the owner adds. */
static inline void cell_add_always(_Atomic uint64_t *cell, uint64_t n)
{
#ifdef __x86_64__
    /* one instruction where the compiler makes three; what readers may see is the same */
    __asm__("addq %1, %0" : "+m"(*cell) : "er"(n));
#else
    uint64_t now = atomic_load_explicit(cell, memory_order_relaxed);

    atomic_store_explicit(cell, now + n, memory_order_relaxed);
#endif
}

static inline void cell_add(_Atomic uint64_t *cell, uint64_t n)
{
    if (COUNTING) {
        cell_add_always(cell, n);
    }
}

static inline uint64_t cell_read(const _Atomic uint64_t *cell)
{
    return atomic_load_explicit(cell, memory_order_relaxed);
}

#endif
