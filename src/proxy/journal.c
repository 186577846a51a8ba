/* See proxy/journal.h. */
#include "proxy/journal.h"

#include "base/random.h"

#include <stdlib.h>
#include <xxhash.h>

enum { BUCKETS_FIRST = 256 };

void journal_entry_free(struct journal_entry *entry)
{
    server_put(entry->standin);
    free(entry);
}

static bool grow(struct journal *journal)
{
    size_t wanted = journal->bucket_count == 0 ? BUCKETS_FIRST : journal->bucket_count * 2;
    struct journal_entry **buckets = calloc(wanted, sizeof(buckets[0]));

    if (buckets == NULL) {
        return false;
    }
    if (journal->bucket_count == 0) {
        journal->seed = random_seed();
    }
    for (size_t b = 0; b < journal->bucket_count; b++) {
        struct journal_entry *entry = journal->buckets[b];

        while (entry != NULL) {
            struct journal_entry *next = entry->next;
            struct journal_entry **at = &buckets[entry->hash & (wanted - 1)];

            entry->next = *at;
            *at = entry;
            entry = next;
        }
    }
    free(journal->buckets);
    journal->buckets = buckets;
    journal->bytes += (wanted - journal->bucket_count) * sizeof(buckets[0]);
    journal->bucket_count = wanted;
    return true;
}

static bool is_noted(const struct journal *journal, uint64_t hash, struct slice key,
                     const struct server *standin)
{
    const struct journal_entry *entry = journal->buckets[hash & (journal->bucket_count - 1)];

    for (; entry != NULL; entry = entry->next) {
        if (entry->hash == hash && entry->standin == standin &&
            slice_equals(slice_make(entry->key, entry->key_len), key)) {
            return true;
        }
    }
    return false;
}

bool journal_add(struct journal *journal, struct slice key, struct server *standin,
                 uint64_t max_bytes)
{
    uint64_t hash;
    size_t size = sizeof(struct journal_entry) + key.len;
    struct journal_entry *entry;
    struct journal_entry **at;

    if (journal->count >= journal->bucket_count && !grow(journal)) {
        journal->is_overflowed = true;
        return false;
    }
    hash = XXH3_64bits_withSeed(key.data, key.len, journal->seed);
    if (is_noted(journal, hash, key, standin)) {
        return false;
    }
    entry = journal->bytes + size <= max_bytes ? malloc(size) : NULL;
    if (entry == NULL) {
        journal->is_overflowed = true;
        return false;
    }
    entry->hash = hash;
    entry->standin = standin != NULL ? server_get(standin) : NULL;
    entry->key_len = (uint32_t)key.len;
    memcpy(entry->key, key.data, key.len);
    at = &journal->buckets[hash & (journal->bucket_count - 1)];
    entry->next = *at;
    *at = entry;
    journal->count++;
    journal->bytes += size;
    return true;
}

struct journal_entry *journal_take(struct journal *journal)
{
    struct journal_entry *all = NULL;

    for (size_t b = 0; b < journal->bucket_count; b++) {
        struct journal_entry *entry = journal->buckets[b];

        while (entry != NULL) {
            struct journal_entry *next = entry->next;

            entry->next = all;
            all = entry;
            entry = next;
        }
    }
    free(journal->buckets);
    *journal = (struct journal){0};
    return all;
}

void journal_clear(struct journal *journal)
{
    struct journal_entry *entry = journal_take(journal);

    while (entry != NULL) {
        struct journal_entry *next = entry->next;

        journal_entry_free(entry);
        entry = next;
    }
}
