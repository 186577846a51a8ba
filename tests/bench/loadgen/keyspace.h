/*
 * The keys of a run, the value that belongs to each, and the order in which keys are drawn.
 * A value is a window into one random pattern, starting at the key's number: any two keys have
 * different values (from a few bytes of length on), and checking one is a memcmp.
 */
#ifndef LOADGEN_KEYSPACE_H
#define LOADGEN_KEYSPACE_H

#include <stddef.h>
#include <stdint.h>

#define KEYSPACE_DIGITS 8

struct keyspace {
    uint32_t keys;
    size_t key_len;
    size_t value_bytes;
    char *names; /* keys * key_len bytes */
    char *pattern;
    uint64_t random;
    double *chance; /* Zipf by Walker's alias method, else NULL */
    uint32_t *alias;
};

void keyspace_init(struct keyspace *space, const char *prefix, uint32_t keys, size_t value_bytes,
                   double zipf, uint64_t seed);
void keyspace_fini(struct keyspace *space);

uint64_t keyspace_random(struct keyspace *space);
uint32_t keyspace_draw(struct keyspace *space);

static inline const char *keyspace_name(const struct keyspace *space, uint32_t key)
{
    return space->names + (size_t)key * space->key_len;
}

static inline const char *keyspace_value(const struct keyspace *space, uint32_t key)
{
    return space->pattern + key;
}

#endif
