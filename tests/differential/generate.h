/*
 * Makes episodes: streams of commands, valid and not, whose answers do not
 * depend on time, and knows where the two sides must be sent different bytes.
 */
#ifndef DIFFERENTIAL_GENERATE_H
#define DIFFERENTIAL_GENERATE_H

#include "bytes.h"

enum {
    KEY_COUNT = 40,
    EPISODE_STREAMS_MAX = 8,
    STREAM_COMMANDS_MAX = 200,
    NO_KEY = -1,
};

/*
 * One command. Both sides are sent request, but where the project differs from
 * memcached on purpose: then memcached is sent instead, and what the other side
 * must answer beyond memcached's reply is extra, found behind the reply "mark".
 */
struct command {
    struct bytes request;
    struct bytes instead; /* for memcached, where differs */
    bool differs;
    char mark[32];     /* the reply line behind which extra stands, or "" */
    const char *extra; /* or NULL */
    int cas_key;       /* the key whose last seen CAS is put at cas_at, or NO_KEY */
    size_t cas_at;
};

enum stream_end {
    END_SENTINEL,    /* a last command whose reply is known */
    END_RECONNECT,   /* the same, then both connections are closed */
    END_HALF_CLOSED, /* nothing more is sent; both answer what is due and close */
    END_OTHER_CLOSES /* the last command makes the other side close, not memcached */
};

struct stream {
    struct command *commands;
    size_t count;
    enum stream_end end;
    uint64_t split_seed;
    char sentinel[32]; /* the reply line of the sentinel */
};

struct episode {
    struct stream streams[EPISODE_STREAMS_MAX];
    size_t count;
};

/* strict: the other side is memcached itself, so nothing may be different. */
void episode_make(struct episode *episode, uint64_t seed, uint64_t number, bool strict);
void episode_fini(struct episode *episode);
size_t episode_commands(const struct episode *episode);

/* The number of the key of these bytes, or NO_KEY. */
int key_number(const char *data, size_t len);

/* Adds the sentinel's request to out. */
void sentinel_request(const struct stream *stream, struct bytes *out);

#endif
