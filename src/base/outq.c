/* See base/outq.h. */
#include "base/outq.h"

#include <stdlib.h>

enum { GATHER_BYTES = 16 * 1024 - sizeof(struct chunk) };

void outq_init(struct outq *q)
{
    q->pieces = q->inline_pieces;
    q->head = 0;
    q->count = 0;
    q->capacity = OUTQ_INLINE;
    q->bytes = 0;
}

void outq_fini(struct outq *q)
{
    for (uint32_t i = 0; i < q->count; i++) {
        chunk_unref(outq_at(q, i)->chunk);
    }
    if (q->pieces != q->inline_pieces) {
        free(q->pieces);
    }
    outq_init(q);
}

/* Makes room for one more piece behind the last. */
static bool outq_grow(struct outq *q)
{
    struct piece *pieces;
    uint32_t capacity = q->capacity * 2;

    if (q->head >= q->capacity / 2 && q->head > 0) {
        memmove(q->pieces, q->pieces + q->head, q->count * sizeof(q->pieces[0]));
        q->head = 0;
        return true;
    }
    pieces = malloc(capacity * sizeof(pieces[0]));
    if (pieces == NULL) {
        return false;
    }
    memcpy(pieces, q->pieces + q->head, q->count * sizeof(pieces[0]));
    if (q->pieces != q->inline_pieces) {
        free(q->pieces);
    }
    q->pieces = pieces;
    q->head = 0;
    q->capacity = capacity;
    return true;
}

bool outq_add(struct outq *q, const char *data, size_t len, struct chunk *chunk, uint32_t ordinal)
{
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

bool outq_copy(struct outq *q, const char *data, size_t len, struct chunk **gather,
               struct chunk_pool *pool)
{
    char *to;

    if (*gather == NULL || chunk_room(*gather) < len) {
        struct chunk *fresh = chunk_new(pool, len > GATHER_BYTES ? len : GATHER_BYTES);

        if (fresh == NULL) {
            return false;
        }
        fresh->is_shared = true;
        chunk_unref(*gather);
        *gather = fresh;
    }
    to = (*gather)->data + (*gather)->filled;
    memcpy(to, data, len);
    if (!outq_append(q, to, len, *gather, 0)) {
        return false;
    }
    (*gather)->filled += (uint32_t)len;
    return true;
}

int outq_iovec(const struct outq *q, struct iovec *iov, int max)
{
    int n = 0;

    for (uint32_t i = 0; i < q->count && n < max; i++, n++) {
        const struct piece *piece = &q->pieces[q->head + i];

        iov[n].iov_base = (void *)(uintptr_t)piece->data;
        iov[n].iov_len = piece->len;
    }
    return n;
}

void outq_advance(struct outq *q, size_t bytes)
{
    assert(bytes <= q->bytes);
    q->bytes -= bytes;
    while (bytes > 0) {
        struct piece *piece = outq_at(q, 0);

        if (bytes < piece->len) {
            piece->data += bytes;
            piece->len -= (uint32_t)bytes;
            return;
        }
        bytes -= piece->len;
        chunk_unref(piece->chunk);
        q->head++;
        q->count--;
    }
    if (q->count == 0) {
        if (q->pieces != q->inline_pieces) {
            free(q->pieces);
        }
        outq_init(q);
    }
}

bool outq_settle(struct outq *q, struct chunk_pool *pool)
{
    size_t total = 0;
    struct chunk *own;

    for (uint32_t i = 0; i < q->count; i++) {
        const struct piece *piece = outq_at(q, i);

        if (piece->chunk != NULL && piece->chunk->is_shared) {
            total += piece->len;
        }
    }
    if (total == 0 || total >= OUTQ_PIN_BYTES) {
        return true;
    }
    own = chunk_new(pool, total);
    if (own == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < q->count; i++) {
        struct piece *piece = outq_at(q, i);

        if (piece->chunk != NULL && piece->chunk->is_shared) {
            char *to = own->data + own->filled;

            memcpy(to, piece->data, piece->len);
            own->filled += piece->len;
            chunk_unref(piece->chunk);
            piece->chunk = chunk_ref(own);
            piece->data = to;
        }
    }
    chunk_unref(own);
    return true;
}
