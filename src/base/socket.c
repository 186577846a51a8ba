/* See base/socket.h. */
#include "base/socket.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BACKLOG = 4096,
    KEEPALIVE_IDLE_S = 60,
    KEEPALIVE_INTERVAL_S = 10,
    KEEPALIVE_PROBES = 6,
    REFUSED_READS = 64, /* of what a refused peer has sent, a kilobyte each */
};

static int open_socket(const struct endpoint *endpoint)
{
    return socket(endpoint->at.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/* Accepted sockets inherit these from the one that listens. */
static void set_tcp_options(int fd, const struct endpoint *endpoint)
{
    const int one = 1;
    const int idle = KEEPALIVE_IDLE_S;
    const int interval = KEEPALIVE_INTERVAL_S;
    const int probes = KEEPALIVE_PROBES;

    if (endpoint->at.any.sa_family == AF_UNIX) {
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
}

int socket_connect(const struct endpoint *endpoint, bool *done)
{
    int fd = open_socket(endpoint);

    *done = false;
    if (fd == -1) {
        return -1;
    }
    set_tcp_options(fd, endpoint);
    if (connect(fd, &endpoint->at.any, endpoint->len) == 0) {
        *done = true;
        return fd;
    }
    if (errno == EINPROGRESS) {
        return fd;
    }
    {
        int saved = errno == EAGAIN ? ECONNREFUSED : errno; /* a unix socket's full backlog */

        close(fd);
        errno = saved;
    }
    return -1;
}

int socket_error(int fd)
{
    int error = 0;
    socklen_t len = sizeof(error);

    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == -1) {
        return errno;
    }
    return error;
}

/* True where the path is a socket that nobody listens on; one whose backlog is full is in use. */
static bool is_stale(const struct endpoint *endpoint)
{
    struct stat info;
    bool is_refused;
    int fd;

    if (lstat(endpoint->at.path.sun_path, &info) == -1 || !S_ISSOCK(info.st_mode)) {
        return false;
    }
    fd = open_socket(endpoint);
    if (fd == -1) {
        return false;
    }
    is_refused = connect(fd, &endpoint->at.any, endpoint->len) == -1 && errno == ECONNREFUSED;
    close(fd);
    return is_refused;
}

int socket_listen(const struct endpoint *endpoint, mode_t mode)
{
    const int one = 1;
    int fd = open_socket(endpoint);
    int saved;

    if (fd == -1) {
        return -1;
    }
    set_tcp_options(fd, endpoint);
    if (endpoint->at.any.sa_family == AF_UNIX) {
        if (is_stale(endpoint)) {
            unlink(endpoint->at.path.sun_path);
        }
    } else {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
        if (endpoint->at.any.sa_family == AF_INET6) {
            setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
        }
    }
    if (bind(fd, &endpoint->at.any, endpoint->len) == -1 ||
        (mode != 0 && endpoint->at.any.sa_family == AF_UNIX &&
         chmod(endpoint->at.path.sun_path, mode) == -1) ||
        listen(fd, BACKLOG) == -1) {
        saved = errno;
        close(fd);
        errno = saved;
        return -1;
    }
    return fd;
}

void socket_refuse(int fd, struct slice text)
{
    char dropped[1024];
    ssize_t written = write(fd, text.data, text.len);

    (void)written; /* a socket just accepted has room, and a peer gone needs no answer */
    shutdown(fd, SHUT_WR);
    for (int i = 0; i < REFUSED_READS && read(fd, dropped, sizeof(dropped)) > 0; i++) {
    }
    close(fd);
}

bool socket_peer(int fd, struct endpoint *peer)
{
    peer->len = sizeof(peer->at);
    return getpeername(fd, &peer->at.any, &peer->len) == 0;
}

bool socket_admits(int fd, const struct networks *allow)
{
    struct endpoint peer;

    return allow->count == 0 || (socket_peer(fd, &peer) && networks_admit(allow, &peer.at.any));
}

void socket_deny(int fd)
{
    socket_refuse(fd, SLICE("ERROR this address is not allowed here\r\n"));
}

void socket_drop_unsent(int fd)
{
    const struct linger at_once = {.l_onoff = 1};

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

void socket_remove_file(const struct address *address)
{
    if (address->is_unix) {
        unlink(address->host); /* where it may; a later start replaces a stale one */
    }
}
