/*
 * A queue of bytes to be written: pieces of chunks, or of constant text, in
 * order. Small pieces are gathered by copying, large ones are kept by
 * reference. Owned by one thread.
 */
#ifndef BASE_OUTQ_H
#define BASE_OUTQ_H

#include "base/chunk.h"
#include "base/gathering.h"

/* Some bytes, and the chunk that keeps them alive; chunk NULL: constant text. */
struct piece {
    const char *data; /* NULL: the next in the chunk's tube */
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
    uint32_t settled; /* pieces from head on that outq_settle has seen to */
    uint64_t bytes;
    struct chunk_pool *pool;
    struct piece inline_pieces[OUTQ_INLINE]; /* last: they need no clearing */
};

/* What is queued, and the list of it where that is long, counts as used in pool. */
void outq_init(struct outq *q, struct chunk_pool *pool);

/* Drops what is queued and frees the queue's own memory; it may be used again. */
void outq_fini(struct outq *q);

/*
 * Appends data, taking a reference on chunk (NULL: constant text). False: out
 * of memory, nothing appended. Bytes that follow the last piece in memory
 * extend it. data NULL: the next len bytes of chunk's tube.
 */
MUST_CHECK static inline bool outq_append(struct outq *q, const char *data, size_t len,
                                          struct chunk *chunk, uint32_t ordinal);

/*
 * Appends a copy of data, placed in *gather (a chunk of the caller's that fills
 * up; replaced from q's pool when full). False: out of memory, nothing appended.
 */
MUST_CHECK bool outq_copy(struct outq *q, const char *data, size_t len, struct chunk **gather);

/* Adds pieces to g from the head on, as many as there is room for, up to one in a tube. */
void outq_gather(const struct outq *q, struct gathering *g);

/*
 * Where the first piece is in a tube and a short one follows, copies that to the tube as well: both
 * leave by one call, and in one packet less.
 */
void outq_join_tube(struct outq *q);

/* Copies the first piece to memory. False: it cannot be had, or was not in a tube. */
MUST_CHECK bool outq_copy_tube(struct outq *q);

/* Drops the first bytes bytes, which were written. */
void outq_advance(struct outq *q, size_t bytes);

/*
 * Copies pieces that pin a shared chunk into memory of the queue's own, of those added since the
 * last time; where they are OUTQ_PIN_BYTES, they stay. False: out of memory.
 */
MUST_CHECK bool outq_settle(struct outq *q);

/* Moves the only piece of from to the empty queue to. */
static inline void outq_hand_over(struct outq *to, struct outq *from);

/* Makes room for one more piece behind the last. False: out of memory. */
MUST_CHECK bool outq_grow(struct outq *q);

/* Copies many pieces to the end of a queue, as few long ones. */
struct outq_copier {
    struct outq *q;
    struct chunk **gather; /* as outq_copy's */
    char *at;              /* where in *gather the next byte goes */
    char *end;             /* of its room */
};

/* Begins to copy; until outq_copier_end, what was copied is in no queue. */
static inline struct outq_copier outq_copier_begin(struct outq *q, struct chunk **gather);

/* Copies one more. False: out of memory; the queue holds what was copied before. */
MUST_CHECK bool outq_copier_add(struct outq_copier *copier, const char *data, size_t len);

/* Appends what was copied; more may follow. False: out of memory, it is lost. */
MUST_CHECK bool outq_copier_end(struct outq_copier *copier);

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

        if (last->chunk == chunk && (data == NULL || last->data + last->len == data) &&
            last->ordinal == ordinal && len < UINT32_MAX - last->len) {
            last->len += (uint32_t)len;
            q->bytes += len;
            return true;
        }
    }
    if (len == 0) {
        return true;
    }
    if (q->head + q->count == q->capacity && !outq_grow(q)) {
        return false;
    }
    *outq_at(q, q->count) = (struct piece){data, chunk, (uint32_t)len, ordinal};
    q->count++;
    q->bytes += len;
    if (chunk != NULL) {
        chunk_ref(chunk);
    }
    return true;
}

static inline struct outq_copier outq_copier_begin(struct outq *q, struct chunk **gather)
{
    struct outq_copier copier = {q, gather, NULL, NULL};

    if (*gather != NULL) {
        copier.at = (*gather)->data + (*gather)->filled;
        copier.end = (*gather)->data + (*gather)->capacity;
    }
    return copier;
}

static inline void outq_hand_over(struct outq *to, struct outq *from)
{
    assert(to->count == 0 && from->count == 1);
    to->head = 0;
    to->count = 1;
    to->settled = 0;
    to->bytes = from->bytes;
    to->pieces[0] = *outq_at(from, 0);
    from->count = 0;
    from->settled = 0;
    from->bytes = 0;
}

#endif
