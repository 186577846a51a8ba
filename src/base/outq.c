/* See base/outq.h. */
#include "base/outq.h"

#include <stdlib.h>

enum { GATHER_BYTES = 16 * 1024 - sizeof(struct chunk) };

/* Makes q empty, whose pieces are its own. */
static void clear(struct outq *q)
{
    q->pieces = q->inline_pieces;
    q->head = 0;
    q->count = 0;
    q->capacity = OUTQ_INLINE;
    q->settled = 0;
    q->bytes = 0;
}

void outq_init(struct outq *q, struct chunk_pool *pool)
{
    clear(q);
    q->pool = pool;
}

/* Frees the list of pieces where it is not in q itself; q is to get another. */
static void free_pieces(struct outq *q)
{
    if (q->pieces != q->inline_pieces) {
        q->pool->used_bytes -= q->capacity * sizeof(q->pieces[0]);
        free(q->pieces);
    }
}

void outq_fini(struct outq *q)
{
    for (uint32_t i = 0; i < q->count; i++) {
        chunk_unref(outq_at(q, i)->chunk);
    }
    free_pieces(q);
    clear(q);
}

bool outq_grow(struct outq *q)
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
    free_pieces(q);
    q->pool->used_bytes += capacity * sizeof(pieces[0]);
    q->pieces = pieces;
    q->head = 0;
    q->capacity = capacity;
    return true;
}

/* Replaces *gather by one with room for len bytes. False: out of memory. */
static bool refill(struct chunk **gather, struct chunk_pool *pool, size_t len)
{
    struct chunk *fresh = chunk_new(pool, len > GATHER_BYTES ? len : GATHER_BYTES);

    if (fresh == NULL) {
        return false;
    }
    fresh->is_shared = true;
    chunk_unref(*gather);
    *gather = fresh;
    return true;
}

bool outq_copy(struct outq *q, const char *data, size_t len, struct chunk **gather)
{
    char *to;

    if ((*gather == NULL || chunk_room(*gather) < len) && !refill(gather, q->pool, len)) {
        return false;
    }
    to = (*gather)->data + (*gather)->filled;
    memcpy(to, data, len);
    if (!outq_append(q, to, len, *gather, 0)) {
        return false;
    }
    (*gather)->filled += (uint32_t)len;
    return true;
}

bool outq_copier_end(struct outq_copier *copier)
{
    struct chunk *chunk = *copier->gather;
    char *start;
    size_t len;

    if (chunk == NULL) {
        return true;
    }
    start = chunk->data + chunk->filled;
    len = (size_t)(copier->at - start);
    if (!outq_append(copier->q, start, len, chunk, 0)) {
        return false;
    }
    chunk->filled += (uint32_t)len;
    return true;
}

/* The chunk is full. */
static bool copier_refill(struct outq_copier *copier, size_t len)
{
    if (!outq_copier_end(copier) || !refill(copier->gather, copier->q->pool, len)) {
        return false;
    }
    copier->at = (*copier->gather)->data;
    copier->end = copier->at + (*copier->gather)->capacity;
    return true;
}

/* Not inline: a compiler that knew a bound on len would copy by a slow string instruction. */
bool outq_copier_add(struct outq_copier *copier, const char *data, size_t len)
{
    if (len == 0) {
        return true;
    }
    if (unlikely((size_t)(copier->end - copier->at) < len) && !copier_refill(copier, len)) {
        return false;
    }
    memcpy(copier->at, data, len);
    copier->at += len;
    return true;
}

void outq_gather(const struct outq *q, struct gathering *g)
{
    for (uint32_t i = 0; i < q->count; i++) {
        const struct piece *piece = &q->pieces[q->head + i];

        g->meets_tube = piece->data == NULL;
        if (g->meets_tube || !gathering_add(g, piece->data, piece->len)) {
            return;
        }
    }
}

void outq_join_tube(struct outq *q)
{
    struct piece *first = outq_at(q, 0);
    struct piece *second;

    if (q->count == 1 || first->data != NULL) {
        return;
    }
    second = outq_at(q, 1);
    if (second->data == NULL || second->len > GATHERING_SMALL_MAX ||
        !chunk_add_to_tube(first->chunk, second->data, second->len)) {
        return;
    }
    chunk_unref(second->chunk);
    second->data = NULL;
    second->chunk = first->chunk;
    second->len += first->len;
    second->ordinal = first->ordinal;
    q->head++;
    q->count--;
    q->settled -= q->settled > 0;
}

bool outq_copy_tube(struct outq *q)
{
    struct piece *first = outq_at(q, 0);
    struct chunk *copy;

    if (first->data != NULL) {
        return false;
    }
    copy = chunk_copy_tube(first->chunk, first->len);
    if (copy == NULL) {
        return false;
    }
    chunk_unref(first->chunk);
    first->chunk = copy;
    first->data = copy->data;
    return true;
}

void outq_advance(struct outq *q, size_t bytes)
{
    assert(bytes <= q->bytes);
    q->bytes -= bytes;
    while (bytes > 0) {
        struct piece *piece = outq_at(q, 0);

        if (bytes < piece->len) {
            piece->data = piece->data != NULL ? piece->data + bytes : NULL;
            piece->len -= (uint32_t)bytes;
            return;
        }
        bytes -= piece->len;
        chunk_unref(piece->chunk);
        q->head++;
        q->count--;
        q->settled -= q->settled > 0;
    }
    if (q->count == 0) {
        free_pieces(q);
        clear(q);
    }
}

bool outq_settle(struct outq *q)
{
    size_t total = 0;
    struct chunk *own;

    for (uint32_t i = q->settled; i < q->count; i++) {
        const struct piece *piece = outq_at(q, i);

        if (piece->chunk != NULL && piece->chunk->is_shared) {
            total += piece->len;
        }
    }
    if (total == 0 || total >= OUTQ_PIN_BYTES) {
        q->settled = q->count;
        return true;
    }
    own = chunk_new(q->pool, total);
    if (own == NULL) {
        return false;
    }
    for (uint32_t i = q->settled; i < q->count; i++) {
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
    q->settled = q->count;
    return true;
}
