#include "keyspace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void make_names(struct keyspace *space, const char *prefix)
{
    char name[256];

    space->key_len = strlen(prefix) + KEYSPACE_DIGITS;
    space->names = bytes_alloc((size_t)space->keys * space->key_len);
    for (uint32_t i = 0; i < space->keys; i++) {
        snprintf(name, sizeof(name), "%s%0*u", prefix, KEYSPACE_DIGITS, i);
        memcpy(space->names + (size_t)i * space->key_len, name, space->key_len);
    }
}

static void make_pattern(struct keyspace *space)
{
    size_t len = (size_t)space->keys + space->value_bytes;
    /* not of the run's seed: every run has the same value for a key */
    uint64_t state = 42;

    space->pattern = bytes_alloc(len);
    for (size_t i = 0; i < len; i++) {
        space->pattern[i] = (char)next_random(&state);
    }
}

/* Vose's way to fill the tables of the alias method. */
static void make_zipf(struct keyspace *space, double exponent)
{
    uint32_t n = space->keys;
    uint32_t *small = bytes_alloc(n * sizeof(*small));
    uint32_t *large = bytes_alloc(n * sizeof(*large));
    uint32_t smalls = 0;
    uint32_t larges = 0;
    double sum = 0;

    space->chance = bytes_alloc(n * sizeof(*space->chance));
    space->alias = bytes_alloc(n * sizeof(*space->alias));
    for (uint32_t i = 0; i < n; i++) {
        space->chance[i] = pow((double)i + 1, -exponent);
        space->alias[i] = i;
        sum += space->chance[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        space->chance[i] *= n / sum;
        if (space->chance[i] < 1) {
            small[smalls++] = i;
        } else {
            large[larges++] = i;
        }
    }
    while (smalls > 0 && larges > 0) {
        uint32_t poor = small[--smalls];
        uint32_t rich = large[larges - 1];
        space->alias[poor] = rich;
        space->chance[rich] -= 1 - space->chance[poor];
        if (space->chance[rich] < 1) {
            larges--;
            small[smalls++] = rich;
        }
    }
    /* what is left on either list is 1 but for rounding */
    while (smalls > 0) {
        space->chance[small[--smalls]] = 1;
    }
    free(small);
    free(large);
}

void keyspace_init(struct keyspace *space, const char *prefix, uint32_t keys, size_t value_bytes,
                   double zipf, uint64_t seed)
{
    *space = (struct keyspace){.keys = keys, .value_bytes = value_bytes, .random = seed};
    make_names(space, prefix);
    make_pattern(space);
    if (zipf > 0) {
        make_zipf(space, zipf);
    }
}

void keyspace_fini(struct keyspace *space)
{
    free(space->names);
    free(space->pattern);
    free(space->chance);
    free(space->alias);
}

uint64_t keyspace_random(struct keyspace *space)
{
    return next_random(&space->random);
}

uint32_t keyspace_draw(struct keyspace *space)
{
    uint64_t random = next_random(&space->random);
    uint32_t key = (uint32_t)(((random >> 32) * space->keys) >> 32);

    if (space->chance != NULL && (double)(uint32_t)random * 0x1p-32 >= space->chance[key]) {
        return space->alias[key];
    }
    return key;
}
