/*
 * Preloaded into a program under test: makes allocations and system calls fail.
 *
 * What fails is said in a file that FAULTS_CONTROL names, mapped by this
 * library and by the test (tests/proxy/injected.py has the same layout), so that
 * a test arms and disarms faults while the program runs. Without the variable
 * nothing fails. FAULTS_TRACE=1 prints where each failed allocation was asked for.
 *
 * Only sockets are cut short or interrupted: a file or an eventfd never is.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum call {
    CALL_ALLOCATE,
    CALL_READ,  /* and readv, recv, recvfrom */
    CALL_WRITE, /* and writev, send, sendto */
    CALL_ACCEPT,
    CALL_CONNECT,
    CALL_SOCKET,
    CALL_BIND,
    CALL_EPOLL_WAIT,
    CALL_EPOLL_ADD,
    CALL_OPEN, /* for writing */
    CALL_LOG,  /* a write to a file */
    CALL_THREAD,
    CALL_PIPE,   /* pipe2 */
    CALL_SPLICE, /* from a socket it fails as a read does too, to one as a write */
    CALL_COUNT,
};

/* All zero: nothing fails, but calls are counted. */
struct rule {
    _Atomic uint64_t calls;  /* since it was set to 0 */
    _Atomic uint64_t at;     /* the one that fails; 0: none */
    _Atomic uint64_t from;   /* all from this one on; 0: none */
    _Atomic uint64_t share;  /* so many of SHARE_ALL, at random */
    _Atomic uint64_t error;  /* errno; an allocation's is ENOMEM */
    _Atomic uint64_t failed; /* how many did */
};

enum { SHARE_ALL = 65536 };

struct control {
    struct rule rules[CALL_COUNT];
    _Atomic uint64_t seed;
    _Atomic uint64_t most_bytes;      /* of one read or write; 0: all */
    _Atomic int64_t wall_offset_s;    /* added to CLOCK_REALTIME */
    _Atomic uint64_t wall_offset_now; /* reads of it so far */
};

static struct control *control;
static bool traces;

/* dlsym allocates before anything is known: from here, never given back. */
static _Alignas(16) char early[16384];
static size_t early_used;

#define REAL(name) ((__typeof__(&(name)))real(#name))

static void *real(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (found == NULL) {
        abort();
    }
    return found;
}

static __typeof__(&malloc) real_malloc;
static __typeof__(&calloc) real_calloc;
static __typeof__(&realloc) real_realloc;
static __typeof__(&free) real_free;
static __typeof__(&aligned_alloc) real_aligned_alloc;
static __typeof__(&posix_memalign) real_posix_memalign;
static bool is_looking_up;

static void look_up(void)
{
    if (real_free != NULL || is_looking_up) {
        return;
    }
    is_looking_up = true;
    real_malloc = REAL(malloc);
    real_calloc = REAL(calloc);
    real_realloc = REAL(realloc);
    real_aligned_alloc = REAL(aligned_alloc);
    real_posix_memalign = REAL(posix_memalign);
    real_free = REAL(free);
    is_looking_up = false;
}

static void *early_take(size_t size)
{
    size_t at = (early_used + 15) & ~(size_t)15;

    if (at + size > sizeof(early)) {
        abort();
    }
    early_used = at + size;
    return early + at;
}

static bool is_early(const void *memory)
{
    return (const char *)memory >= early && (const char *)memory < early + sizeof(early);
}

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("FAULTS_CONTROL");
    int fd;

    look_up();
    traces = getenv("FAULTS_TRACE") != NULL;
    if (path == NULL) {
        return;
    }
    fd = REAL(open)(path, O_RDWR | O_CLOEXEC);
    if (fd == -1) {
        abort();
    }
    control = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (control == MAP_FAILED) {
        abort();
    }
    close(fd);
}

/* A sanitizer asks this of each new thread, and takes no failure. */
static _Thread_local bool is_exempt;

int pthread_getattr_np(pthread_t thread, pthread_attr_t *attributes)
{
    int error;

    is_exempt = true;
    error = REAL(pthread_getattr_np)(thread, attributes);
    is_exempt = false;
    return error;
}

static void trace(void)
{
    static _Thread_local bool is_tracing;
    void *frames[24];
    int count;

    if (!traces || is_tracing) {
        return;
    }
    is_tracing = true;
    count = backtrace(frames, 24);
    backtrace_symbols_fd(frames, count, STDERR_FILENO);
    REAL(write)(STDERR_FILENO, "--\n", 3) == 3 ? (void)0 : abort();
    is_tracing = false;
}

/* Returns the errno that this call shall fail with, or 0. */
static int failure_of(enum call call)
{
    struct rule *rule;
    uint64_t number;
    uint64_t at;
    uint64_t from;
    uint64_t share;

    if (control == NULL || is_exempt) {
        return 0;
    }
    rule = &control->rules[call];
    number = atomic_fetch_add(&rule->calls, 1) + 1;
    at = atomic_load(&rule->at);
    from = atomic_load(&rule->from);
    share = atomic_load(&rule->share);
    if (share > 0) {
        uint64_t mixed = (number + atomic_load(&control->seed)) * UINT64_C(0x9e3779b97f4a7c15);

        mixed ^= mixed >> 29;
        mixed *= UINT64_C(0xbf58476d1ce4e5b9);
        share = mixed >> 48 < share;
    }
    if (number != at && (from == 0 || number < from) && share == 0) {
        return 0;
    }
    atomic_fetch_add(&rule->failed, 1);
    if (call == CALL_ALLOCATE) {
        trace();
        return ENOMEM;
    }
    return (int)atomic_load(&rule->error);
}

static bool fails(enum call call)
{
    int error = failure_of(call);

    if (error != 0) {
        errno = error;
    }
    return error != 0;
}

static bool is_of_type(int fd, mode_t type)
{
    struct stat status;
    int saved = errno;
    bool is = fstat(fd, &status) == 0 && (status.st_mode & S_IFMT) == type;

    errno = saved;
    return is;
}

static bool is_socket(int fd)
{
    return is_of_type(fd, S_IFSOCK);
}

static bool io_fails(int fd, enum call call)
{
    if (control == NULL) {
        return false;
    }
    if (is_socket(fd)) {
        return fails(call);
    }
    return call == CALL_WRITE && is_of_type(fd, S_IFREG) && fails(CALL_LOG);
}

/* How much of a transfer is allowed. */
static size_t cut(int fd, size_t bytes)
{
    uint64_t most = control != NULL ? atomic_load(&control->most_bytes) : 0;

    return most > 0 && bytes > most && is_socket(fd) ? (size_t)most : bytes;
}

/* ---- allocations */

void *malloc(size_t size)
{
    look_up();
    if (real_malloc == NULL) {
        return early_take(size);
    }
    return fails(CALL_ALLOCATE) ? NULL : real_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    look_up();
    if (real_calloc == NULL) {
        return early_take(count * size); /* never used before, so zero */
    }
    return fails(CALL_ALLOCATE) ? NULL : real_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    look_up();
    if (is_early(memory)) {
        abort();
    }
    return fails(CALL_ALLOCATE) ? NULL : real_realloc(memory, size);
}

void *reallocarray(void *memory, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(memory, bytes);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    look_up();
    return fails(CALL_ALLOCATE) ? NULL : real_aligned_alloc(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    look_up();
    return fails(CALL_ALLOCATE) ? ENOMEM : real_posix_memalign(memory, alignment, size);
}

void free(void *memory)
{
    look_up();
    if (memory != NULL && !is_early(memory) && real_free != NULL) {
        real_free(memory);
    }
}

/* ---- system calls */

ssize_t read(int fd, void *to, size_t bytes)
{
    return io_fails(fd, CALL_READ) ? -1 : REAL(read)(fd, to, cut(fd, bytes));
}

/* What a fortified build calls where the buffer's size is known. */
ssize_t __read_chk(int fd, void *to, size_t bytes, size_t room); /* NOLINT */
ssize_t __read_chk(int fd, void *to, size_t bytes, size_t room)  /* NOLINT */
{
    if (bytes > room) {
        abort();
    }
    return read(fd, to, bytes);
}

ssize_t recv(int fd, void *to, size_t bytes, int flags)
{
    return io_fails(fd, CALL_READ) ? -1 : REAL(recv)(fd, to, cut(fd, bytes), flags);
}

ssize_t readv(int fd, const struct iovec *parts, int count)
{
    if (io_fails(fd, CALL_READ)) {
        return -1;
    }
    if (control != NULL && atomic_load(&control->most_bytes) > 0 && count > 0 && is_socket(fd)) {
        for (int i = 0; i < count; i++) {
            if (parts[i].iov_len > 0) {
                return REAL(read)(fd, parts[i].iov_base, cut(fd, parts[i].iov_len));
            }
        }
    }
    return REAL(readv)(fd, parts, count);
}

ssize_t write(int fd, const void *from, size_t bytes)
{
    return io_fails(fd, CALL_WRITE) ? -1 : REAL(write)(fd, from, cut(fd, bytes));
}

ssize_t send(int fd, const void *from, size_t bytes, int flags)
{
    return io_fails(fd, CALL_WRITE) ? -1 : REAL(send)(fd, from, cut(fd, bytes), flags);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    if (io_fails(fd, CALL_WRITE)) {
        return -1;
    }
    if (control != NULL && atomic_load(&control->most_bytes) > 0 && count > 0 && is_socket(fd)) {
        for (int i = 0; i < count; i++) {
            if (parts[i].iov_len > 0) {
                return REAL(write)(fd, parts[i].iov_base, cut(fd, parts[i].iov_len));
            }
        }
    }
    return REAL(writev)(fd, parts, count);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    struct iovec first;
    struct msghdr part = {.msg_iov = &first, .msg_iovlen = 1};

    if (io_fails(fd, CALL_WRITE)) {
        return -1;
    }
    if (control == NULL || atomic_load(&control->most_bytes) == 0 || message->msg_iovlen == 0) {
        return REAL(sendmsg)(fd, message, flags);
    }
    first = message->msg_iov[0];
    first.iov_len = cut(fd, first.iov_len);
    return REAL(sendmsg)(fd, &part, flags);
}

int pipe2(int ends[2], int flags)
{
    return fails(CALL_PIPE) ? -1 : REAL(pipe2)(ends, flags);
}

ssize_t splice(int from, off64_t *from_at, int to, off64_t *to_at, size_t bytes, unsigned flags)
{
    if (fails(CALL_SPLICE) || (is_socket(from) && io_fails(from, CALL_READ)) ||
        (is_socket(to) && io_fails(to, CALL_WRITE))) {
        return -1;
    }
    bytes = is_socket(from) ? cut(from, bytes) : cut(to, bytes);
    return REAL(splice)(from, from_at, to, to_at, bytes, flags);
}

int accept4(int fd, struct sockaddr *address, socklen_t *len, int flags)
{
    return fails(CALL_ACCEPT) ? -1 : REAL(accept4)(fd, address, len, flags);
}

int connect(int fd, const struct sockaddr *address, socklen_t len)
{
    return fails(CALL_CONNECT) ? -1 : REAL(connect)(fd, address, len);
}

int socket(int domain, int type, int protocol)
{
    return fails(CALL_SOCKET) ? -1 : REAL(socket)(domain, type, protocol);
}

int bind(int fd, const struct sockaddr *address, socklen_t len)
{
    return fails(CALL_BIND) ? -1 : REAL(bind)(fd, address, len);
}

int epoll_wait(int fd, struct epoll_event *events, int most, int timeout_ms)
{
    return fails(CALL_EPOLL_WAIT) ? -1 : REAL(epoll_wait)(fd, events, most, timeout_ms);
}

int epoll_ctl(int fd, int operation, int watched, struct epoll_event *event)
{
    if (operation == EPOLL_CTL_ADD && fails(CALL_EPOLL_ADD)) {
        return -1;
    }
    return REAL(epoll_ctl)(fd, operation, watched, event);
}

/* The daemon's io_ functions come this way. */
long syscall(long number, ...)
{
    va_list args;
    long arg[6];

    va_start(args, number);
    for (int i = 0; i < 6; i++) {
        arg[i] = va_arg(args, long);
    }
    va_end(args);
    switch (number) {
    case SYS_read:
        return read((int)arg[0], (void *)arg[1], (size_t)arg[2]);
    case SYS_write:
        return write((int)arg[0], (const void *)arg[1], (size_t)arg[2]);
    case SYS_readv:
        return readv((int)arg[0], (const struct iovec *)arg[1], (int)arg[2]);
    case SYS_writev:
        return writev((int)arg[0], (const struct iovec *)arg[1], (int)arg[2]);
    case SYS_sendmsg:
        return sendmsg((int)arg[0], (const struct msghdr *)arg[1], (int)arg[2]);
    case SYS_splice:
        return splice((int)arg[0], (off64_t *)arg[1], (int)arg[2], (off64_t *)arg[3],
                      (size_t)arg[4], (unsigned)arg[5]);
    case SYS_epoll_pwait:
        return epoll_wait((int)arg[0], (struct epoll_event *)arg[1], (int)arg[2], (int)arg[3]);
    default:
        return REAL(syscall)(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
    }
}

int open(const char *path, int flags, ...)
{
    mode_t mode = 0;

    if (flags & O_CREAT) {
        va_list args;

        va_start(args, flags);
        mode = (mode_t)va_arg(args, int);
        va_end(args);
    }
    if ((flags & O_ACCMODE) != O_RDONLY && fails(CALL_OPEN)) {
        return -1;
    }
    return REAL(open)(path, flags, mode);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *arg)
{
    int error = failure_of(CALL_THREAD);

    return error != 0 ? error : REAL(pthread_create)(thread, attributes, run, arg);
}

int clock_gettime(clockid_t which, struct timespec *now)
{
    int status = REAL(clock_gettime)(which, now);

    if (status == 0 && which == CLOCK_REALTIME && control != NULL) {
        now->tv_sec += atomic_load(&control->wall_offset_s);
        atomic_fetch_add(&control->wall_offset_now, 1);
    }
    return status;
}
