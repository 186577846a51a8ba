/* See explain.h. */
#include "ring/explain.h"

#include "ring/lookup.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Appends text with every byte that is not printable as %XX. */
static size_t escape(struct slice text, char *out, size_t size)
{
    size_t used = 0;

    for (size_t i = 0; i < text.len && used + 4 < size; i++) {
        unsigned char c = (unsigned char)text.data[i];

        if (c > ' ' && c <= '~' && c != '%') {
            out[used++] = (char)c;
        } else {
            used += (size_t)snprintf(out + used, size - used, "%%%02X", c);
        }
    }
    out[used] = '\0';
    return used;
}

char *placement_explain(const struct placement *placement, struct slice key, char *out, size_t size)
{
    struct slice part = placement_hashed_part(placement, key);
    size_t used;

    if (placement->recipe.kind == KIND_PYMEMCACHE) {
        snprintf(out, size, "every server's label is hashed together with the whole key");
        return out;
    }
    used = (size_t)snprintf(out, size, "%s ", part.len == key.len ? "the whole key" : "the part");
    if (used < size && part.len != key.len) {
        used += escape(part, out + used, size - used);
    }
    if (used < size) {
        snprintf(out + used, size - used, "%shashes to %0*" PRIx64, part.len != key.len ? " " : "",
                 (int)(placement_hash_bits(placement) + 3) / 4, placement_hash(placement, key));
    }
    return out;
}

/* A circle of labels that are hashed with the key has no places: keys are drawn at random. */
static uint32_t owner_by_text(const struct placement *placement, const uint8_t *live, size_t i)
{
    char key[24];

    snprintf(key, sizeof(key), "%zu", i);
    return placement_find(placement, slice_text(key), live);
}

static int by_number(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left;
    const uint32_t b = *(const uint32_t *)right;

    return (a > b) - (a < b);
}

void placement_sample(const struct placement *placement, const uint8_t *live, uint32_t *owners,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        switch (placement->recipe.kind) {
        case KIND_RING:
            owners[i] = placement_find_at(placement, UINT64_MAX / count * i, live);
            break;
        case KIND_TABLE:
            owners[i] = placement->cells[(uint64_t)placement->cell_count * i / count];
            if (!is_live(live, owners[i])) {
                owners[i] = placement_owner(placement, hash_mix(i), live);
            }
            break;
        case KIND_RENDEZVOUS:
            owners[i] = placement_owner(placement, hash_mix(i + 1), live);
            break;
        case KIND_PYMEMCACHE:
            owners[i] = owner_by_text(placement, live, i);
            break;
        }
    }
    if (placement->recipe.kind == KIND_RENDEZVOUS || placement->recipe.kind == KIND_PYMEMCACHE) {
        qsort(owners, count, sizeof(owners[0]), by_number); /* there is no circle: shares alone */
    }
}
