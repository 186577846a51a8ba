/*
 * Not getopt: behind -a ADMIN and the first word everything belongs to the
 * command that is told on, dashes or not.
 */
#include "cli/arguments.h"

#include <errno.h>
#include <stdlib.h>

/* Reads a number with an optional k or m behind it; 0 where it is none. */
static uint64_t read_count(const char *text)
{
    uint64_t value;
    uint64_t unit = 1;
    char *end;

    if (text[0] < '0' || text[0] > '9') {
        return 0;
    }
    errno = 0;
    value = strtoull(text, &end, 10);
    if (*end == 'k' || *end == 'm') {
        unit = *end == 'k' ? 1000 : 1000000;
        end++;
    }
    if (errno != 0 || *end != '\0' || value > UINT64_MAX / unit) {
        return 0;
    }
    return value * unit;
}

/*
 * The value of option name in word, "name=VALUE", or behind it, "name VALUE": then *takes_next.
 * NULL: another option, or no value.
 */
static const char *value_of(const char *name, const char *word, const char *next, bool *takes_next)
{
    const size_t len = strlen(name);

    *takes_next = false;
    if (strncmp(word, name, len) != 0) {
        return NULL;
    }
    if (word[len] == '=') {
        return word + len + 1;
    }
    *takes_next = word[len] == '\0' && next != NULL;
    return *takes_next ? next : NULL;
}

const char *cli_arguments_read(struct cli_arguments *arguments, int argc, char *const *argv,
                               const char **words)
{
    bool only_words = false;

    *arguments = (struct cli_arguments){.words = words};
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        const char *next = i + 1 < argc ? argv[i + 1] : NULL;
        const char *value;
        bool takes_next = false;

        if (only_words || word[0] != '-' || word[1] == '\0') {
            words[arguments->word_count++] = word;
            /* an admin command is told on as it is */
            only_words = only_words || arguments->admin != NULL;
        } else if (strcmp(word, "--") == 0) {
            only_words = true;
        } else if (strcmp(word, "--json") == 0) {
            arguments->as_json = true;
        } else if ((value = value_of("--pool", word, next, &takes_next)) != NULL) {
            arguments->pool = value;
        } else if ((value = value_of("-a", word, next, &takes_next)) != NULL) {
            arguments->admin = value;
        } else if ((value = value_of("--keys", word, next, &takes_next)) != NULL) {
            arguments->keys = read_count(value);
            if (arguments->keys == 0) {
                return "--keys takes a number above 0, such as 1000000 or 1m";
            }
        } else {
            return "an option that is not known, or that lacks its value";
        }
        i += takes_next ? 1 : 0;
    }
    return NULL;
}
