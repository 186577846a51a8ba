/*
 * pymemcache's rendezvous: the score is a hash of the text host:port-key, over
 * Python's characters. Pure.
 */
#ifndef RING_PYMEMCACHE_H
#define RING_PYMEMCACHE_H

#include "ring/layout.h"

/* placement_find for KIND_PYMEMCACHE. */
uint32_t pymemcache_find(const struct placement *placement, struct slice key, const uint8_t *live);

/* Writes every server's score for the key. */
void pymemcache_scores(const struct placement *placement, struct slice key, uint32_t *scores);

#endif
