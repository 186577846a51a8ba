/*
 * What a placement is inside. For the files of this folder that build, look up
 * and compare; others use placement.h.
 */
#ifndef RING_LAYOUT_H
#define RING_LAYOUT_H

#include "ring/placement.h"
#include "ring/recipe.h"
#include "ring/ring.h"
#include "ring/score.h"

struct placement {
    struct recipe recipe; /* the row, with what the options and the weights changed */
    size_t bytes;
    uint32_t servers;
    uint64_t seed;        /* of the key hash */
    unsigned place_shift; /* from a hash to a place on the ring */
    bool takes_whole_key; /* no tag, prefix or stop to look for */
    bool has_tag;
    char tag[2];
    struct slice skip; /* these point into this allocation */
    struct slice stop;
    struct ring ring;
    const uint32_t *cells; /* of a table */
    uint32_t cell_count;
    const uint32_t *by_rank;      /* servers in the order that decides draws */
    const uint64_t *label_hash;   /* rendezvous, by rank */
    const double *inverse_weight; /* the same */
    const struct slice *labels;   /* pymemcache: "label-" */
    struct score_table scores;
};

#endif
