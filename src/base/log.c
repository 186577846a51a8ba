/* See base/log.h. */
#include "base/log.h"

#include "base/clock.h"
#include "base/syslog_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

enum {
    LINE_MAX_BYTES = 2048,
    BURST = 200,               /* lines ... */
    BURST_PERIOD_US = 1000000, /* ... in this time, then they are held back */
    LIMIT_PERIOD_US = 10000000,
    /* without a wait for a fifo's reader */
    FILE_FLAGS = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK,
};

const char *const log_level_names[] = {"error", "warn", "notice", "info", "debug", NULL};

static const int syslog_levels[] = {LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_INFO, LOG_DEBUG};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int log_fd = STDERR_FILENO;
static bool is_syslog;
static struct syslog_socket syslog_to = {.fd = -1};
static char *file_path;
static _Atomic int current_level = LOG_LEVEL_NOTICE;
static uint64_t period_start_us;
static unsigned period_lines;
static uint64_t held_back;
static uint64_t unwritten; /* lines since the last that could be written */
static int unwritten_errno;
static bool is_torn; /* a part of a line was written, without its end */
static _Atomic uint64_t lost;

void log_set_level(enum log_level level)
{
    atomic_store(&current_level, level);
}

enum log_level log_get_level(void)
{
    return (enum log_level)atomic_load(&current_level);
}

bool log_is_on(enum log_level level)
{
    return (int)level <= atomic_load_explicit(&current_level, memory_order_relaxed);
}

uint64_t log_lines_lost(void)
{
    return atomic_load(&lost);
}

/* Points the log elsewhere; called with the lock held. */
static void switch_to(int fd, bool to_syslog, char *path)
{
    if (log_fd != STDERR_FILENO && log_fd >= 0) {
        close(log_fd);
    }
    syslog_socket_close(&syslog_to);
    if (path != file_path) {
        free(file_path);
    }
    log_fd = fd;
    is_syslog = to_syslog;
    file_path = path;
    is_torn = false; /* what was begun elsewhere */
}

void log_to_stderr(void)
{
    pthread_mutex_lock(&lock);
    switch_to(STDERR_FILENO, false, NULL);
    pthread_mutex_unlock(&lock);
}

void log_to_syslog(const char *program, const char *socket)
{
    pthread_mutex_lock(&lock);
    switch_to(-1, true, NULL);
    syslog_to = syslog_socket_at(socket, program);
    pthread_mutex_unlock(&lock);
}

bool log_to_file(const char *path)
{
    int fd = open(path, FILE_FLAGS, 0640);
    char *copy;

    if (fd == -1) {
        return false;
    }
    copy = strdup(path);
    if (copy == NULL) {
        close(fd);
        errno = ENOMEM;
        return false;
    }
    pthread_mutex_lock(&lock);
    switch_to(fd, false, copy);
    pthread_mutex_unlock(&lock);
    return true;
}

bool log_reopen(void)
{
    bool done = true;

    pthread_mutex_lock(&lock);
    if (file_path != NULL) {
        int fd = open(file_path, FILE_FLAGS, 0640);

        done = fd != -1;
        if (done) {
            switch_to(fd, false, file_path);
        }
    }
    pthread_mutex_unlock(&lock);
    return done;
}

/*
 * Replaces all but printable ASCII, so that nothing a peer sent can forge or break a line, or
 * speak to the terminal of its reader: some take bytes above 0x7f for control bytes too.
 */
static size_t escape(char *out, size_t size, const char *text)
{
    static const char hex[] = "0123456789abcdef";
    size_t at = 0;

    for (; *text != '\0' && at + 5 < size; text++) {
        unsigned char byte = (unsigned char)*text;

        if (byte >= 0x20 && byte < 0x7f) {
            out[at++] = (char)byte;
        } else {
            out[at++] = '\\';
            out[at++] = 'x';
            out[at++] = hex[byte >> 4];
            out[at++] = hex[byte & 15];
        }
    }
    out[at] = '\0';
    return at;
}

/*
 * True where a line can be written without a wait: a pipe, a terminal or a socket whose reader does
 * not keep up would hold whoever writes, and all who write after him. A line fits where a pipe says
 * that it has room. False with errno.
 */
static bool has_room(int fd)
{
    struct pollfd room = {.fd = fd, .events = POLLOUT};

    if (poll(&room, 1, 0) == 0) {
        errno = EAGAIN;
        return false;
    }
    return true;
}

/* Writes bytes to the end of the log. False with errno: not all of them. */
static bool write_all(const char *bytes, size_t len)
{
    size_t done = 0;

    while (done < len) {
        ssize_t n = has_room(log_fd) ? write(log_fd, bytes + done, len - done) : -1;

        if (n == -1 && errno == EINTR) {
            continue;
        }
        if (n == -1) {
            is_torn |= done > 0;
            return false;
        }
        done += (size_t)n;
    }
    return true;
}

static const char *loss_text(int error)
{
    return error == EAGAIN ? "its reader does not keep up" : strerror(error);
}

/* A full disk must not stop the proxy: the line is lost, and the first of them told elsewhere. */
static void lose_line(int error)
{
    atomic_fetch_add(&lost, 1);
    unwritten_errno = error;
    if (unwritten++ == 0 && log_fd != STDERR_FILENO && has_room(STDERR_FILENO)) {
        dprintf(STDERR_FILENO,
                "ketamad: cannot write the log, lines are lost until it can be: %s\n",
                loss_text(error));
    }
}

/* Writes one line to the file or stderr. False with errno: it could not be. */
static bool write_line(enum log_level level, const char *text)
{
    char line[LINE_MAX_BYTES + 64];
    struct timespec now;
    struct tm broken;
    int length;

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &broken);
    length = snprintf(line, sizeof(line), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ %s: %s\n",
                      broken.tm_year + 1900, broken.tm_mon + 1, broken.tm_mday, broken.tm_hour,
                      broken.tm_min, broken.tm_sec, (int)(now.tv_nsec / 1000000),
                      log_level_names[level], text);
    if (length < 0) {
        return true;
    }
    if ((size_t)length >= sizeof(line)) {
        length = sizeof(line) - 1;
        line[length - 1] = '\n';
    }
    if ((is_torn && !write_all("\n", 1)) || !write_all(line, (size_t)length)) {
        return false;
    }
    is_torn = false;
    return true;
}

/* Writes one line wherever the log goes. False with errno: it could not be. */
static bool put(enum log_level level, const char *text)
{
    return is_syslog ? syslog_socket_send(&syslog_to, syslog_levels[level], text)
                     : write_line(level, text);
}

/* Tells how many lines are missing here, where some are and the log can be written again. */
static bool tell_unwritten(void)
{
    char text[160];

    snprintf(text, sizeof(text), "%llu lines were lost: %s", (unsigned long long)unwritten,
             loss_text(unwritten_errno));
    if (!put(LOG_LEVEL_WARN, text)) {
        return false;
    }
    unwritten = 0;
    return true;
}

/* Writes one finished text; called with the lock held. */
static void emit(enum log_level level, const char *text)
{
    if ((unwritten > 0 && !tell_unwritten()) || !put(level, text)) {
        lose_line(errno);
    }
}

/* True where this line may be written now; called with the lock held. */
static bool admit(enum log_level level)
{
    uint64_t now_us = clock_us();
    char text[96];

    if (now_us - period_start_us >= BURST_PERIOD_US) {
        period_start_us = now_us;
        period_lines = 0;
        if (held_back > 0) {
            snprintf(text, sizeof(text), "%llu lines held back (more than %d a second)",
                     (unsigned long long)held_back, BURST);
            held_back = 0;
            emit(LOG_LEVEL_WARN, text);
        }
    }
    if (period_lines < BURST || level == LOG_LEVEL_ERROR) {
        period_lines++;
        return true;
    }
    held_back++;
    atomic_fetch_add(&lost, 1);
    return false;
}

void log_line(enum log_level level, const char *format, ...)
{
    char raw[LINE_MAX_BYTES / 2];
    char text[LINE_MAX_BYTES];
    va_list args;

    if (!log_is_on(level)) {
        return;
    }
    va_start(args, format);
    vsnprintf(raw, sizeof(raw), format, args);
    va_end(args);
    escape(text, sizeof(text), raw);
    pthread_mutex_lock(&lock);
    if (admit(level)) {
        emit(level, text);
    }
    pthread_mutex_unlock(&lock);
}

bool log_limit_pass(struct log_limit *limit, uint64_t *skipped)
{
    uint64_t now_us = clock_us();

    if (now_us < limit->next_us) {
        limit->skipped++;
        return false;
    }
    *skipped = limit->skipped;
    limit->skipped = 0;
    limit->next_us = now_us + LIMIT_PERIOD_US;
    return true;
}
