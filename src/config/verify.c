/*
 * What is missing, what is there twice, and whether the ring can be built.
 */
#include "config/verify.h"

#include "config/alloc.h"
#include "config/attributes.h"
#include "config/duplicates.h"
#include "config/pool_placement.h"

#include <inttypes.h>

enum { RING_SENTENCE_MAX = 2048 }; /* it lists every placement there is */

static void check_required(struct draft *draft, size_t pool)
{
    char allowed[KEY_ALLOWED_MAX];

    for (size_t i = 0; i < config_key_count; i++) {
        const struct config_key *key = &config_keys[i];

        if (key->section == SECTION_POOL && (key->flags & KEY_REQUIRED) != 0 &&
            draft->pools[pool].at[i] == 0) {
            error_list_add(&draft->errors, draft->config->pools[pool].line, key->name,
                           "is missing in pool %s, needed: at least one, %s",
                           draft->config->pools[pool].name, config_key_allowed(key, allowed));
        }
    }
}

/* The line of the server that the sentence "weight: server LABEL has ..." is about, or 0. */
static unsigned line_of_server(const struct config_pool *pool, const char *sentence)
{
    static const char begin[] = "weight: server ";
    struct slice label;
    const char *end;

    if (strncmp(sentence, begin, sizeof(begin) - 1) != 0) {
        return 0;
    }
    end = strstr(sentence + sizeof(begin) - 1, " has ");
    if (end == NULL) {
        return 0;
    }
    label =
        slice_make(sentence + sizeof(begin) - 1, (size_t)(end - sentence) - (sizeof(begin) - 1));
    for (size_t i = 0; i < pool->server_count; i++) {
        const struct config_server *server = &pool->servers[i];

        /* a ring may call a server by its host alone */
        if (slice_equals(slice_text(server->label), label) ||
            slice_equals(slice_text(server->address.host), label)) {
            return server->line;
        }
    }
    return 0;
}

/*
 * Adds what the ring has to say. Its sentence begins with the key at fault; what
 * is not a key is something about the servers.
 */
static void add_ring_error(struct draft *draft, size_t index, const char *sentence)
{
    const struct config_pool *pool = &draft->config->pools[index];
    const char *colon = strstr(sentence, ": ");
    const struct config_key *key =
        colon == NULL
            ? NULL
            : config_key_find(SECTION_POOL, slice_make(sentence, (size_t)(colon - sentence)));
    unsigned line = 0;

    if (key != NULL) {
        sentence = colon + 2;
        line = draft->pools[index].at[key - config_keys];
    } else {
        key = config_key_find(SECTION_POOL, SLICE("server"));
        line = line_of_server(pool, sentence);
    }
    error_list_add(&draft->errors, draft->from_words || line == 0 ? pool->line : line, key->name,
                   "%s", sentence);
}

/* The placement is judged by building it, where there is something sound to build it of. */
static void check_placement(struct draft *draft, size_t index, bool servers_are_sound)
{
    const struct config_pool *pool = &draft->config->pools[index];
    const struct placement_options options = pool_placement_options(pool);
    char error[RING_SENTENCE_MAX] = "placement: cannot be built";

    if (!placement_options_check(&options, error, sizeof(error))) {
        add_ring_error(draft, index, error);
    } else if (servers_are_sound && pool->server_count > 0) {
        struct placement *placement = pool_placement_new(pool, error, sizeof(error));

        if (placement == NULL) {
            add_ring_error(draft, index, error);
        }
        placement_free(placement);
    }
}

/* A value that does not fit into all of the memory could never be stored. */
static void check_memory(struct draft *draft)
{
    const struct config *config = draft->config;

    if (config->max_memory_bytes < config->max_value_bytes) {
        const struct config_key *key = config_key_find(SECTION_PROXY, SLICE("max_memory"));

        error_list_add(&draft->errors, draft->proxy.at[key - config_keys], key->name,
                       "is less than max_value_size, allowed: at least %" PRIu64 "b, or 0",
                       config->max_value_bytes);
    }
}

/* A port is listened on for one purpose. */
static void check_listen_purpose(struct draft *draft, const struct config_listen *listen)
{
    const struct config *config = draft->config;
    const struct {
        const char *key;
        bool is_set;
        const struct config_listen *listen;
    } others[] = {
        {"admin", config->has_admin, &config->admin},
        {"http", config->has_http, &config->http},
    };
    char text[ADDRESS_TEXT_MAX];

    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        if (others[i].is_set && address_equals(&others[i].listen->address, &listen->address)) {
            error_list_add(&draft->errors, listen->line, "listen",
                           "%s is already %s in line %u, allowed: an address of its own",
                           address_format(&listen->address, text, sizeof(text)), others[i].key,
                           others[i].listen->line);
        }
    }
}

static void check_admin_and_http(struct draft *draft)
{
    const struct config *config = draft->config;
    char text[ADDRESS_TEXT_MAX];

    if (config->has_admin && config->has_http &&
        address_equals(&config->admin.address, &config->http.address)) {
        error_list_add(&draft->errors, config->http.line, "http",
                       "%s is already admin in line %u, allowed: an address of its own",
                       address_format(&config->http.address, text, sizeof(text)),
                       config->admin.line);
    }
}

void config_verify(struct draft *draft)
{
    const struct config *config = draft->config;

    check_memory(draft);
    check_admin_and_http(draft);
    if (config->pool_count == 0) {
        error_list_add(&draft->errors, 1, "pool",
                       "there is none, needed: a section [pool NAME] with listen and server");
    }
    duplicates_check_pools(draft);
    duplicates_check_listens(draft);
    for (size_t i = 0; i < config->pool_count; i++) {
        check_required(draft, i);
        check_placement(draft, i, duplicates_check_servers(draft, &config->pools[i]));
        for (size_t j = 0; j < config->pools[i].listen_count; j++) {
            check_listen_purpose(draft, &config->pools[i].listens[j]);
        }
    }
}
