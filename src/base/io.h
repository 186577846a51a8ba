/*
 * read, write and their vectors without what libc puts around them: there they are points where a
 * thread may be cancelled, which costs two atomic exchanges a call, and no thread here ever is.
 * The same results and errno. Any thread.
 */
#ifndef BASE_IO_H
#define BASE_IO_H

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static inline ssize_t io_read(int fd, const struct iovec *iov, int parts)
{
    return parts == 1 ? syscall(SYS_read, fd, iov[0].iov_base, iov[0].iov_len)
                      : syscall(SYS_readv, fd, iov, parts);
}

static inline ssize_t io_write(int fd, const struct iovec *iov, int parts)
{
    return parts == 1 ? syscall(SYS_write, fd, iov[0].iov_base, iov[0].iov_len)
                      : syscall(SYS_writev, fd, iov, parts);
}

#endif
