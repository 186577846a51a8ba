/*
 * floor LISTEN_PORT SERVER_PORT...: the least that a proxy can do, on the loopback.
 *
 * One thread, one epoll, one connection to each server: what is ready is read, keys are hashed, and
 * what belongs to one server or one client leaves in one write a turn. It knows `get` of one key
 * and `set`. It checks nothing, counts nothing, bounds nothing and survives nothing. Measured
 * beside real proxies, it tells what of their cost is the machine's and what is their own.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SERVERS_MAX = 16, FDS_MAX = 65536, READY_MAX = 1024, READ_BYTES = 64 * 1024, NONE = -1 };

struct buffer {
    char *data;
    size_t from; /* not yet taken */
    size_t end;
    size_t room;
};

/* A request under way, in its client's turn; early replies wait here. */
struct request {
    char *reply;
    size_t len;
};

struct peer {
    bool is_server;
    bool is_dirty;
    struct buffer in;
    struct buffer out;
    struct request *requests; /* of a client, a ring */
    unsigned first;
    unsigned end;
    unsigned room;      /* of requests, a power of two */
    unsigned serial;    /* of the client: its descriptor may be another's by now */
    struct wait *asked; /* of a server, a ring */
};

/* Whose reply comes next from a server. */
struct wait {
    int client;
    unsigned serial;
    unsigned number;
};

static struct peer peers[FDS_MAX];
static int servers[SERVERS_MAX];
static unsigned server_count;
static int dirty[FDS_MAX];
static unsigned dirty_count;
static int poll_fd;

static _Noreturn void die(const char *what)
{
    perror(what);
    exit(1);
}

static char *buffer_reserve(struct buffer *buffer, size_t len)
{
    if (buffer->from == buffer->end) {
        buffer->from = 0;
        buffer->end = 0;
    }
    if (buffer->end + len > buffer->room) {
        size_t room = (buffer->end + len) * 2;
        char *data = realloc(buffer->data, room);

        if (data == NULL) {
            die("realloc");
        }
        buffer->data = data;
        buffer->room = room;
    }
    return buffer->data + buffer->end;
}

static void send_later(int fd, const char *data, size_t len)
{
    struct peer *peer = &peers[fd];

    memcpy(buffer_reserve(&peer->out, len), data, len);
    peer->out.end += len;
    if (!peer->is_dirty) {
        peer->is_dirty = true;
        dirty[dirty_count++] = fd;
    }
}

/* Doubles a ring of elements when it is full. */
static void *ring_grow(void *ring, size_t size, unsigned first, unsigned end, unsigned *room)
{
    unsigned next = *room == 0 ? 16 : *room * 2;
    char *grown;

    if (end - first < *room) {
        return ring;
    }
    grown = malloc(next * size);
    if (grown == NULL) {
        die("malloc");
    }
    for (unsigned i = first; i != end; i++) {
        memcpy(grown + (i & (next - 1)) * size, (char *)ring + (i & (*room - 1)) * size, size);
    }
    free(ring);
    *room = next;
    return grown;
}

static int server_of(const char *key, size_t len)
{
    uint32_t hash = 2166136261U;

    for (size_t i = 0; i < len; i++) {
        hash = (hash ^ (unsigned char)key[i]) * 16777619U;
    }
    return servers[hash % server_count];
}

/* The length of the request or reply at data, 0 where it is not whole. */
static size_t whole(const char *data, size_t len, size_t blanks)
{
    const char *end = memchr(data, '\n', len);
    const char *at = data;
    size_t line;
    size_t value;

    if (end == NULL) {
        return 0;
    }
    line = (size_t)(end - data) + 1;
    if (data[0] != 's' && data[0] != 'V') {
        return line;
    }
    while (blanks-- > 0) {
        at = (const char *)memchr(at, ' ', (size_t)(end - at)) + 1;
    }
    value = strtoul(at, NULL, 10) + 2;
    value += data[0] == 'V' ? strlen("END\r\n") : 0;
    return line + value <= len ? line + value : 0;
}

static void route(int fd, const char *data, size_t len)
{
    struct peer *client = &peers[fd];
    const char *key = data + strlen("get ");
    size_t key_len = strcspn(key, " \r");
    int to = server_of(key, key_len);
    struct peer *server = &peers[to];

    client->requests = ring_grow(client->requests, sizeof(struct request), client->first,
                                 client->end, &client->room);
    server->asked =
        ring_grow(server->asked, sizeof(struct wait), server->first, server->end, &server->room);
    client->requests[client->end & (client->room - 1)] = (struct request){0};
    server->asked[server->end++ & (server->room - 1)] =
        (struct wait){fd, client->serial, client->end++};
    send_later(to, data, len);
}

static void answer(int fd, const char *data, size_t len)
{
    struct peer *server = &peers[fd];
    struct wait wait = server->asked[server->first++ & (server->room - 1)];
    struct peer *client = &peers[wait.client];

    if (client->serial != wait.serial) {
        return;
    }
    if (wait.number != client->first) {
        struct request *request = &client->requests[wait.number & (client->room - 1)];

        request->reply = malloc(len);
        if (request->reply == NULL) {
            die("malloc");
        }
        memcpy(request->reply, data, len);
        request->len = len;
        return;
    }
    send_later(wait.client, data, len);
    for (client->first++; client->first != client->end; client->first++) {
        struct request *request = &client->requests[client->first & (client->room - 1)];

        if (request->reply == NULL) {
            break;
        }
        send_later(wait.client, request->reply, request->len);
        free(request->reply);
    }
}

static void forget(int fd)
{
    struct peer *peer = &peers[fd];

    close(fd);
    peer->serial++;
    peer->in.from = peer->in.end = peer->out.from = peer->out.end = 0;
    peer->first = peer->end = 0;
}

static void on_readable(int fd)
{
    struct peer *peer = &peers[fd];
    char *to = buffer_reserve(&peer->in, READ_BYTES);
    ssize_t n = read(fd, to, READ_BYTES);
    size_t len;

    if (n == -1) {
        return;
    }
    if (n == 0) {
        if (peer->is_server) {
            die("a server closed");
        }
        forget(fd);
        return;
    }
    peer->in.end += (size_t)n;
    while (peer->in.from < peer->in.end &&
           (len = whole(peer->in.data + peer->in.from, peer->in.end - peer->in.from,
                        peer->is_server ? 3 : 4)) > 0) {
        (peer->is_server ? answer : route)(fd, peer->in.data + peer->in.from, len);
        peer->in.from += len;
    }
}

static void flush(void)
{
    for (unsigned i = 0; i < dirty_count; i++) {
        struct peer *peer = &peers[dirty[i]];
        struct epoll_event event = {EPOLLIN, {.fd = dirty[i]}};
        size_t len = peer->out.end - peer->out.from;
        ssize_t n = len > 0 ? write(dirty[i], peer->out.data + peer->out.from, len) : 0;

        peer->is_dirty = false;
        peer->out.from += n > 0 ? (size_t)n : 0;
        if (n != -1 && (size_t)n < len) {
            event.events |= EPOLLOUT; /* told so again until all is gone */
            epoll_ctl(poll_fd, EPOLL_CTL_MOD, dirty[i], &event);
        }
    }
    dirty_count = 0;
}

static void take_in(int fd, bool is_server)
{
    struct epoll_event event = {EPOLLIN, {.fd = fd}};
    int on = 1;

    if (fd >= FDS_MAX) {
        exit(1);
    }
    peers[fd].is_server = is_server;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &event);
}

static void on_writable(int fd)
{
    struct epoll_event event = {EPOLLIN, {.fd = fd}};

    epoll_ctl(poll_fd, EPOLL_CTL_MOD, fd, &event);
    send_later(fd, "", 0);
}

static int open_socket(const char *port, bool listens)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)atoi(port)),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (listens ? bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 4096)
                : connect(fd, (struct sockaddr *)&at, sizeof(at))) {
        die(port);
    }
    return fd;
}

int main(int argc, char **argv)
{
    static struct epoll_event ready[READY_MAX];
    int listener;

    if (argc < 3 || argc - 2 > SERVERS_MAX) {
        fprintf(stderr, "usage: floor LISTEN_PORT SERVER_PORT...\n");
        return 2;
    }
    poll_fd = epoll_create1(0);
    for (int i = 2; i < argc; i++) {
        servers[server_count] = open_socket(argv[i], false);
        take_in(servers[server_count++], true);
    }
    listener = open_socket(argv[1], true);
    take_in(listener, false);
    for (;;) {
        int count = epoll_wait(poll_fd, ready, READY_MAX, -1);

        for (int i = 0; i < count; i++) {
            int fd = ready[i].data.fd;
            int peer;

            if (fd != listener) {
                if (ready[i].events & EPOLLOUT) {
                    on_writable(fd);
                }
                on_readable(fd);
            } else if ((peer = accept4(fd, NULL, NULL, SOCK_NONBLOCK)) != -1) {
                take_in(peer, false);
            }
        }
        flush();
    }
}
