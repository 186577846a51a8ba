/*
 * A pool before and after an edit: which servers are the same, and what moves.
 * Main thread.
 */
#ifndef CLI_EDIT_H
#define CLI_EDIT_H

#include "cli/pools.h"

struct edit_flow {
    uint32_t from; /* by number in before */
    uint32_t to;   /* by number in after */
    double part;
};

struct edit {
    const struct cli_pool *before;
    const struct cli_pool *after;
    uint32_t *same;  /* for each server of after its number in before, or PLACEMENT_NONE */
    uint32_t *stays; /* the other way round */
    double moved;
    double least; /* what has to change hands for the weights of after, from those of before */
    bool is_exact;
    double *gives;           /* by number in before */
    double *gets;            /* by number in after */
    struct edit_flow *flows; /* most first; NULL where there are too many pairs */
    size_t flow_count;
};

/* False: out of memory. Either way edit_fini may be called. */
MUST_CHECK bool edit_init(struct edit *edit, const struct cli_pool *before,
                          const struct cli_pool *after);
void edit_fini(struct edit *edit);

#endif
