/*
 * What a run of the load generator is asked to do. Reads the command line; starts nothing.
 */
#ifndef LOADGEN_OPTIONS_H
#define LOADGEN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define OPTIONS_WATCH_MAX 8

struct options {
    const char *address; /* HOST:PORT, [IPV6]:PORT or unix:/path */
    const char *key_prefix;
    uint32_t clients;
    uint32_t pipeline; /* requests a client has under way at most */
    uint32_t multiget; /* keys in one get */
    uint32_t keys;
    size_t value_bytes;
    uint32_t set_percent;
    double zipf;                      /* exponent; 0 draws every key equally */
    double rate;                      /* requests a second over all clients; 0 is a closed loop */
    bool poisson;                     /* open loop: exponential gaps instead of equal ones */
    uint64_t requests_per_connection; /* then close and connect anew; 0 never closes */
    double seconds;
    uint64_t requests; /* stop after so many instead of after seconds; 0 means by time */
    double warmup_seconds;
    double pause_seconds;   /* between sending the first requests and reading any answer */
    double timeout_seconds; /* of silence, after which the run is given up */
    bool prefill;
    uint32_t idle; /* further connections that do one get and then nothing */
    bool hold;     /* keep the connections after the report until standard input ends */
    uint64_t max_errors;
    uint64_t seed;
    pid_t watch[OPTIONS_WATCH_MAX]; /* processes whose CPU is read over the measured window */
    size_t watched;
    bool json;
};

/* Fills options from the command line; prints the mistake and exits with 2 if there is one. */
void options_parse(struct options *options, int argc, char **argv);

#endif
