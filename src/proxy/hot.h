/*
 * The most frequent keys of one worker. Of all keys a part is looked at, at
 * random, and goes into a sketch; what proves to be frequent there is counted
 * key by key from then on. The worker counts; once a second it puts what it
 * found where the control thread may copy it.
 */
#ifndef PROXY_HOT_H
#define PROXY_HOT_H

#include "proxy/counter.h"
#include "proxy/space_saving.h"

#include <pthread.h>

enum {
    HOT_PUBLISHED = 64,          /* most frequent keys published */
    HOT_EXACT = 64,              /* keys counted one by one */
    HOT_SLOT_BITS = 12,          /* slots where these are found, as a power of two */
    HOT_LOOKS_FIRST = 2048,      /* so many keys are looked at, then only a part ... */
    HOT_LOOKS = 128,             /* ... so that there are about so many looks a second ... */
    HOT_GAP_MAX = 64,            /* ... or one key in so many is looked at */
    HOT_EXACT_LOOKS = 4,         /* a key looked at so often ... */
    HOT_EXACT_PART = 512,        /* ... that has so small a part of all is counted one by one */
    HOT_WORD = sizeof(uint64_t), /* a shorter key takes the long way to its slot */
};

/* A key that is counted one by one. */
struct hot_exact {
    uint64_t count; /* since the sketch was told */
    uint32_t slot;
    uint8_t next; /* of the same slot: its number + 1, or 0 */
    uint8_t len;
    char key[SPACE_SAVING_KEY_MAX];
};

struct hot_published_key {
    uint64_t count;
    uint64_t error;
    uint8_t len;
    char key[SPACE_SAVING_KEY_MAX];
};

/* What the control thread may copy under the lock. */
struct hot_published {
    pthread_mutex_t lock;
    struct hot_published_key keys[HOT_PUBLISHED]; /* the most frequent first */
    uint32_t count;
    uint64_t total;
};

struct hot {
    uint32_t countdown;  /* keys until the next is looked at ... */
    uint32_t gap;        /* ... on average */
    uint32_t looks_left; /* with this gap, then it doubles */
    uint32_t random;
    uint64_t total_before; /* the sketch's total a second ago */
    uint32_t seconds;
    uint32_t exact_count;
    uint8_t slots[1 << HOT_SLOT_BITS]; /* its first key counted one by one: number + 1, or 0 */
    struct hot_exact exact[HOT_EXACT];
    struct space_saving sketch;
    struct hot_published published;
};

/* NULL out of memory. */
struct hot *hot_new(void);
void hot_free(struct hot *hot); /* NULL is fine */

/* A key whose slot has keys that are counted one by one, perhaps this one. */
void hot_key_of_slot(struct hot *hot, const struct slice *key, uint32_t slot);

/* A key shorter than a word. */
void hot_short_key(struct hot *hot, const struct slice *key);

/* Adds a key to the sketch, and decides which is looked at next. */
void hot_look(struct hot *hot, const struct slice *key, uint32_t slot);

/* Publishes; once a second. */
void hot_publish(struct hot *hot);

/* The slot of a key, by its last word and the one in its middle. */
static inline uint32_t hot_slot(const struct slice *key)
{
    uint64_t last;
    uint64_t middle;

    memcpy(&last, key->data + key->len - HOT_WORD, HOT_WORD);
    memcpy(&middle, key->data + key->len / 2 - HOT_WORD / 2, HOT_WORD);
    return (uint32_t)((last + middle * 8) * 0x9e3779b97f4a7c15u >> (64 - HOT_SLOT_BITS));
}

/*
 * A key was asked for. Every request pays for this, and more where key's bytes were only just
 * written: words are read from it, and a processor has to wait for what was not written as words.
 */
static inline void hot_key(struct hot *hot, const struct slice *key)
{
    uint32_t slot;

    if (!COUNTING) {
        return;
    }
    if (unlikely(key->len < HOT_WORD)) {
        hot_short_key(hot, key);
        return;
    }
    slot = hot_slot(key);
    if (unlikely(hot->slots[slot] != 0)) {
        hot_key_of_slot(hot, key, slot);
    } else if (unlikely(--hot->countdown == 0)) {
        hot_look(hot, key, slot);
    }
}

#endif
