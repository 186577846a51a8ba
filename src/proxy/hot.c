/* See hot.h. */
#include "proxy/hot.h"

#include <stdlib.h>

enum {
    CHAIN_MAX = 8, /* keys of one slot: the others stay looked at now and then */
    HALVE_SECONDS = 60,
};

static void set_gap(struct hot *hot, uint64_t gap)
{
    hot->gap = gap < 1 ? 1 : gap > HOT_GAP_MAX ? HOT_GAP_MAX : (uint32_t)gap;
    hot->looks_left = hot->gap == 1 ? HOT_LOOKS_FIRST : HOT_LOOKS; /* much after little: exactly */
}

struct hot *hot_new(void)
{
    struct hot *hot = calloc(1, sizeof(*hot));

    if (hot == NULL) {
        return NULL;
    }
    space_saving_init(&hot->sketch);
    pthread_mutex_init(&hot->published.lock, NULL);
    hot->countdown = 1;
    hot->random = 2463534242;
    set_gap(hot, 1);
    return hot;
}

void hot_free(struct hot *hot)
{
    if (hot != NULL) {
        pthread_mutex_destroy(&hot->published.lock);
        free(hot);
    }
}

/* Only the sketch uses it: short, and good enough to spread keys over its slots. */
static uint64_t hash_of(struct slice key)
{
    uint64_t hash = key.len;
    uint64_t part = 0;

    while (key.len >= sizeof(part)) {
        memcpy(&part, key.data, sizeof(part));
        hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
        key = slice_make(key.data + sizeof(part), key.len - sizeof(part));
    }
    for (size_t i = 0; i < key.len; i++) {
        hash = (hash ^ (unsigned char)key.data[i]) * 0x9e3779b97f4a7c15u;
    }
    return hash >> 32;
}

void hot_key_of_slot(struct hot *hot, const struct slice *key, uint32_t slot)
{
    for (unsigned number = hot->slots[slot]; number != 0;) {
        struct hot_exact *exact = &hot->exact[number - 1];

        if (exact->len == key->len && memcmp(exact->key, key->data, key->len) == 0) {
            exact->count++;
            return;
        }
        number = exact->next;
    }
    if (--hot->countdown == 0) {
        hot_look(hot, key, slot);
    }
}

static uint32_t slot_of(const struct slice *key)
{
    return key->len < HOT_WORD ? (uint32_t)(hash_of(*key) >> (32 - HOT_SLOT_BITS)) : hot_slot(key);
}

void hot_short_key(struct hot *hot, const struct slice *key)
{
    hot_key_of_slot(hot, key, slot_of(key));
}

/* Counts key one by one from now on, where there is room. */
static void promote(struct hot *hot, struct slice key, uint32_t slot)
{
    struct hot_exact *exact = &hot->exact[hot->exact_count];
    unsigned chained = 0;

    for (unsigned number = hot->slots[slot]; number != 0; number = hot->exact[number - 1].next) {
        chained++;
    }
    if (chained == CHAIN_MAX || hot->exact_count == HOT_EXACT) {
        return;
    }
    exact->count = 0;
    exact->slot = slot;
    exact->next = hot->slots[slot];
    exact->len = (uint8_t)key.len;
    memcpy(exact->key, key.data, key.len);
    hot->slots[slot] = (uint8_t)++hot->exact_count;
}

/* True where a key of the sketch is sure to have been seen often, and often enough among all. */
static bool is_frequent(const struct hot *hot, uint16_t number, uint64_t weight)
{
    uint64_t sure = hot->sketch.counts[number] - hot->sketch.keys[number].error;

    return sure >= HOT_EXACT_LOOKS * weight && sure * HOT_EXACT_PART >= hot->sketch.total;
}

void hot_look(struct hot *hot, const struct slice *key, uint32_t slot)
{
    size_t len = key->len < SPACE_SAVING_KEY_MAX ? key->len : SPACE_SAVING_KEY_MAX;
    struct slice kept = slice_make(key->data, len);
    uint16_t number = space_saving_add(&hot->sketch, kept, (uint32_t)hash_of(kept), hot->gap);

    if (is_frequent(hot, number, hot->gap)) {
        promote(hot, kept, slot);
    }
    if (--hot->looks_left == 0) { /* a burst does not wait for the next second */
        set_gap(hot, (uint64_t)hot->gap * 2);
    }
    /* the gap is not regular, so that no pattern of the traffic is in step with it */
    hot->random = hot->random * 1664525 + 1013904223;
    hot->countdown = 1 + (uint32_t)((uint64_t)hot->random * (2 * hot->gap - 1) >> 32);
}

/* Tells the sketch what was counted one by one. */
static void add_exact(struct hot *hot)
{
    for (uint32_t i = 0; i < hot->exact_count; i++) {
        struct hot_exact *exact = &hot->exact[i];
        struct slice key = slice_make(exact->key, exact->len);

        if (exact->count > 0) {
            space_saving_add(&hot->sketch, key, (uint32_t)hash_of(key), exact->count);
            exact->count = 0;
        }
    }
}

/* Chooses anew who is counted one by one. Their counts are with the sketch already. */
static void choose_exact(struct hot *hot, const uint16_t *top, size_t count)
{
    for (uint32_t i = 0; i < hot->exact_count; i++) {
        hot->slots[hot->exact[i].slot] = 0;
    }
    hot->exact_count = 0;
    for (size_t i = 0; i < count && hot->exact_count < HOT_EXACT; i++) {
        const struct space_saving_key *kept = &hot->sketch.keys[top[i]];
        struct slice key = slice_make(kept->key, kept->len);

        /* a count may come from looks of less weight than those to come, or from no looks at all */
        if (is_frequent(hot, top[i], 1)) {
            promote(hot, key, slot_of(&key));
        }
    }
}

void hot_publish(struct hot *hot)
{
    struct hot_published *published = &hot->published;
    uint16_t top[HOT_PUBLISHED];
    uint64_t asked;
    size_t count;

    add_exact(hot);
    asked = hot->sketch.total - hot->total_before;
    /* the busier, the smaller the part that is looked at; a load that has only begun is not busy */
    set_gap(hot, asked < HOT_LOOKS_FIRST ? 1 : asked / HOT_LOOKS);
    if (++hot->seconds % HALVE_SECONDS == 0) {
        space_saving_halve(&hot->sketch);
    }
    hot->total_before = hot->sketch.total;
    count = space_saving_top(&hot->sketch, top, HOT_PUBLISHED);
    choose_exact(hot, top, count);
    pthread_mutex_lock(&published->lock);
    published->count = (uint32_t)count;
    published->total = hot->sketch.total;
    for (size_t i = 0; i < count; i++) {
        const struct space_saving_key *kept = &hot->sketch.keys[top[i]];

        published->keys[i].count = hot->sketch.counts[top[i]];
        published->keys[i].error = kept->error;
        published->keys[i].len = kept->len;
        memcpy(published->keys[i].key, kept->key, kept->len);
    }
    pthread_mutex_unlock(&published->lock);
}
