/* See sim_kernel.h. */
#include "sim_kernel.h"

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { CUT_PARTS_MAX = 64 };

static bool is_on;
static uint64_t now_us;
static kernel_connect connect_to;
static unsigned cut_writes;
static size_t cut_bytes;

void kernel_begin(kernel_connect on_connect)
{
    is_on = true;
    signal(SIGPIPE, SIG_IGN); /* as the proxy does: a splice has no flag for it */
    now_us = 1000000000;
    connect_to = on_connect;
    cut_writes = 0;
}

void kernel_end(void)
{
    is_on = false;
}

void kernel_pass_us(uint64_t us)
{
    now_us += us;
}

uint64_t kernel_now_us(void)
{
    return now_us;
}

void kernel_cut_writes(unsigned writes, size_t bytes)
{
    cut_writes = writes;
    cut_bytes = bytes;
}

int clock_gettime(clockid_t id, struct timespec *time)
{
    if (!is_on || (id != CLOCK_MONOTONIC && id != CLOCK_MONOTONIC_COARSE)) {
        return (int)syscall(SYS_clock_gettime, id, time);
    }
    time->tv_sec = (time_t)(now_us / 1000000);
    time->tv_nsec = (long)(now_us % 1000000 * 1000);
    return 0;
}

int connect(int fd, const struct sockaddr *address, socklen_t len)
{
    struct sockaddr_in to;

    if (!is_on || address->sa_family != AF_INET) {
        return (int)syscall(SYS_connect, fd, address, len);
    }
    memcpy(&to, address, sizeof(to));
    return connect_to(fd, ntohs(to.sin_port));
}

/* How much the next write may take. */
static size_t next_cut(void)
{
    if (cut_writes == 0) {
        return SIZE_MAX;
    }
    cut_writes--;
    return cut_bytes;
}

/* Through sendmsg, which a sanitizer looks at: it sees bytes that were freed. */
static ssize_t send_parts(int fd, struct iovec *parts, int count)
{
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)count};
    size_t left = next_cut();

    if (left == 0) {
        errno = EINTR;
        return -1;
    }
    for (int i = 0; i < count; i++) {
        if (parts[i].iov_len >= left) {
            parts[i].iov_len = left;
            message.msg_iovlen = (size_t)i + 1;
            break;
        }
        left -= parts[i].iov_len;
    }
    return sendmsg(fd, &message, MSG_NOSIGNAL);
}

ssize_t io_writev(int fd, const struct iovec *parts, int count)
{
    struct iovec copy[CUT_PARTS_MAX];

    if (count > CUT_PARTS_MAX) {
        count = CUT_PARTS_MAX;
    }
    memcpy(copy, parts, (size_t)count * sizeof(copy[0]));
    return send_parts(fd, copy, count);
}

ssize_t io_begin_writev(int fd, const struct iovec *parts, int count)
{
    return io_writev(fd, parts, count);
}

ssize_t io_splice(int from, int to, size_t len, unsigned flags)
{
    size_t left = next_cut();

    if (left == 0) {
        errno = EINTR;
        return -1;
    }
    return splice(from, NULL, to, NULL, len < left ? len : left, flags);
}

ssize_t io_read(int fd, void *data, size_t len)
{
    return read(fd, data, len);
}

ssize_t io_readv(int fd, const struct iovec *parts, int count)
{
    return readv(fd, parts, count);
}

int io_wait(int poll_fd, struct epoll_event *ready, int max, int timeout_ms)
{
    return epoll_wait(poll_fd, ready, max, timeout_ms);
}
