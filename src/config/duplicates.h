/*
 * What is there twice and may not be. Sorts, since ten thousand servers must
 * not take ten thousand looks each.
 */
#ifndef CONFIG_DUPLICATES_H
#define CONFIG_DUPLICATES_H

#include "config/draft.h"

void duplicates_check_pools(struct draft *draft);
void duplicates_check_listens(struct draft *draft);

/* True where the pool has none. */
MUST_CHECK bool duplicates_check_servers(struct draft *draft, const struct config_pool *pool);

#endif
