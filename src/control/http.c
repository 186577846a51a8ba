/* See http.h. */
#include "control/http.h"

#include "base/log.h"
#include "base/socket.h"
#include "control/admit.h"
#include "control/page.h"
#include "control/prometheus.h"
#include "control/stats_json.h"

#include <errno.h>
#include <event2/bufferevent.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <event2/util.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HTTP_FORBIDDEN = 403 }; /* evhttp has names for the others */

enum {
    CONNECTIONS_MAX = 128,
    TIMEOUT_S = 30, /* of silence */
    HEADERS_MAX = 16 * 1024,
    BODY_MAX = 1024,
    UNREAD_MAX = 2 * HEADERS_MAX, /* requests that wait for the answers before them */
};

/* A connection, as far as it can be seen from outside evhttp. */
struct slot {
    struct bufferevent *stream; /* NULL: free */
    bool is_held;               /* a reference to stream is: it has not asked anything yet */
    bool is_new;                /* not looked at by on_new */
};

struct http {
    struct control *control;
    struct evhttp *server;
    struct evconnlistener *listener;
    struct event *timer;
    struct event *new_event; /* there are new connections */
    struct slot slots[CONNECTIONS_MAX];
    unsigned used;
    int fd;
};

struct page_row {
    const char *path;
    const char *type;
    /* Appends the body; returns the status. */
    int (*run)(struct control *control, struct evbuffer *out);
};

static int run_page(struct control *control, struct evbuffer *out)
{
    (void)control;
    evbuffer_add_reference(out, page_html, page_html_bytes, NULL, NULL);
    return HTTP_OK;
}

static int run_metrics(struct control *control, struct evbuffer *out)
{
    prometheus_add(control, out);
    return HTTP_OK;
}

static int run_json(struct control *control, struct evbuffer *out)
{
    stats_json_add(control, out);
    return HTTP_OK;
}

static int run_healthz(struct control *control, struct evbuffer *out)
{
    (void)control;
    evbuffer_add_printf(out, "ok\n");
    return HTTP_OK;
}

/* Ready: takes clients, and every pool has a server that is up. */
static int run_readyz(struct control *control, struct evbuffer *out)
{
    const struct topology *topology = control->slot.current;
    int status = HTTP_OK;

    if (control->is_stopping) {
        evbuffer_add_printf(out, "stopping\n");
        return HTTP_SERVUNAVAIL;
    }
    for (uint32_t p = 0; p < topology->pool_count; p++) {
        uint32_t up = 0;

        for (uint32_t s = 0; s < topology->pools[p].server_count; s++) {
            up += topology->pools[p].live[s] == STANDING_LIVE;
        }
        if (up == 0) {
            evbuffer_add_printf(out, "pool %s: no server is up\n", topology->pools[p].name);
            status = HTTP_SERVUNAVAIL;
        }
    }
    if (status == HTTP_OK) {
        evbuffer_add_printf(out, "ready\n");
    }
    return status;
}

static const struct page_row pages[] = {
    {"/", "text/html; charset=utf-8", run_page},
    {"/metrics", PROMETHEUS_TYPE, run_metrics},
    {"/stats.json", "application/json", run_json},
    {"/healthz", "text/plain; charset=utf-8", run_healthz},
    {"/readyz", "text/plain; charset=utf-8", run_readyz},
};

static const struct page_row *find_page(struct evhttp_request *request)
{
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
    const char *path = uri != NULL ? evhttp_uri_get_path(uri) : NULL;

    if (path == NULL || path[0] == '\0') {
        path = "/";
    }
    for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
        if (strcmp(path, pages[i].path) == 0) {
            return &pages[i];
        }
    }
    return NULL;
}

static void slot_free(struct slot *slot)
{
    if (slot->is_held) {
        bufferevent_decref(slot->stream);
    }
    *slot = (struct slot){.stream = NULL};
}

/*
 * evhttp tells of no end of a connection that has asked nothing. It has freed the stream then,
 * which takes the callbacks from it, but for the reference that is held here.
 */
static bool has_ended(const struct slot *slot)
{
    bufferevent_data_cb on_read;
    bufferevent_data_cb on_write;
    bufferevent_event_cb on_event;
    void *arg;

    if (!slot->is_held) {
        return false;
    }
    bufferevent_getcb(slot->stream, &on_read, &on_write, &on_event, &arg);
    return on_read == NULL && on_write == NULL && on_event == NULL;
}

static void free_slots(struct http *http)
{
    http->used = 0;
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        struct slot *slot = &http->slots[i];

        if (slot->stream != NULL && has_ended(slot)) {
            slot_free(slot);
        }
        http->used += slot->stream != NULL;
    }
    if (http->used < CONNECTIONS_MAX) {
        evconnlistener_enable(http->listener);
    }
}

static void on_second(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    free_slots(arg);
}

static void on_connection_end(struct evhttp_connection *connection, void *arg)
{
    struct http *http = arg;
    const struct bufferevent *stream = evhttp_connection_get_bufferevent(connection);

    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        if (http->slots[i].stream == stream) {
            slot_free(&http->slots[i]);
        }
    }
    free_slots(http);
}

/*
 * evhttp accepts, and tells who it was only with the first request. So as not to wait for that,
 * the connection is looked at as soon as it has its descriptor, which is right after on_connection.
 */
static void on_new(evutil_socket_t fd, short what, void *arg)
{
    static const char text[] = "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\n"
                               "Connection: close\r\n\r\nthis address is not allowed here\n";
    struct http *http = arg;
    struct control *control = http->control;

    (void)what;
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        struct slot *slot = &http->slots[i];
        struct bufferevent *stream = slot->stream;

        if (stream == NULL || !slot->is_new) {
            continue;
        }
        slot->is_new = false;
        fd = bufferevent_getfd(stream);
        if (fd != -1 && !admit_peer(control, &control->config->http, "http", fd)) {
            (void)!write(fd, text, sizeof(text) - 1);
            shutdown(fd, SHUT_RDWR); /* evhttp finds its end and frees it */
            slot_free(slot);
        }
    }
    free_slots(http);
}

/* The connection is evhttp's to end: it tells so of those that have asked something. */
static void note_request(struct http *http, struct evhttp_request *request)
{
    struct evhttp_connection *connection = evhttp_request_get_connection(request);
    const struct bufferevent *stream = evhttp_connection_get_bufferevent(connection);

    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        struct slot *slot = &http->slots[i];

        if (slot->stream == stream && slot->is_held) {
            slot->is_held = false;
            bufferevent_decref(slot->stream);
        }
    }
    evhttp_connection_set_closecb(connection, on_connection_end, http);
}

static const char *status_text(int status)
{
    switch (status) {
    case HTTP_OK:
        return "OK";
    case HTTP_FORBIDDEN:
        return "Forbidden";
    case HTTP_NOTFOUND:
        return "Not Found";
    default:
        return "Service Unavailable";
    }
}

static void on_request(struct evhttp_request *request, void *arg)
{
    struct http *http = arg;
    struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
    const struct page_row *page = find_page(request);
    struct evbuffer *body = evbuffer_new();
    int status = HTTP_NOTFOUND;

    note_request(http, request);
    if (body == NULL) {
        evhttp_send_error(request, HTTP_SERVUNAVAIL, NULL);
        return;
    }
    if (!socket_admits(bufferevent_getfd(evhttp_connection_get_bufferevent(
                           evhttp_request_get_connection(request))),
                       &http->control->config->http.allow)) {
        status = HTTP_FORBIDDEN;
        page = NULL;
        evbuffer_add_printf(body, "this address is not allowed here any more\n");
        evhttp_add_header(headers, "Connection", "close");
    } else if (page != NULL) {
        status = page->run(http->control, body);
    } else {
        evbuffer_add_printf(body, "there are");
        for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
            evbuffer_add_printf(body, " %s", pages[i].path);
        }
        evbuffer_add_printf(body, "\n");
    }
    evhttp_add_header(headers, "Content-Type", page != NULL ? page->type : "text/plain");
    evhttp_add_header(headers, "Cache-Control", "no-store");
    evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
    evhttp_add_header(headers, "Content-Security-Policy",
                      "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
                      "connect-src 'self'; img-src data:; frame-ancestors 'none'");
    evhttp_send_reply(request, status, status_text(status), body);
    evbuffer_free(body);
}

/* evhttp has no bound on its connections: accepting pauses while there are enough. */
static struct bufferevent *on_connection(struct event_base *base, void *arg)
{
    struct http *http = arg;
    struct bufferevent *stream = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
    struct slot *free_slot = NULL;

    /* evhttp itself takes all that comes, also behind the request it answers */
    if (stream != NULL) {
        bufferevent_setwatermark(stream, EV_READ, 0, UNREAD_MAX);
    }
    free_slots(http); /* before this one, whose callbacks evhttp has yet to set */
    for (int i = 0; i < CONNECTIONS_MAX && free_slot == NULL; i++) {
        if (http->slots[i].stream == NULL) {
            free_slot = &http->slots[i];
        }
    }
    if (free_slot != NULL && stream != NULL) {
        bool is_new = http->control->config->http.allow.count > 0;

        *free_slot = (struct slot){.stream = stream, .is_held = true, .is_new = is_new};
        bufferevent_incref(stream);
        if (is_new) {
            event_active(http->new_event, EV_TIMEOUT, 0);
        }
    }
    if (++http->used >= CONNECTIONS_MAX) {
        evconnlistener_disable(http->listener);
    }
    return stream;
}

/* Descriptors or memory ran out: on_second lets those in who wait. */
static void on_accept_error(struct evconnlistener *listener, void *arg)
{
    static struct log_limit paused_log; /* arg is the library's */

    (void)arg;
    log_warn_limited(&paused_log, "http: accepting is paused: %s", strerror(EVUTIL_SOCKET_ERROR()));
    evconnlistener_disable(listener);
}

struct http *http_open(struct control *control, char *error, size_t error_size)
{
    const struct config_listen *listen = &control->config->http;
    struct http *http = calloc(1, sizeof(*http));
    struct endpoint endpoint;
    char text[ADDRESS_TEXT_MAX];

    address_format(&listen->address, text, sizeof(text));
    if (http == NULL) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    http->control = control;
    if (!address_to_endpoint(&listen->address, &endpoint)) {
        snprintf(error, error_size, "http: %s is not a numeric address", text);
        free(http);
        return NULL;
    }
    http->fd = socket_listen(&endpoint, listen->mode != 0 ? listen->mode : 0600);
    if (http->fd == -1) {
        snprintf(error, error_size, "http: cannot listen on %s: %s", text, strerror(errno));
        free(http);
        return NULL;
    }
    if (!endpoint_is_local(&endpoint) && listen->allow.count == 0) {
        log_warn("http: %s can be reached from other hosts", text);
    }
    return http;
}

bool http_start(struct http *http)
{
    const struct timeval second = {1, 0};

    http->server = evhttp_new(http->control->base);
    if (http->server == NULL) {
        return false;
    }
    evhttp_set_allowed_methods(http->server, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
    evhttp_set_timeout(http->server, TIMEOUT_S);
    evhttp_set_max_headers_size(http->server, HEADERS_MAX);
    evhttp_set_max_body_size(http->server, BODY_MAX);
    evhttp_set_gencb(http->server, on_request, http);
    evhttp_set_bevcb(http->server, on_connection, http);
    http->listener = evconnlistener_new(
        http->control->base, NULL, NULL,
        LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_CLOSE_ON_FREE | LEV_OPT_DISABLED, 0, http->fd);
    if (http->listener == NULL) {
        return false;
    }
    http->fd = -1; /* the listener's now */
    if (evhttp_bind_listener(http->server, http->listener) == NULL) {
        evconnlistener_free(http->listener);
        return false;
    }
    evconnlistener_set_error_cb(http->listener, on_accept_error);
    http->timer = event_new(http->control->base, -1, EV_PERSIST, on_second, http);
    http->new_event = event_new(http->control->base, -1, 0, on_new, http);
    return http->timer != NULL && http->new_event != NULL && event_add(http->timer, &second) == 0 &&
           evconnlistener_enable(http->listener) == 0;
}

void http_free(struct http *http)
{
    if (http == NULL) {
        return;
    }
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        slot_free(&http->slots[i]);
    }
    if (http->server != NULL) {
        evhttp_free(http->server); /* and the listener */
    }
    if (http->timer != NULL) {
        event_free(http->timer);
    }
    if (http->new_event != NULL) {
        event_free(http->new_event);
    }
    if (http->fd != -1) {
        close(http->fd);
    }
    socket_remove_file(&http->control->config->http.address);
    free(http);
}
