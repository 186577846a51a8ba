/*
 * Values of every type of key: set, defaulted, compared, freed.
 */
#include "config/value.h"

#include "config/alloc.h"
#include "config/attributes.h"
#include "config/errors.h"
#include "config/units.h"

#include <assert.h>

static bool say_wrong(char *wrong, struct slice text, const char *what)
{
    char quoted[ERRORS_QUOTE_MAX];

    snprintf(wrong, VALUE_WRONG_MAX, "%s %s", error_quote(text, quoted), what);
    return false;
}

/* Gives the field its text; the old one was NULL. */
static bool keep_text(char **field, struct slice text, char *wrong)
{
    *field = alloc_text(text);
    wrong[0] = '\0';
    return *field != NULL;
}

static enum units_result parse_number(enum key_type type, struct slice text, uint64_t *number)
{
    switch (type) {
    case KEY_DURATION:
        return units_parse_duration(text, number);
    case KEY_SIZE:
        return units_parse_size(text, number);
    case KEY_PERCENT:
        return units_parse_percent(text, number);
    default:
        return units_parse_number(text, number);
    }
}

static bool set_number(const struct config_key *key, void *target, struct slice text, char *wrong)
{
    uint64_t number = 0;
    void *field = config_key_field(key, target);

    if ((key->flags & KEY_OR_AUTO) == 0 || !slice_equals(text, SLICE("auto"))) {
        enum units_result result = parse_number(key->type, text, &number);

        if (result != UNITS_DONE) {
            return say_wrong(wrong, text, units_result_text(result));
        }
        if (number > key->max) {
            return say_wrong(wrong, text, "is too large");
        }
        if (number < key->min && (number != 0 || (key->flags & KEY_OR_ZERO) == 0)) {
            return say_wrong(wrong, text, "is too small");
        }
    }
    if (key->type == KEY_NUMBER || key->type == KEY_PERCENT) {
        *(unsigned *)field = (unsigned)number;
    } else {
        *(uint64_t *)field = number;
    }
    return true;
}

static bool set_choice(const struct config_key *key, void *target, struct slice text, char *wrong)
{
    for (int i = 0; key->choices[i] != NULL; i++) {
        if (slice_equals(text, slice_text(key->choices[i]))) {
            *(int *)config_key_field(key, target) = i;
            return true;
        }
    }
    return say_wrong(wrong, text, "is not one of the words");
}

static bool has_blank(struct slice text)
{
    return memchr(text.data, ' ', text.len) != NULL || memchr(text.data, '\t', text.len) != NULL;
}

static bool set_text(const struct config_key *key, void *target, struct slice text, char *wrong)
{
    char **field = (char **)config_key_field(key, target);

    if (text.len > 0 && has_blank(text)) {
        return say_wrong(wrong, text, "has a blank");
    }
    if (text.len < key->min) {
        return say_wrong(wrong, text, text.len == 0 ? "is empty" : "is too short");
    }
    if (text.len > key->max) {
        return say_wrong(wrong, text, "is too long");
    }
    return keep_text(field, text, wrong);
}

static bool set_path(const struct config_key *key, void *target, struct slice text, char *wrong)
{
    char **field = (char **)config_key_field(key, target);

    if (text.len == 0 || text.data[0] != '/') {
        return say_wrong(wrong, text, "does not begin with /");
    }
    return keep_text(field, text, wrong);
}

static bool set_log(const struct config_key *key, void *target, struct slice text, char *wrong)
{
    enum config_log_to *to = (enum config_log_to *)config_key_field(key, target);
    char **path = (char **)config_key_beside(key, target);
    const size_t skip = sizeof("file:") - 1;

    if (slice_equals(text, SLICE("stderr"))) {
        *to = LOG_TO_STDERR;
        return true;
    }
    if (slice_equals(text, SLICE("syslog"))) {
        *to = LOG_TO_SYSLOG;
        return true;
    }
    if (text.len <= skip || memcmp(text.data, "file:/", skip + 1) != 0) {
        return say_wrong(wrong, text, "is no place for a log");
    }
    *to = LOG_TO_FILE;
    return keep_text(path, slice_make(text.data + skip, text.len - skip), wrong);
}

static bool set_address(const struct config_key *key, void *target, struct slice text,
                        unsigned line, char *wrong)
{
    struct config_listen listen;

    if (!listen_parse(&listen, text, wrong)) {
        return false;
    }
    listen.line = line;
    *(struct config_listen *)config_key_field(key, target) = listen;
    *(bool *)config_key_beside(key, target) = true;
    return true;
}

static bool append_listen(const struct config_key *key, void *target, struct slice text,
                          unsigned line, char *wrong)
{
    struct config_listen **listens = (struct config_listen **)config_key_field(key, target);
    size_t *count = (size_t *)config_key_beside(key, target);
    struct config_listen *grown;
    struct config_listen listen;

    if (!listen_parse(&listen, text, wrong)) {
        return false;
    }
    listen.line = line;
    grown = (struct config_listen *)alloc_one_more(*listens, *count, sizeof(listen));
    if (grown == NULL) {
        listen_fini(&listen);
        wrong[0] = '\0';
        return false;
    }
    *listens = grown;
    grown[(*count)++] = listen;
    return true;
}

static bool append_server(const struct config_key *key, void *target, struct slice text,
                          unsigned line, char *wrong)
{
    struct config_server **servers = (struct config_server **)config_key_field(key, target);
    size_t *count = (size_t *)config_key_beside(key, target);
    struct config_server *grown;
    struct config_server server;

    if (!server_parse(&server, text, wrong)) {
        return false;
    }
    server.line = line;
    grown = (struct config_server *)alloc_one_more(*servers, *count, sizeof(server));
    if (grown == NULL) {
        server_fini(&server);
        wrong[0] = '\0';
        return false;
    }
    *servers = grown;
    grown[(*count)++] = server;
    return true;
}

bool config_value_set(const struct config_key *key, void *target, struct slice text, unsigned line,
                      char *wrong)
{
    switch (key->type) {
    case KEY_NUMBER:
    case KEY_DURATION:
    case KEY_SIZE:
    case KEY_PERCENT:
        return set_number(key, target, text, wrong);
    case KEY_YES_NO:
        return units_parse_yes_no(text, (bool *)config_key_field(key, target)) ||
               say_wrong(wrong, text, "is neither yes nor no");
    case KEY_CHOICE:
        return set_choice(key, target, text, wrong);
    case KEY_TEXT:
        return set_text(key, target, text, wrong);
    case KEY_PATH:
        return set_path(key, target, text, wrong);
    case KEY_LOG:
        return set_log(key, target, text, wrong);
    case KEY_ADDRESS:
        return set_address(key, target, text, line, wrong);
    case KEY_LISTEN:
        return append_listen(key, target, text, line, wrong);
    case KEY_SERVER:
        return append_server(key, target, text, line, wrong);
    }
    return false;
}

bool config_value_set_default(const struct config_key *key, void *target)
{
    char wrong[VALUE_WRONG_MAX];

    if (key->default_text == NULL ||
        config_value_set(key, target, slice_text(key->default_text), 0, wrong)) {
        return true;
    }
    assert(wrong[0] == '\0'); /* no default is wrong */
    return false;
}

static void free_servers(struct config_server **servers, size_t *count)
{
    for (size_t i = 0; i < *count; i++) {
        server_fini(&(*servers)[i]);
    }
    free(*servers);
    *servers = NULL;
    *count = 0;
}

static void free_listens(struct config_listen **listens, size_t *count)
{
    for (size_t i = 0; i < *count; i++) {
        listen_fini(&(*listens)[i]);
    }
    free(*listens);
    *listens = NULL;
    *count = 0;
}

static void free_value(const struct config_key *key, void *target)
{
    void *field = config_key_field(key, target);
    void *beside = config_key_beside(key, target);

    switch (key->type) {
    case KEY_TEXT:
    case KEY_PATH:
        free(*(char **)field);
        break;
    case KEY_LOG:
        free(*(char **)beside);
        break;
    case KEY_ADDRESS:
        listen_fini((struct config_listen *)field);
        break;
    case KEY_LISTEN:
        free_listens((struct config_listen **)field, (size_t *)beside);
        break;
    case KEY_SERVER:
        free_servers((struct config_server **)field, (size_t *)beside);
        break;
    default:
        break;
    }
}

void config_value_free_all(enum key_section section, void *target)
{
    for (size_t i = 0; i < config_key_count; i++) {
        if (config_keys[i].section == section) {
            free_value(&config_keys[i], target);
        }
    }
}

static bool text_equals(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* But for allow, which changes live. */
static bool listen_equals(const struct config_listen *a, const struct config_listen *b)
{
    return address_equals(&a->address, &b->address) && a->mode == b->mode;
}

bool config_value_equals(const struct config_key *key, const void *a, const void *b)
{
    const char *x = (const char *)a + key->offset;
    const char *y = (const char *)b + key->offset;
    const char *beside_x = (const char *)a + key->beside;
    const char *beside_y = (const char *)b + key->beside;

    switch (key->type) {
    case KEY_NUMBER:
    case KEY_PERCENT:
        return *(const unsigned *)x == *(const unsigned *)y;
    case KEY_DURATION:
    case KEY_SIZE:
        return *(const uint64_t *)x == *(const uint64_t *)y;
    case KEY_YES_NO:
        return *(const bool *)x == *(const bool *)y;
    case KEY_CHOICE:
        return *(const int *)x == *(const int *)y;
    case KEY_TEXT:
    case KEY_PATH:
        return text_equals(*(char *const *)x, *(char *const *)y);
    case KEY_LOG:
        return *(const enum config_log_to *)x == *(const enum config_log_to *)y &&
               text_equals(*(char *const *)beside_x, *(char *const *)beside_y);
    case KEY_ADDRESS:
        return *(const bool *)beside_x == *(const bool *)beside_y &&
               (!*(const bool *)beside_x ||
                listen_equals((const struct config_listen *)x, (const struct config_listen *)y));
    case KEY_LISTEN:
    case KEY_SERVER:
        break; /* whoever knows the items compares them */
    }
    assert(false);
    return false;
}

static size_t field_bytes(enum key_type type)
{
    switch (type) {
    case KEY_NUMBER:
    case KEY_PERCENT:
        return sizeof(unsigned);
    case KEY_DURATION:
    case KEY_SIZE:
        return sizeof(uint64_t);
    case KEY_YES_NO:
        return sizeof(bool);
    case KEY_CHOICE:
        return sizeof(int);
    case KEY_TEXT:
    case KEY_PATH:
        return sizeof(char *);
    case KEY_LOG:
        return sizeof(enum config_log_to);
    case KEY_ADDRESS:
        return sizeof(struct config_listen);
    case KEY_LISTEN:
        return sizeof(struct config_listen *);
    case KEY_SERVER:
        return sizeof(struct config_server *);
    }
    return 0;
}

/* Of the second field; 0: there is none. */
static size_t beside_bytes(enum key_type type)
{
    switch (type) {
    case KEY_LOG:
        return sizeof(char *);
    case KEY_ADDRESS:
        return sizeof(bool);
    case KEY_LISTEN:
    case KEY_SERVER:
        return sizeof(size_t);
    default:
        return 0;
    }
}

static void swap_bytes(void *a, void *b, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char kept = ((char *)a)[i];

        ((char *)a)[i] = ((char *)b)[i];
        ((char *)b)[i] = kept;
    }
}

void config_value_swap(const struct config_key *key, void *a, void *b)
{
    swap_bytes(config_key_field(key, a), config_key_field(key, b), field_bytes(key->type));
    swap_bytes(config_key_beside(key, a), config_key_beside(key, b), beside_bytes(key->type));
}
