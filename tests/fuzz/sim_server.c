/* See sim_server.h. */
#include "sim_server.h"

#include "sim_compose.h"
#include "sim_kernel.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CONNS_MAX = 64,
    LEGS_MAX = 300,
    MARKS_MAX = 300,
    READ_BYTES = 16 << 10,
    OUT_BYTES_MAX = 8 << 20,
    JUNK_BYTES = 16 << 10,
};

/* An answer is whole once so many bytes were sent. */
struct mark {
    struct sim_answer *answer;
    uint64_t at;
};

struct conn {
    int fd;
    unsigned server;
    bool is_pending;  /* not writable for the worker yet */
    bool is_fresh;    /* the worker may only now find out that it is connected */
    bool is_stalled;  /* nobody reads what the worker writes */
    bool is_poisoned; /* something wrong was said: nothing more is */
    bool has_spoken;
    bool is_shut;
    bool is_at_eof; /* the worker writes no more */
    struct sim_leg legs[LEGS_MAX];
    unsigned leg_count;
    struct mark marks[MARKS_MAX];
    unsigned mark_count;
    struct sim_bytes in;
    struct sim_bytes out;
    uint64_t sent;
};

static struct conn *conns[CONNS_MAX];
static unsigned conn_count;
static enum sim_connect connects[SIM_SERVERS];
static int socket_bytes;

void sim_servers_begin(int buffer_bytes)
{
    conn_count = 0;
    socket_bytes = buffer_bytes;
    sim_compose_begin();
    for (unsigned i = 0; i < SIM_SERVERS; i++) {
        connects[i] = CONNECT_AT_ONCE;
    }
}

static void conn_free(unsigned n)
{
    struct conn *conn = conns[n];

    close(conn->fd);
    free(conn->in.data);
    free(conn->out.data);
    free(conn);
    conns[n] = conns[--conn_count];
}

void sim_servers_end(void)
{
    while (conn_count > 0) {
        conn_free(0);
    }
}

void sim_server_connects(unsigned server, enum sim_connect how)
{
    connects[server % SIM_SERVERS] = how;
    if (how != CONNECT_AT_ONCE && how != CONNECT_SOON) {
        sim_disturb();
    }
}

/* Fills the worker's side so that it is not writable. */
static void fill(int fd)
{
    static const char junk[JUNK_BYTES];

    while (send(fd, junk, sizeof(junk), MSG_NOSIGNAL) > 0) {
    }
}

static void drain(int fd)
{
    static char junk[JUNK_BYTES];

    while (recv(fd, junk, sizeof(junk), 0) > 0) {
    }
}

int sim_server_on_connect(int fd, uint16_t port)
{
    unsigned server = port - 1u;
    enum sim_connect how;
    struct conn *conn;
    int pair[2];

    assert(server < SIM_SERVERS);
    how = connects[server];
    if (how == CONNECT_REFUSED || how == CONNECT_FAILS || conn_count == CONNS_MAX) {
        sim_disturb();
        errno = how == CONNECT_FAILS ? ENETUNREACH : ECONNREFUSED;
        return -1;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == -1) {
        abort();
    }
    if (socket_bytes > 0) {
        setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &socket_bytes, sizeof(socket_bytes));
    }
    if (dup3(pair[0], fd, O_CLOEXEC) == -1) {
        abort();
    }
    close(pair[0]);
    conn = calloc(1, sizeof(*conn));
    assert(conn != NULL);
    conn->fd = pair[1];
    conn->server = server;
    conn->is_pending = how != CONNECT_AT_ONCE;
    conns[conn_count++] = conn;
    if (!conn->is_pending) {
        return 0;
    }
    fill(fd);
    errno = EINPROGRESS;
    return -1;
}

static struct conn *conn_at(unsigned n)
{
    return conn_count > 0 ? conns[n % conn_count] : NULL;
}

/* ---- what the worker wrote */

/* Part n of the request has come: a key of a retrieval, a server of a flush_all, or the whole. */
static void arrive(struct sim_request *request, unsigned n)
{
    unsigned asked = 0;

    for (uint32_t i = 0; i < request->key_count; i++) {
        asked += request->keys[i] == n;
    }
    if (request->shape != SHAPE_VALUES) {
        asked = 1;
    }
    request->arrived[n]++;
    if (request->template->is_write && request->arrived[n] > asked) {
        sim_fail("request %u, a write, came twice", request->serial);
    }
    if (request->template->is_write && request->is_half_sent && request->shape != SHAPE_FLUSH &&
        request->shape != SHAPE_VALUES) {
        sim_fail("request %u, a write, came again after a part of it was sent", request->serial);
    }
}

/* A retrieval's line: some of the keys of one request, in its order. */
static void take_retrieval(struct sim_leg *leg, const char *data, struct slice keys,
                           size_t prefix_len)
{
    uint32_t at = 0;

    while (keys.len > 0) {
        struct slice word = sim_next_word(&keys);
        unsigned n;
        struct sim_request *request = sim_request_find(word, &n);

        if (request == NULL || request->shape != SHAPE_VALUES ||
            (leg->request != NULL && leg->request != request)) {
            sim_fail("a server was asked for %.*s", (int)word.len, word.data);
        }
        leg->request = request;
        while (at < request->key_count && request->keys[at] != n) {
            at++;
        }
        if (at == request->key_count) {
            sim_fail("a server was asked for %.*s out of order", (int)word.len, word.data);
        }
        at++;
        leg->keys[leg->key_count++] = (uint8_t)n;
        arrive(request, n);
    }
    if (leg->request == NULL || leg->request->wire_len != prefix_len ||
        memcmp(leg->request->wire, data, prefix_len) != 0) {
        sim_fail("a server was sent a retrieval that nobody asked for");
    }
}

/* Finds the request that a line which is no retrieval belongs to, by its second word. */
static struct sim_request *find_owner(struct slice verb, struct slice word)
{
    unsigned key;

    if (slice_equals(verb, SLICE("flush_all")) && word.len > 1) {
        return sim_request_by_serial((uint32_t)strtoul(word.data + 1, NULL, 10));
    }
    return sim_request_find(word, &key);
}

/* Takes one request from data; returns its bytes, or 0 where it is not whole. */
static size_t take_line(struct conn *conn, const char *data, size_t len)
{
    const char *newline = memchr(data, '\n', len);
    struct slice rest;
    struct slice verb;
    struct sim_leg *leg = &conn->legs[conn->leg_count];
    size_t bytes;

    if (newline == NULL) {
        return 0;
    }
    bytes = (size_t)(newline - data) + 1;
    *leg = (struct sim_leg){0};
    rest = slice_make(data, bytes - 2);
    verb = sim_next_word(&rest);
    if (slice_equals(rest, SLICE("")) && sim_is_one_of(verb, " stats version ")) {
        leg->is_version = verb.data[0] == 'v';
    } else if (sim_is_one_of(verb, " get gets gat gats ")) {
        if (verb.data[1] == 'a') {
            sim_next_word(&rest);
        }
        take_retrieval(leg, data, rest, (size_t)(rest.data - data));
    } else {
        struct sim_request *request = find_owner(verb, sim_next_word(&rest));

        if (request == NULL || request->shape == SHAPE_VALUES || request->wire == NULL ||
            memcmp(request->wire, data, len < request->wire_len ? len : request->wire_len) != 0) {
            sim_fail("a server was sent what nobody asked for: %.*s", (int)bytes, data);
        }
        if (len < request->wire_len) {
            return 0;
        }
        bytes = request->wire_len;
        leg->request = request;
        arrive(request, request->shape == SHAPE_FLUSH ? conn->server : 0);
    }
    conn->leg_count++;
    return bytes;
}

static void conn_take(struct conn *conn)
{
    size_t taken = 0;

    while (taken < conn->in.len && conn->leg_count < LEGS_MAX) {
        size_t bytes = take_line(conn, conn->in.data + taken, conn->in.len - taken);

        if (bytes == 0) {
            break;
        }
        taken += bytes;
    }
    sim_bytes_drop(&conn->in, taken);
}

/* Notes what was sent in part over a connection that ends. */
static void note_half(const struct conn *conn)
{
    struct slice rest = slice_make(conn->in.data, conn->in.len);
    struct slice verb;
    struct slice word;
    struct sim_request *request;
    const char *end;

    if (rest.len == 0) {
        return;
    }
    verb = sim_next_word(&rest);
    end = memchr(rest.data, '\r', rest.len);
    if (sim_is_one_of(verb, " gat gats ")) {
        sim_next_word(&rest);
    }
    word = sim_next_word(&rest);
    if (end != NULL && end < word.data + word.len) {
        word.len = (size_t)(end - word.data);
    }
    request = find_owner(verb, word);
    if (request != NULL) {
        request->is_half_sent = true;
    }
}

/* Reads what has come. */
static void conn_read(struct conn *conn, int flags)
{
    while (conn->leg_count < LEGS_MAX) {
        ssize_t n;

        sim_bytes_reserve(&conn->in, READ_BYTES);
        n = recv(conn->fd, conn->in.data + conn->in.len, conn->in.room - conn->in.len, flags);
        if (n <= 0) {
            conn->is_at_eof = n == 0 || errno != EAGAIN;
            return;
        }
        conn->in.len += (size_t)n;
        conn_take(conn);
        if (flags != 0) {
            return;
        }
    }
}

/* True where the worker has closed the connection, and not only its own side of it. */
static bool is_closed(const struct conn *conn)
{
    struct pollfd at = {.fd = conn->fd};

    return poll(&at, 1, 0) == 1 && (at.revents & (POLLHUP | POLLERR)) != 0;
}

void sim_servers_read(void)
{
    for (unsigned i = 0; i < conn_count;) {
        struct conn *conn = conns[i];

        conn->is_fresh = false;
        if (!conn->is_pending && !conn->is_stalled && !conn->is_at_eof) {
            conn_read(conn, 0);
        }
        if (is_closed(conn) && (conn->is_pending || conn->is_at_eof)) {
            note_half(conn);
            conn_free(i);
        } else {
            i++;
        }
    }
}

/* ---- what is said */

/* Text for the connection, and the answer that is whole once it is out. */
static void say(struct conn *conn, const char *text, size_t len, struct sim_answer *answer)
{
    sim_bytes_add(&conn->out, text, len);
    if (answer != NULL) {
        conn->marks[conn->mark_count++] = (struct mark){answer, conn->sent + conn->out.len};
    }
}

static void conn_push(struct conn *conn, size_t bytes)
{
    unsigned whole = 0;
    ssize_t n =
        send(conn->fd, conn->out.data, bytes < conn->out.len ? bytes : conn->out.len, MSG_NOSIGNAL);

    if (n <= 0) {
        return;
    }
    conn->has_spoken = true;
    conn->sent += (uint64_t)n;
    sim_bytes_drop(&conn->out, (size_t)n);
    while (whole < conn->mark_count && conn->marks[whole].at <= conn->sent) {
        conn->marks[whole++].answer->is_whole = true;
    }
    conn->mark_count -= whole;
    memmove(conn->marks, conn->marks + whole, conn->mark_count * sizeof(conn->marks[0]));
}

static void conn_answer(struct conn *conn, uint8_t how, size_t size)
{
    struct sim_leg *leg = &conn->legs[0];
    struct sim_answer *answer = NULL;
    unsigned values = 0;
    bool is_silenced = false;
    struct sim_bytes text;

    if (conn->leg_count == 0 || conn->is_poisoned || conn->is_shut ||
        conn->mark_count == MARKS_MAX || conn->out.len > OUT_BYTES_MAX / 2) {
        return;
    }
    text = sim_compose(leg, how, size, &values, &is_silenced);
    if (leg->request != NULL) {
        answer = sim_request_answer(leg->request, text.data, text.len);
        answer->values = values;
        answer->is_silenced = is_silenced;
    }
    say(conn, text.data, text.len, answer);
    if (answer == NULL) {
        free(text.data);
    }
    conn->leg_count--;
    memmove(conn->legs, conn->legs + 1, conn->leg_count * sizeof(conn->legs[0]));
}

void sim_server_answer(unsigned n, uint8_t how, uint8_t size)
{
    struct conn *conn = conn_at(n);

    if (conn != NULL) {
        conn_answer(conn, how, sim_size(size));
    }
}

void sim_server_push(unsigned n, uint32_t bytes)
{
    struct conn *conn = conn_at(n);

    if (conn != NULL && !conn->is_pending) {
        conn_push(conn, bytes);
    }
}

void sim_server_break(unsigned n, unsigned kind)
{
    struct conn *conn = conn_at(n);
    struct sim_bytes text = {0};

    if (conn == NULL || conn->is_poisoned || conn->leg_count == 0 || conn->is_shut ||
        conn->out.len > OUT_BYTES_MAX / 2) {
        return;
    }
    sim_disturb();
    sim_compose_broken(&text, &conn->legs[0], kind % SIM_BREAKS);
    say(conn, text.data, text.len, NULL);
    free(text.data);
    conn->is_poisoned = true;
}

/* True where the worker waits for nothing on this connection. */
static bool is_idle(const struct conn *conn)
{
    char byte;

    return !conn->is_pending && !conn->is_fresh && conn->leg_count == 0 && conn->in.len == 0 &&
           conn->out.len == 0 && recv(conn->fd, &byte, 1, MSG_PEEK) == -1;
}

/* True where the worker has read all that was said; what it asks from now on comes later. */
static bool is_heard(const struct conn *conn)
{
    int unread_bytes;

    if (ioctl(conn->fd, SIOCOUTQ, &unread_bytes) == -1) {
        abort();
    }
    return unread_bytes == 0;
}

void sim_server_say_unasked(unsigned n, uint8_t what)
{
    static const char *const texts[] = {"STORED\r\n",
                                        "END\r\n",
                                        "ERROR " SIM_POISON "\r\n",
                                        "EN",
                                        "ERROR Too many open connections\r\n",
                                        "\r",
                                        "HD\r\nHD\r\n"};
    struct conn *conn = conn_at(n);
    const char *text = texts[what % ARRAY_LEN(texts)];

    if (conn == NULL || !is_idle(conn) || !is_heard(conn) || conn->is_shut) {
        return;
    }
    sim_disturb();
    say(conn, text, strlen(text), NULL);
    conn_push(conn, SIZE_MAX);
    conn->is_poisoned = true;
}

void sim_server_end(unsigned n, enum sim_end how)
{
    struct conn *conn = conn_at(n);

    if (conn == NULL) {
        return;
    }
    if (!is_idle(conn)) {
        sim_disturb();
    }
    if (how == END_SHUT && !conn->is_pending) {
        shutdown(conn->fd, SHUT_WR);
        conn->is_shut = true;
        return;
    }
    if (!conn->is_pending && !conn->is_at_eof) {
        /* peeked at, it stays unread: that is what makes a reset */
        conn_read(conn, how == END_RESET ? MSG_PEEK : 0);
    }
    note_half(conn);
    conn_free(n % conn_count);
}

void sim_server_settle(unsigned n, bool succeeds)
{
    struct conn *conn = conn_at(n);

    if (conn == NULL || !conn->is_pending) {
        return;
    }
    if (succeeds) {
        drain(conn->fd);
        conn->is_pending = false;
        conn->is_fresh = true;
    } else {
        sim_disturb();
        conn_free(n % conn_count); /* with its junk unread: the worker sees an error */
    }
}

void sim_server_stall(unsigned n)
{
    struct conn *conn = conn_at(n);

    if (conn != NULL) {
        conn->is_stalled = !conn->is_stalled;
    }
}

void sim_servers_answer_all(void)
{
    for (unsigned i = conn_count; i-- > 0;) {
        struct conn *conn = conns[i];

        if (conn->is_at_eof) {
            conn_free(i); /* the worker waits for this */
            continue;
        }
        if (conn->is_pending) {
            sim_server_settle(i, true);
        }
        conn->is_stalled = false;
        while (conn->leg_count > 0 && !conn->is_poisoned && !conn->is_shut &&
               conn->mark_count < MARKS_MAX && conn->out.len <= OUT_BYTES_MAX / 2) {
            conn_answer(conn, (uint8_t)(conn->leg_count * 37), 50);
        }
        conn_push(conn, SIZE_MAX);
    }
}
