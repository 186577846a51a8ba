/* See base/io.h. */
#include "base/io.h"

#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__)
#define CALL(name, ...) name(__VA_ARGS__) /* the sanitizers look at what these are given */
#else
#define CALL(name, ...) syscall(SYS_##name, __VA_ARGS__)
#endif

ssize_t io_read(int fd, void *data, size_t len)
{
    return CALL(read, fd, data, len);
}

ssize_t io_readv(int fd, const struct iovec *parts, int count)
{
    return count == 1 ? CALL(read, fd, parts->iov_base, parts->iov_len)
                      : CALL(readv, fd, parts, count);
}

ssize_t io_writev(int fd, const struct iovec *parts, int count)
{
    return count == 1 ? CALL(write, fd, parts->iov_base, parts->iov_len)
                      : CALL(writev, fd, parts, count);
}

int io_wait(int poll_fd, struct epoll_event *ready, int max, int timeout_ms)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__)
    return epoll_wait(poll_fd, ready, max, timeout_ms);
#else
    return (int)syscall(SYS_epoll_pwait, poll_fd, ready, max, timeout_ms, NULL, 0);
#endif
}
