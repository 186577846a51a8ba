/*
 * What in an edit costs more than it had to, or more than it seems. Main
 * thread.
 */
#ifndef CLI_EDIT_WARNING_H
#define CLI_EDIT_WARNING_H

#include "cli/edit.h"

/* Takes one sentence. */
typedef void edit_warning_fn(void *arg, const char *sentence);

void edit_warn(const struct edit *edit, edit_warning_fn *fn, void *arg);

#endif
