/*
 * What a reload changes, and what it cannot, told by name. Any thread.
 */
#ifndef CONFIG_DIFF_H
#define CONFIG_DIFF_H

#include "config/config.h"

/* Told each key, by name, that differs and needs a restart to change. */
typedef void config_on_fixed(void *arg, const char *key);

/* Calls on_fixed for every such key, in the order of the table; returns how many there are. */
size_t config_diff_fixed(const struct config *before, const struct config *after,
                         config_on_fixed *on_fixed, void *arg);

/* Told each key that differs and changes at once; pool is the name of its pool. */
typedef void config_on_changed(void *arg, const char *pool, const char *key);

/* Calls on_changed for every such key of [proxy], with no pool, in the order of the table. */
void config_diff_live(const struct config *before, const struct config *after,
                      config_on_changed *on_changed, void *arg);

/* The same for a pool's keys, but for those that may stand there more than once. */
void config_diff_pool(const struct config_pool *before, const struct config_pool *after,
                      config_on_changed *on_changed, void *arg);

#endif
