/* See admin.h. */
#include "control/admin.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/socket.h"
#include "control/admin_clients.h"
#include "control/admin_command.h"
#include "control/admit.h"
#include "control/prometheus.h"
#include "control/reserve.h"
#include "control/timer.h"
#include "control/watch.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <event2/util.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SESSIONS_MAX = 64,
    SILENCE_US = 5000000, /* of a session whose place may be given to another */
    ACCEPT_PAUSE_US = 1000000,
    COMMAND_LINE_MAX = 8192,
    INPUT_MAX = 2 * COMMAND_LINE_MAX, /* then it is not read from */
    COMMANDS_A_TURN = 8,              /* of one session; then others have theirs */
    OUTPUT_MAX = 8 << 20,             /* a reader that takes nothing is closed there */
};

struct admin {
    struct control *control;
    struct evconnlistener *listener;
    struct event *resume_timer; /* after a pause of the listener */
    struct log_limit paused_log;
    struct list sessions; /* those that were heard of longest ago first */
    unsigned session_count;
    int fd;
};

struct session {
    struct list link;
    struct admin *admin;
    struct bufferevent *stream;
    struct event *more_timer; /* pending while lines wait for its next turn */
    uint64_t heard_us;
    uint64_t awaited_generation; /* OK is said once all workers have adopted it; 0: none */
    bool is_ending;
    bool is_waiting;     /* for the rest of an answer */
    bool is_half_closed; /* nothing comes any more: what has come is answered */
};

static void session_free(struct session *session)
{
    watch_stop(session->admin->control, session);
    admin_clients_forget(session->admin->control, session);
    list_remove(&session->link);
    session->admin->session_count--;
    event_free(session->more_timer);
    bufferevent_free(session->stream);
    free(session);
}

static void on_written(struct bufferevent *stream, void *arg)
{
    struct session *session = arg;

    if (session->is_ending && !session->is_waiting &&
        evbuffer_get_length(bufferevent_get_output(stream)) == 0) {
        session_free(session);
    }
}

/* Somebody asks by HTTP: gets the metrics where that is what he asks for, else `stats`. */
static bool answer_http(struct session *session, const char *line, size_t len)
{
    struct evbuffer *out = bufferevent_get_output(session->stream);
    struct evbuffer *body;
    const char *type = "text/plain; charset=utf-8";

    if (len < 9 || (memcmp(line + len - 9, " HTTP/1.1", 9) != 0 &&
                    memcmp(line + len - 9, " HTTP/1.0", 9) != 0)) {
        return false;
    }
    body = evbuffer_new();
    if (body == NULL) {
        return true;
    }
    if (strncmp(line, "GET /metrics ", 13) == 0) {
        type = PROMETHEUS_TYPE;
        prometheus_add(session->admin->control, body);
    } else {
        (void)!admin_command_run(session->admin->control, NULL, SLICE("stats"), body);
    }
    evbuffer_add_printf(out,
                        "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                        "Connection: close\r\n\r\n",
                        type, evbuffer_get_length(body));
    if (strncmp(line, "HEAD ", 5) != 0) {
        evbuffer_add_buffer(out, body);
    }
    evbuffer_free(body);
    return true;
}

static bool has_line(struct evbuffer *in)
{
    return evbuffer_search_eol(in, NULL, NULL, EVBUFFER_EOL_CRLF).pos != -1;
}

static void note_heard(struct session *session)
{
    session->heard_us = clock_us();
    list_remove(&session->link);
    list_add_tail(&session->admin->sessions, &session->link);
}

/* Closes the session that has been silent longest, and waits for nothing. False: none is. */
static bool make_place(struct admin *admin)
{
    list_each (at, &admin->sessions) {
        struct session *session = list_entry(at, struct session, link);

        if (clock_us() - session->heard_us <= SILENCE_US) {
            break;
        }
        if (!session->is_waiting && !watch_is_on(admin->control, session)) {
            log_notice("admin: a session that was silent is closed: all are taken");
            session_free(session);
            return true;
        }
    }
    return false;
}

static void run_line(struct session *session, const char *line, size_t len)
{
    struct evbuffer *out = bufferevent_get_output(session->stream);
    struct control *control = session->admin->control;

    if (watch_is_on(control, session)) { /* the line only ends it */
        watch_stop(control, session);
        evbuffer_add_printf(out, "END\r\n");
    } else if (answer_http(session, line, len)) {
        session->is_ending = true;
    } else if (!admin_command_run(control, session, slice_make(line, len), out)) {
        session->is_ending = true;
    }
}

/*
 * Runs commands that have arrived whole, as many as a turn may hold. False: the session is of no
 * use any more.
 */
static bool run_lines(struct session *session)
{
    struct evbuffer *in = bufferevent_get_input(session->stream);
    struct evbuffer *out = bufferevent_get_output(session->stream);

    for (int i = 0; i < COMMANDS_A_TURN && !session->is_ending && !session->is_waiting; i++) {
        size_t len;
        char *line = evbuffer_readln(in, &len, EVBUFFER_EOL_CRLF);

        if (line == NULL) {
            if (has_line(in)) {
                return false; /* memory is short */
            }
            if (evbuffer_get_length(in) > COMMAND_LINE_MAX) {
                evbuffer_add_printf(out, "ERROR a command has at most %d bytes\r\n",
                                    COMMAND_LINE_MAX);
                session->is_ending = true;
            }
            break;
        }
        run_line(session, line, len);
        reserve_free(line);
        if (evbuffer_get_length(out) > OUTPUT_MAX) {
            return false;
        }
    }
    return true;
}

static void on_readable(struct bufferevent *stream, void *arg)
{
    struct session *session = arg;
    struct evbuffer *out = bufferevent_get_output(stream);
    struct control *control = session->admin->control;

    note_heard(session);
    if (!run_lines(session)) {
        session_free(session);
        return;
    }
    if (!session->is_ending && !session->is_waiting && has_line(bufferevent_get_input(stream))) {
        timer_set(session->more_timer, 0);
    } else {
        session->is_ending |=
            session->is_half_closed && !session->is_waiting && !watch_is_on(control, session);
    }
    if (evbuffer_get_length(out) > 0 && bufferevent_enable(stream, EV_WRITE) == -1) {
        session_free(session); /* a stream made while memory was short does not write by itself */
        return;
    }
    if (session->is_ending && !session->is_waiting) {
        bufferevent_disable(stream, EV_READ);
        if (evbuffer_get_length(out) == 0) {
            session_free(session);
        }
    }
}

static void on_more(evutil_socket_t fd, short what, void *arg)
{
    struct session *session = arg;

    (void)fd;
    (void)what;
    on_readable(session->stream, session);
}

static void on_session_event(struct bufferevent *stream, short what, void *arg)
{
    struct session *session = arg;
    struct control *control = session->admin->control;
    bool has_work = session->is_waiting || watch_is_on(control, session) ||
                    evtimer_pending(session->more_timer, NULL);

    if ((what & BEV_EVENT_EOF) &&
        (has_work || evbuffer_get_length(bufferevent_get_output(stream)) > 0)) {
        /* it may have shut its write side only */
        session->is_half_closed = true;
        session->is_ending |= !has_work;
        watch_half_closed(control, session);
        bufferevent_disable(stream, EV_READ);
        return;
    }
    session_free(session);
}

/* Says that there is no place and closes. */
static void refuse(int fd)
{
    char text[80];

    snprintf(text, sizeof(text), "ERROR all %d sessions of the admin port are taken\r\n",
             SESSIONS_MAX);
    socket_refuse(fd, slice_text(text));
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *peer,
                      int peer_len, void *arg)
{
    struct admin *admin = arg;
    struct session *session;

    (void)listener;
    (void)peer;
    (void)peer_len;
    if (!admit_peer(admin->control, &admin->control->config->admin, "admin", fd)) {
        socket_deny(fd);
        return;
    }
    if (admin->session_count == SESSIONS_MAX && !make_place(admin)) {
        refuse(fd);
        return;
    }
    session = calloc(1, sizeof(*session));
    if (session == NULL) {
        close(fd);
        return;
    }
    session->admin = admin;
    list_init(&session->link);
    session->more_timer = evtimer_new(admin->control->base, on_more, session);
    session->stream = session->more_timer != NULL
                          ? bufferevent_socket_new(admin->control->base, fd, BEV_OPT_CLOSE_ON_FREE)
                          : NULL;
    if (session->stream == NULL) {
        close(fd);
        if (session->more_timer != NULL) {
            event_free(session->more_timer);
        }
        free(session);
        return;
    }
    bufferevent_setwatermark(session->stream, EV_READ, 0, INPUT_MAX);
    note_heard(session);
    admin->session_count++;
    bufferevent_setcb(session->stream, on_readable, on_written, on_session_event, session);
    if (bufferevent_enable(session->stream, EV_READ | EV_WRITE) == -1) {
        session_free(session);
    }
}

void session_wait(struct session *session)
{
    session->is_waiting = true;
}

void session_go_on(struct session *session)
{
    session->is_waiting = false;
    on_readable(session->stream, session);
}

void admin_answer_adopted(struct admin_call *call)
{
    uint64_t generation = call->control->slot.current->generation;

    if (call->session == NULL || workers_adopted(&call->control->workers) >= generation) {
        evbuffer_add_printf(call->out, "OK\r\n");
    } else {
        call->session->awaited_generation = generation;
        session_wait(call->session);
    }
}

void admin_on_adopted(struct admin *admin)
{
    uint64_t adopted = workers_adopted(&admin->control->workers);

    list_each_safe (at, after, &admin->sessions) {
        struct session *session = list_entry(at, struct session, link);

        if (session->awaited_generation != 0 && session->awaited_generation <= adopted) {
            session->awaited_generation = 0;
            evbuffer_add_printf(session_output(session), "OK\r\n");
            session_go_on(session);
        }
    }
}

struct evbuffer *session_output(struct session *session)
{
    return bufferevent_get_output(session->stream);
}

/* Descriptors or memory ran out: those who wait are let wait. */
static void on_accept_error(struct evconnlistener *listener, void *arg)
{
    struct admin *admin = arg;

    log_warn_limited(&admin->paused_log, "admin: accepting is paused: %s",
                     strerror(EVUTIL_SOCKET_ERROR()));
    evconnlistener_disable(listener);
    timer_set(admin->resume_timer, ACCEPT_PAUSE_US);
}

static void on_resume(evutil_socket_t fd, short what, void *arg)
{
    struct admin *admin = arg;

    (void)fd;
    (void)what;
    if (evconnlistener_enable(admin->listener) == -1) {
        timer_set(admin->resume_timer, ACCEPT_PAUSE_US);
    }
}

struct admin *admin_open(struct control *control, char *error, size_t error_size)
{
    const struct config_listen *listen = &control->config->admin;
    struct admin *admin = calloc(1, sizeof(*admin));
    struct endpoint endpoint;
    char text[ADDRESS_TEXT_MAX];

    address_format(&listen->address, text, sizeof(text));
    if (admin == NULL) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    admin->control = control;
    list_init(&admin->sessions);
    if (!address_to_endpoint(&listen->address, &endpoint)) {
        snprintf(error, error_size, "admin: %s is not a numeric address", text);
        free(admin);
        return NULL;
    }
    admin->fd = socket_listen(&endpoint, listen->mode != 0 ? listen->mode : 0600);
    if (admin->fd == -1) {
        snprintf(error, error_size, "admin: cannot listen on %s: %s", text, strerror(errno));
        free(admin);
        return NULL;
    }
    if (!endpoint_is_local(&endpoint) && listen->allow.count == 0) {
        log_warn("admin: %s can be reached from other hosts", text);
    }
    return admin;
}

bool admin_start(struct admin *admin)
{
    admin->listener = evconnlistener_new(
        admin->control->base, on_accept, admin,
        LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_CLOSE_ON_FREE | LEV_OPT_DISABLED, 0, admin->fd);
    admin->resume_timer = evtimer_new(admin->control->base, on_resume, admin);
    if (admin->listener == NULL || admin->resume_timer == NULL) {
        return false;
    }
    evconnlistener_set_error_cb(admin->listener, on_accept_error);
    return evconnlistener_enable(admin->listener) == 0;
}

/* Not freed here: one of them may be asking for the reload just now. */
void admin_end_denied(struct admin *admin)
{
    list_each (at, &admin->sessions) {
        struct session *session = list_entry(at, struct session, link);

        if (!socket_admits(bufferevent_getfd(session->stream),
                           &admin->control->config->admin.allow)) {
            watch_stop(admin->control, session);
            session->is_ending = true;
            bufferevent_disable(session->stream, EV_READ);
            bufferevent_trigger(session->stream, EV_WRITE, BEV_TRIG_DEFER_CALLBACKS);
        }
    }
}

void admin_free(struct admin *admin)
{
    if (admin == NULL) {
        return;
    }
    list_each_safe (at, after, &admin->sessions) {
        session_free(list_entry(at, struct session, link));
    }
    if (admin->resume_timer != NULL) {
        event_free(admin->resume_timer);
    }
    if (admin->listener != NULL) {
        evconnlistener_free(admin->listener);
    } else {
        close(admin->fd);
    }
    socket_remove_file(&admin->control->config->admin.address);
    free(admin);
}
