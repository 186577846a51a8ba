/*
 * The table says which keys are fixed and where they are. Keys of a pool all
 * change live, since a pool itself may come and go.
 */
#include "config/diff.h"

#include "config/keys.h"
#include "config/value.h"

/* Tells the keys of a section that differ between two of its structs; returns how many there are.
 */
static size_t diff(enum key_section section, bool is_live, const void *before, const void *after,
                   config_on_key *on_key, void *arg)
{
    size_t differing = 0;

    for (size_t i = 0; i < config_key_count; i++) {
        const struct config_key *key = &config_keys[i];

        if (key->section == section && ((key->flags & KEY_LIVE) != 0) == is_live &&
            (key->flags & KEY_REPEATS) == 0 && !config_value_equals(key, before, after)) {
            differing++;
            on_key(arg, key->name);
        }
    }
    return differing;
}

size_t config_diff_fixed(const struct config *before, const struct config *after,
                         config_on_key *on_key, void *arg)
{
    return diff(SECTION_PROXY, false, before, after, on_key, arg);
}

size_t config_diff_live(const struct config *before, const struct config *after,
                        config_on_key *on_key, void *arg)
{
    return diff(SECTION_PROXY, true, before, after, on_key, arg);
}

size_t config_diff_pool(const struct config_pool *before, const struct config_pool *after,
                        config_on_key *on_key, void *arg)
{
    return diff(SECTION_POOL, true, before, after, on_key, arg);
}
