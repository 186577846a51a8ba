/*
 * Buffers with counted references. A chunk belongs to one pool and a pool to
 * one thread, so counts are plain. Freed chunks of common sizes are kept for
 * reuse until chunk_pool_trim; the pool knows how many bytes are in use.
 */
#ifndef BASE_CHUNK_H
#define BASE_CHUNK_H

#include "base/slice.h"
#include "base/tube.h"

#include <assert.h>
#include <stdint.h>

enum {
    CHUNK_CLASSES = 15, /* 128 bytes .. 2 MiB, powers of two, header included */
    CHUNK_CLASS_MIN_BITS = 7,
    CHUNK_KEEP_BYTES = 1 << 20, /* kept for reuse, a class */
    CHUNK_SMALL_BYTES = 1 << 10,
    CHUNK_KEEP_SMALL_BYTES = 64 << 10, /* of classes below that: malloc has them nearly as fast */
};

struct chunk {
    uint32_t refs;
    uint32_t filled; /* bytes handed out so far, for those that fill it bit by bit */
    size_t capacity; /* of data */
    struct chunk_pool *pool;
    struct chunk *next; /* on the pool's free list */
    struct tube *tube;  /* where its bytes are, none of them in data; NULL: they are */
    bool is_shared;     /* many connections' bytes: pin it no longer than a tick for a few bytes */
    uint8_t size_class; /* CHUNK_CLASSES: none, malloc'ed to measure */
    char data[];
};

struct chunk_pool {
    struct chunk *free[CHUNK_CLASSES];
    uint32_t free_count[CHUNK_CLASSES];
    uint64_t used_bytes; /* of chunks in somebody's hands */
    uint64_t kept_bytes; /* of chunks kept for reuse */
    struct tube_pool tubes;
};

void chunk_pool_init(struct chunk_pool *pool);

/* Frees what is kept; every chunk must have been released before. */
void chunk_pool_fini(struct chunk_pool *pool);

/* Gives kept chunks back to the system. */
void chunk_pool_trim(struct chunk_pool *pool);

/* Returns a chunk of at least capacity bytes with one reference, or NULL out of memory. */
struct chunk *chunk_new(struct chunk_pool *pool, size_t capacity);

/*
 * Returns a chunk with a tube, which is empty and goes with it, or NULL. What it holds counts as
 * used in the pool.
 */
struct chunk *chunk_new_tube(struct chunk_pool *pool);

/* tube_fill, tube_add and tube_drain of a chunk that has a tube. */
ssize_t chunk_fill_tube(struct chunk *chunk, int fd, size_t len);
MUST_CHECK bool chunk_add_to_tube(struct chunk *chunk, const char *data, size_t len);
ssize_t chunk_drain_tube(struct chunk *chunk, int fd, size_t len, bool has_more);

/* Returns a chunk with the first len bytes of chunk's tube, which it gives up; or NULL. */
struct chunk *chunk_copy_tube(struct chunk *chunk, size_t len);

void chunk_release(struct chunk *chunk); /* the count is 0 */

static inline struct chunk *chunk_ref(struct chunk *chunk)
{
    chunk->refs++;
    return chunk;
}

/* NULL is fine. */
static inline void chunk_unref(struct chunk *chunk)
{
    if (chunk != NULL && --chunk->refs == 0) {
        chunk_release(chunk);
    }
}

static inline size_t chunk_room(const struct chunk *chunk)
{
    return chunk->capacity - chunk->filled;
}

#endif
