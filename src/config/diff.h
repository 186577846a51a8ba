/*
 * What a reload cannot change, told by name. Any thread.
 */
#ifndef CONFIG_DIFF_H
#define CONFIG_DIFF_H

#include "config/config.h"

/* Told each key, by name, that differs and needs a restart to change. */
typedef void config_on_fixed(void *arg, const char *key);

/* Calls on_fixed for every such key, in the order of the table; returns how many there are. */
size_t config_diff_fixed(const struct config *before, const struct config *after,
                         config_on_fixed *on_fixed, void *arg);

#endif
