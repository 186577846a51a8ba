/*
 * A queue of bytes to be written: pieces of chunks, or of constant text, in
 * order. Small pieces are gathered by copying, large ones are kept by
 * reference. Owned by one thread.
 */
#ifndef BASE_OUTQ_H
#define BASE_OUTQ_H

#include "base/chunk.h"

#include <sys/uio.h>

/* Some bytes, and the chunk that keeps them alive; chunk NULL: constant text. */
struct piece {
    const char *data;
    struct chunk *chunk;
    uint32_t len;
    uint32_t ordinal; /* of the key a value answers; free for the owner's use */
};

enum {
    OUTQ_INLINE = 2,
    OUTQ_PIN_BYTES = 16 * 1024, /* so much may keep a shared chunk pinned */
};

struct outq {
    struct piece *pieces; /* inline_pieces, or malloc'ed */
    uint32_t head;        /* first piece not written */
    uint32_t count;       /* pieces from head on */
    uint32_t capacity;
    uint64_t bytes;
    struct piece inline_pieces[OUTQ_INLINE]; /* last: they need no clearing */
};

void outq_init(struct outq *q);

/* Drops what is queued and frees the queue's own memory; it may be used again. */
void outq_fini(struct outq *q);

/*
 * Appends data, taking a reference on chunk (NULL: constant text). False: out
 * of memory, nothing appended. Bytes that follow the last piece in memory
 * extend it.
 */
MUST_CHECK static inline bool outq_append(struct outq *q, const char *data, size_t len,
                                          struct chunk *chunk, uint32_t ordinal);

/*
 * Appends a copy of data, placed in *gather (a chunk of the caller's that fills
 * up; replaced from pool when full). False: out of memory, nothing appended.
 */
MUST_CHECK bool outq_copy(struct outq *q, const char *data, size_t len, struct chunk **gather,
                          struct chunk_pool *pool);

/* Fills iov with up to max entries from the head; returns how many. */
int outq_iovec(const struct outq *q, struct iovec *iov, int max);

/* Drops the first bytes bytes, which were written. */
void outq_advance(struct outq *q, size_t bytes);

/* Copies pieces that pin a shared chunk into memory of the queue's own. False: out of memory. */
MUST_CHECK bool outq_settle(struct outq *q, struct chunk_pool *pool);

/* Moves the only piece of from to the empty queue to. */
static inline void outq_hand_over(struct outq *to, struct outq *from);

/* outq_append's second half: data does not follow the last piece. */
MUST_CHECK bool outq_add(struct outq *q, const char *data, size_t len, struct chunk *chunk,
                         uint32_t ordinal);

static inline bool outq_is_empty(const struct outq *q)
{
    return q->count == 0;
}

static inline struct piece *outq_at(struct outq *q, uint32_t i)
{
    return &q->pieces[q->head + i];
}

static inline bool outq_append(struct outq *q, const char *data, size_t len, struct chunk *chunk,
                               uint32_t ordinal)
{
    if (q->count > 0 && chunk != NULL) {
        struct piece *last = outq_at(q, q->count - 1);

        if (last->chunk == chunk && last->data + last->len == data && last->ordinal == ordinal &&
            len < UINT32_MAX - last->len) {
            last->len += (uint32_t)len;
            q->bytes += len;
            return true;
        }
    }
    return outq_add(q, data, len, chunk, ordinal);
}

static inline void outq_hand_over(struct outq *to, struct outq *from)
{
    assert(to->count == 0 && from->count == 1);
    to->head = 0;
    to->count = 1;
    to->bytes = from->bytes;
    to->pieces[0] = *outq_at(from, 0);
    from->count = 0;
    from->bytes = 0;
}

#endif
