/* See base/io.h. */
#include "base/io.h"

#include <sys/syscall.h>
#include <unistd.h>

/* The sanitizers look at what the C library's are given. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__)

ssize_t io_read(int fd, void *data, size_t len)
{
    return read(fd, data, len);
}

ssize_t io_write(int fd, const void *data, size_t len)
{
    return write(fd, data, len);
}

ssize_t io_readv(int fd, const struct iovec *parts, int count)
{
    return readv(fd, parts, count);
}

ssize_t io_writev(int fd, const struct iovec *parts, int count)
{
    return writev(fd, parts, count);
}

int io_wait(int poll_fd, struct epoll_event *ready, int max, int timeout_ms)
{
    return epoll_wait(poll_fd, ready, max, timeout_ms);
}

#else

ssize_t io_read(int fd, void *data, size_t len)
{
    return syscall(SYS_read, fd, data, len);
}

ssize_t io_write(int fd, const void *data, size_t len)
{
    return syscall(SYS_write, fd, data, len);
}

ssize_t io_readv(int fd, const struct iovec *parts, int count)
{
    return syscall(SYS_readv, fd, parts, count);
}

ssize_t io_writev(int fd, const struct iovec *parts, int count)
{
    return syscall(SYS_writev, fd, parts, count);
}

int io_wait(int poll_fd, struct epoll_event *ready, int max, int timeout_ms)
{
    return (int)syscall(SYS_epoll_pwait, poll_fd, ready, max, timeout_ms, NULL, 0);
}

#endif
