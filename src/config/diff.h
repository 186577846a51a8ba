/*
 * What a reload changes, and what it cannot, told by name. Any thread.
 */
#ifndef CONFIG_DIFF_H
#define CONFIG_DIFF_H

#include "config/config.h"

/* Told a key that differs, by name. */
typedef void config_on_key(void *arg, const char *key);

/*
 * Calls on_key for every key of [proxy] that differs and needs a restart to change, in the order of
 * the table; returns how many there are.
 */
size_t config_diff_fixed(const struct config *before, const struct config *after,
                         config_on_key *on_key, void *arg);

/* The same for those that change at once ... */
size_t config_diff_live(const struct config *before, const struct config *after,
                        config_on_key *on_key, void *arg);

/* ... and for a pool's keys, all of which do; those that may stand there more than once left out.
 */
size_t config_diff_pool(const struct config_pool *before, const struct config_pool *after,
                        config_on_key *on_key, void *arg);

#endif
