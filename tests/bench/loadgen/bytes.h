/*
 * A growing run of bytes, and allocation that ends the program rather than fail.
 */
#ifndef LOADGEN_BYTES_H
#define LOADGEN_BYTES_H

#include <stddef.h>

struct bytes {
    char *at;
    size_t len;
    size_t cap;
};

/* Zeroed; never NULL. */
void *bytes_alloc(size_t size);

/* Room for more bytes behind the end; returns where they go. The caller adds to len. */
char *bytes_reserve(struct bytes *bytes, size_t more);
void bytes_append(struct bytes *bytes, const void *from, size_t len);
void bytes_fini(struct bytes *bytes);

#endif
