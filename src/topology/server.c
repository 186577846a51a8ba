/* See topology/server.h. */
#include "topology/server.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

/* Slots in use, a bit each; grows, never shrinks. */
static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t *slots;
static size_t slot_words;

static bool slot_take(uint32_t *slot)
{
    uint64_t *grown;

    for (size_t w = 0; w < slot_words; w++) {
        if (~slots[w] != 0) {
            unsigned bit = (unsigned)__builtin_ctzll(~slots[w]);

            slots[w] |= (uint64_t)1 << bit;
            *slot = (uint32_t)(w * 64 + bit);
            return true;
        }
    }
    grown = realloc(slots, (slot_words + 1) * sizeof(slots[0]));
    if (grown == NULL) {
        return false;
    }
    slots = grown;
    slots[slot_words] = 1;
    *slot = (uint32_t)(slot_words * 64);
    slot_words++;
    return true;
}

static void slot_give(uint32_t slot)
{
    slots[slot / 64] &= ~((uint64_t)1 << (slot % 64));
}

struct server *server_new(const char *pool_name, const char *label, const struct address *address)
{
    struct server *server = calloc(1, sizeof(*server));
    bool have_slot;

    if (server == NULL) {
        return NULL;
    }
    atomic_init(&server->refs, 1);
    server->address = *address;
    server->pool_name = strdup(pool_name);
    server->label = strdup(label);
    pthread_mutex_lock(&slots_lock);
    have_slot = slot_take(&server->slot);
    pthread_mutex_unlock(&slots_lock);
    if (!have_slot) {
        free(server->pool_name);
        free(server->label);
        free(server);
        return NULL;
    }
    if (server->pool_name == NULL || server->label == NULL) {
        server_put(server);
        return NULL;
    }
    return server;
}

struct server *server_get(struct server *server)
{
    atomic_fetch_add_explicit(&server->refs, 1, memory_order_relaxed);
    return server;
}

void server_put(struct server *server)
{
    if (server == NULL || atomic_fetch_sub_explicit(&server->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    pthread_mutex_lock(&slots_lock);
    slot_give(server->slot);
    pthread_mutex_unlock(&slots_lock);
    if (atomic_load(&server->counters) != NULL) {
        atomic_load (&server->counters_free)(atomic_load(&server->counters));
    }
    free(server->pool_name);
    free(server->label);
    free(server);
}

uint32_t server_version_parse(struct slice text)
{
    uint32_t parts[3] = {0, 0, 0};
    size_t part = 0;
    bool has_digit = false;

    for (size_t i = 0; i < text.len && part < 3; i++) {
        char c = text.data[i];

        if (c >= '0' && c <= '9') {
            parts[part] = parts[part] * 10 + (uint32_t)(c - '0');
            has_digit = true;
            if (parts[part] > 1023) {
                return 0;
            }
        } else if (c == '.' && has_digit) {
            part++;
            has_digit = false;
        } else {
            break;
        }
    }
    return parts[0] << 20 | parts[1] << 10 | parts[2];
}
