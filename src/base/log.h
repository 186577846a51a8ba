/*
 * The log: one line an event, to stderr, syslog or a file. Lines are written
 * whole, all but printable ASCII escaped, and repeated ones held back with a count. Any
 * thread; writers wait for each other, so it is not for the path of a request.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/slice.h"

#include <stdint.h>

enum log_level {
    LOG_LEVEL_ERROR,
    LOG_LEVEL_WARN,
    LOG_LEVEL_NOTICE,
    LOG_LEVEL_INFO,
    LOG_LEVEL_DEBUG
};

/* Names of the levels, in the enum's order, NULL at the end. */
extern const char *const log_level_names[];

void log_to_stderr(void);

/* socket: where the daemon listens; both are the caller's and stay. */
void log_to_syslog(const char *program, const char *socket);

/* False, with errno set, where the file cannot be opened; the log stays where it was. */
MUST_CHECK bool log_to_file(const char *path);

/* Opens the file again under its name. False as above. Does nothing for the other kinds. */
MUST_CHECK bool log_reopen(void);

void log_set_level(enum log_level level);
enum log_level log_get_level(void);
bool log_is_on(enum log_level level);

/* How many lines could not be written or were held back. */
uint64_t log_lines_lost(void);

__attribute__((format(printf, 2, 3))) void log_line(enum log_level level, const char *format, ...);

/* For lines that a peer can cause as often as it likes: zeroed by its owner, which alone uses it.
 */
struct log_limit {
    uint64_t next_us;
    uint64_t skipped; /* since the last line */
};

/* True where a line may be written now, at most one in ten seconds; *skipped: not written since.
 */
MUST_CHECK bool log_limit_pass(struct log_limit *limit, uint64_t *skipped);

#define log_error(...)  log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)   log_line(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_notice(...) log_line(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_info(...)   log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)                                                                             \
    do {                                                                                           \
        if (log_is_on(LOG_LEVEL_DEBUG)) {                                                          \
            log_line(LOG_LEVEL_DEBUG, __VA_ARGS__);                                                \
        }                                                                                          \
    } while (0)

/*
 * A warning that a peer can cause as often as it likes: written as limit lets it pass, with how
 * many it stands for. format is a literal, and what follows it is evaluated for a line only.
 */
#define log_warn_limited(limit, format, ...)                                                       \
    do {                                                                                           \
        uint64_t log_skipped;                                                                      \
        if (log_limit_pass(limit, &log_skipped)) {                                                 \
            log_warn(format " (%llu more since the last such line)", __VA_ARGS__,                  \
                     (unsigned long long)log_skipped);                                             \
        }                                                                                          \
    } while (0)

#endif
