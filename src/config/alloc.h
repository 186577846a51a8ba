/*
 * Memory for what is loaded. Where there is none, NULL: the load ends in a
 * mistake that says so (errors.h), and nothing else changes. Any thread.
 */
#ifndef CONFIG_ALLOC_H
#define CONFIG_ALLOC_H

#include "base/slice.h"

#include <stdlib.h>

/* A copy of text with a NUL behind it, which the caller frees, or NULL out of memory. */
static inline char *alloc_text(struct slice text)
{
    char *copy = (char *)malloc(text.len + 1);

    if (copy == NULL) {
        return NULL;
    }
    if (text.len > 0) {
        memcpy(copy, text.data, text.len);
    }
    copy[text.len] = '\0';
    return copy;
}

/*
 * Returns items, moved where needed, with room for one more than count of them, zeroed; or NULL
 * out of memory, and items stays as it was.
 */
static inline void *alloc_one_more(void *items, size_t count, size_t item_bytes)
{
    if ((count & (count - 1)) == 0) {
        items = reallocarray(items, count == 0 ? 1 : 2 * count, item_bytes);
    }
    if (items != NULL) {
        memset((char *)items + count * item_bytes, 0, item_bytes);
    }
    return items;
}

#endif
