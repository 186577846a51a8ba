/*
 * Each cause is looked for by itself; where much moves and no cause was found,
 * the placement is.
 */
#include "cli/edit_warning.h"

#include <stdio.h>
#include <stdlib.h>

enum { SENTENCE_MAX = 1024, TOLD_MAX = 3 };

/* Much more than the least: half as much again, and at least two percent of all. */
#define MUCH_MORE(moved, least) ((moved) > 1.5 * (least) + 0.02)

struct warning {
    const struct edit *edit;
    edit_warning_fn *fn;
    void *arg;
    size_t told; /* causes of a move found */
};

static const char *or_default(const char *text)
{
    return text != NULL ? text : "the default";
}

static bool differ(const char *a, const char *b)
{
    return strcmp(or_default(a), or_default(b)) != 0;
}

static void about_settings(struct warning *warning)
{
    const struct config_pool *before = warning->edit->before->config;
    const struct config_pool *after = warning->edit->after->config;
    const struct {
        const char *key;
        const char *was;
        const char *is;
    } settings[] = {
        {"placement", before->placement, after->placement},
        {"key_hash", before->key_hash, after->key_hash},
        {"hash_tag", before->hash_tag, after->hash_tag},
        {"hash_skip", before->hash_skip, after->hash_skip},
    };
    char sentence[SENTENCE_MAX];

    for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
        if (differ(settings[i].was, settings[i].is)) {
            snprintf(sentence, sizeof(sentence),
                     "%s changes from %s to %s: keys are placed anew, wherever they were",
                     settings[i].key, or_default(settings[i].was), or_default(settings[i].is));
            warning->fn(warning->arg, sentence);
            warning->told++;
        }
    }
    if (before->points != after->points) {
        snprintf(sentence, sizeof(sentence),
                 "points changes from %u to %u: every server's part of the ring is cut anew",
                 before->points, after->points);
        warning->fn(warning->arg, sentence);
        warning->told++;
    }
}

/* An address and whose it is. */
struct addressed {
    char text[CLI_ADDRESS_MAX];
    uint32_t server;
};

static int compare_addresses(const void *left, const void *right)
{
    return strcmp(((const struct addressed *)left)->text, ((const struct addressed *)right)->text);
}

/* One server that is there before and after, under two names. */
static void about_renamed(struct warning *warning)
{
    const struct config_pool *before = warning->edit->before->config;
    const struct config_pool *after = warning->edit->after->config;
    struct addressed *gone = calloc(before->server_count, sizeof(*gone));
    char sentence[SENTENCE_MAX];
    size_t count = 0;
    size_t found_count = 0;

    if (gone == NULL) {
        return;
    }
    for (uint32_t i = 0; i < before->server_count; i++) {
        if (warning->edit->stays[i] == PLACEMENT_NONE) {
            gone[count].server = i;
            cli_address(&before->servers[i], gone[count++].text);
        }
    }
    qsort(gone, count, sizeof(*gone), compare_addresses);
    for (uint32_t i = 0; i < after->server_count; i++) {
        struct addressed wanted = {.server = i};
        const struct addressed *found;

        if (warning->edit->same[i] != PLACEMENT_NONE) {
            continue;
        }
        cli_address(&after->servers[i], wanted.text);
        found = bsearch(&wanted, gone, count, sizeof(*gone), compare_addresses);
        if (found != NULL && ++found_count <= TOLD_MAX) {
            const char *old_label = before->servers[found->server].label;

            snprintf(sentence, sizeof(sentence),
                     "server %s was called %s and is now called %s: a name is a place on the "
                     "ring; name=%s keeps its keys",
                     wanted.text, old_label, after->servers[i].label, old_label);
            warning->fn(warning->arg, sentence);
            warning->told++;
        }
    }
    if (found_count > TOLD_MAX) {
        snprintf(sentence, sizeof(sentence), "and %zu servers more are renamed so",
                 found_count - TOLD_MAX);
        warning->fn(warning->arg, sentence);
    }
    free(gone);
}

/* The i-th server without a name that is in one pool only. */
static uint32_t unnamed_alone(const struct config_pool *pool, const uint32_t *other, size_t i)
{
    for (uint32_t server = 0; server < pool->server_count; server++) {
        if (other[server] == PLACEMENT_NONE && pool->servers[server].name == NULL && i-- == 0) {
            return server;
        }
    }
    return PLACEMENT_NONE;
}

static void about_replaced(struct warning *warning)
{
    const struct edit *edit = warning->edit;
    char sentence[SENTENCE_MAX];

    for (size_t i = 0; i < TOLD_MAX; i++) {
        const uint32_t gone = unnamed_alone(edit->before->config, edit->stays, i);
        const uint32_t come = unnamed_alone(edit->after->config, edit->same, i);

        if (gone == PLACEMENT_NONE || come == PLACEMENT_NONE) {
            return;
        }
        const char *old_label = edit->before->config->servers[gone].label;

        snprintf(sentence, sizeof(sentence),
                 "%s goes and %s comes, neither with a name: if one replaces the other, "
                 "name=%s on its line keeps every key in its place",
                 old_label, edit->after->config->servers[come].label, old_label);
        warning->fn(warning->arg, sentence);
        warning->told++;
    }
}

/* Under its name a server keeps its keys, but a new host does not have them. */
static void about_new_hosts(struct warning *warning)
{
    const struct edit *edit = warning->edit;
    char sentence[SENTENCE_MAX];
    char was[CLI_ADDRESS_MAX];
    char is[CLI_ADDRESS_MAX];
    size_t told = 0;

    for (uint32_t i = 0; i < edit->after->config->server_count && told < TOLD_MAX; i++) {
        const struct config_server *after = &edit->after->config->servers[i];
        const uint32_t old = edit->same[i];

        if (old == PLACEMENT_NONE || after->name == NULL) {
            continue;
        }
        cli_address(&edit->before->config->servers[old], was);
        cli_address(after, is);
        if (strcmp(was, is) != 0) {
            snprintf(sentence, sizeof(sentence),
                     "%s is at %s instead of %s: its keys keep their place, and a new host "
                     "begins without them",
                     after->name, is, was);
            warning->fn(warning->arg, sentence);
            told++;
        }
    }
}

void edit_warn(const struct edit *edit, edit_warning_fn *fn, void *arg)
{
    struct warning warning = {edit, fn, arg, 0};
    char sentence[SENTENCE_MAX];

    about_settings(&warning);
    about_renamed(&warning);
    about_replaced(&warning);
    about_new_hosts(&warning);
    if (!MUCH_MORE(edit->moved, edit->least)) {
        return;
    }
    if (warning.told == 0) {
        snprintf(sentence, sizeof(sentence),
                 "this moves far more than the least, as placement %s does on an edit like this "
                 "one; see ketamactl(1)",
                 edit->after->config->placement);
        fn(arg, sentence);
    } else {
        fn(arg, "this moves far more than the least");
    }
}
