/*
 * The syslog daemon's socket, written to without ever waiting: syslog(3) waits for as long as a
 * daemon that hangs takes no lines, and whoever logs waits with it. Lines have the form that it
 * gives them (RFC 3164, local time). Used by one thread at a time.
 */
#ifndef BASE_SYSLOG_SOCKET_H
#define BASE_SYSLOG_SOCKET_H

#include "base/slice.h"

struct syslog_socket {
    const char *path;    /* of the daemon's datagram socket; the caller's */
    const char *program; /* the caller's */
    int fd;              /* -1: none, or the daemon went away */
};

/* Connects with the first line. */
static inline struct syslog_socket syslog_socket_at(const char *path, const char *program)
{
    return (struct syslog_socket){path, program, -1};
}

/*
 * Sends one line, text being printable and of priority LOG_ERR and so on. A daemon that was started
 * anew is connected to again. False with errno, nothing sent: EAGAIN where it does not keep up.
 */
MUST_CHECK bool syslog_socket_send(struct syslog_socket *socket, int priority, const char *text);

void syslog_socket_close(struct syslog_socket *socket);

#endif
