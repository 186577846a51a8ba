/* See admin_settings.h. */
#include "control/admin_settings.h"

#include "config/keys.h"
#include "control/text.h"

#include <inttypes.h>
#include <stdio.h>

static const char *or_nothing(const char *text)
{
    return text != NULL ? text : "";
}

/* The key's value in target as text. A list is told by its length. */
static void value_text(const struct config_key *key, void *target, char *out, size_t size)
{
    void *field = config_key_field(key, target);

    switch (key->type) {
    case KEY_NUMBER:
    case KEY_PERCENT:
        snprintf(out, size, "%u", *(unsigned *)field);
        break;
    case KEY_DURATION:
        snprintf(out, size, "%" PRIu64 "ms", *(uint64_t *)field);
        break;
    case KEY_SIZE:
        snprintf(out, size, "%" PRIu64, *(uint64_t *)field);
        break;
    case KEY_YES_NO:
        snprintf(out, size, "%s", *(bool *)field ? "yes" : "no");
        break;
    case KEY_CHOICE:
        snprintf(out, size, "%s", key->choices[*(int *)field]);
        break;
    case KEY_TEXT:
    case KEY_PATH:
        snprintf(out, size, "%s", or_nothing(*(char **)field));
        break;
    case KEY_LOG: {
        static const char *const kinds[] = {"stderr", "syslog", "file:"};
        enum config_log_to to = *(enum config_log_to *)field;

        snprintf(out, size, "%s%s", kinds[to],
                 to == LOG_TO_FILE ? or_nothing(*(char **)config_key_beside(key, target)) : "");
        break;
    }
    case KEY_ADDRESS:
        if (*(bool *)config_key_beside(key, target)) {
            address_format(&((struct config_listen *)field)->address, out, size);
        } else {
            out[0] = '\0';
        }
        break;
    case KEY_LISTEN:
    case KEY_SERVER:
        snprintf(out, size, "%zu", *(size_t *)config_key_beside(key, target));
        break;
    }
}

static void add_section(enum key_section section, const char *pool, void *target,
                        struct evbuffer *out)
{
    char value[1024];

    for (size_t i = 0; i < config_key_count; i++) {
        const struct config_key *key = &config_keys[i];

        if (key->section != section) {
            continue;
        }
        value_text(key, target, value, sizeof(value));
        evbuffer_add_printf(out, "STAT ");
        if (pool != NULL) {
            text_add_word(out, slice_text(pool));
            evbuffer_add_printf(out, ":");
        }
        evbuffer_add_printf(out, "%s ", key->name);
        text_add_line(out, slice_text(value));
        evbuffer_add(out, "\r\n", 2);
    }
}

void admin_settings_add(struct control *control, struct evbuffer *out)
{
    struct config *config = control->config;

    evbuffer_add_printf(out, "STAT maxconns %u\r\n", config->max_clients);
    evbuffer_add_printf(out, "STAT num_threads %u\r\n", config->workers);
    evbuffer_add_printf(out, "STAT item_size_max %" PRIu64 "\r\n", config->max_value_bytes);
    add_section(SECTION_PROXY, NULL, config, out);
    for (size_t p = 0; p < config->pool_count; p++) {
        add_section(SECTION_POOL, config->pools[p].name, &config->pools[p], out);
    }
}
