/* See sim_client.h. */
#include "sim_client.h"

#include "sim_request.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    DUE_MAX = 1000,
    READ_BYTES = 64 << 10,
};

struct sim_client {
    int fd;          /* -1: closed */
    bool is_stalled; /* does not read */
    bool is_last;    /* says no more: the proxy is to close */
    struct sim_request *due[DUE_MAX];
    unsigned due_count;
    char *out; /* not sent yet */
    size_t out_len;
    size_t sent;
    bool is_cut_off; /* the proxy is closing; it may not take what is sent from now on */
    size_t sent_in_time;
    char *in; /* not judged yet */
    size_t in_len;
};

static struct sim_client clients[SIM_CLIENTS];
static struct worker *worker;
static int socket_bytes;
static bool may_run_out;
static bool is_draining;

void sim_clients_begin(struct worker *of, int buffer_bytes, bool can_run_out)
{
    worker = of;
    socket_bytes = buffer_bytes;
    may_run_out = can_run_out;
    is_draining = false;
    for (unsigned i = 0; i < SIM_CLIENTS; i++) {
        clients[i] = (struct sim_client){.fd = -1};
    }
}

static void forget(struct sim_client *client)
{
    if (client->fd != -1) {
        close(client->fd);
    }
    free(client->out);
    free(client->in);
    *client = (struct sim_client){.fd = -1};
}

void sim_clients_end(void)
{
    for (unsigned i = 0; i < SIM_CLIENTS; i++) {
        forget(&clients[i]);
    }
}

static struct listener *open_listener(void)
{
    list_each (at, &worker->listeners) {
        struct listener *listener = list_entry(at, struct listener, link);

        if (!listener->is_removed) {
            return listener;
        }
    }
    abort();
}

/* The client number n, connected; NULL where it cannot be any more. */
static struct sim_client *client_at(unsigned n)
{
    struct sim_client *client = &clients[n % SIM_CLIENTS];
    int pair[2];

    if (client->fd != -1 || is_draining) {
        return client->fd != -1 ? client : NULL;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == -1) {
        abort();
    }
    if (socket_bytes > 0) {
        setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &socket_bytes, sizeof(socket_bytes));
    }
    client->fd = pair[1];
    atomic_fetch_add(&worker->all->clients, 1);
    listener_take(open_listener(), pair[0]);
    return client;
}

void sim_client_say(unsigned n, uint8_t template, uint8_t size, uint8_t keys)
{
    struct sim_client *client = client_at(n);
    struct sim_request *request;

    if (client == NULL || client->is_last || client->due_count == DUE_MAX ||
        client->out_len > 1 << 20) {
        return;
    }
    request = sim_request_new(&sim_templates[template % sim_template_count], size, keys);
    if (request == NULL) {
        return;
    }
    client->out = realloc(client->out, client->out_len + request->text_len);
    assert(client->out != NULL);
    memcpy(client->out + client->out_len, request->text, request->text_len);
    client->out_len += request->text_len;
    request->text_end = client->sent + client->out_len;
    if (!request->template->is_silent) {
        client->due[client->due_count++] = request;
    }
    client->is_last = request->template->closes;
}

static void push(struct sim_client *client, size_t bytes)
{
    ssize_t n = send(client->fd, client->out, bytes < client->out_len ? bytes : client->out_len,
                     MSG_NOSIGNAL);

    if (n > 0) {
        client->sent += (size_t)n;
        client->out_len -= (size_t)n;
        if (client->out_len > 0) {
            memmove(client->out, client->out + n, client->out_len);
        }
    }
}

void sim_client_push(unsigned n, uint32_t bytes)
{
    struct sim_client *client = &clients[n % SIM_CLIENTS];

    if (client->fd != -1) {
        push(client, bytes);
    }
}

void sim_client_stall(unsigned n)
{
    clients[n % SIM_CLIENTS].is_stalled ^= true;
}

void sim_client_close(unsigned n)
{
    forget(&clients[n % SIM_CLIENTS]);
}

void sim_client_shut(unsigned n)
{
    struct sim_client *client = &clients[n % SIM_CLIENTS];

    if (client->fd == -1) {
        return;
    }
    push(client, SIZE_MAX);
    if (client->out_len == 0) {
        shutdown(client->fd, SHUT_WR);
        client->is_last = true;
    }
}

void sim_clients_cut_off(void)
{
    for (unsigned i = 0; i < SIM_CLIENTS; i++) {
        struct sim_client *client = &clients[i];

        if (client->fd != -1 && !client->is_cut_off) {
            client->is_last = true;
            client->is_cut_off = true;
            client->sent_in_time = client->sent;
        }
    }
}

void sim_clients_drain(void)
{
    is_draining = true;
    sim_clients_cut_off();
}

/* The proxy has closed: was that all, and was there a reason? */
static void judge_close(struct sim_client *client, unsigned n)
{
    if (client->is_cut_off && client->due_count > 0 &&
        client->due[0]->text_end > client->sent_in_time) {
        client->due_count = 0;
        client->in_len = 0; /* of the first of two answers to one request of ours, at most */
    }
    if (!may_run_out) {
        if (client->due_count > 0 || client->in_len > 0) {
            sim_fail("client %u was closed with %u answers due, the first to request %u", n,
                     client->due_count, client->due_count > 0 ? client->due[0]->serial : 0);
        }
        if (!client->is_last) {
            sim_fail("client %u was closed without a reason", n);
        }
    }
    forget(client);
}

/* True for the last words to a client for which there is no memory. */
static bool is_out_of_memory(const struct sim_client *client)
{
    static const char text[] = "SERVER_ERROR out of memory\r\n";

    return may_run_out && client->in_len < sizeof(text) &&
           memcmp(client->in, text, client->in_len) == 0; /* it may come in pieces */
}

static void judge(struct sim_client *client, unsigned n)
{
    size_t taken = 0;
    unsigned done = 0;

    while (taken < client->in_len && done < client->due_count) {
        size_t bytes =
            sim_request_judge(client->due[done], client->in + taken, client->in_len - taken);

        if (bytes == SIZE_MAX) {
            break;
        }
        assert(bytes > 0);
        taken += bytes;
        if (client->due[done]->is_last) {
            if (taken < client->in_len) {
                sim_fail("client %u was sent more behind its last words", n);
            }
            client->is_last = true;
            done = client->due_count;
        } else {
            done++;
        }
    }
    client->due_count -= done;
    memmove(client->due, client->due + done, client->due_count * sizeof(client->due[0]));
    client->in_len -= taken;
    if (client->in_len > 0) {
        memmove(client->in, client->in + taken, client->in_len);
    }
    if (client->in_len > 0 && client->due_count == 0 && !is_out_of_memory(client)) {
        sim_fail("client %u was sent what it has not asked for: %.*s", n,
                 (int)(client->in_len < 80 ? client->in_len : 80), client->in);
    }
}

static void client_read(struct sim_client *client, unsigned n)
{
    static char read_buffer[READ_BYTES];
    ssize_t got;

    do {
        got = recv(client->fd, read_buffer, READ_BYTES, 0);
        if (got > 0) {
            client->in = realloc(client->in, client->in_len + (size_t)got);
            assert(client->in != NULL);
            memcpy(client->in + client->in_len, read_buffer, (size_t)got);
            client->in_len += (size_t)got;
        }
    } while (got == READ_BYTES);
    if (client->in_len > 0 &&
        memmem(client->in, client->in_len, SIM_POISON, strlen(SIM_POISON)) != NULL) {
        sim_fail("client %u was sent a part of a broken answer", n);
    }
    judge(client, n);
    if (got == 0 || (got == -1 && errno != EAGAIN)) {
        judge_close(client, n);
    }
}

void sim_clients_read(void)
{
    for (unsigned i = 0; i < SIM_CLIENTS; i++) {
        if (clients[i].fd != -1 && !clients[i].is_stalled) {
            client_read(&clients[i], i);
        }
    }
}

void sim_clients_push_all(void)
{
    for (unsigned i = 0; i < SIM_CLIENTS; i++) {
        clients[i].is_stalled = false;
        if (clients[i].fd != -1) {
            push(&clients[i], SIZE_MAX);
        }
    }
}

bool sim_clients_are_served(void)
{
    for (unsigned i = 0; i < SIM_CLIENTS; i++) {
        if (clients[i].fd != -1 && (clients[i].out_len > 0 || clients[i].due_count > 0 ||
                                    clients[i].in_len > 0 || clients[i].is_last)) {
            return false;
        }
    }
    return true;
}

void sim_clients_check_served(void)
{
    for (unsigned i = 0; i < SIM_CLIENTS; i++) {
        const struct sim_client *client = &clients[i];

        if (client->fd == -1) {
            continue;
        }
        if (client->out_len > 0) {
            sim_fail("client %u is not read from", i);
        }
        if (client->due_count > 0) {
            sim_fail("client %u waits for %u answers, the first to request %u (%.20s)", i,
                     client->due_count, client->due[0]->serial, client->due[0]->text);
        }
        if (client->is_last) {
            sim_fail("client %u is not closed", i);
        }
    }
}
