/*
 * The lines of an INI text: inih takes a pair apart, the reader counts lines,
 * knows sections and finds what inih would silently skip, cut or join. Uses
 * inih's global settings: the control thread, or the only one.
 */
#ifndef CONFIG_READER_H
#define CONFIG_READER_H

#include "base/slice.h"

enum { READER_LINE_MAX = 4096 };

struct reader_events {
    void (*on_section)(void *arg, struct slice name, unsigned line);
    void (*on_pair)(void *arg, struct slice key, struct slice value, unsigned line);
    /* a line that is neither; what is a sentence */
    void (*on_bad_line)(void *arg, struct slice text, const char *what, unsigned line);
};

/*
 * Reads all of text, whatever it holds; everything is told in the order of lines. False: out of
 * memory before the end.
 */
MUST_CHECK bool reader_run(struct slice text, const struct reader_events *events, void *arg);

#endif
