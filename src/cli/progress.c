/*
 * On a terminal one line is written over and over; elsewhere a line every ten
 * seconds.
 */
#include "cli/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double now_seconds(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

void progress_begin(struct progress *progress, uint64_t total)
{
    *progress = (struct progress){
        .total = total,
        .next_seconds = now_seconds() + 2,
        .is_terminal = isatty(STDERR_FILENO) == 1,
    };
}

void progress_at(struct progress *progress, uint64_t done)
{
    const double now = now_seconds();

    if (now < progress->next_seconds) {
        return;
    }
    fprintf(stderr, "%s%3.0f %% done%s", progress->is_terminal ? "\r" : "",
            100.0 * (double)done / (double)progress->total, progress->is_terminal ? "" : "\n");
    fflush(stderr);
    progress->has_spoken = true;
    progress->next_seconds = now + (progress->is_terminal ? 0.5 : 10);
}

void progress_end(struct progress *progress)
{
    if (progress->has_spoken && progress->is_terminal) {
        fprintf(stderr, "\r          \r");
    }
}
