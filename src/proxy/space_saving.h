/*
 * The most frequent keys of a stream in bounded memory: the Space-Saving
 * sketch of Metwally, Agrawal and El Abbadi. A key not among those kept takes
 * the place of the rarest, and its count, which becomes its error. Every key
 * with more than total / SPACE_SAVING_KEYS of all is kept. Pure; one thread.
 */
#ifndef PROXY_SPACE_SAVING_H
#define PROXY_SPACE_SAVING_H

#include "base/slice.h"

#include <stdint.h>

enum {
    SPACE_SAVING_KEYS = 1024,
    SPACE_SAVING_SLOTS = 2 * SPACE_SAVING_KEYS,
    SPACE_SAVING_KEY_MAX = 250,
    SPACE_SAVING_NONE = UINT16_MAX,
};

struct space_saving_key {
    uint64_t error; /* the count is not above the true one by more than this */
    uint32_t hash;
    uint16_t next; /* of the same slot */
    uint8_t len;
    char key[SPACE_SAVING_KEY_MAX];
};

struct space_saving {
    uint64_t total; /* of all counts that were added */
    uint32_t used;
    uint32_t cursor;    /* where the next of the rarest is looked for ... */
    uint64_t rarest;    /* ... which has this count ... */
    uint64_t next_rare; /* ... and the least count passed over on the way */
    uint16_t slots[SPACE_SAVING_SLOTS];
    uint64_t counts[SPACE_SAVING_KEYS]; /* of the keys; never below the true ones */
    struct space_saving_key keys[SPACE_SAVING_KEYS];
};

void space_saving_init(struct space_saving *sketch);

/* Adds weight to key; hash may be any good one, always the same. Returns the key's number. */
uint16_t space_saving_add(struct space_saving *sketch, struct slice key, uint32_t hash,
                          uint64_t weight);

/* Halves all counts, so that what was long ago weighs less. */
void space_saving_halve(struct space_saving *sketch);

/*
 * Fills top with the numbers of up to max keys, the most frequent first; returns how many. Keys
 * that may owe half of their count or more to others are left out: they only came last.
 */
size_t space_saving_top(const struct space_saving *sketch, uint16_t *top, size_t max);

#endif
