/* One question at a time over a socket that does not block; see query.h. */
#include "control/query.h"

#include "base/clock.h"
#include "base/socket.h"
#include "control/timer.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TIMER_SLACK_US = 20000 };

static void connect_next(struct query *query);

static enum health_cause cause_of_errno(int error)
{
    switch (error) {
    case ECONNREFUSED:
    case ENOENT: /* the unix socket's file is gone */
        return HEALTH_REFUSED;
    case ECONNRESET:
    case EPIPE:
        return HEALTH_RESET;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
        return HEALTH_PROXY_TROUBLE;
    case ETIMEDOUT:
        return HEALTH_CONNECT_TIMEOUT;
    default:
        return HEALTH_UNREACHABLE;
    }
}

static void drop_connection(struct query *query)
{
    if (query->fd != -1) {
        event_del(&query->io);
        close(query->fd);
        query->fd = -1;
    }
    query->is_kept_over = false;
}

/* Reports, and keeps the connection where it may be asked again. */
static void finish(struct query *query, enum health_cause cause)
{
    char *bytes = query->answer;
    struct slice answer = slice_make(bytes, query->answer_len);

    event_del(&query->timer);
    query->state = QUERY_IDLE;
    query->answer = NULL;
    if (cause != HEALTH_NO_CAUSE || !query->kind->keeps_connection) {
        drop_connection(query);
    } else {
        query->is_kept_over = true;
    }
    if (cause != HEALTH_NO_CAUSE) {
        answer.len = 0;
    }
    query->on_end(query, cause, answer);
    free(bytes);
}

static void set_timer(struct query *query, uint64_t length_us)
{
    query->timer_us = clock_us() + length_us;
    timer_set(&query->timer, length_us);
}

/* Ends the question from the loop rather than within the caller's call. */
static void finish_soon(struct query *query, enum health_cause cause)
{
    drop_connection(query);
    query->pending_cause = cause;
    set_timer(query, 0);
}

/* The address in use cannot be connected to: the next one, or the end. */
static void connect_failed(struct query *query, enum health_cause cause)
{
    drop_connection(query);
    query->endpoint = (query->endpoint + 1) % query->endpoint_count;
    if (query->tried < query->endpoint_count && cause != HEALTH_PROXY_TROUBLE) {
        connect_next(query);
        return;
    }
    finish_soon(query, cause);
}

/* The connection is of no use any more while its answer is awaited. */
static void connection_failed(struct query *query, enum health_cause cause)
{
    bool is_stale = query->is_kept_over && query->answer_len == 0;

    /* a server may close a connection that idled, as it sees fit: that says nothing */
    if (is_stale && (cause == HEALTH_CLOSED || cause == HEALTH_RESET)) {
        drop_connection(query);
        connect_next(query);
        return;
    }
    finish(query, cause);
}

/* Writes what is left of the question; false where the query has moved on. */
static bool send_question(struct query *query)
{
    struct slice question = query->kind->question;

    while (query->sent < question.len) {
        ssize_t n =
            send(query->fd, question.data + query->sent, question.len - query->sent, MSG_NOSIGNAL);

        if (n >= 0) {
            query->sent += (size_t)n;
        } else if (errno == EAGAIN) {
            return true;
        } else if (errno != EINTR) {
            connection_failed(query, cause_of_errno(errno));
            return false;
        }
    }
    return true;
}

static void judge(struct query *query)
{
    enum health_cause cause = HEALTH_BROKEN;
    struct slice answer = slice_make(query->answer, query->answer_len);

    switch (query->kind->judge(answer, &cause)) {
    case QUERY_DONE:
        finish(query, HEALTH_NO_CAUSE);
        return;
    case QUERY_FAILED:
        finish(query, cause);
        return;
    case QUERY_MORE:
        if (query->answer_len == query->kind->answer_max) {
            finish(query, HEALTH_BROKEN);
        }
        return;
    }
}

static void receive(struct query *query)
{
    ssize_t n = recv(query->fd, query->answer + query->answer_len,
                     query->kind->answer_max - query->answer_len, 0);

    if (n > 0 && query->is_kept_over && query->sent == 0) {
        /* cannot be the answer to what was not asked yet */
        drop_connection(query);
        connect_next(query);
    } else if (n > 0) {
        query->answer_len += (size_t)n;
        judge(query);
    } else if (n == 0) {
        connection_failed(query, HEALTH_CLOSED);
    } else if (errno != EAGAIN && errno != EINTR) {
        connection_failed(query, cause_of_errno(errno));
    }
}

static void on_io(evutil_socket_t fd, short what, void *arg);

static void listen_for(struct query *query, short what)
{
    event_del(&query->io);
    event_assign(&query->io, query->base, query->fd, what | EV_PERSIST, on_io, query);
    if (event_add(&query->io, NULL) == -1) {
        finish_soon(query, HEALTH_PROXY_TROUBLE);
    }
}

static void on_connected(struct query *query)
{
    uint64_t now = clock_us();

    query->state = QUERY_ASKING;
    query->sent = 0;
    query->answer_len = 0;
    set_timer(query, query->deadline_us > now ? query->deadline_us - now : 0);
    if (send_question(query)) {
        listen_for(query, query->sent < query->kind->question.len ? EV_READ | EV_WRITE : EV_READ);
    }
}

static void on_io(evutil_socket_t fd, short what, void *arg)
{
    struct query *query = arg;
    int error;

    (void)fd;
    switch (query->state) {
    case QUERY_IDLE:
        /* closed, or an answer to nothing */
        drop_connection(query);
        break;
    case QUERY_CONNECTING:
        error = socket_error(query->fd);
        if (error != 0) {
            connect_failed(query, cause_of_errno(error));
        } else {
            on_connected(query);
        }
        break;
    case QUERY_ASKING:
        if ((what & EV_READ) != 0) {
            receive(query);
        } else if (send_question(query) && query->sent == query->kind->question.len) {
            listen_for(query, EV_READ);
        }
        break;
    }
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct query *query = arg;

    (void)fd;
    (void)what;
    if (query->pending_cause != HEALTH_NO_CAUSE) {
        finish(query, query->pending_cause);
    } else if (clock_us() + TIMER_SLACK_US < query->timer_us) {
        finish(query, HEALTH_PROXY_TROUBLE); /* no memory for the timer: the server is not late */
    } else if (query->state == QUERY_CONNECTING) {
        connect_failed(query, HEALTH_CONNECT_TIMEOUT);
    } else {
        finish(query, HEALTH_PROBE_TIMEOUT);
    }
}

/* Tries the next address, for its part of the time left. */
static void connect_next(struct query *query)
{
    uint64_t now = clock_us();
    uint64_t left = query->deadline_us > now ? query->deadline_us - now : 0;
    bool done;

    query->state = QUERY_CONNECTING;
    query->fd = socket_connect(&query->endpoints[query->endpoint], &done);
    query->tried++;
    if (query->fd == -1) {
        connect_failed(query, cause_of_errno(errno));
        return;
    }
    set_timer(query, left / (query->endpoint_count - query->tried + 1));
    listen_for(query, EV_WRITE);
}

void query_init(struct query *query, const struct query_kind *kind, struct event_base *base)
{
    query->kind = kind;
    query->base = base;
    query->state = QUERY_IDLE;
    query->fd = -1;
    query->answer = NULL;
    evtimer_assign(&query->timer, base, on_timer, query);
    event_assign(&query->io, base, -1, 0, on_io, query);
}

void query_fini(struct query *query)
{
    drop_connection(query);
    event_del(&query->timer);
    free(query->answer);
}

/* Takes the addresses; a kept connection to one that is gone is closed. */
static void set_endpoints(struct query *query, const struct endpoint *endpoints, uint32_t count)
{
    const struct endpoint old = query->endpoints[query->endpoint];
    uint32_t at = 0;

    assert(count <= TOPOLOGY_ENDPOINTS_MAX);
    while (at < count &&
           (endpoints[at].len != old.len || memcmp(&endpoints[at].at, &old.at, old.len) != 0)) {
        at++;
    }
    if (at == count) {
        drop_connection(query);
        at = 0;
    }
    if (count > 0) {
        memcpy(query->endpoints, endpoints, count * sizeof(endpoints[0]));
    }
    query->endpoint_count = count;
    query->endpoint = at;
}

void query_start(struct query *query, const struct endpoint *endpoints, uint32_t count,
                 uint64_t timeout_us)
{
    assert(query->state == QUERY_IDLE);
    query->begun_us = clock_us();
    query->deadline_us = query->begun_us + timeout_us;
    query->pending_cause = HEALTH_NO_CAUSE;
    query->tried = 0;
    query->answer_len = 0;
    query->sent = 0;
    query->answer = malloc(query->kind->answer_max);
    set_endpoints(query, endpoints, count);
    if (count == 0 || query->answer == NULL) {
        query->state = QUERY_CONNECTING;
        finish_soon(query, count == 0 ? HEALTH_UNRESOLVED : HEALTH_PROXY_TROUBLE);
    } else if (query->fd != -1) {
        query->state = QUERY_ASKING;
        set_timer(query, timeout_us);
        listen_for(query, EV_READ | EV_WRITE);
    } else {
        connect_next(query);
    }
}
