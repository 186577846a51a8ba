/*
 * Sockets as this program wants them: non-blocking, closed on exec, without
 * Nagle's delay, with keepalive. Any thread.
 */
#ifndef BASE_SOCKET_H
#define BASE_SOCKET_H

#include "base/address.h"
#include "base/network.h"

#include <sys/types.h>

/* Starts connecting; -1 with errno set. *done: connected already. */
int socket_connect(const struct endpoint *endpoint, bool *done);

/*
 * The close of fd is to be a reset: what the other end has not taken yet is dropped. A mere close
 * leaves it to the kernel, which goes on sending for minutes.
 */
void socket_drop_unsent(int fd);

/* Returns the error of a connect that ended, 0 where it succeeded. */
int socket_error(int fd);

/*
 * Listens. A stale unix socket file (nobody listens on it) is replaced. mode 0
 * leaves the file's mode alone. -1 with errno set.
 */
int socket_listen(const struct endpoint *endpoint, mode_t mode);

/*
 * Says text to a peer just accepted and closes. What it has sent already is
 * read first, lest a reset overtakes the text.
 */
void socket_refuse(int fd, struct slice text);

/* Whom fd leads to. False: gone, the kernel does not know it any more. */
MUST_CHECK bool socket_peer(int fd, struct endpoint *peer);

/* True where allow is empty or has the peer of fd; whoever is gone is not admitted. */
MUST_CHECK bool socket_admits(int fd, const struct networks *allow);

/* Refuses a peer that is not admitted. */
void socket_deny(int fd);

/* Removes the file of a unix socket that was listened on; nothing for others. */
void socket_remove_file(const struct address *address);

#endif
