#include "bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *bytes_alloc(size_t size)
{
    void *at = calloc(1, size > 0 ? size : 1);

    if (at == NULL) {
        fprintf(stderr, "load: out of memory\n");
        exit(1);
    }
    return at;
}

char *bytes_reserve(struct bytes *bytes, size_t more)
{
    size_t need = bytes->len + more;

    if (need > bytes->cap) {
        size_t cap = need > 2 * bytes->cap ? need : 2 * bytes->cap;
        char *at = realloc(bytes->at, cap);
        if (at == NULL) {
            fprintf(stderr, "load: out of memory\n");
            exit(1);
        }
        bytes->at = at;
        bytes->cap = cap;
    }
    return bytes->at + bytes->len;
}

void bytes_append(struct bytes *bytes, const void *from, size_t len)
{
    if (len > 0) {
        memcpy(bytes_reserve(bytes, len), from, len);
        bytes->len += len;
    }
}

void bytes_fini(struct bytes *bytes)
{
    free(bytes->at);
    *bytes = (struct bytes){0};
}
