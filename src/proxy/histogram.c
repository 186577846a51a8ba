/* See histogram.h. */
#include "proxy/histogram.h"

#include <stdlib.h>

void histogram_fini(struct histogram *histogram)
{
    for (unsigned i = 0; i < HISTOGRAM_PAGES; i++) {
        free(atomic_load_explicit(&histogram->pages[i], memory_order_relaxed));
        atomic_store_explicit(&histogram->pages[i], NULL, memory_order_relaxed);
    }
    histogram->last = 0;
}

/* The cell of a value, or NULL out of memory: it is not counted then. */
static _Atomic uint64_t *cell_of(struct histogram *histogram, uint64_t value)
{
    uint32_t kept = value < HISTOGRAM_VALUE_MAX ? (uint32_t)value : HISTOGRAM_VALUE_MAX;
    unsigned bucket = histogram_bucket(kept);
    unsigned number = bucket >> HISTOGRAM_PAGE_BITS;
    struct histogram_page *page =
        atomic_load_explicit(&histogram->pages[number], memory_order_relaxed);

    if (unlikely(page == NULL)) {
        page = calloc(1, sizeof(*page));
        if (page == NULL) {
            return NULL;
        }
        atomic_store_explicit(&histogram->pages[number], page, memory_order_release);
    }
    return &page->counts[bucket & (HISTOGRAM_PAGE - 1)];
}

void histogram_add(struct histogram *histogram, uint64_t value, uint64_t times)
{
    _Atomic uint64_t *cell = cell_of(histogram, value);

    if (cell != NULL) {
        cell_add(cell, times);
    }
}

void histogram_add_other(struct histogram *histogram, uint64_t value)
{
    _Atomic uint64_t *cell = cell_of(histogram, value);

    histogram->last = 0;
    if (cell != NULL) {
        cell_add(cell, 1);
        histogram->cell = cell;
        histogram->last = value + 1;
    }
}

void histogram_forget_last(struct histogram *histogram)
{
    histogram->last = 0;
}

void histogram_read(const struct histogram *histogram, struct histogram_sum *sum)
{
    for (unsigned i = 0; i < HISTOGRAM_PAGES; i++) {
        const struct histogram_page *page =
            atomic_load_explicit(&histogram->pages[i], memory_order_acquire);

        for (unsigned k = 0; page != NULL && k < HISTOGRAM_PAGE; k++) {
            unsigned bucket = (i << HISTOGRAM_PAGE_BITS) + k;
            uint64_t count = atomic_load_explicit(&page->counts[k], memory_order_relaxed);

            if (count > 0) { /* the last page's spare cells never are */
                sum->counts[bucket] += count;
                sum->total += count;
            }
        }
    }
}

void histogram_subtract(struct histogram_sum *sum, const struct histogram_sum *before)
{
    sum->total = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        /* a server that was removed takes its counts along */
        sum->counts[i] -= sum->counts[i] < before->counts[i] ? sum->counts[i] : before->counts[i];
        sum->total += sum->counts[i];
    }
}

/* The middle of a bucket: no value in it is further than 1 % from it. */
static uint64_t middle(unsigned bucket)
{
    return (histogram_bucket_start(bucket) + histogram_bucket_start(bucket + 1) - 1) / 2;
}

uint64_t histogram_percentile(const struct histogram_sum *sum, double part)
{
    uint64_t rank = (uint64_t)(part * (double)sum->total);
    uint64_t seen = 0;

    if ((double)rank < part * (double)sum->total) {
        rank++;
    }
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += sum->counts[i];
        if (seen > 0 && seen >= rank) {
            return middle(i);
        }
    }
    return 0;
}

double histogram_mean(const struct histogram_sum *sum)
{
    double all = 0;

    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        all += (double)sum->counts[i] * (double)middle(i);
    }
    return sum->total > 0 ? all / (double)sum->total : 0;
}

uint64_t histogram_below(const struct histogram_sum *sum, uint64_t value)
{
    uint64_t below = 0;

    for (unsigned i = 0; i < HISTOGRAM_BUCKETS && histogram_bucket_start(i) < value; i++) {
        below += sum->counts[i];
    }
    return below;
}
