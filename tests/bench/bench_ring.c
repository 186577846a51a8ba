/*
 * What each placement costs: time to build, memory, and time for a lookup of a
 * 20-byte key with its hash, for 3, 100 and 10,000 servers; beside
 * libmemcached's own lookup on the same list in the same run. libmemcached stops
 * the process at more than 100 servers, so it has none at 10,000.
 */
#include "ring/placement.h"

#include <libmemcached/memcached.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { KEY_BYTES = 20, KEYS = 1 << 14, ROUNDS = 5, THEIRS_MAX = 100 };

static char keys[KEYS][KEY_BYTES + 1];

static double now_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static struct placement_server *make_servers(size_t count)
{
    struct placement_server *servers = calloc(count, sizeof(*servers));

    for (size_t i = 0; i < count; i++) {
        char host[32];

        snprintf(host, sizeof(host), "10.%zu.%zu.%zu", i >> 16, i >> 8 & 255, i & 255);
        servers[i] = (struct placement_server){.host = strdup(host), .port = 11211, .weight = 1};
    }
    return servers;
}

static void free_servers(struct placement_server *servers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free((char *)servers[i].host);
    }
    free(servers);
}

/* Nanoseconds a lookup, the best of some rounds: others use this machine too. */
static double lookup_ns(const struct placement *placement, unsigned keys_a_round)
{
    double best = 1e18;
    uint32_t sink = 0;

    for (int round = 0; round < ROUNDS; round++) {
        const double start = now_ns();

        for (unsigned i = 0; i < keys_a_round; i++) {
            sink += placement_find(placement, slice_make(keys[i % KEYS], KEY_BYTES), NULL);
        }
        const double each = (now_ns() - start) / keys_a_round;

        best = each < best ? each : best;
    }
    __asm__ volatile("" : : "r"(sink));
    return best;
}

static double their_lookup_ns(const struct placement_server *servers, size_t count, bool weighted,
                              bool md5)
{
    memcached_st *theirs = memcached_create(NULL);
    double best = 1e18;
    uint32_t sink = 0;

    if (weighted) {
        memcached_behavior_set(theirs, MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED, 1);
    } else {
        memcached_behavior_set(theirs, MEMCACHED_BEHAVIOR_HASH,
                               md5 ? MEMCACHED_HASH_MD5 : MEMCACHED_HASH_DEFAULT);
        memcached_behavior_set(theirs, MEMCACHED_BEHAVIOR_KETAMA, 1);
    }
    for (size_t i = 0; i < count; i++) {
        memcached_server_add_with_weight(theirs, servers[i].host, servers[i].port, 1);
    }
    for (int round = 0; round < ROUNDS; round++) {
        const double start = now_ns();

        for (unsigned i = 0; i < KEYS * 8; i++) {
            sink += memcached_generate_hash(theirs, keys[i % KEYS], KEY_BYTES);
        }
        const double each = (now_ns() - start) / (KEYS * 8);

        best = each < best ? each : best;
    }
    __asm__ volatile("" : : "r"(sink));
    memcached_free(theirs);
    return best;
}

static void run(const char *word, const struct placement_server *servers, size_t count)
{
    const struct placement_options options = {.placement = word};
    char error[4096];
    const double start = now_ns();
    struct placement *placement = placement_new(&options, servers, count, error, sizeof(error));
    const double built = now_ns();
    unsigned keys_a_round = KEYS * 16;

    if (placement == NULL) {
        printf("%-40s %6zu  %s\n", word, count, error);
        return;
    }
    if (strncmp(word, "rendezvous", strlen("rendezvous")) == 0) {
        keys_a_round = count > 1000 ? 64 : KEYS;
    }
    printf("%-40s %6zu %12.2f %12.1f %12.1f", word, count, (built - start) / 1e6,
           (double)placement_bytes(placement) / 1024, lookup_ns(placement, keys_a_round));
    if (count <= THEIRS_MAX && strcmp(word, "ketama:libmemcached-weighted") == 0) {
        printf(" %12.1f", their_lookup_ns(servers, count, true, true));
    } else if (count <= THEIRS_MAX && strcmp(word, "ketama:libmemcached") == 0) {
        printf(" %12.1f", their_lookup_ns(servers, count, false, false));
    }
    printf("\n");
    fflush(stdout);
    placement_free(placement);
}

int main(void)
{
    static const size_t counts[] = {3, 100, 10000};

    for (int i = 0; i < KEYS; i++) {
        snprintf(keys[i], sizeof(keys[i]), "user:%015d", i * 7919);
    }
    printf("%-40s %6s %12s %12s %12s %12s\n", "placement", "servers", "build ms", "KiB",
           "lookup ns", "theirs ns");
    for (size_t c = 0; c < ARRAY_LEN(counts); c++) {
        struct placement_server *servers = make_servers(counts[c]);

        for (size_t i = 0; placement_word(i) != NULL; i++) {
            run(placement_word(i), servers, counts[c]);
        }
        free_servers(servers, counts[c]);
    }
    return 0;
}
