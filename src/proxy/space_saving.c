/* See space_saving.h. */
#include "proxy/space_saving.h"

#include <assert.h>

static void look_anew(struct space_saving *sketch)
{
    sketch->cursor = 0;
    sketch->rarest = 0;
    sketch->next_rare = UINT64_MAX;
}

void space_saving_init(struct space_saving *sketch)
{
    sketch->total = 0;
    sketch->used = 0;
    look_anew(sketch);
    memset(sketch->slots, 0xff, sizeof(sketch->slots));
}

/*
 * A key that has the least count, or less than slack more. Goes round and round: whoever has the
 * least count is met in this round, and the least count of the next round is known by its end. Most
 * keys are about equally rare, so that one or two are looked at.
 */
static uint16_t rarest(struct space_saving *sketch, uint64_t slack)
{
    for (;;) {
        while (sketch->cursor < SPACE_SAVING_KEYS) {
            uint32_t at = sketch->cursor++;

            if (sketch->counts[at] < sketch->rarest + slack) {
                return (uint16_t)at;
            }
            if (sketch->counts[at] < sketch->next_rare) {
                sketch->next_rare = sketch->counts[at];
            }
        }
        sketch->cursor = 0;
        sketch->rarest = sketch->next_rare;
        sketch->next_rare = UINT64_MAX;
    }
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

uint16_t space_saving_add(struct space_saving *sketch, struct slice key, uint32_t hash,
                          uint64_t weight)
{
    struct space_saving_key *kept;
    uint16_t number = *slot_of(sketch, hash);

    key.len = key.len < SPACE_SAVING_KEY_MAX ? key.len : SPACE_SAVING_KEY_MAX;
    sketch->total += weight;
    while (number != SPACE_SAVING_NONE) {
        kept = &sketch->keys[number];
        if (kept->hash == hash && kept->len == key.len &&
            memcmp(kept->key, key.data, key.len) == 0) {
            sketch->counts[number] += weight;
            return number;
        }
        number = kept->next;
    }
    if (sketch->used < SPACE_SAVING_KEYS) {
        number = (uint16_t)sketch->used++;
        sketch->counts[number] = weight;
        sketch->keys[number].error = 0;
        name(sketch, number, key, hash);
        return number;
    }
    number = rarest(sketch, weight);
    forget(sketch, number);
    sketch->keys[number].error = sketch->counts[number];
    sketch->counts[number] += weight;
    if (sketch->counts[number] < sketch->next_rare) {
        sketch->next_rare = sketch->counts[number];
    }
    name(sketch, number, key, hash);
    return number;
}

void space_saving_halve(struct space_saving *sketch)
{
    sketch->total /= 2;
    look_anew(sketch);
    for (uint32_t i = 0; i < sketch->used; i++) {
        sketch->counts[i] /= 2;
        sketch->keys[i].error /= 2;
    }
}

/* Behind those of top that have at least so much. */
static size_t place_of(const struct space_saving *sketch, const uint16_t *top, size_t count,
                       uint64_t mine)
{
    size_t low = 0;

    while (low < count) {
        size_t middle = (low + count) / 2;

        if (sketch->counts[top[middle]] >= mine) {
            low = middle + 1;
        } else {
            count = middle;
        }
    }
    return low;
}

size_t space_saving_top(const struct space_saving *sketch, uint16_t *top, size_t max)
{
    size_t count = 0;

    for (uint32_t i = 0; i < sketch->used; i++) {
        uint64_t mine = sketch->counts[i];
        size_t at;

        if ((count == max && sketch->counts[top[max - 1]] >= mine) ||
            mine <= 2 * sketch->keys[i].error) {
            continue;
        }
        at = place_of(sketch, top, count, mine);
        count += count < max ? 1 : 0;
        memmove(&top[at + 1], &top[at], (count - at - 1) * sizeof(top[0]));
        top[at] = (uint16_t)i;
    }
    return count;
}
