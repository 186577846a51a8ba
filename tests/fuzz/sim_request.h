/*
 * What the scripted clients ask and the scripted servers answer, and who may
 * be told what. Every request has a serial in its keys and every answer one in
 * its text, so that one of each belongs to the other or to nobody.
 */
#ifndef SIM_REQUEST_H
#define SIM_REQUEST_H

#include "base/slice.h"

#include <stdint.h>

enum {
    REQUEST_KEYS_MAX = 40,
    REQUESTS_MAX = 2000, /* in one run */
    SIM_KEY_BYTES = 8,   /* of a key's part that tells whose it is: "k" and seven digits */
};

/* What is in no answer that a client may see, and in no line that a server may be sent. */
#define SIM_POISON "POISON"

enum sim_shape {
    SHAPE_VALUES,
    SHAPE_LINE,
    SHAPE_META,
    SHAPE_FLUSH,
    SHAPE_STATS,
    SHAPE_VERSION,
    SHAPE_LOCAL, /* exactly one text, whatever servers say */
};

struct sim_template {
    const char *text;   /* what a client sends: %K keys, %L length, %V block, %S serial */
    const char *wire;   /* what servers are sent; of a retrieval what stands before the keys */
    const char *answer; /* SHAPE_LOCAL */
    const char *codes;  /* what servers may answer, words */
    const char *silent; /* those of codes that the client is not told, words; NULL: it is no q */
    enum sim_shape shape;
    bool is_write;
    bool is_silent; /* noreply: no answer at all */
    bool closes;    /* the proxy closes behind the answer */
    bool shows_raw; /* the answer has the key undecoded, with lines in it */
};

extern const struct sim_template sim_templates[];
extern const size_t sim_template_count;

struct sim_answer {
    struct sim_answer *next;
    char *text;
    size_t len;
    unsigned values; /* of a retrieval */
    bool is_whole;   /* every byte of it was sent */
    bool is_silenced;
};

struct sim_request {
    const struct sim_template *template;
    enum sim_shape shape; /* the template's, but of a value that is too large */
    uint32_t serial;
    uint32_t key_count;
    uint8_t keys[REQUEST_KEYS_MAX]; /* the numbers of the keys in the order asked */
    uint32_t key_bytes;
    char *text;
    size_t text_len;
    size_t text_end; /* in what its client sent */
    char *wire;
    size_t wire_len;
    const char *answer;
    uint8_t arrived[REQUEST_KEYS_MAX]; /* how often, by key or by server */
    bool is_half_sent;                 /* a part of it came over a connection that ended */
    bool is_last;                      /* what came in place of its answer ends the connection */
    struct sim_answer *answers;
};

/* Ends the run with one sentence. */
__attribute__((noreturn, format(printf, 1, 2))) void sim_fail(const char *format, ...);

/* may_run_out: max_memory is so small that any request may be refused for it. */
void sim_requests_begin(size_t max_value_bytes, bool misses_on_failure, bool may_run_out);
void sim_requests_end(void);

/* From now on any request may fail. */
void sim_disturb(void);
bool sim_is_calm(void);

/* A size as the script says it. */
size_t sim_size(uint8_t choice);

/* NULL: there have been enough. */
struct sim_request *sim_request_new(const struct sim_template *template, uint8_t size,
                                    uint8_t keys);

/* Writes the request's key number n, key_bytes long, to out. */
void sim_request_key(const struct sim_request *request, unsigned n, char *out);

/* The request whose key begins at text; NULL: nobody asked for it. */
struct sim_request *sim_request_find(struct slice text, unsigned *key);
struct sim_request *sim_request_by_serial(uint32_t serial);

/* A server says this to request, or will; text is malloc'ed and taken over. */
struct sim_answer *sim_request_answer(struct sim_request *request, char *text, size_t len);

/*
 * Judges the head of what a client received, in the place where the answer to
 * request is due. Returns how many bytes that answer has, or SIZE_MAX where
 * more must come before it can be told.
 */
size_t sim_request_judge(struct sim_request *request, const char *data, size_t len);

#endif
