/*
 * Any bytes as ketama.conf: a configuration, or mistakes that are one line each
 * and in the order of the file.
 */
#include "config/diff.h"
#include "config/load.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check_mistakes(const struct config_errors *errors)
{
    unsigned long last = 0;

    for (size_t i = 0; i < errors->count; i++) {
        const char *text = errors->lines[i];

        for (const char *p = text; *p != '\0'; p++) {
            assert((unsigned char)*p >= ' ' && *p != 0x7f);
        }
        if (strncmp(text, "f:", 2) == 0 && text[2] != ' ') {
            char *end;
            unsigned long line = strtoul(text + 2, &end, 10);

            assert(line >= last && line > 0 && *end == ':');
            last = line;
        }
    }
}

static void check_config(const struct config *config)
{
    assert(config->workers >= 1 && config->pool_count >= 1);
    assert(config->max_memory_bytes >= config->max_value_bytes);
    for (size_t i = 0; i < config->pool_count; i++) {
        const struct config_pool *pool = &config->pools[i];

        assert(pool->listen_count >= 1 && pool->server_count >= 1 && pool->connections >= 1);
        assert(pool->prefix != NULL && pool->placement != NULL);
        for (size_t j = 0; j < pool->server_count; j++) {
            assert(pool->servers[j].label != NULL && pool->servers[j].weight > 0);
        }
    }
}

static void no_difference(void *arg, const char *key)
{
    (void)arg;
    (void)key;
    abort();
}

/* Whether every number after word, if one follows, has at most that many digits. */
static bool numbers_are_short(struct slice text, struct slice word, size_t digits_max)
{
    for (size_t i = 0; i + word.len <= text.len; i++) {
        size_t digits = 0;
        size_t at = i + word.len;

        if (memcmp(text.data + i, word.data, word.len) != 0) {
            continue;
        }
        while (at < text.len && strchr(" \t=:", text.data[at]) != NULL && text.data[at] != '\0') {
            at++;
        }
        while (at < text.len && text.data[at] >= '0' && text.data[at] <= '9') {
            digits++;
            at++;
        }
        if (digits > digits_max) {
            return false;
        }
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    const struct slice text = slice_make((const char *)bytes, len);
    struct config_errors errors;
    struct config *config;

    /* a ring of many points takes long to build, and that is another target's business */
    if (!numbers_are_short(text, SLICE("weight="), 1) ||
        !numbers_are_short(text, SLICE("points"), 2)) {
        return -1;
    }
    config = config_load_text("f", text.data, text.len, &errors);
    assert((config == NULL) == (errors.count > 0));
    check_mistakes(&errors);
    if (config != NULL) {
        size_t differing = config_diff_fixed(config, config, no_difference, NULL);

        assert(differing == 0);
        check_config(config);
    }
    config_free(config);
    config_errors_fini(&errors);
    return 0;
}
