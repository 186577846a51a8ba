/* See base/syslog_socket.h. */
#include "base/syslog_socket.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

enum { HEAD_BYTES = 96 };

void syslog_socket_close(struct syslog_socket *socket)
{
    if (socket->fd != -1) {
        close(socket->fd);
        socket->fd = -1;
    }
}

/* False with errno: there is no daemon, or none that can be reached. */
static bool connect_to(struct syslog_socket *at)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(at->path);

    if (len >= sizeof(address.sun_path)) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(address.sun_path, at->path, len);
    at->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (at->fd == -1) {
        return false;
    }
    if (connect(at->fd, (struct sockaddr *)&address, sizeof(address)) == -1) {
        int failure = errno;

        syslog_socket_close(at);
        errno = failure;
        return false;
    }
    return true;
}

/* What stands before the text: <PRIORITY>Mmm dd hh:mm:ss PROGRAM[PID]: */
static size_t write_head(char *head, size_t size, const struct syslog_socket *socket, int priority)
{
    time_t now = time(NULL);
    struct tm broken;
    char at[32];
    int len;

    localtime_r(&now, &broken);
    strftime(at, sizeof(at), "%b %e %H:%M:%S", &broken);
    len = snprintf(head, size, "<%d>%s %s[%d]: ", LOG_DAEMON | priority, at, socket->program,
                   (int)getpid());
    if (len < 0) {
        return 0;
    }
    return (size_t)len < size ? (size_t)len : size - 1;
}

bool syslog_socket_send(struct syslog_socket *socket, int priority, const char *text)
{
    char head[HEAD_BYTES];
    struct iovec parts[2] = {{head, write_head(head, sizeof(head), socket, priority)},
                             {(void *)(uintptr_t)text, strlen(text)}};
    struct msghdr line = {.msg_iov = parts, .msg_iovlen = ARRAY_LEN(parts)};

    if (socket->fd != -1) {
        if (sendmsg(socket->fd, &line, MSG_NOSIGNAL) != -1) {
            return true;
        }
        if (errno == EAGAIN || errno == EINTR || errno == ENOBUFS || errno == ENOMEM) {
            return false;
        }
        syslog_socket_close(socket); /* the daemon went; another may be there */
    }
    return connect_to(socket) && sendmsg(socket->fd, &line, MSG_NOSIGNAL) != -1;
}
