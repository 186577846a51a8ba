/*
 * Loading from memory, for tests and for whoever has the text already.
 */
#ifndef CONFIG_LOAD_H
#define CONFIG_LOAD_H

#include "config/config.h"

enum { CONFIG_FILE_MAX = 16 << 20 };

/* config_load of text, any bytes; name is what messages call it and becomes the path. */
MUST_CHECK struct config *config_load_text(const char *name, const char *text, size_t len,
                                           struct config_errors *errors);

#endif
