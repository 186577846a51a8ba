#include "exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int connect_unix(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
    if (fd != -1 && connect(fd, (struct sockaddr *)&at, sizeof(at)) == -1) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int connect_tcp(const char *address)
{
    char host[256];
    const char *colon = strrchr(address, ':');
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    int fd;

    if (colon == NULL || (size_t)(colon - address) >= sizeof(host)) {
        errno = EINVAL;
        return -1;
    }
    snprintf(host, sizeof(host), "%.*s", (int)(colon - address), address);
    if (getaddrinfo(host, colon + 1, &hints, &found) != 0) {
        errno = EINVAL;
        return -1;
    }
    fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd != -1 && connect(fd, found->ai_addr, found->ai_addrlen) == -1) {
        close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    if (fd != -1) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    }
    return fd;
}

bool side_connect(struct side *side)
{
    if (side->fd != -1) {
        return true;
    }
    side->fd = strncmp(side->address, "unix:", 5) == 0 ? connect_unix(side->address + 5)
                                                       : connect_tcp(side->address);
    if (side->fd == -1) {
        return false;
    }
    fcntl(side->fd, F_SETFL, O_NONBLOCK);
    side->closed = false;
    return true;
}

void side_close(struct side *side)
{
    if (side->fd != -1) {
        close(side->fd);
        side->fd = -1;
    }
}

void side_fini(struct side *side)
{
    side_close(side);
    bytes_fini(&side->request);
    bytes_fini(&side->reply);
}

/* Reads what has come; notes the sentinel or the close. */
static void side_read(struct side *side, const struct stream *stream)
{
    size_t want = strlen(stream->sentinel);

    for (;;) {
        ssize_t got;

        bytes_reserve(&side->reply, 65536);
        got = read(side->fd, side->reply.data + side->reply.len, 65536);
        if (got > 0) {
            side->reply.len += (size_t)got;
            if (got < 65536) {
                break;
            }
        } else if (got == -1 && errno == EINTR) {
            continue;
        } else if (got == -1 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            break;
        } else {
            side->closed = true;
            side->ended = true;
            return;
        }
    }
    if (!side->waits_for_close && side->sent == side->request.len && side->reply.len >= want &&
        memcmp(side->reply.data + side->reply.len - want, stream->sentinel, want) == 0) {
        side->reply.len -= want;
        side->ended = true;
    }
}

/* One piece of the request, as large as chance says; nothing where the socket is full. */
static void side_write(struct side *side, struct chance *chance, unsigned largest)
{
    size_t left = side->request.len - side->sent;
    size_t piece = largest == 0 ? left : 1 + chance_below(chance, largest);
    ssize_t put =
        send(side->fd, side->request.data + side->sent, piece < left ? piece : left, MSG_NOSIGNAL);

    if (put > 0) {
        side->sent += (size_t)put;
    } else if (put == -1 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        side->sent = side->request.len; /* its end will be read */
    }
    if (side->sent == side->request.len && side->waits_for_close) {
        shutdown(side->fd, SHUT_WR);
    }
}

static unsigned pick_largest_piece(struct chance *chance, size_t len)
{
    static const unsigned pieces[] = {1, 2, 7, 50, 300, 1500, 5000};

    if (len > 50000 || !chance_one_in(chance, 3)) {
        return 0;
    }
    if (len > 2000 && !chance_one_in(chance, 8)) {
        return chance_one_in(chance, 2) ? 1500 : 5000;
    }
    return PICK(chance, pieces);
}

static void side_begin(struct side *side)
{
    side->sent = 0;
    side->reply.len = 0;
    side->ended = false;
}

static short side_events(const struct side *side)
{
    return (short)(POLLIN | (side->sent < side->request.len ? POLLOUT : 0));
}

bool sides_exchange(struct side *one, struct side *other, const struct stream *stream,
                    unsigned timeout_ms)
{
    struct chance chance = {stream->split_seed};
    unsigned largest = pick_largest_piece(&chance, one->request.len);
    struct side *sides[2] = {one, other};

    side_begin(one);
    side_begin(other);
    while (!one->ended || !other->ended) {
        struct pollfd polled[2];
        int ready;

        for (int i = 0; i < 2; i++) {
            polled[i] =
                (struct pollfd){sides[i]->ended ? -1 : sides[i]->fd, side_events(sides[i]), 0};
        }
        ready = poll(polled, 2, (int)timeout_ms);
        if (ready == 0) {
            return false;
        }
        for (int i = 0; i < 2; i++) {
            if ((polled[i].revents & POLLOUT) != 0) {
                side_write(sides[i], &chance, largest);
            }
            if ((polled[i].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
                side_read(sides[i], stream);
            }
        }
        if (largest != 0 && chance_one_in(&chance, 4)) {
            sched_yield();
        }
    }
    return true;
}
