/*
 * ketama.conf as loaded and checked: plain structs, no behaviour. Owned by
 * whoever loaded it; nothing changes it afterwards. Any thread.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include "base/address.h"
#include "base/network.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum config_on_failure { ON_FAILURE_EJECT, ON_FAILURE_ERROR, ON_FAILURE_MISS };
enum config_rejoin { REJOIN_REPLAY, REJOIN_FLUSH, REJOIN_KEEP };
enum config_log_to { LOG_TO_STDERR, LOG_TO_SYSLOG, LOG_TO_FILE };

struct config_server {
    struct address address;
    char *name;    /* explicit name= or NULL */
    char *label;   /* what messages call it: name, or the address as written */
    double weight; /* > 0; 1 by default */
    char *zone;    /* or NULL */
    unsigned line; /* in the file; 0 from the command line */
};

struct config_listen {
    struct address address;
    mode_t mode;           /* unix sockets; 0: as the umask says */
    struct networks allow; /* of IP addresses: who may connect */
    unsigned line;
};

struct config_pool {
    char *name;
    unsigned line;
    struct config_listen *listens;
    size_t listen_count;
    char *prefix;    /* "" by default */
    char *placement; /* "ketama" by default */
    char *key_hash;  /* NULL: the placement's own */
    char *hash_tag;  /* two characters, or NULL */
    char *hash_skip; /* or NULL */
    unsigned points; /* 0: the placement's own */
    unsigned connections;
    uint64_t connect_timeout_ms;
    uint64_t request_timeout_ms;
    uint64_t probe_interval_ms;
    uint64_t probe_timeout_ms;
    unsigned fall;
    unsigned rise;
    enum config_on_failure on_failure;
    unsigned min_live_percent;
    enum config_rejoin rejoin;
    uint64_t resolve_interval_ms;
    bool allow_flush;
    struct config_server *servers;
    size_t server_count;
};

struct config {
    char *path;       /* or NULL when made from the command line */
    unsigned workers; /* >= 1, auto resolved */
    bool has_admin;
    struct config_listen admin;
    bool has_http;
    struct config_listen http;
    char *user;    /* or NULL */
    char *pidfile; /* or NULL */
    enum config_log_to log_to;
    char *log_path; /* LOG_TO_FILE */
    int log_level;  /* enum log_level of base/log.h */
    unsigned max_clients;
    uint64_t client_idle_timeout_ms; /* 0: never */
    uint64_t max_value_bytes;
    uint64_t max_memory_bytes; /* >= 1, the 0 of the file resolved */
    uint64_t drain_timeout_ms;
    struct config_pool *pools;
    size_t pool_count;
};

/* Mistakes found while loading, in the order of the file. */
struct config_errors {
    char **lines; /* "file:line: key: what is wrong, what is allowed" */
    size_t count;
    char *only; /* what lines points at where memory ran out */
};

/*
 * Loads and checks path. NULL when there is any mistake, with all of them in
 * errors (at least one). The caller frees both.
 */
MUST_CHECK struct config *config_load(const char *path, struct config_errors *errors);

/* Makes a one-pool configuration (pool "main") from --listen and --server words. */
MUST_CHECK struct config *config_from_words(const char *const *listens, size_t listen_count,
                                            const char *const *servers, size_t server_count,
                                            struct config_errors *errors);

void config_free(struct config *config); /* NULL is fine */

/* NULL when there is no such pool. */
const struct config_pool *config_find_pool(const struct config *config, const char *name);

void config_errors_fini(struct config_errors *errors);

/* Prints every key: section, name, type, default, bounds, live or not, help. */
void config_print_keys(FILE *out);

#endif
