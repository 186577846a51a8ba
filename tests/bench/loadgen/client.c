#include "client.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load.h"

#define FOUND          0x80000000u /* marks a key of a request whose value came */
#define LINE_END_BYTES 2

void client_init(struct client *client, enum client_role role, uint32_t pipeline, uint32_t multiget)
{
    *client = (struct client){.fd = -1, .role = role, .pipeline = pipeline, .multiget = multiget};
    client->requests = bytes_alloc(pipeline * sizeof(*client->requests));
    client->asked = bytes_alloc((size_t)pipeline * multiget * sizeof(*client->asked));
}

void client_fini(struct client *client)
{
    client_close(client);
    free(client->requests);
    free(client->asked);
    bytes_fini(&client->pending);
}

void client_close(struct client *client)
{
    if (client->fd != -1) {
        close(client->fd);
        client->fd = -1;
    }
    client->in_flight = 0;
    client->issued = 0;
    client->value_left = 0;
    client->line_len = 0;
    client->pending.len = 0;
    client->pending_sent = 0;
    client->send_errno = 0;
    client->wants_writable = false;
}

bool client_has_room(const struct client *client, uint64_t requests_per_connection)
{
    return client->in_flight < client->pipeline &&
           (requests_per_connection == 0 || client->issued < requests_per_connection);
}

/*
 * The answer to a connect under way is not waited for: on the loopback it is there at once, and
 * else the first send finds no room and the socket's being writable tells.
 */
static bool client_connect(struct client *client, struct load *load)
{
    const struct sockaddr *address = (const struct sockaddr *)&load->address;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};
    int on = 1;

    client->fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (client->fd == -1) {
        load_stop(load, "socket", strerror(errno));
        return false;
    }
    if (address->sa_family != AF_UNIX) {
        (void)setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    if (connect(client->fd, address, load->address_len) == -1 && errno != EINPROGRESS) {
        load_stop(load, "connect", strerror(errno));
        client_close(client);
        return false;
    }
    if (epoll_ctl(load->epoll, EPOLL_CTL_ADD, client->fd, &event) == -1) {
        load_stop(load, "epoll_ctl", strerror(errno));
        client_close(client);
        return false;
    }
    load->connections++;
    return true;
}

static void append_text(struct bytes *out, const char *text)
{
    bytes_append(out, text, strlen(text));
}

static void write_set(struct bytes *out, const struct load *load, uint32_t key)
{
    const struct keyspace *space = &load->space;

    append_text(out, "set ");
    bytes_append(out, keyspace_name(space, key), space->key_len);
    bytes_append(out, load->set_tail, load->set_tail_len);
    bytes_append(out, keyspace_value(space, key), space->value_bytes);
    append_text(out, "\r\n");
}

static void write_get(struct bytes *out, const struct load *load, const uint32_t *asked,
                      uint32_t keys)
{
    const struct keyspace *space = &load->space;
    char *at = bytes_reserve(out, 3 + keys * (space->key_len + 1) + LINE_END_BYTES);

    out->len += 3 + keys * (space->key_len + 1) + LINE_END_BYTES;
    memcpy(at, "get", 3);
    at += 3;
    for (uint32_t i = 0; i < keys; i++) {
        *at = ' ';
        memcpy(at + 1, keyspace_name(space, asked[i]), space->key_len);
        at += 1 + space->key_len;
    }
    memcpy(at, "\r\n", LINE_END_BYTES);
}

bool client_ask(struct client *client, struct load *load, uint64_t intended_ns, bool is_set,
                uint32_t keys)
{
    if (client->fd == -1 && !client_connect(client, load)) {
        return false;
    }

    uint32_t slot = (client->head + client->in_flight) % client->pipeline;
    uint32_t *asked = client->asked + (size_t)slot * client->multiget;
    struct bytes *out = client->pending.len > 0 ? &client->pending : &load->out;

    client->requests[slot] = (struct request){
        .intended_ns = intended_ns,
        .keys = keys,
        .is_set = is_set,
    };
    for (uint32_t i = 0; i < keys; i++) {
        asked[i] = load_next_key(load, client);
    }
    if (is_set) {
        write_set(out, load, asked[0]);
    } else {
        write_get(out, load, asked, keys);
    }
    client->in_flight++;
    client->issued++;
    return true;
}

static void client_want_writable(struct client *client, struct load *load, bool wants)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};

    if (wants != client->wants_writable) {
        event.events |= wants ? EPOLLOUT : 0;
        (void)epoll_ctl(load->epoll, EPOLL_CTL_MOD, client->fd, &event);
        client->wants_writable = wants;
    }
}

/* The bytes a socket took; a broken one takes them all, and the read that follows finds it so. */
static size_t client_send(struct client *client, const char *at, size_t len)
{
    ssize_t sent = send(client->fd, at, len, MSG_NOSIGNAL);

    if (sent >= 0) {
        return (size_t)sent;
    }
    if (errno == EAGAIN || errno == EINTR) {
        return 0;
    }
    client->send_errno = errno;
    return len;
}

void client_flush(struct client *client, struct load *load)
{
    size_t len = load->out.len;

    load->out.len = 0;
    if (len == 0 || client->fd == -1) {
        return;
    }
    size_t sent = client_send(client, load->out.at, len);
    if (sent < len) {
        bytes_append(&client->pending, load->out.at + sent, len - sent);
        client_want_writable(client, load, true);
    }
}

void client_on_writable(struct client *client, struct load *load)
{
    size_t left = client->pending.len - client->pending_sent;

    client->pending_sent += client_send(client, client->pending.at + client->pending_sent, left);
    if (client->pending_sent == client->pending.len) {
        client->pending.len = 0;
        client->pending_sent = 0;
        client_want_writable(client, load, false);
    }
}

static void request_done(struct client *client, struct load *load, const char *error)
{
    const struct request *request = &client->requests[client->head];

    client->head = (client->head + 1) % client->pipeline;
    client->in_flight--;
    load_on_answer(load, client, request, error);
}

/* The number in a key of ours, or UINT32_MAX for any other key. */
static uint32_t key_number(const struct load *load, const char *name)
{
    const struct keyspace *space = &load->space;
    size_t prefix_len = space->key_len - KEYSPACE_DIGITS;
    uint32_t number = 0;

    if (memcmp(name, space->names, prefix_len) != 0) {
        return UINT32_MAX;
    }
    for (size_t i = prefix_len; i < space->key_len; i++) {
        uint32_t digit = (uint32_t)(unsigned char)name[i] - '0';
        if (digit > 9) {
            return UINT32_MAX;
        }
        number = number * 10 + digit;
    }
    return number < space->keys ? number : UINT32_MAX;
}

/*
 * Whether the request asked for the key and has no value of it yet. The search begins behind the
 * last key found, so that answers in order, or in few interleaved orders, cost little.
 */
static bool request_takes_key(struct request *request, uint32_t *asked, uint32_t key,
                              struct load *load)
{
    for (uint32_t tried = 0, at = request->cursor; tried < request->keys; tried++, at++) {
        if (at >= request->keys) {
            at = 0;
        }
        if (asked[at] == key) {
            asked[at] |= FOUND;
            if (at < request->cursor) {
                load->out_of_order++;
            }
            request->cursor = at + 1;
            request->found++;
            return true;
        }
    }
    return false;
}

/* "VALUE <key> 0 <bytes>"; returns NULL or what is wrong with it. */
static const char *take_value_line(struct client *client, struct load *load, const char *line,
                                   size_t len)
{
    const struct keyspace *space = &load->space;
    struct request *request = &client->requests[client->head];
    const char *name = line + 6;

    if (request->is_set) {
        return "a value for a set";
    }
    if (len != 6 + space->key_len + load->value_tail_len ||
        memcmp(name + space->key_len, load->value_tail, load->value_tail_len) != 0) {
        return "a value line not as stored";
    }
    client->value_key = key_number(load, name);
    if (client->value_key == UINT32_MAX ||
        !request_takes_key(request, client->asked + (size_t)client->head * client->multiget,
                           client->value_key, load)) {
        return "a value of a key not asked";
    }
    client->value_left = space->value_bytes + LINE_END_BYTES;
    return NULL;
}

/* One line without its end; returns NULL, or why the stream cannot be followed any more. */
static const char *take_line(struct client *client, struct load *load, const char *line, size_t len)
{
    if (client->in_flight == 0) {
        return "an answer to nothing";
    }
    const struct request *request = &client->requests[client->head];

    if (len >= 6 && memcmp(line, "VALUE ", 6) == 0) {
        return take_value_line(client, load, line, len);
    }
    if (request->is_set ? len == 6 && memcmp(line, "STORED", 6) == 0
                        : len == 3 && memcmp(line, "END", 3) == 0) {
        request_done(client, load, NULL);
        return NULL;
    }
    snprintf(load->line, sizeof(load->line), "%.*s", (int)len, line);
    if (strncmp(load->line, "SERVER_ERROR", 12) == 0 || strcmp(load->line, "NOT_STORED") == 0) {
        request_done(client, load, load->line);
        return NULL;
    }
    return load->line;
}

/* As much of a value as is here; the number of bytes taken, or 0 if they are wrong. */
static size_t take_value(struct client *client, const struct load *load, const char *at, size_t len)
{
    const struct keyspace *space = &load->space;
    const char *value = keyspace_value(space, client->value_key);
    size_t offset = space->value_bytes + LINE_END_BYTES - client->value_left;
    size_t taken = 0;

    if (offset < space->value_bytes) {
        taken = space->value_bytes - offset < len ? space->value_bytes - offset : len;
        if (memcmp(at, value + offset, taken) != 0) {
            return 0;
        }
    }
    for (; taken < len && taken < client->value_left; taken++) {
        if (at[taken] != "\r\n"[offset + taken - space->value_bytes]) {
            return 0;
        }
    }
    client->value_left -= taken;
    return taken;
}

/* A line of which a part came before: completes it; sets taken to what it took of the bytes. */
static const char *continue_line(struct client *client, struct load *load, const char *at,
                                 size_t len, size_t *taken)
{
    const char *end = memchr(at, '\n', len);
    size_t part = end != NULL ? (size_t)(end - at) + 1 : len;

    if (client->line_len + part > sizeof(client->line)) {
        return "a line too long";
    }
    memcpy(client->line + client->line_len, at, part);
    client->line_len += part;
    *taken = part;
    if (end == NULL) {
        return NULL;
    }
    size_t whole = client->line_len;
    client->line_len = 0;
    if (whole < LINE_END_BYTES || client->line[whole - LINE_END_BYTES] != '\r') {
        return "a line that does not end as it must";
    }
    return take_line(client, load, client->line, whole - LINE_END_BYTES);
}

/* All the answers in the bytes; returns NULL or what is wrong with them. */
static const char *client_take(struct client *client, struct load *load, const char *at, size_t len)
{
    while (len > 0) {
        const char *error = NULL;
        size_t taken;

        if (client->value_left > 0) {
            taken = take_value(client, load, at, len);
            if (taken == 0) {
                load->wrong_values++;
                return "a wrong value";
            }
        } else if (client->line_len > 0) {
            error = continue_line(client, load, at, len, &taken);
        } else {
            const char *end = memchr(at, '\n', len);
            if (end == NULL || end == at || end[-1] != '\r') {
                error = continue_line(client, load, at, len, &taken);
            } else {
                taken = (size_t)(end - at) + 1;
                error = take_line(client, load, at, taken - LINE_END_BYTES);
            }
        }
        if (error != NULL) {
            return error;
        }
        at += taken;
        len -= taken;
    }
    return NULL;
}

static void client_fail(struct client *client, struct load *load, const char *error)
{
    do {
        if (client->in_flight == 0) {
            load_on_error(load, error);
        } else {
            request_done(client, load, error);
        }
    } while (client->in_flight > 0);
    client_close(client);
}

bool client_on_readable(struct client *client, struct load *load)
{
    ssize_t got = recv(client->fd, load->in, LOAD_READ_BYTES, 0);

    load_tell_time(load);
    if (got == -1 && (errno == EAGAIN || errno == EINTR)) {
        return true;
    }
    const char *error = NULL;
    if (got > 0) {
        error = client_take(client, load, load->in, (size_t)got);
    } else if (client->send_errno != 0) {
        error = strerror(client->send_errno);
    } else {
        error = got == -1 ? strerror(errno) : "closed by the other side";
    }
    if (error != NULL) {
        client_fail(client, load, error);
        return false;
    }
    return true;
}
