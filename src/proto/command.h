/*
 * The one table of commands: how each is spelled, where it goes, what answers
 * it. Pure; any thread.
 */
#ifndef PROTO_COMMAND_H
#define PROTO_COMMAND_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* clang-format off */
enum command_id {
    COMMAND_NONE,          /* unknown, empty or upper case: answered ERROR */
    COMMAND_GET, COMMAND_GETS, COMMAND_GAT, COMMAND_GATS,    /* bget is COMMAND_GET */
    COMMAND_SET, COMMAND_ADD, COMMAND_REPLACE, COMMAND_APPEND, COMMAND_PREPEND, COMMAND_CAS,
    COMMAND_DELETE, COMMAND_INCR, COMMAND_DECR, COMMAND_TOUCH,
    COMMAND_MG, COMMAND_MS, COMMAND_MD, COMMAND_MA, COMMAND_MN, COMMAND_ME,
    COMMAND_FLUSH_ALL, COMMAND_VERSION, COMMAND_VERBOSITY, COMMAND_STATS, COMMAND_QUIT,
    COMMAND_REFUSED,       /* manages one process: answered CLIENT_ERROR */
    COMMAND_COUNT,
};
/* clang-format on */

enum command_route {
    ROUTE_LOCAL,    /* answered here */
    ROUTE_KEY,      /* to the server that owns its one key */
    ROUTE_EACH_KEY, /* split over the owners of its keys, merged in the order asked */
    ROUTE_ALL,      /* to every server of the pools reachable from the listener */
};

/* What a server's reply to the request looks like. */
enum reply_kind {
    REPLY_LINE,    /* one line */
    REPLY_VALUES,  /* VALUE blocks, then END; or one error line */
    REPLY_META,    /* VA with a block, or one line of any other code */
    REPLY_META_MN, /* nothing or what REPLY_META is, then MN: the server keeps quiet by itself */
    REPLY_STATS,   /* STAT lines, then END; or one line */
};

struct command {
    const char *name;
    size_t name_len;
    enum command_id id;
    enum command_route route;
    enum reply_kind reply;
    bool is_write;      /* changes the item: never repeated once a byte was sent */
    bool takes_value;   /* a data block follows the line */
    bool takes_noreply; /* "noreply" as the last word silences it */
    uint8_t words_min;  /* words a line must have, the command's own among them: ERROR outside */
    uint8_t words_max;  /* 0: any number */
};

enum {
    COMMAND_ROW_NONE,
    COMMAND_ROW_GET,
};

/* The table, COMMAND_NONE first, get next; command_rows rows. Several rows may share an id
 * (aliases). */
extern const struct command commands[];
extern const size_t command_rows;

/* Returns the row whose name is the word, or the COMMAND_NONE row. Never NULL. */
const struct command *command_find(struct slice word);

#endif
