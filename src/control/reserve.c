/* See control/reserve.h. */
#include "control/reserve.h"

#include <event2/event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_BYTES = 1024, CELLS = 256 };

static _Alignas(16) char cells[CELLS][CELL_BYTES];
static bool is_taken[CELLS];

static bool is_cell(const void *memory)
{
    const char *at = memory;

    return at >= cells[0] && at < cells[0] + sizeof(cells);
}

static void *take(size_t size)
{
    for (size_t i = 0; i < CELLS && size <= CELL_BYTES; i++) {
        if (!is_taken[i]) {
            is_taken[i] = true;
            return cells[i];
        }
    }
    return NULL;
}

static void *allocate(size_t size)
{
    void *memory = malloc(size);

    if (memory == NULL) {
        memory = take(size);
    }
    return memory;
}

static void *resize(void *memory, size_t size)
{
    void *larger;

    if (memory == NULL) {
        return allocate(size);
    }
    if (!is_cell(memory)) {
        return realloc(memory, size);
    }
    if (size <= CELL_BYTES) {
        return memory;
    }
    larger = malloc(size);
    if (larger != NULL) {
        memcpy(larger, memory, CELL_BYTES);
        reserve_free(memory);
    }
    return larger;
}

void reserve_free(void *memory)
{
    if (is_cell(memory)) {
        is_taken[((char *)memory - cells[0]) / CELL_BYTES] = false;
    } else {
        free(memory);
    }
}

void reserve_begin(void)
{
    event_set_mem_functions(allocate, resize, reserve_free);
}
