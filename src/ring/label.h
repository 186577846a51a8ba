/*
 * What each server is called in a ring, and the order that ties and tables go
 * by. Pure.
 */
#ifndef RING_LABEL_H
#define RING_LABEL_H

#include "ring/placement.h"
#include "ring/recipe.h"

/* A longer name is refused; the longest label of an address is a little shorter. */
enum { LABEL_MAX = 640 };

struct labels {
    size_t count;
    struct slice *of;  /* a label for each server, in text */
    uint32_t *by_rank; /* servers in the order of the tie rule */
    uint32_t *rank;    /* the other way round */
    char *text;
};

/* False: out of memory. Either way labels_fini may be called. */
MUST_CHECK bool labels_init(struct labels *labels, enum label_rule rule, enum tie_rule tie,
                            const struct placement_server *servers, size_t count);
void labels_fini(struct labels *labels);

/* Two servers of one label; false where all differ, or out of memory. */
MUST_CHECK bool labels_find_twins(const struct labels *labels, size_t *one, size_t *other);

#endif
