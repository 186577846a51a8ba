/*
 * ketamad: reads the command line, checks the configuration, hands over to the
 * control plane.
 */
#include "config/config.h"
#include "control/control.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORDS_MAX = 256 };

struct options {
    const char *file;
    bool only_test;
    bool detach;
    const char *listens[WORDS_MAX];
    size_t listen_count;
    const char *servers[WORDS_MAX];
    size_t server_count;
};

static void print_usage(FILE *out)
{
    fputs("usage: ketamad [-t | -d] -c FILE\n"
          "       ketamad [-t | -d] --listen ADDR ... --server HOST:PORT ...\n"
          "       ketamad -V | -h | --keys\n"
          "  -c FILE           the configuration, see ketama.conf(5)\n"
          "  -t                check the configuration, print every mistake, exit 0 or 1\n"
          "  -d                go to the background\n"
          "  --listen ADDR     without -c: where clients connect; repeatable\n"
          "  --server ADDR     without -c: a memcached server; repeatable\n"
          "  --keys            print every configuration key\n"
          "  -V                print the version\n"
          "  -h                print this\n"
          "signals: HUP reloads, TERM and INT drain and stop, USR1 opens the log again\n",
          out);
}

static bool add_word(const char **words, size_t *count, const char *word)
{
    if (*count == WORDS_MAX) {
        fprintf(stderr, "ketamad: more than %d addresses; write a configuration file\n", WORDS_MAX);
        return false;
    }
    words[(*count)++] = word;
    return true;
}

/* Returns -1 to go on, else the exit status. */
static int read_options(int argc, char **argv, struct options *options)
{
    enum { OPTION_KEYS = 256, OPTION_LISTEN, OPTION_SERVER };
    static const struct option long_options[] = {
        {"config", required_argument, NULL, 'c'},
        {"keys", no_argument, NULL, OPTION_KEYS},
        {"listen", required_argument, NULL, OPTION_LISTEN},
        {"server", required_argument, NULL, OPTION_SERVER},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {NULL, 0, NULL, 0},
    };
    int option;

    while ((option = getopt_long(argc, argv, "c:tdVh", long_options, NULL)) != -1) {
        switch (option) {
        case 'c':
            options->file = optarg;
            break;
        case 't':
            options->only_test = true;
            break;
        case 'd':
            options->detach = true;
            break;
        case 'V':
            printf("ketamad %s\n", KETAMAD_VERSION);
            return 0;
        case 'h':
            print_usage(stdout);
            return 0;
        case OPTION_KEYS:
            config_print_keys(stdout);
            return 0;
        case OPTION_LISTEN:
            if (!add_word(options->listens, &options->listen_count, optarg)) {
                return 2;
            }
            break;
        case OPTION_SERVER:
            if (!add_word(options->servers, &options->server_count, optarg)) {
                return 2;
            }
            break;
        default:
            print_usage(stderr);
            return 2;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "ketamad: unexpected argument: %s\n", argv[optind]);
        print_usage(stderr);
        return 2;
    }
    return -1;
}

static struct config *load(const struct options *options, struct config_errors *errors)
{
    if (options->file != NULL) {
        return config_load(options->file, errors);
    }
    return config_from_words(options->listens, options->listen_count, options->servers,
                             options->server_count, errors);
}

int main(int argc, char **argv)
{
    struct options options = {0};
    struct config_errors errors = {0};
    struct config *config;
    int status = read_options(argc, argv, &options);

    if (status != -1) {
        return status;
    }
    if ((options.file != NULL) == (options.listen_count + options.server_count > 0)) {
        fprintf(stderr, "ketamad: either -c FILE, or --listen and --server\n");
        print_usage(stderr);
        return 2;
    }
    config = load(&options, &errors);
    for (size_t i = 0; i < errors.count; i++) {
        fprintf(stderr, "%s\n", errors.lines[i]);
    }
    config_errors_fini(&errors);
    if (config == NULL) {
        return 1;
    }
    if (options.only_test) {
        printf("%s: the configuration is good\n", options.file != NULL ? options.file : "ketamad");
        config_free(config);
        return 0;
    }
    return control_run(config, options.detach);
}
