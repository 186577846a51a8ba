/*
 * ketamactl's command line, read once. The words stay where the caller has
 * them. Main thread.
 */
#ifndef CLI_ARGUMENTS_H
#define CLI_ARGUMENTS_H

#include "base/slice.h"

#include <stdint.h>

/* What the program exits with. */
enum cli_exit { CLI_DONE = 0, CLI_NO = 1, CLI_USAGE = 2 };

struct cli_arguments {
    bool as_json;
    const char *pool;         /* --pool, or NULL */
    const char *admin;        /* -a, or NULL */
    uint64_t keys;            /* --keys, or 0 */
    const char *const *words; /* what is not an option, in order */
    size_t word_count;
};

/*
 * Reads options wherever they stand; behind -- everything is a word. words has room for
 * argc of them. NULL, or a sentence that says what is wrong.
 */
MUST_CHECK const char *cli_arguments_read(struct cli_arguments *arguments, int argc,
                                          char *const *argv, const char **words);

#endif
