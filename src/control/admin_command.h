/*
 * The commands of the admin port, one table. Runs on the main thread.
 */
#ifndef CONTROL_ADMIN_COMMAND_H
#define CONTROL_ADMIN_COMMAND_H

#include "control/control.h"

#include <event2/buffer.h>

struct session;

/* One line that came over a session. */
struct admin_call {
    struct control *control;
    struct session *session; /* NULL: there is none to go on later */
    struct slice arguments;  /* without blanks around */
    struct evbuffer *out;
};

struct admin_row {
    const char *name;
    const char *arguments; /* as help shows them */
    const char *help;
    /* Appends the answer. False: the session is to end. */
    bool (*run)(struct admin_call *call);
    const char *more; /* what help COMMAND adds; NULL: nothing */
};

/* The table, in the order of help. */
extern const struct admin_row admin_rows[];
extern const size_t admin_row_count;

/* Runs one line and appends its answer to out. False: the session is to end. */
MUST_CHECK bool admin_command_run(struct control *control, struct session *session,
                                  struct slice line, struct evbuffer *out);

/* Takes the next word off arguments; empty where there is none. */
struct slice admin_next_word(struct slice *arguments);

#endif
