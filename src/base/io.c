/* See base/io.h. */
#include "base/io.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/socket.h>
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

ssize_t io_begin_writev(int fd, const struct iovec *parts, int count)
{
    struct msghdr message = {
        .msg_iov = (struct iovec *)(uintptr_t)parts, /* which it only reads */
        .msg_iovlen = (size_t)count,
    };

    return CALL(sendmsg, fd, &message, MSG_MORE);
}

ssize_t io_splice(int from, int to, size_t len, unsigned flags)
{
    return CALL(splice, from, NULL, to, NULL, len, flags);
}

int io_wait(int poll_fd, struct epoll_event *ready, int max, int timeout_ms)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__)
    return epoll_wait(poll_fd, ready, max, timeout_ms);
#else
    return (int)syscall(SYS_epoll_pwait, poll_fd, ready, max, timeout_ms, NULL, 0);
#endif
}
