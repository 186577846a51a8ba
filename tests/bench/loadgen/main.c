/*
 * load: makes memcached load over one thread and one epoll, checks every value, and reports
 * throughput, latency and the CPU time of the processes it is told to watch. See load.h for how
 * time is counted, --help for the options, and scripts/bench for its use. Exits with 1 if
 * anything was wrong or went unanswered.
 */
#include <stdbool.h>
#include <unistd.h>

#include "load.h"
#include "options.h"
#include "report.h"

int main(int argc, char **argv)
{
    static struct load load;
    struct options options;
    char byte;

    options_parse(&options, argc, argv);
    if (!load_init(&load, &options)) {
        return 1;
    }
    load_run(&load);
    report_print(&load);
    while (options.hold && read(STDIN_FILENO, &byte, 1) > 0) {
    }
    bool is_good = load.errors == 0 && load.unfinished == 0;
    load_fini(&load);
    return is_good ? 0 : 1;
}
