#include "control/admin_command.h"

#include "base/clock.h"
#include "base/log.h"

#include <inttypes.h>
#include <sys/resource.h>
#include <unistd.h>

struct admin_row {
    const char *name;
    const char *arguments;
    const char *help;
    bool (*run)(struct control *control, struct slice arguments, struct evbuffer *out);
};

static bool run_help(struct control *control, struct slice arguments, struct evbuffer *out);

static void add_stat(struct evbuffer *out, const char *name, uint64_t value)
{
    evbuffer_add_printf(out, "STAT %s %" PRIu64 "\r\n", name, value);
}

static uint64_t sum(const struct control *control, enum counter_id id)
{
    uint64_t total = 0;

    for (unsigned i = 0; i < control->workers.count; i++) {
        total += count_read(&control->workers.at[i].counters, id);
    }
    return total;
}

static bool run_stats(struct control *control, struct slice arguments, struct evbuffer *out)
{
    struct rusage usage;

    if (arguments.len > 0) {
        evbuffer_add_printf(out, "ERROR stats takes no argument\r\n");
        return true;
    }
    getrusage(RUSAGE_SELF, &usage);
    add_stat(out, "pid", (uint64_t)getpid());
    add_stat(out, "uptime", (clock_us() - control->started_us) / 1000000);
    add_stat(out, "time", clock_wall_us() / 1000000);
    evbuffer_add_printf(out, "STAT version %s\r\n", KETAMAD_VERSION);
    add_stat(out, "pointer_size", 8 * sizeof(void *));
    evbuffer_add_printf(out, "STAT rusage_user %ld.%06ld\r\n", (long)usage.ru_utime.tv_sec,
                        (long)usage.ru_utime.tv_usec);
    evbuffer_add_printf(out, "STAT rusage_system %ld.%06ld\r\n", (long)usage.ru_stime.tv_sec,
                        (long)usage.ru_stime.tv_usec);
    add_stat(out, "threads", control->workers.count);
    add_stat(out, "max_connections", control->config->max_clients);
    add_stat(out, "topology_generation", control->slot.current->generation);
    for (int id = 0; id < COUNTER_COUNT; id++) {
        add_stat(out, counter_rows[id].name, sum(control, (enum counter_id)id));
    }
    add_stat(out, "log_lines_lost", log_lines_lost());
    evbuffer_add_printf(out, "END\r\n");
    return true;
}

static bool run_version(struct control *control, struct slice arguments, struct evbuffer *out)
{
    (void)control;
    (void)arguments;
    evbuffer_add_printf(out, "VERSION %s\r\n", KETAMAD_VERSION);
    return true;
}

static bool run_quit(struct control *control, struct slice arguments, struct evbuffer *out)
{
    (void)control;
    (void)arguments;
    (void)out;
    return false;
}

static const struct admin_row rows[] = {
    {"help", "", "this list", run_help},
    {"quit", "", "close this connection", run_quit},
    {"stats", "", "counters of the proxy, as STAT name value", run_stats},
    {"version", "", "the proxy's version", run_version},
};

static bool run_help(struct control *control, struct slice arguments, struct evbuffer *out)
{
    (void)control;
    (void)arguments;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        evbuffer_add_printf(out, "%-10s %s\r\n", rows[i].name, rows[i].help);
    }
    evbuffer_add_printf(out, "END\r\n");
    return true;
}

bool admin_command_run(struct control *control, const char *line, size_t len, struct evbuffer *out)
{
    struct slice rest = {line, len};
    struct slice word;

    while (rest.len > 0 && rest.data[0] == ' ') {
        rest.data++;
        rest.len--;
    }
    word = slice_make(rest.data, 0);
    while (word.len < rest.len && rest.data[word.len] != ' ') {
        word.len++;
    }
    rest.data += word.len;
    rest.len -= word.len;
    while (rest.len > 0 && rest.data[0] == ' ') {
        rest.data++;
        rest.len--;
    }
    while (rest.len > 0 && rest.data[rest.len - 1] == ' ') {
        rest.len--;
    }
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (slice_equals(word, slice_text(rows[i].name))) {
            return rows[i].run(control, rest, out);
        }
    }
    evbuffer_add_printf(out, "ERROR unknown command; help lists them\r\n");
    return true;
}
