/*
 * Each check makes a list of texts that have to differ, sorts it, and looks at
 * neighbours.
 */
#include "config/duplicates.h"

#include "config/alloc.h"

struct entry {
    char *text;
    size_t order;      /* in the file; what comes later is the mistake */
    const void *what;  /* pool, listen or server */
    const void *owner; /* the listen's pool */
};

struct entries {
    struct entry *all;
    size_t count;
    bool is_short; /* of memory: some are missing */
};

typedef void on_neighbours(struct draft *draft, const struct entry *first,
                           const struct entry *second);

/* Takes text over; NULL: out of memory. */
static void entries_add(struct entries *entries, char *text, const void *what, const void *owner)
{
    struct entry *grown =
        (struct entry *)alloc_one_more(entries->all, entries->count, sizeof(*entries->all));

    entries->all = grown != NULL ? grown : entries->all;
    if (grown == NULL || text == NULL) {
        free(text);
        entries->is_short = true;
        return;
    }
    entries->all[entries->count] = (struct entry){text, entries->count, what, owner};
    entries->count++;
}

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = (const struct entry *)left;
    const struct entry *b = (const struct entry *)right;
    int order = strcmp(a->text, b->text);

    if (order != 0) {
        return order;
    }
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Sorts, tells of every two neighbours, and frees the entries. */
static void entries_finish(struct entries *entries, struct draft *draft, on_neighbours *judge)
{
    if (entries->count > 1) {
        qsort(entries->all, entries->count, sizeof(*entries->all), compare_entries);
    }
    for (size_t i = 1; i < entries->count; i++) {
        judge(draft, &entries->all[i - 1], &entries->all[i]);
    }
    for (size_t i = 0; i < entries->count; i++) {
        free(entries->all[i].text);
    }
    free(entries->all);
    draft->errors.is_out_of_memory |= entries->is_short;
}

/* "in line 4", or "before" where there are no lines; out has 32 bytes. */
static const char *where(const struct draft *draft, unsigned line, char *out)
{
    if (draft->from_words) {
        return "before";
    }
    snprintf(out, 32, "in line %u", line);
    return out;
}

static void judge_pools(struct draft *draft, const struct entry *first, const struct entry *second)
{
    const struct config_pool *pool = (const struct config_pool *)second->what;
    char section[ERRORS_QUOTE_MAX];

    if (strcmp(first->text, second->text) != 0) {
        return;
    }
    snprintf(section, sizeof(section), "[pool %s]", pool->name);
    error_list_add(&draft->errors, pool->line, section,
                   "there is one of that name in line %u, allowed: a name of its own",
                   ((const struct config_pool *)first->what)->line);
}

void duplicates_check_pools(struct draft *draft)
{
    struct entries entries = {0};

    for (size_t i = 0; i < draft->config->pool_count; i++) {
        const struct config_pool *pool = &draft->config->pools[i];

        entries_add(&entries, alloc_text(slice_text(pool->name)), pool, NULL);
    }
    entries_finish(&entries, draft, judge_pools);
}

static void judge_listens(struct draft *draft, const struct entry *first,
                          const struct entry *second)
{
    const struct config_listen *a = (const struct config_listen *)first->what;
    const struct config_listen *b = (const struct config_listen *)second->what;
    const struct config_pool *pool = (const struct config_pool *)first->owner;
    char text[ADDRESS_TEXT_MAX];
    char line[32];

    if (!address_equals(&a->address, &b->address)) {
        return;
    }
    address_format(&b->address, text, sizeof(text));
    if (first->owner == second->owner) {
        error_list_add(&draft->errors, b->line, "listen",
                       "%s is already there %s, allowed: once in a pool", text,
                       where(draft, a->line, line));
    } else if (strcmp(first->text, second->text) == 0) {
        error_list_add(&draft->errors, b->line, "listen",
                       "%s is already pool %s's %s, allowed: pools with a different prefix each",
                       text, pool->name, where(draft, a->line, line));
    } else if (a->mode != b->mode) {
        error_list_add(&draft->errors, b->line, "listen",
                       "%s has another mode %s, allowed: the same in all pools", text,
                       where(draft, a->line, line));
    } else if (!networks_equal(&a->allow, &b->allow)) {
        error_list_add(&draft->errors, b->line, "listen",
                       "%s has another allow %s, allowed: the same in all pools", text,
                       where(draft, a->line, line));
    }
}

void duplicates_check_listens(struct draft *draft)
{
    struct entries entries = {0};

    for (size_t i = 0; i < draft->config->pool_count; i++) {
        const struct config_pool *pool = &draft->config->pools[i];

        for (size_t j = 0; j < pool->listen_count; j++) {
            char address[ADDRESS_TEXT_MAX];
            char *text = NULL;

            /* neither part has a blank, so equal addresses become neighbours */
            if (asprintf(&text, "%s %s",
                         address_canonical(&pool->listens[j].address, address, sizeof(address)),
                         pool->prefix) == -1) {
                text = NULL;
            }
            entries_add(&entries, text, &pool->listens[j], pool);
        }
    }
    entries_finish(&entries, draft, judge_listens);
}

static void judge_labels(struct draft *draft, const struct entry *first, const struct entry *second)
{
    const struct config_server *a = (const struct config_server *)first->what;
    const struct config_server *b = (const struct config_server *)second->what;
    char line[32];

    /* where neither has a name, the addresses are equal and are told of below */
    if (strcmp(first->text, second->text) == 0 && (a->name != NULL || b->name != NULL)) {
        error_list_add(&draft->errors, b->line, "server",
                       "%s is already the name of a server %s, allowed: a name of its own",
                       second->text, where(draft, a->line, line));
    }
}

static void judge_addresses(struct draft *draft, const struct entry *first,
                            const struct entry *second)
{
    const struct config_server *a = (const struct config_server *)first->what;
    const struct config_server *b = (const struct config_server *)second->what;
    char line[32];

    if (strcmp(first->text, second->text) == 0) {
        error_list_add(&draft->errors, b->line, "server",
                       "%s is already a server of the pool %s, allowed: an address of its own",
                       second->text, where(draft, a->line, line));
    }
}

bool duplicates_check_servers(struct draft *draft, const struct config_pool *pool)
{
    struct entries labels = {0};
    struct entries addresses = {0};
    size_t mistakes = draft->errors.count + draft->errors.dropped;
    char address[ADDRESS_TEXT_MAX];

    for (size_t i = 0; i < pool->server_count; i++) {
        const struct config_server *server = &pool->servers[i];

        address_canonical(&server->address, address, sizeof(address));
        entries_add(&labels, alloc_text(slice_text(server->label)), server, NULL);
        entries_add(&addresses, alloc_text(slice_text(address)), server, NULL);
    }
    entries_finish(&labels, draft, judge_labels);
    entries_finish(&addresses, draft, judge_addresses);
    return draft->errors.count + draft->errors.dropped == mistakes &&
           !draft->errors.is_out_of_memory;
}
