/*
 * A configuration while it is being read: the structs as they fill, the line
 * each key was on, the mistakes so far. Belongs to one load.
 */
#ifndef CONFIG_DRAFT_H
#define CONFIG_DRAFT_H

#include "config/errors.h"
#include "config/keys.h"

/* By index in config_keys; 0: not written. */
struct draft_lines {
    unsigned at[CONFIG_KEYS_MAX];
};

struct draft {
    struct config *config;
    struct draft_lines proxy;
    struct draft_lines *pools; /* as many as config has */
    struct error_list errors;
    bool from_words; /* there are no lines to point at */
};

/* False: out of memory. draft_finish follows in any case. */
MUST_CHECK bool draft_init(struct draft *draft, const char *file);

/* Sets one key in the struct of its section; a mistake is added to the errors. */
void draft_set(struct draft *draft, struct draft_lines *lines, void *target,
               const struct config_key *key, struct slice value, unsigned line);

/* Appends a pool of that name; its index is pool_count - 1. False: out of memory. */
MUST_CHECK bool draft_add_pool(struct draft *draft, struct slice name, unsigned line);

/*
 * Gives every key not written its default, checks what takes more than one
 * line to judge, and hands over: the configuration, or NULL and the mistakes.
 */
MUST_CHECK struct config *draft_finish(struct draft *draft, struct config_errors *errors);

#endif
