/* See proxy/listener.h. */
#include "proxy/listener.h"

#include "base/log.h"
#include "base/socket.h"
#include "proxy/client.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    ACCEPTS_A_TICK = 64,
    FINISH_ROUNDS = 128, /* more than a backlog holds */
    SPREAD = 2,          /* a worker keeps a new client unless another holds so many fewer */
};

static void on_ready(struct watch *watch, uint32_t events);

/* One worker wakes for a client, not all. */
static bool wait_for_clients(struct listener *listener)
{
    return poller_set(&listener->worker->poller, &listener->watch, EPOLLIN | EPOLLEXCLUSIVE);
}

struct listener *listener_new(struct worker *worker, struct listen_socket *socket)
{
    struct listener *listener = calloc(1, sizeof(*listener));

    if (listener == NULL) {
        return NULL;
    }
    listener->worker = worker;
    listener->socket = listen_socket_get(socket);
    listener->watch = (struct watch){.on_ready = on_ready, .fd = socket->fd};
    if (!wait_for_clients(listener)) {
        log_error("cannot wait for clients: %s", strerror(errno));
        listen_socket_put(socket);
        free(listener);
        return NULL;
    }
    list_add_tail(&worker->listeners, &listener->link);
    return listener;
}

static void stop_waiting(struct listener *listener)
{
    bool done = poller_set(&listener->worker->poller, &listener->watch, 0);

    assert(done); /* taking a descriptor out needs nothing */
}

void listener_stop(struct listener *listener)
{
    if (listener->watch.fd != -1) {
        stop_waiting(listener);
        listener->watch.fd = -1;
    }
}

void listener_free(struct listener *listener)
{
    listener_stop(listener);
    list_remove(&listener->link);
    listen_socket_put(listener->socket);
    free(listener->kept_route.pools);
    free(listener->next_pools);
    free(listener);
}

void listener_resume(struct listener *listener)
{
    if (listener->is_paused && listener->watch.fd != -1) {
        listener->is_paused = !wait_for_clients(listener);
    }
}

/* Descriptors or memory ran out: the backlog waits until some are free again. */
static void pause_accepting(struct listener *listener, int error)
{
    log_warn_limited(&listener->worker->paused_log, "accepting clients is paused: %s",
                     strerror(error));
    count(&listener->worker->counters, COUNTER_ACCEPT_PAUSES);
    listener->is_paused = true;
    stop_waiting(listener);
}

static void refuse(struct listener *listener, int fd)
{
    socket_refuse(fd, SLICE("ERROR Too many open connections\r\n"));
    count(&listener->worker->counters, COUNTER_CLIENTS_REFUSED);
}

bool listener_admits(const struct listener *listener, int fd)
{
    return socket_admits(fd, &listener->route->allow);
}

void listener_deny(struct listener *listener, int fd)
{
    struct worker *worker = listener->worker;
    struct endpoint peer;
    char from[ADDRESS_TEXT_MAX];
    char here[ADDRESS_TEXT_MAX];

    if (!socket_peer(fd, &peer)) {
        close(fd); /* gone, from wherever it was */
        return;
    }
    count(&worker->counters, COUNTER_CLIENTS_DENIED);
    log_warn_limited(&worker->denied_log, "client %s refused: listen %s does not allow its network",
                     endpoint_format(&peer, from, sizeof(from)),
                     address_format(&listener->socket->address, here, sizeof(here)));
    socket_deny(fd);
}

/* Its clients, and those that will be when it next looks into its mailbox. */
static uint64_t load_of(struct worker *worker)
{
    return count_read(&worker->counters, COUNTER_CLIENTS) +
           atomic_load_explicit(&worker->arriving, memory_order_relaxed);
}

/* The worker with the fewest clients, this one where none has far fewer. */
static struct worker *least_loaded(struct worker *worker)
{
    struct workers *all = worker->all;
    uint64_t mine = load_of(worker);
    struct worker *best = worker;
    uint64_t fewest = mine;

    for (unsigned i = 0; i < all->count; i++) {
        uint64_t theirs = load_of(&all->at[i]);

        if (theirs < fewest) {
            fewest = theirs;
            best = &all->at[i];
        }
    }
    return mine >= fewest + SPREAD ? best : worker;
}

/* What was announced does not come. */
static void take_back(struct worker *to)
{
    atomic_fetch_sub(&to->arriving, 1);
    mailbox_wake(&to->mailbox); /* it may be waiting for nothing else */
}

static void hand_over(struct worker *to, struct listener *listener, int fd)
{
    struct worker_client_mail *mail = malloc(sizeof(*mail));

    if (mail == NULL) {
        take_back(to);
        atomic_fetch_sub_explicit(&to->all->clients, 1, memory_order_relaxed);
        close(fd);
        return;
    }
    mail->mail.kind = WORKER_MAIL_CLIENT;
    mail->fd = fd;
    mail->socket = listen_socket_get(listener->socket);
    mailbox_post(&to->mailbox, &mail->mail);
}

/* True where the worker has not stopped, and will not before it has seen what is handed over. */
static bool announce(struct worker *to)
{
    if (atomic_load(&to->all->is_draining)) {
        return false;
    }
    atomic_fetch_add(&to->arriving, 1);
    if (atomic_load(&to->all->is_draining)) { /* set before a worker looks whether it may stop */
        take_back(to);
        return false;
    }
    return true;
}

void listener_take(struct listener *listener, int fd)
{
    struct worker *worker = listener->worker;
    struct client *client = client_new(worker, listener, fd);

    if (client == NULL) {
        atomic_fetch_sub_explicit(&worker->all->clients, 1, memory_order_relaxed);
    } else if (worker->is_draining) {
        client_drain(client);
    }
}

/* Takes in clients; true where more may wait. */
static bool accept_some(struct listener *listener)
{
    struct worker *worker = listener->worker;
    struct workers *all = worker->all;

    for (int i = 0; i < ACCEPTS_A_TICK; i++) {
        int peer = accept4(listener->socket->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        struct worker *to;

        if (peer == -1) {
            int error = errno;

            if (error == EINVAL) {
                listener_stop(listener); /* the socket was shut: the proxy stops */
            } else if (error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM) {
                pause_accepting(listener, error);
            }
            return error == ECONNABORTED || error == EINTR; /* else none is left */
        }
        if (!listener_admits(listener, peer)) {
            listener_deny(listener, peer);
            continue;
        }
        if (atomic_fetch_add_explicit(&all->clients, 1, memory_order_relaxed) >=
            worker->topology->max_clients) {
            atomic_fetch_sub_explicit(&all->clients, 1, memory_order_relaxed);
            refuse(listener, peer);
            continue;
        }
        to = all->count > 1 ? least_loaded(worker) : worker;
        if (to == worker || !announce(to)) {
            listener_take(listener, peer);
        } else {
            hand_over(to, listener, peer);
        }
    }
    return true;
}

static void on_ready(struct watch *watch, uint32_t events)
{
    (void)events;
    accept_some(watch_owner(watch, struct listener, watch));
}

void listener_finish(struct listener *listener)
{
    /* others may go on connecting meanwhile: once over the backlog is enough */
    for (int i = 0; i < FINISH_ROUNDS && listener->watch.fd != -1 && accept_some(listener); i++) {
    }
    listener_stop(listener);
}
