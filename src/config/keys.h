/*
 * The one table of configuration keys. Reading, defaults, bounds, messages,
 * `ketamad --keys`, reload and the docs check all go by it: a new key is a row
 * here, a field in struct config and a paragraph in the manual. Any thread.
 */
#ifndef CONFIG_KEYS_H
#define CONFIG_KEYS_H

#include "config/config.h"

enum key_section {
    SECTION_PROXY, /* fields of struct config */
    SECTION_POOL,  /* fields of struct config_pool */
};

enum key_type {
    KEY_NUMBER,   /* unsigned */
    KEY_DURATION, /* uint64_t, milliseconds */
    KEY_SIZE,     /* uint64_t, bytes */
    KEY_PERCENT,  /* unsigned */
    KEY_YES_NO,   /* bool */
    KEY_CHOICE,   /* an enum or int, the index in choices */
    KEY_TEXT,     /* char *, without blanks; bounds are its length */
    KEY_PATH,     /* char *, absolute */
    KEY_LOG,      /* enum config_log_to; beside: char *, the path */
    KEY_ADDRESS,  /* struct config_listen; beside: bool, whether it is set */
    KEY_LISTEN,   /* struct config_listen *, an array; beside: size_t, its length */
    KEY_SERVER,   /* struct config_server *, an array; beside: size_t, its length */
};

enum key_flags {
    KEY_FIXED = 0,         /* needs a restart */
    KEY_LIVE = 1 << 0,     /* a reload changes it */
    KEY_REPEATS = 1 << 1,  /* once for each listener or server */
    KEY_REQUIRED = 1 << 2, /* has to be there */
    KEY_OR_ZERO = 1 << 3,  /* 0 is allowed besides the bounds */
    KEY_OR_AUTO = 1 << 4,  /* "auto" is allowed, kept as 0 until resolved */
};

struct config_key {
    enum key_section section;
    const char *name;
    enum key_type type;
    const char *default_text; /* NULL: absent unless written */
    uint64_t min;
    uint64_t max;
    unsigned flags;
    size_t offset;              /* of the field in the section's struct */
    size_t beside;              /* of the second field, for types that have one */
    const char *const *choices; /* KEY_CHOICE: names, then NULL */
    const char *help;
};

extern const struct config_key config_keys[];
extern const size_t config_key_count;

enum { CONFIG_KEYS_MAX = 64, KEY_ALLOWED_MAX = 160 };

/* The key of that name in the section, or NULL. */
const struct config_key *config_key_find(enum key_section section, struct slice name);

/* The key of the section whose name is nearest, or NULL where none is near enough for a typo. */
const struct config_key *config_key_nearest(enum key_section section, struct slice name);

/* Number of edits between two words, no more than limit + 1. */
unsigned config_key_distance(struct slice a, struct slice b, unsigned limit);

const char *config_section_text(enum key_section section); /* "[proxy]", "[pool NAME]" */
const char *config_key_type_text(const struct config_key *key);

/* What the key takes, as in "1 to 64"; out has KEY_ALLOWED_MAX bytes; returns out. */
char *config_key_allowed(const struct config_key *key, char *out);

/* Where the key's field is in target, the struct of its section. */
void *config_key_field(const struct config_key *key, void *target);
void *config_key_beside(const struct config_key *key, void *target);

#endif
