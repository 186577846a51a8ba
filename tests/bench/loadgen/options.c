#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum option_kind {
    OPTION_TEXT,
    OPTION_U32,
    OPTION_U64,
    OPTION_SIZE,
    OPTION_REAL,
    OPTION_FLAG,
    OPTION_WATCH,
    OPTION_CONNECT_EACH,
    OPTION_BURST,
    OPTION_HELP,
};

struct option_row {
    const char *name;
    enum option_kind kind;
    size_t offset;
    double min;
    double max;
    const char *help;
};

#define FIELD(name) offsetof(struct options, name)

/* clang-format off */
static const struct option_row rows[] = {
    { "address",      OPTION_TEXT, FIELD(address), 0, 0, "HOST:PORT, [IPV6]:PORT or unix:/path" },
    { "key-prefix",   OPTION_TEXT, FIELD(key_prefix), 0, 0, "prefix of every key (k:)" },
    { "clients",      OPTION_U32,  FIELD(clients), 0, 100000, "connections that make load (50)" },
    { "pipeline",     OPTION_U32,  FIELD(pipeline), 1, 100000,
      "requests of a client under way (1)" },
    { "multiget",     OPTION_U32,  FIELD(multiget), 1, 1000000, "keys in one get (1)" },
    { "keys",         OPTION_U32,  FIELD(keys), 1, 50000000, "distinct keys (10000)" },
    { "value-bytes",  OPTION_SIZE, FIELD(value_bytes), 0, 64 << 20, "length of a value (32)" },
    { "set-percent",  OPTION_U32,  FIELD(set_percent), 0, 100, "share of sets (0)" },
    { "zipf",         OPTION_REAL, FIELD(zipf), 0, 10, "exponent of a Zipf choice of keys (0)" },
    { "rate",         OPTION_REAL, FIELD(rate), 0, 1e8,
      "open loop: requests a second; latency counts from the intended time" },
    { "poisson",      OPTION_FLAG, FIELD(poisson), 0, 0, "open loop: exponential gaps" },
    { "connect-each", OPTION_CONNECT_EACH, 0, 0, 0, "connect, one request, close" },
    { "requests-per-connection", OPTION_U64, FIELD(requests_per_connection), 0, 1e15,
      "close and connect anew after so many" },
    { "seconds",      OPTION_REAL, FIELD(seconds), 0.001, 1e6, "measured time (2)" },
    { "requests",     OPTION_U64,  FIELD(requests), 1, 1e15, "measure so many requests instead" },
    { "warmup",       OPTION_REAL, FIELD(warmup_seconds), 0, 1e6,
      "seconds before the measured time (0.3; 0 with --requests)" },
    { "pause",        OPTION_REAL, FIELD(pause_seconds), 0, 1e6,
      "seconds between sending the first requests and reading any answer (0)" },
    { "timeout",      OPTION_REAL, FIELD(timeout_seconds), 0.001, 1e6,
      "seconds of silence after which to give up (10)" },
    { "prefill",      OPTION_FLAG, FIELD(prefill), 0, 0, "set every key first" },
    { "idle",         OPTION_U32,  FIELD(idle), 0, 1000000,
      "further connections that do one get, then nothing" },
    { "hold",         OPTION_FLAG, FIELD(hold), 0, 0,
      "after the report keep connections until standard input ends" },
    { "pipelined-burst", OPTION_BURST, 0, 0, 0,
      "10 clients, each sends 1000 gets and half a second later begins to read" },
    { "max-errors",   OPTION_U64,  FIELD(max_errors), 1, 1e15, "stop after so many errors (1000)" },
    { "seed",         OPTION_U64,  FIELD(seed), 0, 1e15, "of the random choices (1)" },
    { "watch",        OPTION_WATCH, 0, 1, 1e9, "PID whose CPU time is measured (repeatable)" },
    { "json",         OPTION_FLAG, FIELD(json), 0, 0, "report as one JSON object" },
    { "help",         OPTION_HELP, 0, 0, 0, "this list" },
};
/* clang-format on */

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static void options_help(void)
{
    printf("usage: load --address ADDRESS [option]...\n");
    for (size_t i = 0; i < ROWS; i++) {
        printf("  --%-24s %s\n", rows[i].name, rows[i].help);
    }
}

static double option_number(const struct option_row *row, const char *text)
{
    char *end;

    errno = 0;
    double number = strtod(text, &end);
    if (end == text || *end != '\0' || errno != 0 || !(number >= row->min && number <= row->max)) {
        fprintf(stderr, "load: --%s: %s is not a number from %g to %g\n", row->name, text, row->min,
                row->max);
        exit(2);
    }
    if (row->kind != OPTION_REAL && number != floor(number)) {
        fprintf(stderr, "load: --%s: %s is not a whole number\n", row->name, text);
        exit(2);
    }
    return number;
}

static void option_watch(struct options *options, double pid)
{
    if (options->watched == OPTIONS_WATCH_MAX) {
        fprintf(stderr, "load: --watch: at most %d processes\n", OPTIONS_WATCH_MAX);
        exit(2);
    }
    options->watch[options->watched++] = (pid_t)pid;
}

static void option_burst(struct options *options)
{
    options->clients = 10;
    options->pipeline = 1000;
    options->requests = 10 * 1000;
    options->pause_seconds = 0.5;
}

static void option_apply(struct options *options, const struct option_row *row, const char *text)
{
    void *field = (char *)options + row->offset;

    switch (row->kind) {
    case OPTION_TEXT:
        *(const char **)field = text;
        break;
    case OPTION_U32:
        *(uint32_t *)field = (uint32_t)option_number(row, text);
        break;
    case OPTION_U64:
        *(uint64_t *)field = (uint64_t)option_number(row, text);
        break;
    case OPTION_SIZE:
        *(size_t *)field = (size_t)option_number(row, text);
        break;
    case OPTION_REAL:
        *(double *)field = option_number(row, text);
        break;
    case OPTION_FLAG:
        *(bool *)field = true;
        break;
    case OPTION_WATCH:
        option_watch(options, option_number(row, text));
        break;
    case OPTION_CONNECT_EACH:
        options->requests_per_connection = 1;
        break;
    case OPTION_BURST:
        option_burst(options);
        break;
    case OPTION_HELP:
        options_help();
        exit(0);
    }
}

static bool option_takes_text(enum option_kind kind)
{
    return kind != OPTION_FLAG && kind != OPTION_CONNECT_EACH && kind != OPTION_BURST &&
           kind != OPTION_HELP;
}

void options_parse(struct options *options, int argc, char **argv)
{
    struct option known[ROWS + 1] = {0};
    int chosen;

    *options = (struct options){
        .key_prefix = "k:",
        .clients = 50,
        .pipeline = 1,
        .multiget = 1,
        .keys = 10000,
        .value_bytes = 32,
        .seconds = 2,
        .warmup_seconds = -1,
        .timeout_seconds = 10,
        .max_errors = 1000,
        .seed = 1,
    };
    for (size_t i = 0; i < ROWS; i++) {
        known[i].name = rows[i].name;
        known[i].has_arg = option_takes_text(rows[i].kind) ? required_argument : no_argument;
        known[i].val = (int)i + 1;
    }
    while ((chosen = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (chosen < 1 || chosen > (int)ROWS) {
            exit(2);
        }
        option_apply(options, &rows[chosen - 1], optarg);
    }
    if (options->address == NULL || optind != argc) {
        fprintf(stderr, "load: --address is needed, and nothing but options; see --help\n");
        exit(2);
    }
    if (strlen(options->key_prefix) > 200) {
        fprintf(stderr, "load: --key-prefix: at most 200 bytes\n");
        exit(2);
    }
    if (options->warmup_seconds < 0) {
        options->warmup_seconds = options->requests > 0 ? 0 : 0.3;
    }
}
