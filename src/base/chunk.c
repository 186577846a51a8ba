/* See base/chunk.h. */
#include "base/chunk.h"

#include <stdlib.h>

static size_t class_bytes(unsigned size_class)
{
    return (size_t)1 << (size_class + CHUNK_CLASS_MIN_BITS);
}

/* Returns the smallest class that holds total bytes, or CHUNK_CLASSES where none is fit. */
static unsigned class_of(size_t total)
{
    if (total <= class_bytes(0) / 2 || total > class_bytes(CHUNK_CLASSES - 1)) {
        return CHUNK_CLASSES;
    }
    if (total <= class_bytes(0)) {
        return 0;
    }
    return (unsigned)(64 - __builtin_clzll(total - 1)) - CHUNK_CLASS_MIN_BITS;
}

void chunk_pool_init(struct chunk_pool *pool)
{
    memset(pool, 0, sizeof(*pool));
    tube_pool_init(&pool->tubes, TUBES_MAX);
}

void chunk_pool_trim(struct chunk_pool *pool)
{
    for (unsigned c = 0; c < CHUNK_CLASSES; c++) {
        while (pool->free[c] != NULL) {
            struct chunk *chunk = pool->free[c];

            pool->free[c] = chunk->next;
            free(chunk);
        }
        pool->free_count[c] = 0;
    }
    pool->kept_bytes = 0;
}

void chunk_pool_fini(struct chunk_pool *pool)
{
    assert(pool->used_bytes == 0);
    chunk_pool_trim(pool);
    tube_pool_fini(&pool->tubes);
}

struct chunk *chunk_new(struct chunk_pool *pool, size_t capacity)
{
    size_t total = sizeof(struct chunk) + capacity;
    unsigned size_class = class_of(total);
    struct chunk *chunk;

    if (size_class < CHUNK_CLASSES) {
        total = class_bytes(size_class);
    }
    if (size_class < CHUNK_CLASSES && pool->free[size_class] != NULL) {
        chunk = pool->free[size_class];
        pool->free[size_class] = chunk->next;
        pool->free_count[size_class]--;
        pool->kept_bytes -= total;
    } else {
        chunk = malloc(total);
        if (chunk == NULL) {
            return NULL;
        }
    }
    chunk->refs = 1;
    chunk->filled = 0;
    chunk->capacity = total - sizeof(struct chunk);
    chunk->pool = pool;
    chunk->next = NULL;
    chunk->tube = NULL;
    chunk->is_shared = false;
    chunk->size_class = (uint8_t)size_class;
    pool->used_bytes += total;
    return chunk;
}

struct chunk *chunk_new_tube(struct chunk_pool *pool)
{
    struct tube *tube = tube_get(&pool->tubes);
    struct chunk *chunk = tube != NULL ? chunk_new(pool, 0) : NULL;

    if (chunk != NULL) {
        chunk->tube = tube;
    } else if (tube != NULL) {
        tube_put(&pool->tubes, tube);
    }
    return chunk;
}

ssize_t chunk_fill_tube(struct chunk *chunk, int fd, size_t len)
{
    ssize_t n = tube_fill(chunk->tube, fd, len);

    chunk->pool->used_bytes += n > 0 ? (size_t)n : 0;
    return n;
}

bool chunk_add_to_tube(struct chunk *chunk, const char *data, size_t len)
{
    bool done = tube_add(chunk->tube, data, len);

    chunk->pool->used_bytes += done ? len : 0;
    return done;
}

ssize_t chunk_drain_tube(struct chunk *chunk, int fd, size_t len, bool has_more)
{
    ssize_t n = tube_drain(chunk->tube, fd, len, has_more);

    chunk->pool->used_bytes -= n > 0 ? (size_t)n : 0;
    return n;
}

struct chunk *chunk_copy_tube(struct chunk *chunk, size_t len)
{
    struct chunk *copy = chunk_new(chunk->pool, len);
    uint64_t held = chunk->tube->held;
    bool done = copy != NULL && tube_copy(chunk->tube, copy->data, len);

    chunk->pool->used_bytes -= held - chunk->tube->held;
    if (!done) {
        chunk_unref(copy);
        return NULL;
    }
    copy->filled = (uint32_t)len;
    return copy;
}

void chunk_release(struct chunk *chunk)
{
    struct chunk_pool *pool = chunk->pool;
    size_t total = sizeof(struct chunk) + chunk->capacity;
    unsigned c = chunk->size_class;
    size_t most_bytes = total < CHUNK_SMALL_BYTES ? CHUNK_KEEP_SMALL_BYTES : CHUNK_KEEP_BYTES;

    if (chunk->tube != NULL) {
        pool->used_bytes -= chunk->tube->held;
        tube_put(&pool->tubes, chunk->tube);
    }
    pool->used_bytes -= total;
    if (c == CHUNK_CLASSES || pool->free_count[c] * total >= most_bytes) {
        free(chunk);
        return;
    }
    chunk->next = pool->free[c];
    pool->free[c] = chunk;
    pool->free_count[c]++;
    pool->kept_bytes += total;
}
