/*
 * The pools of a configuration that a command is about, with their placements.
 * Main thread.
 */
#ifndef CLI_POOLS_H
#define CLI_POOLS_H

#include "cli/arguments.h"
#include "config/config.h"
#include "ring/placement.h"

struct cli_pool {
    const struct config_pool *config;
    struct placement *placement;
    double weight_sum;
};

struct cli_pools {
    struct config *config;
    struct cli_pool *pools;
    size_t count;
};

/*
 * Loads path and takes the pool of that name, or all where name is NULL. Says on standard error
 * what is wrong and returns the exit status, CLI_DONE: nothing is. Either way cli_pools_fini
 * may be called.
 */
MUST_CHECK enum cli_exit cli_pools_load(struct cli_pools *pools, const char *path,
                                        const char *name);
void cli_pools_fini(struct cli_pools *pools);

/* The part of the key space that a server's weight stands for. */
double cli_pool_ideal(const struct cli_pool *pool, size_t server);

enum { CLI_ADDRESS_MAX = ADDRESS_TEXT_MAX + 8 };

/* The address as text; out has CLI_ADDRESS_MAX bytes; returns out. */
char *cli_address(const struct config_server *server, char *out);

/* How wide a column of names, and of addresses, has to be. */
int cli_name_width(const struct config_pool *pool);
int cli_address_width(const struct config_pool *pool);

#endif
