/*
 * Says on standard error how far a long run is, once a second, and nothing of
 * a short one. Main thread.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "base/slice.h"

#include <stdint.h>

struct progress {
    uint64_t total;
    double next_seconds; /* when something is said next */
    bool has_spoken;
    bool is_terminal;
};

void progress_begin(struct progress *progress, uint64_t total);
void progress_at(struct progress *progress, uint64_t done);
void progress_end(struct progress *progress);

#endif
