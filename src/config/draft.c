/*
 * Fills the structs by the table and ends in a configuration or its mistakes.
 */
#include "config/draft.h"

#include "config/alloc.h"
#include "config/value.h"
#include "config/verify.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

bool draft_init(struct draft *draft, const char *file)
{
    *draft = (struct draft){0};
    error_list_init(&draft->errors, file);
    draft->config = (struct config *)calloc(1, sizeof(*draft->config));
    if (draft->config != NULL) {
        draft->config->path = alloc_text(slice_text(file));
    }
    draft->errors.is_out_of_memory = draft->config == NULL || draft->config->path == NULL;
    return !draft->errors.is_out_of_memory;
}

static void set_default(struct draft *draft, const struct config_key *key, void *target)
{
    if (!config_value_set_default(key, target)) {
        draft->errors.is_out_of_memory = true;
    }
}

void draft_set(struct draft *draft, struct draft_lines *lines, void *target,
               const struct config_key *key, struct slice value, unsigned line)
{
    unsigned *written = &lines->at[key - config_keys];
    char wrong[VALUE_WRONG_MAX];
    char allowed[KEY_ALLOWED_MAX];

    if (*written != 0 && (key->flags & KEY_REPEATS) == 0) {
        error_list_add(&draft->errors, line, key->name,
                       "is already set in line %u, allowed: once in a section", *written);
        return;
    }
    *written = line == 0 ? 1 : line; /* the command line has none */
    if (config_value_set(key, target, value, line, wrong)) {
        return;
    }
    if (wrong[0] == '\0') {
        draft->errors.is_out_of_memory = true;
    } else {
        error_list_add(&draft->errors, line, key->name, "%s, allowed: %s", wrong,
                       config_key_allowed(key, allowed));
        set_default(draft, key, target); /* so that the checks to come find one */
    }
}

/* Makes room for one more pool. */
static bool grow_pools(struct draft *draft)
{
    struct config *config = draft->config;
    struct config_pool *pools = (struct config_pool *)alloc_one_more(
        config->pools, config->pool_count, sizeof(*config->pools));
    struct draft_lines *lines;

    if (pools == NULL) {
        return false;
    }
    config->pools = pools;
    lines = (struct draft_lines *)alloc_one_more(draft->pools, config->pool_count,
                                                 sizeof(*draft->pools));
    if (lines == NULL) {
        return false;
    }
    draft->pools = lines;
    return true;
}

bool draft_add_pool(struct draft *draft, struct slice name, unsigned line)
{
    struct config *config = draft->config;
    char *copy = alloc_text(name);

    if (copy == NULL || !grow_pools(draft)) {
        free(copy);
        draft->errors.is_out_of_memory = true;
        return false;
    }
    config->pools[config->pool_count].name = copy;
    config->pools[config->pool_count].line = line;
    config->pool_count++;
    return true;
}

static void set_defaults(struct draft *draft, enum key_section section,
                         const struct draft_lines *lines, void *target)
{
    for (size_t i = 0; i < config_key_count; i++) {
        if (config_keys[i].section == section && lines->at[i] == 0) {
            set_default(draft, &config_keys[i], target);
        }
    }
}

/* CPUs this process may run on, which a container or taskset may have made fewer. */
static unsigned count_cpus(unsigned most)
{
    cpu_set_t set;
    long count = 0;

    if (sched_getaffinity(0, sizeof(set), &set) == 0) {
        count = CPU_COUNT(&set);
    } else {
        count = sysconf(_SC_NPROCESSORS_ONLN);
    }
    return count < 1 ? 1 : (unsigned long)count > most ? most : (unsigned)count;
}

static uint64_t quarter_of_memory(void)
{
    const uint64_t least = UINT64_C(64) << 20;
    long pages = sysconf(_SC_PHYS_PAGES);
    long page_bytes = sysconf(_SC_PAGESIZE);
    uint64_t quarter;

    if (pages < 1 || page_bytes < 1) {
        return least;
    }
    quarter = (uint64_t)pages / 4 * (uint64_t)page_bytes;
    return quarter < least ? least : quarter;
}

static void resolve_automatic(struct config *config)
{
    if (config->workers == 0) {
        const struct config_key *key = config_key_find(SECTION_PROXY, SLICE("workers"));

        config->workers = count_cpus((unsigned)key->max);
    }
    if (config->max_memory_bytes == 0) {
        config->max_memory_bytes = quarter_of_memory();
        if (config->max_memory_bytes < 2 * config->max_value_bytes) {
            config->max_memory_bytes = 2 * config->max_value_bytes;
        }
    }
}

/* Gives what was not written its default. */
static void complete(struct draft *draft)
{
    struct config *config = draft->config;

    set_defaults(draft, SECTION_PROXY, &draft->proxy, config);
    for (size_t i = 0; i < config->pool_count; i++) {
        set_defaults(draft, SECTION_POOL, &draft->pools[i], &config->pools[i]);
    }
    resolve_automatic(config);
}

struct config *draft_finish(struct draft *draft, struct config_errors *errors)
{
    struct config *config = draft->config;

    if (!draft->errors.is_out_of_memory) {
        complete(draft);
    }
    if (!draft->errors.is_out_of_memory) {
        config_verify(draft);
    }
    error_list_finish(&draft->errors, errors);
    free(draft->pools);
    draft->pools = NULL;
    draft->config = NULL;
    if (errors->count > 0) {
        config_free(config);
        return NULL;
    }
    return config;
}

void config_free(struct config *config)
{
    if (config == NULL) {
        return;
    }
    for (size_t i = 0; i < config->pool_count; i++) {
        config_value_free_all(SECTION_POOL, &config->pools[i]);
        free(config->pools[i].name);
    }
    free(config->pools);
    config_value_free_all(SECTION_PROXY, config);
    free(config->path);
    free(config);
}

const struct config_pool *config_find_pool(const struct config *config, const char *name)
{
    for (size_t p = 0; p < config->pool_count; p++) {
        if (strcmp(config->pools[p].name, name) == 0) {
            return &config->pools[p];
        }
    }
    return NULL;
}
