/*
 * The system calls of a request's path: those of the C library by these names, but no cancellation
 * points. (A thread of a program that has several pays two atomic operations for each of those,
 * and no thread here is ever cancelled.) Any thread. Errors as there: -1 and errno.
 */
#ifndef BASE_IO_H
#define BASE_IO_H

#include <stddef.h>
#include <sys/epoll.h>
#include <sys/types.h>
#include <sys/uio.h>

ssize_t io_read(int fd, void *data, size_t len);

/* One part costs no more than read and write do. */
ssize_t io_readv(int fd, const struct iovec *parts, int count);
ssize_t io_writev(int fd, const struct iovec *parts, int count);

/* io_writev to a socket, where more follows at once: what fills no packet may wait for it. */
ssize_t io_begin_writev(int fd, const struct iovec *parts, int count);

/* Neither end at an offset. */
ssize_t io_splice(int from, int to, size_t len, unsigned flags);

/* epoll_wait. */
int io_wait(int poll_fd, struct epoll_event *ready, int max, int timeout_ms);

#endif
