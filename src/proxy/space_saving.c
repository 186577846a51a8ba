/* See space_saving.h. */
#include "proxy/space_saving.h"

#include <assert.h>

void space_saving_init(struct space_saving *sketch)
{
    sketch->total = 0;
    sketch->used = 0;
    memset(sketch->slots, 0xff, sizeof(sketch->slots));
}

static void put(struct space_saving *sketch, uint32_t at, uint16_t key)
{
    sketch->heap[at] = key;
    sketch->keys[key].in_heap = (uint16_t)at;
}

/* The key at that place of the heap has grown: moves it away from the head. */
static void sink(struct space_saving *sketch, uint32_t at)
{
    uint16_t key = sketch->heap[at];
    uint64_t count = sketch->keys[key].count;

    for (;;) {
        uint32_t child = 2 * at + 1;

        if (child >= sketch->used) {
            break;
        }
        if (child + 1 < sketch->used &&
            sketch->keys[sketch->heap[child + 1]].count < sketch->keys[sketch->heap[child]].count) {
            child++;
        }
        if (sketch->keys[sketch->heap[child]].count >= count) {
            break;
        }
        put(sketch, at, sketch->heap[child]);
        at = child;
    }
    put(sketch, at, key);
}

static void rise(struct space_saving *sketch, uint32_t at)
{
    uint16_t key = sketch->heap[at];
    uint64_t count = sketch->keys[key].count;

    while (at > 0 && sketch->keys[sketch->heap[(at - 1) / 2]].count > count) {
        put(sketch, at, sketch->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    put(sketch, at, key);
}

static uint16_t *slot_of(struct space_saving *sketch, uint32_t hash)
{
    return &sketch->slots[hash % SPACE_SAVING_SLOTS];
}

/* Takes the key off its slot's chain. */
static void forget(struct space_saving *sketch, uint16_t number)
{
    uint16_t *at = slot_of(sketch, sketch->keys[number].hash);

    while (*at != number) {
        assert(*at != SPACE_SAVING_NONE);
        at = &sketch->keys[*at].next;
    }
    *at = sketch->keys[number].next;
}

static void name(struct space_saving *sketch, uint16_t number, struct slice key, uint32_t hash)
{
    struct space_saving_key *kept = &sketch->keys[number];
    uint16_t *slot = slot_of(sketch, hash);

    kept->hash = hash;
    kept->len = (uint8_t)key.len;
    memcpy(kept->key, key.data, key.len);
    kept->next = *slot;
    *slot = number;
}

void space_saving_add(struct space_saving *sketch, struct slice key, uint32_t hash, uint32_t weight)
{
    struct space_saving_key *kept;
    uint16_t number = *slot_of(sketch, hash);

    key.len = key.len < SPACE_SAVING_KEY_MAX ? key.len : SPACE_SAVING_KEY_MAX;
    sketch->total += weight;
    while (number != SPACE_SAVING_NONE) {
        kept = &sketch->keys[number];
        if (kept->hash == hash && kept->len == key.len &&
            memcmp(kept->key, key.data, key.len) == 0) {
            kept->count += weight;
            sink(sketch, kept->in_heap);
            return;
        }
        number = kept->next;
    }
    if (sketch->used < SPACE_SAVING_KEYS) {
        number = (uint16_t)sketch->used++;
        sketch->keys[number].count = weight;
        sketch->keys[number].error = 0;
        name(sketch, number, key, hash);
        put(sketch, number, number);
        rise(sketch, number);
        return;
    }
    number = sketch->heap[0];
    forget(sketch, number);
    sketch->keys[number].error = sketch->keys[number].count;
    sketch->keys[number].count += weight;
    name(sketch, number, key, hash);
    sink(sketch, 0);
}

void space_saving_halve(struct space_saving *sketch)
{
    sketch->total /= 2;
    for (uint32_t i = 0; i < sketch->used; i++) { /* the order stays that of a heap */
        sketch->keys[i].count /= 2;
        sketch->keys[i].error /= 2;
    }
}

uint64_t space_saving_floor(const struct space_saving *sketch)
{
    return sketch->used < SPACE_SAVING_KEYS ? 0 : sketch->keys[sketch->heap[0]].count;
}

size_t space_saving_top(const struct space_saving *sketch, uint16_t *top, size_t max)
{
    size_t count = 0;

    for (uint32_t i = 0; i < sketch->used; i++) {
        uint64_t mine = sketch->keys[i].count;
        size_t at = count < max ? count++ : max;

        if (mine == 0) {
            count -= at < max;
            continue;
        }
        while (at > 0 && sketch->keys[top[at - 1]].count < mine) {
            if (at < max) {
                top[at] = top[at - 1];
            }
            at--;
        }
        if (at < max) {
            top[at] = (uint16_t)i;
        }
    }
    return count;
}
