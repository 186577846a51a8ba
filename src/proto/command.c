/* See command.h. The commands that are most of all traffic come first: the search is linear. */
#include "proto/command.h"

#define NAME(literal) literal, sizeof(literal) - 1

/* clang-format off */
const struct command commands[] = {
    /* name               id                 route           reply         write  value  noreply words */
    [COMMAND_ROW_NONE] =
    { NAME(""),           COMMAND_NONE,      ROUTE_LOCAL,    REPLY_LINE,   false, false, false,  0, 0 },
    [COMMAND_ROW_GET] =
    { NAME("get"),        COMMAND_GET,       ROUTE_EACH_KEY, REPLY_VALUES, false, false, false,  2, 0 },
    { NAME("set"),        COMMAND_SET,       ROUTE_KEY,      REPLY_LINE,   true,  true,  true,   5, 6 },
    { NAME("mg"),         COMMAND_MG,        ROUTE_KEY,      REPLY_META,   false, false, false,  2, 0 },
    { NAME("ms"),         COMMAND_MS,        ROUTE_KEY,      REPLY_META,   true,  true,  false,  2, 0 },
    { NAME("gets"),       COMMAND_GETS,      ROUTE_EACH_KEY, REPLY_VALUES, false, false, false,  2, 0 },
    { NAME("delete"),     COMMAND_DELETE,    ROUTE_KEY,      REPLY_LINE,   true,  false, true,   2, 4 },
    { NAME("incr"),       COMMAND_INCR,      ROUTE_KEY,      REPLY_LINE,   true,  false, true,   3, 4 },
    { NAME("decr"),       COMMAND_DECR,      ROUTE_KEY,      REPLY_LINE,   true,  false, true,   3, 4 },
    { NAME("add"),        COMMAND_ADD,       ROUTE_KEY,      REPLY_LINE,   true,  true,  true,   5, 6 },
    { NAME("cas"),        COMMAND_CAS,       ROUTE_KEY,      REPLY_LINE,   true,  true,  true,   6, 7 },
    { NAME("replace"),    COMMAND_REPLACE,   ROUTE_KEY,      REPLY_LINE,   true,  true,  true,   5, 6 },
    { NAME("append"),     COMMAND_APPEND,    ROUTE_KEY,      REPLY_LINE,   true,  true,  true,   5, 6 },
    { NAME("prepend"),    COMMAND_PREPEND,   ROUTE_KEY,      REPLY_LINE,   true,  true,  true,   5, 6 },
    { NAME("touch"),      COMMAND_TOUCH,     ROUTE_KEY,      REPLY_LINE,   true,  false, true,   3, 4 },
    { NAME("gat"),        COMMAND_GAT,       ROUTE_EACH_KEY, REPLY_VALUES, true,  false, false,  2, 0 },
    { NAME("gats"),       COMMAND_GATS,      ROUTE_EACH_KEY, REPLY_VALUES, true,  false, false,  2, 0 },
    { NAME("md"),         COMMAND_MD,        ROUTE_KEY,      REPLY_META,   true,  false, false,  2, 0 },
    { NAME("ma"),         COMMAND_MA,        ROUTE_KEY,      REPLY_META,   true,  false, false,  2, 0 },
    { NAME("mn"),         COMMAND_MN,        ROUTE_LOCAL,    REPLY_META,   false, false, false,  1, 0 },
    { NAME("me"),         COMMAND_ME,        ROUTE_KEY,      REPLY_META,   false, false, false,  1, 0 },
    { NAME("version"),    COMMAND_VERSION,   ROUTE_LOCAL,    REPLY_LINE,   false, false, false,  1, 0 },
    { NAME("quit"),       COMMAND_QUIT,      ROUTE_LOCAL,    REPLY_LINE,   false, false, false,  1, 0 },
    { NAME("stats"),      COMMAND_STATS,     ROUTE_ALL,      REPLY_STATS,  false, false, false,  1, 0 },
    { NAME("flush_all"),  COMMAND_FLUSH_ALL, ROUTE_ALL,      REPLY_LINE,   true,  false, true,   1, 3 },
    { NAME("verbosity"),  COMMAND_VERBOSITY, ROUTE_LOCAL,    REPLY_LINE,   false, false, true,   2, 3 },
    { NAME("bget"),       COMMAND_GET,       ROUTE_EACH_KEY, REPLY_VALUES, false, false, false,  2, 0 },
    { NAME("shutdown"),   COMMAND_REFUSED,   ROUTE_LOCAL,    REPLY_LINE,   false, false, false,  1, 0 },
    { NAME("watch"),      COMMAND_REFUSED,   ROUTE_LOCAL,    REPLY_LINE,   false, false, false,  1, 0 },
    { NAME("lru"),        COMMAND_REFUSED,   ROUTE_LOCAL,    REPLY_LINE,   false, false, false,  1, 0 },
    { NAME("lru_crawler"), COMMAND_REFUSED,  ROUTE_LOCAL,    REPLY_LINE,   false, false, false,  1, 0 },
    { NAME("slabs"),      COMMAND_REFUSED,   ROUTE_LOCAL,    REPLY_LINE,   false, false, false,  1, 0 },
    { NAME("cache_memlimit"), COMMAND_REFUSED, ROUTE_LOCAL,  REPLY_LINE,   false, false, false,  1, 0 },
    { NAME("extstore"),   COMMAND_REFUSED,   ROUTE_LOCAL,    REPLY_LINE,   false, false, false,  1, 0 },
    { NAME("refresh_certs"), COMMAND_REFUSED, ROUTE_LOCAL,   REPLY_LINE,   false, false, false,  1, 0 },
    { NAME("misbehave"),  COMMAND_REFUSED,   ROUTE_LOCAL,    REPLY_LINE,   false, false, false,  1, 0 },
    { NAME("debugtime"),  COMMAND_REFUSED,   ROUTE_LOCAL,    REPLY_LINE,   false, false, false,  1, 0 },
};
/* clang-format on */

const size_t command_rows = ARRAY_LEN(commands);

const struct command *command_find(struct slice word)
{
    for (size_t row = 1; row < ARRAY_LEN(commands); row++) {
        const struct command *command = &commands[row];

        if (command->name_len == word.len && command->name[0] == word.data[0] &&
            memcmp(command->name, word.data, word.len) == 0) {
            return command;
        }
    }
    return &commands[COMMAND_ROW_NONE];
}
