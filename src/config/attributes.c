/*
 * An address and its attributes, each a row in a table for its kind of value.
 */
#include "config/attributes.h"

#include "config/alloc.h"
#include "config/errors.h"
#include "config/keys.h"
#include "config/units.h"
#include "config/value.h"

struct attribute {
    const char *name;
    /*
     * sets it in target; returns NULL, or what is wrong, a constant or in wrong, VALUE_WRONG_MAX,
     * or out_of_memory
     */
    const char *(*set)(void *target, struct slice value, char *wrong);
};

static const char out_of_memory[] = "";

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Cuts the next word off the front of text; false when there is none. */
static bool next_word(struct slice *text, struct slice *word)
{
    size_t start = 0;
    size_t end;

    while (start < text->len && is_blank(text->data[start])) {
        start++;
    }
    end = start;
    while (end < text->len && !is_blank(text->data[end])) {
        end++;
    }
    *word = slice_make(text->data + start, end - start);
    *text = slice_make(text->data + end, text->len - end);
    return word->len > 0;
}

static bool has_control(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];

        if (c <= ' ' || c == 0x7f) {
            return true;
        }
    }
    return false;
}

static const char *set_name(void *target, struct slice value, char *wrong)
{
    struct config_server *server = (struct config_server *)target;

    if (value.len == 0 || value.len > SERVER_NAME_MAX || has_control(value)) {
        snprintf(wrong, VALUE_WRONG_MAX, "a name has 1 to %d characters, no control characters",
                 SERVER_NAME_MAX);
        return wrong;
    }
    server->name = alloc_text(value);
    return server->name != NULL ? NULL : out_of_memory;
}

static const char *set_weight(void *target, struct slice value, char *wrong)
{
    struct config_server *server = (struct config_server *)target;
    double weight;

    if (units_parse_decimal(value, &weight) != UNITS_DONE || weight <= 0 ||
        weight > SERVER_WEIGHT_MAX) {
        snprintf(wrong, VALUE_WRONG_MAX, "a weight is a number above 0 and up to %d",
                 SERVER_WEIGHT_MAX);
        return wrong;
    }
    server->weight = weight;
    return NULL;
}

static const char *set_zone(void *target, struct slice value, char *wrong)
{
    struct config_server *server = (struct config_server *)target;

    if (value.len == 0 || value.len > SERVER_ZONE_MAX || has_control(value)) {
        snprintf(wrong, VALUE_WRONG_MAX, "a zone has 1 to %d characters, no control characters",
                 SERVER_ZONE_MAX);
        return wrong;
    }
    server->zone = alloc_text(value);
    return server->zone != NULL ? NULL : out_of_memory;
}

static const char *set_mode(void *target, struct slice value, char *wrong)
{
    struct config_listen *listen = (struct config_listen *)target;
    unsigned mode = 0;

    (void)wrong;
    if (!listen->address.is_unix) {
        return "only a unix socket has a mode";
    }
    for (size_t i = 0; i < value.len; i++) {
        if (value.data[i] < '0' || value.data[i] > '7' || mode > 0777) {
            mode = 0;
            break;
        }
        mode = mode * 8 + (unsigned)(value.data[i] - '0');
    }
    if (mode == 0 || mode > 0777) {
        return "a mode is an octal number from 1 to 777, as in 0660";
    }
    listen->mode = (mode_t)mode;
    return NULL;
}

/* Cuts the first of a list joined by commas off the front of text; true where another follows. */
static bool next_of_list(struct slice *text, struct slice *first)
{
    const char *comma = text->len == 0 ? NULL : (const char *)memchr(text->data, ',', text->len);
    size_t len = comma == NULL ? text->len : (size_t)(comma - text->data);
    size_t used = comma == NULL ? len : len + 1;

    *first = slice_make(text->data, len);
    *text = slice_make(text->data + used, text->len - used);
    return comma != NULL;
}

static const char *set_allow(void *target, struct slice value, char *wrong)
{
    struct config_listen *listen = (struct config_listen *)target;
    bool more;

    if (listen->address.is_unix) {
        return "a unix socket has no networks, its mode says who may connect";
    }
    do {
        struct networks *allow = &listen->allow;
        struct network *grown;
        char problem[NETWORK_WRONG_MAX];
        char quoted[ERRORS_QUOTE_MAX];
        struct network network;
        struct slice word;

        more = next_of_list(&value, &word);
        if (!network_parse(&network, word, problem)) {
            snprintf(wrong, VALUE_WRONG_MAX, "%s: %s", error_quote(word, quoted), problem);
            return wrong;
        }
        grown = (struct network *)alloc_one_more(allow->at, allow->count, sizeof(network));
        if (grown == NULL) {
            return out_of_memory;
        }
        allow->at = grown;
        allow->at[allow->count++] = network;
    } while (more);
    return NULL;
}

/* clang-format off */
static const struct attribute server_attributes[] = {
    { "name",   set_name },
    { "weight", set_weight },
    { "zone",   set_zone },
};

static const struct attribute listen_attributes[] = {
    { "mode",  set_mode },
    { "allow", set_allow },
};
/* clang-format on */

static const struct attribute *find_attribute(const struct attribute *attributes, size_t count,
                                              struct slice name, unsigned distance)
{
    for (size_t i = 0; i < count; i++) {
        if (config_key_distance(slice_text(attributes[i].name), name, distance) <= distance) {
            return &attributes[i];
        }
    }
    return NULL;
}

static bool set_attribute(const struct attribute *attributes, size_t count, void *target,
                          struct slice word, unsigned *seen, char *wrong)
{
    const char *equals = (const char *)memchr(word.data, '=', word.len);
    struct slice name = equals == NULL ? word : slice_make(word.data, (size_t)(equals - word.data));
    const struct attribute *attribute = find_attribute(attributes, count, name, 0);
    const char *problem;
    char buffer[VALUE_WRONG_MAX];
    char quoted[ERRORS_QUOTE_MAX];

    error_quote(word, quoted);
    if (attribute == NULL || equals == NULL) {
        attribute = find_attribute(attributes, count, name, 2);
        snprintf(wrong, VALUE_WRONG_MAX, "%s is not an attribute%s%s%s", quoted,
                 attribute == NULL ? "" : ", did you mean ",
                 attribute == NULL ? "" : attribute->name, attribute == NULL ? "" : "=?");
        return false;
    }
    if ((*seen & 1U << (attribute - attributes)) != 0) {
        snprintf(wrong, VALUE_WRONG_MAX, "%s is there twice", attribute->name);
        return false;
    }
    *seen |= 1U << (attribute - attributes);
    problem = attribute->set(
        target, slice_make(equals + 1, word.len - (size_t)(equals + 1 - word.data)), buffer);
    if (problem == out_of_memory) {
        wrong[0] = '\0';
    } else if (problem != NULL) {
        snprintf(wrong, VALUE_WRONG_MAX, "%s is wrong: %.*s", quoted,
                 VALUE_WRONG_MAX - ERRORS_QUOTE_MAX - 16, problem);
    }
    return problem == NULL;
}

static bool set_attributes(const struct attribute *attributes, size_t count, void *target,
                           struct slice text, char *wrong)
{
    struct slice word;
    unsigned seen = 0;

    while (next_word(&text, &word)) {
        if (!set_attribute(attributes, count, target, word, &seen, wrong)) {
            return false;
        }
    }
    return true;
}

static bool parse_address(struct address *address, struct slice *text, int default_port,
                          char *wrong)
{
    struct slice word;
    const char *problem;
    char quoted[ERRORS_QUOTE_MAX];

    if (!next_word(text, &word)) {
        snprintf(wrong, VALUE_WRONG_MAX, "the address is missing");
        return false;
    }
    problem = address_parse(address, word, default_port);
    if (problem != NULL) {
        snprintf(wrong, VALUE_WRONG_MAX, "%s is wrong: %s", error_quote(word, quoted), problem);
    }
    return problem == NULL;
}

bool server_parse(struct config_server *server, struct slice text, char *wrong)
{
    char written[ADDRESS_TEXT_MAX];

    *server = (struct config_server){.weight = 1};
    if (!parse_address(&server->address, &text, SERVER_PORT_DEFAULT, wrong) ||
        !set_attributes(server_attributes, ARRAY_LEN(server_attributes), server, text, wrong)) {
        server_fini(server);
        return false;
    }
    server->label = alloc_text(slice_text(
        server->name != NULL ? server->name
                             : address_format(&server->address, written, sizeof(written))));
    if (server->label == NULL) {
        server_fini(server);
        wrong[0] = '\0';
        return false;
    }
    return true;
}

bool listen_parse(struct config_listen *listen, struct slice text, char *wrong)
{
    struct endpoint endpoint;
    char quoted[ERRORS_QUOTE_MAX];

    *listen = (struct config_listen){0};
    if (!parse_address(&listen->address, &text, -1, wrong)) {
        return false;
    }
    if (!address_to_endpoint(&listen->address, &endpoint)) {
        snprintf(wrong, VALUE_WRONG_MAX, "%s is a name, and one listens on an IP address",
                 error_quote(slice_text(listen->address.host), quoted));
        return false;
    }
    if (!set_attributes(listen_attributes, ARRAY_LEN(listen_attributes), listen, text, wrong)) {
        listen_fini(listen);
        return false;
    }
    return true;
}

void server_fini(struct config_server *server)
{
    free(server->name);
    free(server->label);
    free(server->zone);
    *server = (struct config_server){0};
}

void listen_fini(struct config_listen *listen)
{
    networks_fini(&listen->allow);
}
