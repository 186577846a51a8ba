/* See base/tube.h. */
#include "base/tube.h"

#include "base/io.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static void close_tube(struct tube_pool *pool, struct tube *tube)
{
    close(tube->to);
    close(tube->from);
    free(tube);
    pool->count--;
}

static void close_kept(struct tube_pool *pool, uint32_t most)
{
    for (; most > 0 && pool->kept != NULL; most--) {
        struct tube *tube = pool->kept;

        pool->kept = tube->next;
        pool->kept_count--;
        close_tube(pool, tube);
    }
}

uint32_t tube_pool_share(unsigned pools)
{
    enum { DESCRIPTORS_A_TUBE = 2, PART = 8 };
    struct rlimit limit;
    rlim_t share;

    if (getrlimit(RLIMIT_NOFILE, &limit) == -1 || limit.rlim_cur == RLIM_INFINITY) {
        return TUBES_MAX;
    }
    share = limit.rlim_cur / PART / DESCRIPTORS_A_TUBE / pools;
    return share < TUBES_MAX ? (uint32_t)share : TUBES_MAX;
}

void tube_pool_init(struct tube_pool *pool, uint32_t max)
{
    *pool = (struct tube_pool){.max = max < TUBES_MAX ? max : TUBES_MAX};
}

void tube_pool_fini(struct tube_pool *pool)
{
    close_kept(pool, UINT32_MAX);
}

void tube_pool_age(struct tube_pool *pool)
{
    close_kept(pool, pool->spare);
    pool->spare = pool->kept_count;
    pool->is_off = false;
}

/* Opens a pipe that holds enough to be worth it. NULL: there is none. */
static struct tube *open_tube(struct tube_pool *pool)
{
    struct tube *tube = malloc(sizeof(*tube));
    int ends[2];

    if (tube == NULL) {
        return NULL;
    }
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == -1) {
        free(tube);
        return NULL;
    }
    *tube = (struct tube){.from = ends[0], .to = ends[1]};
    pool->count++;
    if (fcntl(tube->to, F_SETPIPE_SZ, (int)TUBE_PIPE_BYTES) == -1) {
        close_tube(pool, tube);
        return NULL;
    }
    return tube;
}

struct tube *tube_get(struct tube_pool *pool)
{
    struct tube *tube = pool->kept;

    if (pool->is_off) {
        return NULL;
    }
    if (tube != NULL) {
        pool->kept = tube->next;
        pool->kept_count--;
        pool->spare = pool->kept_count < pool->spare ? pool->kept_count : pool->spare;
        return tube;
    }
    if (pool->count >= pool->max) {
        return NULL;
    }
    tube = open_tube(pool);
    pool->is_off = tube == NULL;
    return tube;
}

void tube_put(struct tube_pool *pool, struct tube *tube)
{
    if (tube->held > 0) {
        close_tube(pool, tube);
        return;
    }
    tube->next = pool->kept;
    pool->kept = tube;
    pool->kept_count++;
}

ssize_t tube_fill(struct tube *tube, int fd, size_t len)
{
    ssize_t n = io_splice(fd, tube->to, len, SPLICE_F_NONBLOCK);

    tube->held += n > 0 ? (size_t)n : 0;
    return n;
}

bool tube_add(struct tube *tube, const char *data, size_t len)
{
    assert(len <= PIPE_BUF); /* then it is written whole or not at all */
    if (write(tube->to, data, len) != (ssize_t)len) {
        return false;
    }
    tube->held += len;
    return true;
}

ssize_t tube_drain(struct tube *tube, int fd, size_t len, bool has_more)
{
    ssize_t n = io_splice(tube->from, fd, len, SPLICE_F_NONBLOCK | (has_more ? SPLICE_F_MORE : 0));

    tube->held -= n > 0 ? (size_t)n : 0;
    return n;
}

bool tube_is_refused(int error)
{
    return error == EINVAL || error == ENOSYS || error == EPERM || error == ENOMEM ||
           error == EOPNOTSUPP;
}

bool tube_copy(struct tube *tube, char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = io_read(tube->from, data, len);

        if (n == -1 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        tube->held -= (size_t)n;
        data += n;
        len -= (size_t)n;
    }
    return true;
}
