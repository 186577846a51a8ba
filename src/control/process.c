/* See control/process.h. */
#include "control/process.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { OTHER_DESCRIPTORS = 64 };

static pid_t pidfile_owner; /* the process that wrote the pid file, 0: none did */

void process_raise_descriptor_limit(unsigned clients, unsigned others)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == -1) {
        return;
    }
    if (limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit) == -1) {
            log_warn("cannot raise the limit on descriptors: %s", strerror(errno));
            return;
        }
    }
    if (limit.rlim_cur != RLIM_INFINITY &&
        limit.rlim_cur < (rlim_t)clients + others + OTHER_DESCRIPTORS) {
        log_warn("max_clients is %u but only %llu descriptors are allowed: accepting may pause",
                 clients, (unsigned long long)limit.rlim_cur);
    }
}

bool process_detach(char *error, size_t error_size)
{
    if (daemon(1, 0) == -1) {
        snprintf(error, error_size, "cannot go to the background: %s", strerror(errno));
        return false;
    }
    return true;
}

bool process_write_pidfile(const struct config *config, char *error, size_t error_size)
{
    char fresh[PATH_MAX];
    FILE *file = NULL;
    bool done;
    int fd;

    if (config->pidfile == NULL) {
        return true;
    }
    /* written beside and renamed: whoever sees it sees a number in it */
    snprintf(fresh, sizeof(fresh), "%s.new", config->pidfile);
    unlink(fresh); /* what lies there may be a link, put there for root to follow */
    fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd != -1) {
        file = fdopen(fd, "w");
    }
    if (fd != -1 && file == NULL) {
        close(fd);
    }
    done = file != NULL && fprintf(file, "%d\n", (int)getpid()) > 0;
    done = file != NULL && fclose(file) == 0 && done;
    if (!done || rename(fresh, config->pidfile) == -1) {
        snprintf(error, error_size, "cannot write the pid file %s: %s", config->pidfile,
                 strerror(errno));
        return false;
    }
    pidfile_owner = getpid();
    return true;
}

void process_remove_pidfile(const struct config *config)
{
    if (config->pidfile != NULL && pidfile_owner == getpid() && unlink(config->pidfile) == -1 &&
        errno != EACCES) {
        log_warn("cannot remove the pid file %s: %s", config->pidfile, strerror(errno));
    }
}

bool process_drop_privileges(const struct config *config, char *error, size_t error_size)
{
    const struct passwd *user;

    if (config->user == NULL) {
        if (geteuid() == 0) {
            log_warn("running as root: set user in [proxy] to an unprivileged one");
        }
        return true;
    }
    user = getpwnam(config->user);
    if (user == NULL) {
        snprintf(error, error_size, "user %s: no such user", config->user);
        return false;
    }
    if (geteuid() != 0) {
        if (user->pw_uid == geteuid()) {
            return true;
        }
        snprintf(error, error_size, "user %s: only root can change its user", config->user);
        return false;
    }
    /* not what a link leads to: the folder may be another's */
    if (config->log_to == LOG_TO_FILE &&
        lchown(config->log_path, user->pw_uid, user->pw_gid) == -1) {
        log_warn("the log may not be opened again as user %s: %s", config->user, strerror(errno));
    }
    if (initgroups(user->pw_name, user->pw_gid) == -1 || setgid(user->pw_gid) == -1 ||
        setuid(user->pw_uid) == -1) {
        snprintf(error, error_size, "cannot become user %s: %s", config->user, strerror(errno));
        return false;
    }
    return true;
}
