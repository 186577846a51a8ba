/*
 * The table says which keys are fixed and where they are. Keys of a pool all
 * change live, since a pool itself may come and go.
 */
#include "config/diff.h"

#include "config/keys.h"
#include "config/value.h"

size_t config_diff_fixed(const struct config *before, const struct config *after,
                         config_on_fixed *on_fixed, void *arg)
{
    size_t differing = 0;

    for (size_t i = 0; i < config_key_count; i++) {
        const struct config_key *key = &config_keys[i];

        if (key->section != SECTION_PROXY || (key->flags & KEY_LIVE) != 0 ||
            config_value_equals(key, before, after)) {
            continue;
        }
        differing++;
        on_fixed(arg, key->name);
    }
    return differing;
}

void config_diff_live(const struct config *before, const struct config *after,
                      config_on_changed *on_changed, void *arg)
{
    for (size_t i = 0; i < config_key_count; i++) {
        const struct config_key *key = &config_keys[i];

        if (key->section == SECTION_PROXY && (key->flags & KEY_LIVE) != 0 &&
            (key->flags & KEY_REPEATS) == 0 && !config_value_equals(key, before, after)) {
            on_changed(arg, NULL, key->name);
        }
    }
}

void config_diff_pool(const struct config_pool *before, const struct config_pool *after,
                      config_on_changed *on_changed, void *arg)
{
    for (size_t i = 0; i < config_key_count; i++) {
        const struct config_key *key = &config_keys[i];

        if (key->section == SECTION_POOL && (key->flags & KEY_REPEATS) == 0 &&
            !config_value_equals(key, before, after)) {
            on_changed(arg, after->name, key->name);
        }
    }
}
