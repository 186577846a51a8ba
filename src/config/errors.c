/*
 * The list of mistakes of one load.
 */
#include "config/errors.h"

#include "config/alloc.h"

#include <stdarg.h>

void error_list_init(struct error_list *list, const char *file)
{
    *list = (struct error_list){.file = file};
}

/* Takes text over. */
static void append(struct error_list *list, unsigned line, char *text)
{
    struct error_entry *entries =
        (struct error_entry *)alloc_one_more(list->entries, list->count, sizeof(*entries));

    if (entries == NULL) {
        free(text);
        list->is_out_of_memory = true;
        return;
    }
    entries[list->count] = (struct error_entry){line, list->count, text};
    list->entries = entries;
    list->count++;
}

void error_list_add(struct error_list *list, unsigned line, const char *key, const char *format,
                    ...)
{
    va_list args;
    char *sentence = NULL;
    char *text = NULL;
    int len;

    if (list->count >= ERRORS_SHOWN_MAX) {
        list->dropped++;
        return;
    }
    va_start(args, format);
    len = vasprintf(&sentence, format, args);
    va_end(args);
    if (len == -1) {
        list->is_out_of_memory = true;
        return;
    }
    len = line == 0 ? asprintf(&text, "%s: %s: %s", list->file, key, sentence)
                    : asprintf(&text, "%s:%u: %s: %s", list->file, line, key, sentence);
    free(sentence);
    if (len == -1) {
        list->is_out_of_memory = true;
        return;
    }
    append(list, line, text);
}

static int compare_entries(const void *left, const void *right)
{
    const struct error_entry *a = (const struct error_entry *)left;
    const struct error_entry *b = (const struct error_entry *)right;

    if (a->line != b->line) {
        return a->line < b->line ? -1 : 1;
    }
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Frees what was found: there is no memory to tell it. */
static void tell_out_of_memory(struct error_list *list, struct config_errors *errors)
{
    static char sentence[] = "out of memory: the configuration cannot be loaded";

    for (size_t i = 0; i < list->count; i++) {
        free(list->entries[i].text);
    }
    *errors = (struct config_errors){.count = 1, .only = sentence};
    errors->lines = &errors->only;
}

void error_list_finish(struct error_list *list, struct config_errors *errors)
{
    char *more = NULL;

    if (list->count > 1) {
        qsort(list->entries, list->count, sizeof(*list->entries), compare_entries);
    }
    if (list->dropped > 0) {
        if (asprintf(&more, "%s: %zu more mistakes are not shown", list->file, list->dropped) ==
            -1) {
            list->is_out_of_memory = true;
        } else {
            append(list, 0, more);
        }
    }
    *errors = (struct config_errors){.count = list->count};
    if (list->count > 0) {
        errors->lines = (char **)calloc(list->count, sizeof(*errors->lines));
    }
    if (list->is_out_of_memory || (list->count > 0 && errors->lines == NULL)) {
        free(errors->lines);
        tell_out_of_memory(list, errors);
    } else {
        for (size_t i = 0; i < list->count; i++) {
            errors->lines[i] = list->entries[i].text;
        }
    }
    free(list->entries);
    error_list_init(list, list->file);
}

char *error_quote(struct slice text, char *out)
{
    const size_t room = ERRORS_QUOTE_MAX - sizeof("\"...\"");
    size_t len = text.len > room ? room : text.len;
    char *to = out;

    *to++ = '"';
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text.data[i];

        *to++ = c < ' ' || c == 0x7f ? '?' : (char)c;
    }
    snprintf(to, ERRORS_QUOTE_MAX - (size_t)(to - out), "%s\"", len < text.len ? "..." : "");
    return out;
}

void config_errors_fini(struct config_errors *errors)
{
    for (size_t i = 0; i < errors->count && errors->only == NULL; i++) {
        free(errors->lines[i]);
    }
    if (errors->only == NULL) {
        free(errors->lines);
    }
    *errors = (struct config_errors){0};
}
