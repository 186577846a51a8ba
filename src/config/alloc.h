/*
 * Memory for what is loaded. A file is a few kilobytes: where even that cannot
 * be had the process stops at once. Any thread.
 */
#ifndef CONFIG_ALLOC_H
#define CONFIG_ALLOC_H

#include "base/slice.h"

#include <stdlib.h>

static inline void *alloc_checked(void *memory)
{
    if (memory == NULL) {
        abort();
    }
    return memory;
}

/* A copy of text with a NUL behind it; the caller frees. */
static inline char *alloc_text(struct slice text)
{
    char *copy = (char *)alloc_checked(malloc(text.len + 1));

    if (text.len > 0) {
        memcpy(copy, text.data, text.len);
    }
    copy[text.len] = '\0';
    return copy;
}

/* Returns items, moved where needed, with room for one more than count of them, zeroed. */
static inline void *alloc_one_more(void *items, size_t count, size_t item_bytes)
{
    if ((count & (count - 1)) == 0) {
        items = alloc_checked(reallocarray(items, count == 0 ? 1 : 2 * count, item_bytes));
    }
    memset((char *)items + count * item_bytes, 0, item_bytes);
    return items;
}

#endif
