/*
 * Mistakes as they are found: kept with their lines, handed over in the order
 * of the file. Belongs to one load; no thread of its own.
 */
#ifndef CONFIG_ERRORS_H
#define CONFIG_ERRORS_H

#include "config/config.h"

enum {
    ERRORS_SHOWN_MAX = 1000, /* a file that is no configuration must not fill the memory */
    ERRORS_QUOTE_MAX = 80,
};

struct error_entry {
    unsigned line;
    size_t order; /* of finding */
    char *text;
};

struct error_list {
    const char *file; /* what messages begin with; outlives the list */
    struct error_entry *entries;
    size_t count;
    size_t dropped;
    bool is_out_of_memory; /* then this is all that is told */
};

void error_list_init(struct error_list *list, const char *file);

/* Adds "file:line: key: sentence"; line 0 leaves the line out. */
void error_list_add(struct error_list *list, unsigned line, const char *key, const char *format,
                    ...) __attribute__((format(printf, 4, 5)));

/* Moves everything into errors, sorted, and leaves the list empty. errors is not copied later. */
void error_list_finish(struct error_list *list, struct config_errors *errors);

/* text between double quotes, cut and made printable; out has ERRORS_QUOTE_MAX bytes. */
char *error_quote(struct slice text, char *out);

#endif
