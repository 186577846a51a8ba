/*
 * A prober and a server that follows a script, in one loop. Every wait is for
 * an event, and the loop gives up after DEADLINE_S.
 */
#ifndef TESTS_PROBER_STAND_H
#define TESTS_PROBER_STAND_H

#include "base/clock.h"
#include "control/prober.h"

#include <check.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DEADLINE_S = 10, TIMEOUT_US = 2000 * 1000, SHORT_US = 60 * 1000, SOCKETS_MAX = 8 };

/* What a server does with the question it is asked. */
enum reaction { ANSWER, ANSWER_BYTEWISE, ANSWER_AND_CLOSE, CLOSE, RESET, GREET };

struct script {
    enum reaction reaction;
    const char *answer; /* ANSWER: "" is silence */
};

struct stand {
    struct event_base *base;
    struct evconnlistener *listener;
    struct endpoint endpoint;
    struct bufferevent *sockets[SOCKETS_MAX]; /* in the order they were accepted */
    unsigned accepted;
    unsigned questions;
    unsigned closed; /* by the prober */
    struct script script;
    const char *left; /* ANSWER_BYTEWISE: to be sent */
    struct event *ticker;
    struct prober *prober;
    unsigned probes;
    struct probe_result result;
    char version[128];
    unsigned uptimes;
    struct uptime_result uptime;
    unsigned starts_again;
    bool frees;
};

static void close_socket(struct stand *stand, struct bufferevent *socket)
{
    for (unsigned i = 0; i < stand->accepted; i++) {
        if (stand->sockets[i] == socket) {
            stand->sockets[i] = NULL;
        }
    }
    bufferevent_free(socket);
}

static void reset_socket(struct stand *stand, struct bufferevent *socket)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};

    setsockopt(bufferevent_getfd(socket), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close_socket(stand, socket);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
    struct stand *stand = arg;
    const struct timeval soon = {0, 0};

    (void)fd;
    (void)what;
    if (*stand->left != '\0' && stand->sockets[stand->accepted - 1] != NULL) {
        bufferevent_write(stand->sockets[stand->accepted - 1], stand->left++, 1);
        event_add(stand->ticker, &soon);
    }
}

static void on_answered(struct bufferevent *socket, void *arg)
{
    close_socket(arg, socket);
}

static void react(struct stand *stand, struct bufferevent *socket)
{
    const struct timeval soon = {0, 0};
    const struct script *script = &stand->script;

    switch (script->reaction) {
    case ANSWER:
    case GREET:
        bufferevent_write(socket, script->answer, strlen(script->answer));
        break;
    case ANSWER_BYTEWISE:
        stand->left = script->answer;
        event_add(stand->ticker, &soon);
        break;
    case ANSWER_AND_CLOSE:
        bufferevent_setcb(socket, NULL, on_answered, NULL, stand);
        bufferevent_write(socket, script->answer, strlen(script->answer));
        break;
    case CLOSE:
        close_socket(stand, socket);
        break;
    case RESET:
        reset_socket(stand, socket);
        break;
    }
}

static void on_question(struct bufferevent *socket, void *arg)
{
    struct stand *stand = arg;
    char *line;

    while ((line = evbuffer_readln(bufferevent_get_input(socket), NULL, EVBUFFER_EOL_CRLF)) !=
           NULL) {
        ck_assert(strcmp(line, "version") == 0 || strcmp(line, "stats") == 0);
        free(line);
        stand->questions++;
        if (stand->script.reaction != GREET) {
            react(stand, socket);
            return;
        }
    }
}

static void on_end(struct bufferevent *socket, short what, void *arg)
{
    struct stand *stand = arg;

    (void)what;
    stand->closed++;
    close_socket(stand, socket);
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *from,
                      int from_len, void *arg)
{
    struct stand *stand = arg;
    struct bufferevent *socket = bufferevent_socket_new(stand->base, fd, BEV_OPT_CLOSE_ON_FREE);

    (void)listener;
    (void)from;
    (void)from_len;
    ck_assert_uint_lt(stand->accepted, SOCKETS_MAX);
    stand->sockets[stand->accepted++] = socket;
    bufferevent_setcb(socket, on_question, NULL, on_end, stand);
    bufferevent_enable(socket, EV_READ | EV_WRITE);
    if (stand->script.reaction == GREET) {
        react(stand, socket);
    }
}

static void start(struct stand *stand, uint64_t timeout_us)
{
    prober_start(stand->prober, &stand->endpoint, 1, timeout_us);
}

static void on_probe(void *arg, const struct probe_result *result)
{
    struct stand *stand = arg;

    stand->probes++;
    stand->result = *result;
    snprintf(stand->version, sizeof(stand->version), "%.*s", (int)result->version.len,
             result->version.data);
    ck_assert(!prober_is_busy(stand->prober));
    if (stand->starts_again > 0) {
        stand->starts_again--;
        start(stand, TIMEOUT_US);
    }
    if (stand->frees) {
        prober_free(stand->prober);
        stand->prober = NULL;
    }
}

static void on_uptime(void *arg, const struct uptime_result *result)
{
    struct stand *stand = arg;

    stand->uptimes++;
    stand->uptime = *result;
}

static const struct prober_callbacks callbacks = {on_probe, on_uptime};

static struct endpoint endpoint_of(uint16_t port)
{
    struct address address = {.host = "127.0.0.1", .port = port};
    struct endpoint endpoint;

    ck_assert(address_to_endpoint(&address, &endpoint));
    return endpoint;
}

/* A port of 127.0.0.1 that nobody listens on, for as long as *fd is open. */
static struct endpoint closed_endpoint(int *fd)
{
    struct endpoint endpoint = endpoint_of(0);

    *fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(*fd, &endpoint.at.any, endpoint.len), 0);
    ck_assert_int_eq(getsockname(*fd, &endpoint.at.any, &endpoint.len), 0);
    return endpoint;
}

static void stand_init(struct stand *stand, enum reaction reaction, const char *answer)
{
    struct endpoint any = endpoint_of(0);

    *stand = (struct stand){.script = {reaction, answer}};
    stand->base = event_base_new();
    stand->listener = evconnlistener_new_bind(stand->base, on_accept, stand, LEV_OPT_CLOSE_ON_FREE,
                                              16, &any.at.any, (int)any.len);
    ck_assert_ptr_nonnull(stand->listener);
    stand->endpoint.len = sizeof(stand->endpoint.at);
    getsockname(evconnlistener_get_fd(stand->listener), &stand->endpoint.at.any,
                &stand->endpoint.len);
    stand->ticker = evtimer_new(stand->base, on_tick, stand);
    stand->prober = prober_new(stand->base, &callbacks, stand);
    ck_assert_ptr_nonnull(stand->prober);
}

static void stand_fini(struct stand *stand)
{
    prober_free(stand->prober);
    for (unsigned i = 0; i < stand->accepted; i++) {
        if (stand->sockets[i] != NULL) {
            bufferevent_free(stand->sockets[i]);
        }
    }
    event_free(stand->ticker);
    evconnlistener_free(stand->listener);
    event_base_free(stand->base);
}

/* Turns the loop until *counter has reached n. */
static void wait_for(struct stand *stand, const unsigned *counter, unsigned n)
{
    const struct timeval tick = {0, 5000};
    uint64_t deadline = clock_us() + (uint64_t)DEADLINE_S * 1000000;

    while (*counter < n) {
        ck_assert_uint_lt(clock_us(), deadline);
        event_base_loopexit(stand->base, &tick);
        event_base_loop(stand->base, EVLOOP_ONCE);
    }
}

static void probe(struct stand *stand, uint64_t timeout_us)
{
    unsigned before = stand->probes;

    start(stand, timeout_us);
    ck_assert(prober_is_busy(stand->prober));
    wait_for(stand, &stand->probes, before + 1);
    ck_assert_uint_le(stand->result.begun_us, stand->result.ended_us);
}

#endif
