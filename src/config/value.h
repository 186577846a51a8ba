/*
 * From the text of a value to the field it belongs in, by the key's row in the
 * table. Any thread.
 */
#ifndef CONFIG_VALUE_H
#define CONFIG_VALUE_H

#include "config/keys.h"

enum { VALUE_WRONG_MAX = 320 };

/*
 * Sets key's field in target, the struct of its section, which owns what is
 * allocated; a repeatable key appends. False when text is no value of the key:
 * then target is untouched and wrong, of VALUE_WRONG_MAX bytes, says why; it is
 * empty where memory ran out.
 */
MUST_CHECK bool config_value_set(const struct config_key *key, void *target, struct slice text,
                                 unsigned line, char *wrong);

/*
 * Sets the field to the key's default; there is none for some, then it stays as it is. False: out
 * of memory.
 */
MUST_CHECK bool config_value_set_default(const struct config_key *key, void *target);

/* Frees what the fields of the section hold. */
void config_value_free_all(enum key_section section, void *target);

/* True where both structs of the key's section hold the same value. Not for repeatable keys. */
bool config_value_equals(const struct config_key *key, const void *a, const void *b);

/* Swaps the key's value in two structs of its section. */
void config_value_swap(const struct config_key *key, void *a, void *b);

#endif
