/*
 * One connection of the load: sends requests, checks every answer against what was asked. Does not
 * decide what to send or when (load.h).
 */
#ifndef LOADGEN_CLIENT_H
#define LOADGEN_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bytes.h"

#define CLIENT_LINE_MAX 512

struct load;

enum client_role {
    CLIENT_LOADS,
    CLIENT_PREFILLS,
    CLIENT_IDLES,
};

struct request {
    uint64_t intended_ns; /* when it should have left; latency counts from here */
    uint32_t keys;
    uint32_t found;  /* values that came so far */
    uint32_t cursor; /* where among the keys the next value is expected */
    bool is_set;
};

struct client {
    int fd; /* -1: not connected */
    enum client_role role;
    uint32_t pipeline;
    uint32_t multiget;
    struct request *requests; /* a ring of pipeline */
    uint32_t *asked;          /* multiget keys for each of these */
    uint32_t head;
    uint32_t in_flight;
    uint64_t issued; /* on this connection */
    uint32_t value_key;
    size_t value_left; /* of a value under way, with its line end; 0: a line is next */
    size_t line_len;
    char line[CLIENT_LINE_MAX]; /* the begin of a line not yet whole */
    struct bytes pending;       /* what the socket did not take */
    size_t pending_sent;
    int send_errno; /* of a send that failed; the read that follows finds it */
    bool wants_writable;
    bool is_ready; /* is on the load's list of clients with room for a request */
    struct client *next_ready;
};

void client_init(struct client *client, enum client_role role, uint32_t pipeline,
                 uint32_t multiget);
void client_fini(struct client *client);

/* Whether another request fits now. */
bool client_has_room(const struct client *client, uint64_t requests_per_connection);

/* Queues a request (a set has one key), connecting first if need be; false: cannot connect. */
bool client_ask(struct client *client, struct load *load, uint64_t intended_ns, bool is_set,
                uint32_t keys);

/* Sends what was queued since the last flush; one client's requests at a time. */
void client_flush(struct client *client, struct load *load);

/* Reads once and takes the answers; false: the connection was failed and is closed. */
bool client_on_readable(struct client *client, struct load *load);
void client_on_writable(struct client *client, struct load *load);

void client_close(struct client *client);

#endif
