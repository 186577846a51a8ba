/* See server_counter.h. */
#include "proxy/server_counter.h"

#include <stdlib.h>

struct block {
    _Alignas(64) unsigned count;
    struct server_counters at[];
};

static void block_free(void *counters)
{
    struct block *block = counters;

    for (unsigned i = 0; i < block->count; i++) {
        histogram_fini(&block->at[i].latency);
    }
    free(block);
}

/* Every worker may come first. */
static struct block *block_of(struct server *server, unsigned worker_count)
{
    struct block *block = atomic_load_explicit(&server->counters, memory_order_acquire);
    size_t size = sizeof(*block) + worker_count * sizeof(block->at[0]);
    void *none = NULL;

    if (block != NULL) {
        return block;
    }
    block = aligned_alloc(64, size);
    if (block == NULL) {
        return NULL;
    }
    memset(block, 0, size);
    block->count = worker_count;
    atomic_store(&server->counters_free, block_free);
    if (!atomic_compare_exchange_strong(&server->counters, &none, block)) {
        free(block);
        return none;
    }
    return block;
}

struct server_counters *server_counters_get(struct server *server, unsigned worker,
                                            unsigned worker_count)
{
    struct block *block = block_of(server, worker_count);

    return block != NULL ? &block->at[worker] : NULL;
}

const struct server_counters *server_counters_all(const struct server *server)
{
    const struct block *block = atomic_load_explicit(&server->counters, memory_order_acquire);

    return block != NULL ? block->at : NULL;
}
