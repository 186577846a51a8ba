/*
 * The keys written or deleted while their server was out, so that neither it
 * nor its stand-ins can ever show an older value: a set of (key, stand-in),
 * bounded in bytes. Belongs to one thread at a time.
 */
#ifndef PROXY_JOURNAL_H
#define PROXY_JOURNAL_H

#include "topology/server.h"

struct journal_entry {
    struct journal_entry *next; /* in its bucket; or in a list of its owner's */
    uint64_t hash;
    struct server *standin; /* a reference to the server that took the write; NULL: none did */
    uint32_t key_len;
    char key[]; /* as placed: base64 decoded */
};

/* Zeroed is empty. */
struct journal {
    struct journal_entry **buckets;
    size_t bucket_count; /* a power of two, or 0 */
    size_t count;
    uint64_t seed; /* of the hashes: clients choose the keys */
    uint64_t bytes;
    bool is_overflowed; /* some keys could not be noted */
    bool needs_flush;   /* a flush_all was answered while the server was out */
};

/*
 * Notes the key; true where it was not noted yet. Past max_bytes, or out of memory: is_overflowed.
 */
bool journal_add(struct journal *journal, struct slice key, struct server *standin,
                 uint64_t max_bytes);

/* Takes all entries out as a list; the caller frees each with journal_entry_free. */
struct journal_entry *journal_take(struct journal *journal);

void journal_entry_free(struct journal_entry *entry);

/* Forgets everything. */
void journal_clear(struct journal *journal);

#endif
