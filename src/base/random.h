/* Numbers that a peer cannot guess. Any thread. */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdint.h>

/*
 * The seed of a table's hashes, lest a peer that chooses the keys chooses them all alike. Where the
 * kernel has none to give yet, early in a machine's life, it is the clock's.
 */
uint64_t random_seed(void);

#endif
