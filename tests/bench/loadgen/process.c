#include "process.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* The number that follows a name at the begin of a line of a file of /proc; 0 if there is none. */
static uint64_t proc_number(const char *path, const char *name)
{
    char line[256];
    uint64_t number = 0;

    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0) {
            number = strtoull(line + strlen(name), NULL, 10);
            break;
        }
    }
    fclose(file);
    return number;
}

uint64_t process_cpu_ns(pid_t pid)
{
    char path[320];
    uint64_t ns = 0;
    struct dirent *task;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    if (tasks == NULL) {
        return 0;
    }
    while ((task = readdir(tasks)) != NULL) {
        if (task->d_name[0] != '.') {
            snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", (int)pid, task->d_name);
            ns += proc_number(path, "");
        }
    }
    closedir(tasks);
    return ns;
}

uint64_t process_resident_kb(pid_t pid)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    return proc_number(path, "VmRSS:");
}

uint64_t process_own_cpu_ns(void)
{
    struct rusage usage;

    if (getrusage(RUSAGE_SELF, &usage) == -1) {
        return 0;
    }
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
}
