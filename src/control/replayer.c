/* See control/replayer.h. */
#include "control/replayer.h"

#include "base/log.h"
#include "control/reserve.h"
#include "proto/base64.h"
#include "proto/request.h"
#include "topology/topology.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <stdlib.h>

enum {
    BATCH = 512, /* deletes under way */
    LINE_BYTES_MAX = 2048,
};

struct replayer {
    struct bufferevent *stream;
    struct event_base *base;
    struct endpoint endpoints[TOPOLOGY_ENDPOINTS_MAX];
    uint32_t endpoint_count;
    uint32_t next_endpoint;
    const struct journal_entry *next;
    struct timeval idle;
    struct event *end_event; /* the end is told from the loop, never from within start */
    uint64_t under_way;
    uint64_t done;
    bool flushes;
    bool is_done;
    replayer_on_end *on_end;
    void *arg;
};

static void try_next_endpoint(struct replayer *replayer);

static void end(struct replayer *replayer, bool is_done)
{
    replayer->is_done = is_done;
    if (replayer->stream != NULL) {
        bufferevent_disable(replayer->stream, EV_READ | EV_WRITE);
    }
    event_active(replayer->end_event, EV_TIMEOUT, 0);
}

static void on_end_event(evutil_socket_t fd, short what, void *arg)
{
    struct replayer *replayer = arg;

    (void)fd;
    (void)what;
    replayer->on_end(replayer->arg, replayer->is_done);
}

/*
 * True where the key can stand in a classic line. One that cannot came as base64, and is short
 * enough to go as that again.
 */
static bool is_plain(const struct journal_entry *entry)
{
    for (uint32_t i = 0; i < entry->key_len; i++) {
        if (entry->key[i] == ' ' || entry->key[i] == '\n' || entry->key[i] == '\0') {
            return false;
        }
    }
    return true;
}

static void send_delete(struct replayer *replayer, const struct journal_entry *entry)
{
    struct evbuffer *out = bufferevent_get_output(replayer->stream);
    char encoded[REQUEST_KEY_MAX * 2];

    if (is_plain(entry)) {
        evbuffer_add(out, "delete ", 7);
        evbuffer_add(out, entry->key, entry->key_len);
        evbuffer_add(out, "\r\n", 2);
    } else {
        size_t len = base64_encode(slice_make(entry->key, entry->key_len), encoded);

        evbuffer_add(out, "md ", 3);
        evbuffer_add(out, encoded, len);
        evbuffer_add(out, " b\r\n", 4);
    }
}

/* Keeps a batch under way; ends where nothing is left. */
static void pump(struct replayer *replayer)
{
    while (replayer->next != NULL && replayer->under_way < BATCH) {
        send_delete(replayer, replayer->next);
        replayer->next = replayer->next->next;
        replayer->under_way++;
    }
    if (replayer->under_way == 0) {
        end(replayer, true);
    }
}

static bool is_acknowledgement(const char *line)
{
    static const char *const good[] = {"DELETED", "NOT_FOUND", "HD", "NF", "OK"};

    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        if (strcmp(line, good[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void on_readable(struct bufferevent *stream, void *arg)
{
    struct replayer *replayer = arg;
    struct evbuffer *in = bufferevent_get_input(stream);
    char *line;
    size_t len;

    while ((line = evbuffer_readln(in, &len, EVBUFFER_EOL_CRLF)) != NULL) {
        bool is_good = replayer->under_way > 0 && is_acknowledgement(line);

        if (!is_good) {
            log_warn("a delete to bring a server up to date was answered: %s", line);
        }
        reserve_free(line);
        if (!is_good) {
            end(replayer, false);
            return;
        }
        replayer->under_way--;
        replayer->done++;
    }
    if (evbuffer_get_length(in) > LINE_BYTES_MAX) {
        end(replayer, false);
        return;
    }
    if (replayer->under_way < BATCH / 2) {
        pump(replayer);
    }
}

static void on_event(struct bufferevent *stream, short what, void *arg)
{
    struct replayer *replayer = arg;

    if (what & BEV_EVENT_CONNECTED) {
        if (replayer->flushes) {
            evbuffer_add(bufferevent_get_output(stream), "flush_all\r\n", 11);
            replayer->under_way = 1;
            replayer->next = NULL;
            return;
        }
        pump(replayer);
        return;
    }
    if (replayer->under_way == 0 && replayer->done == 0) {
        try_next_endpoint(replayer);
        return;
    }
    end(replayer, false);
}

static void try_next_endpoint(struct replayer *replayer)
{
    if (replayer->stream != NULL) {
        bufferevent_free(replayer->stream);
        replayer->stream = NULL;
    }
    while (replayer->next_endpoint < replayer->endpoint_count) {
        struct endpoint *endpoint = &replayer->endpoints[replayer->next_endpoint++];

        replayer->stream = bufferevent_socket_new(replayer->base, -1, BEV_OPT_CLOSE_ON_FREE);
        if (replayer->stream == NULL) {
            break;
        }
        bufferevent_setcb(replayer->stream, on_readable, NULL, on_event, replayer);
        bufferevent_set_timeouts(replayer->stream, &replayer->idle, &replayer->idle);
        bufferevent_enable(replayer->stream, EV_READ | EV_WRITE);
        if (bufferevent_socket_connect(replayer->stream, &endpoint->at.any, (int)endpoint->len) ==
            0) {
            return;
        }
        bufferevent_free(replayer->stream);
        replayer->stream = NULL;
    }
    end(replayer, false);
}

struct replayer *replayer_start(struct event_base *base, const struct endpoint *endpoints,
                                uint32_t endpoint_count, const struct journal_entry *entries,
                                bool flushes, uint64_t idle_us, replayer_on_end *on_end, void *arg)
{
    struct replayer *replayer = endpoint_count > 0 ? calloc(1, sizeof(*replayer)) : NULL;

    if (replayer == NULL) {
        return NULL;
    }
    replayer->base = base;
    replayer->endpoint_count = endpoint_count;
    memcpy(replayer->endpoints, endpoints, endpoint_count * sizeof(endpoints[0]));
    replayer->next = entries;
    replayer->flushes = flushes;
    replayer->idle.tv_sec = (time_t)(idle_us / 1000000);
    replayer->idle.tv_usec = (suseconds_t)(idle_us % 1000000);
    replayer->on_end = on_end;
    replayer->arg = arg;
    replayer->end_event = event_new(base, -1, 0, on_end_event, replayer);
    if (replayer->end_event == NULL) {
        free(replayer);
        return NULL;
    }
    if (entries == NULL && !flushes) {
        end(replayer, true);
    } else {
        try_next_endpoint(replayer);
    }
    return replayer;
}

void replayer_free(struct replayer *replayer)
{
    if (replayer == NULL) {
        return;
    }
    if (replayer->stream != NULL) {
        bufferevent_free(replayer->stream);
    }
    event_free(replayer->end_event);
    free(replayer);
}

uint64_t replayer_done(const struct replayer *replayer)
{
    return replayer->done;
}
