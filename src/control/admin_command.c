/* See admin_command.h. */
#include "control/admin_command.h"

#include "base/log.h"
#include "control/admin.h"
#include "control/admin_clients.h"
#include "control/admin_member.h"
#include "control/admin_ring.h"
#include "control/admin_stats.h"
#include "control/admin_top.h"
#include "control/event_log.h"
#include "control/reload.h"
#include "control/text.h"
#include "control/watch.h"

#include <stdio.h>

static bool run_help(struct admin_call *call);

static bool run_version(struct admin_call *call)
{
    evbuffer_add_printf(call->out, "VERSION %s\r\n", KETAMAD_VERSION);
    return true;
}

static bool run_quit(struct admin_call *call)
{
    (void)call;
    return false;
}

static bool run_reload(struct admin_call *call)
{
    if (reload_run(call->control, call->out)) {
        admin_answer_adopted(call);
    } else {
        evbuffer_add_printf(call->out, "ERROR nothing has changed\r\n");
    }
    return true;
}

static bool run_log(struct admin_call *call)
{
    if (call->arguments.len == 0) {
        evbuffer_add_printf(call->out, "LOG %s\r\n", log_level_names[log_get_level()]);
        return true;
    }
    for (int level = 0; log_level_names[level] != NULL; level++) {
        if (slice_equals(call->arguments, slice_text(log_level_names[level]))) {
            log_set_level((enum log_level)level);
            evbuffer_add_printf(call->out, "OK\r\n");
            return true;
        }
    }
    evbuffer_add_printf(call->out, "ERROR log takes");
    for (int level = 0; log_level_names[level] != NULL; level++) {
        evbuffer_add_printf(call->out, "%s %s", level > 0 ? "," : "", log_level_names[level]);
    }
    evbuffer_add_printf(call->out, "\r\n");
    return true;
}

/* clang-format off */
const struct admin_row admin_rows[] = {
    {"help", "[COMMAND]", "this list, or more about one command", run_help, NULL},
    {"stats", "[GROUP]", "counters, as STAT name value", admin_stats_run,
     "GROUP is servers, pools, workers, commands, latency, settings or memory."},
    {"servers", "", "every server: state, since when, why, share of the keys",
     admin_member_servers, NULL},
    {"eject", "NAME [for 60s]", "take a server out now", admin_member_eject,
     "NAME is a server's name, or POOL/NAME. Without a time it stays out until restored.\r\n"
     "min_live does not bind who ejects by hand: also the last live server of a pool goes."},
    {"drain", "NAME", "send a server no new requests, let it finish, then take it out",
     admin_member_drain,
     "NAME is a server's name, or POOL/NAME. It stays out until restored; min_live does not bind."},
    {"restore", "NAME", "let an ejected or drained server back", admin_member_restore,
     "NAME is a server's name, or POOL/NAME. It is probed at once, and one good probe will do."},
    {"reload", "", "take over the edited configuration file", run_reload, NULL},
    {"ring", "[POOL]", "each pool's placement and each server's share of it", admin_ring_run,
     "now is the share while the servers that are out at present are out."},
    {"locate", "KEY", "which servers have a key, in order, and why", admin_locate_run,
     "Bytes of KEY may be written as %XX."},
    {"top", "", "rates over the last second", admin_top_run, NULL},
    {"watch", "[FILTER]", "requests as they are answered, until a line is sent", watch_run,
     "FILTER is a text that the line shown must hold, or us>N for requests slower than N us.\r\n"
     "The line that ends it is no command itself; END follows.\r\n"
     "Where more are answered than can be shown, some are left out and counted."},
    {"slow", "", "the slowest requests of the last ten minutes", watch_slow_run,
     "Brought up to date once a second; requests of less than 1 ms are not kept."},
    {"hot", "", "the most frequent keys of late", watch_hot_run,
     "Brought up to date once a second, halved once a minute. The hottest are counted one by one; of the others\r\n"
     "a busy worker looks at one in up to 64, at random, which counts for as many."},
    {"clients", "[N]", "the clients connected now, at most N (100)", admin_clients_run, NULL},
    {"events", "", "what happened to servers and configuration", event_log_run, NULL},
    {"log", "[LEVEL]", "show or set the log's level", run_log,
     "LEVEL is error, warn, notice, info or debug; it holds until a restart or a reload."},
    {"version", "", "the proxy's version", run_version, NULL},
    {"quit", "", "close this connection", run_quit, NULL},
};
/* clang-format on */

const size_t admin_row_count = ARRAY_LEN(admin_rows);

static const struct admin_row *find_row(struct slice word)
{
    for (size_t i = 0; i < admin_row_count; i++) {
        if (slice_equals(word, slice_text(admin_rows[i].name))) {
            return &admin_rows[i];
        }
    }
    return NULL;
}

static void help_line(struct evbuffer *out, const struct admin_row *row)
{
    char usage[80];

    snprintf(usage, sizeof(usage), "%s %s", row->name, row->arguments);
    evbuffer_add_printf(out, "%-18s %s\r\n", usage, row->help);
}

static bool run_help(struct admin_call *call)
{
    if (call->arguments.len > 0) {
        const struct admin_row *row = find_row(call->arguments);

        if (row == NULL) {
            evbuffer_add_printf(call->out, "ERROR no such command; help lists them\r\n");
            return true;
        }
        help_line(call->out, row);
        if (row->more != NULL) {
            evbuffer_add_printf(call->out, "%s\r\n", row->more);
        }
    } else {
        for (size_t i = 0; i < admin_row_count; i++) {
            help_line(call->out, &admin_rows[i]);
        }
    }
    evbuffer_add_printf(call->out, "END\r\n");
    return true;
}

struct slice admin_next_word(struct slice *arguments)
{
    struct slice word;

    while (arguments->len > 0 && arguments->data[0] == ' ') {
        arguments->data++;
        arguments->len--;
    }
    word = slice_make(arguments->data, 0);
    while (word.len < arguments->len && arguments->data[word.len] != ' ') {
        word.len++;
    }
    arguments->data += word.len;
    arguments->len -= word.len;
    return word;
}

/* Answers repeat words of the line, and whoever reads them may be a terminal. */
static bool has_control_byte(struct slice line)
{
    for (size_t i = 0; i < line.len; i++) {
        unsigned char byte = (unsigned char)line.data[i];

        if (byte < ' ' || byte == 0x7f) {
            return true;
        }
    }
    return false;
}

bool admin_command_run(struct control *control, struct session *session, struct slice line,
                       struct evbuffer *out)
{
    struct admin_call call = {control, session, line, out};
    struct slice word = admin_next_word(&call.arguments);
    const struct admin_row *row = find_row(word);

    if (has_control_byte(line)) {
        evbuffer_add_printf(out, "ERROR a command has no control bytes in it\r\n");
        return true;
    }
    while (call.arguments.len > 0 && call.arguments.data[0] == ' ') {
        call.arguments.data++;
        call.arguments.len--;
    }
    while (call.arguments.len > 0 && call.arguments.data[call.arguments.len - 1] == ' ') {
        call.arguments.len--;
    }
    if (row == NULL) {
        evbuffer_add_printf(out, "ERROR unknown command; help lists them\r\n");
        return true;
    }
    if (row->arguments[0] == '\0' && call.arguments.len > 0) {
        evbuffer_add_printf(out, "ERROR %s takes no argument\r\n", row->name);
        return true;
    }
    return row->run(&call);
}
