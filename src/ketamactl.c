/*
 * ketamactl: questions about rings, answered from configuration files, and
 * commands to a running ketamad. Reads the command line and hands over.
 */
#include "cli/arguments.h"
#include "cli/ask.h"
#include "cli/check.h"
#include "cli/locate.h"
#include "cli/plan.h"
#include "cli/share.h"
#include "cli/simulate.h"

#include <stdio.h>
#include <stdlib.h>

struct command {
    const char *name;
    size_t words_min; /* behind the name */
    size_t words_max;
    enum cli_exit (*run)(const struct cli_arguments *arguments);
    const char *usage;
    const char *help;
};

/* clang-format off */
static const struct command commands[] = {
    { "check",    1, 1,        check_run,    "check FILE",
      "say whether a configuration is good, and every mistake in it" },
    { "locate",   2, SIZE_MAX, locate_run,   "locate FILE [--pool P] KEY...|-",
      "print each key's server and its address; - reads keys, one a line" },
    { "share",    1, 1,        share_run,    "share FILE [--pool P]",
      "print each server's exact share of the key space beside its weight's" },
    { "plan",     2, 2,        plan_run,     "plan OLD NEW [--pool P]",
      "print what portion of the keys an edit moves, and from where to where" },
    { "simulate", 1, 2,        simulate_run, "simulate FILE [NEW] [--pool P] --keys N",
      "count N generated keys a server, and how many move to NEW" },
};
/* clang-format on */

static void print_usage(FILE *out)
{
    fprintf(out, "usage:\n");
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        fprintf(out, "  ketamactl %s\n      %s\n", commands[i].usage, commands[i].help);
    }
    fprintf(out, "  ketamactl -a ADMIN COMMAND...\n"
                 "      send a command to the admin port of a running ketamad, such as stats\n"
                 "  ketamactl -V | -h\n"
                 "--json goes with each. Exit: 0 done, 1 the answer is no, 2 usage.\n");
}

static enum cli_exit run_command(const struct cli_arguments *arguments)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        const struct command *command = &commands[i];
        const size_t given = arguments->word_count - 1;

        if (strcmp(command->name, arguments->words[0]) != 0) {
            continue;
        }
        if (given < command->words_min || given > command->words_max) {
            fprintf(stderr, "usage: ketamactl %s\n", command->usage);
            return CLI_USAGE;
        }
        return command->run(arguments);
    }
    fprintf(stderr, "ketamactl: no command %s; ketamactl -h lists them\n", arguments->words[0]);
    return CLI_USAGE;
}

int main(int argc, char **argv)
{
    const char **words = calloc((size_t)argc + 1, sizeof(*words));
    struct cli_arguments arguments;
    enum cli_exit status = CLI_DONE;
    const char *mistake;

    if (words == NULL) {
        fprintf(stderr, "ketamactl: out of memory\n");
        return CLI_NO;
    }
    if (argc > 1 && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0)) {
        print_usage(stdout);
    } else if (argc > 1 && (strcmp(argv[1], "-V") == 0 || strcmp(argv[1], "--version") == 0)) {
        printf("ketamactl %s\n", KETAMAD_VERSION);
    } else if ((mistake = cli_arguments_read(&arguments, argc, argv, words)) != NULL) {
        fprintf(stderr, "ketamactl: %s; ketamactl -h tells how\n", mistake);
        status = CLI_USAGE;
    } else if (arguments.word_count == 0) {
        print_usage(stderr);
        status = CLI_USAGE;
    } else {
        status = arguments.admin != NULL ? ask_run(&arguments) : run_command(&arguments);
    }
    free(words);
    if (fflush(stdout) != 0 || ferror(stdout) != 0) {
        perror("ketamactl: writing");
        return status != CLI_DONE ? status : CLI_NO;
    }
    return status;
}
