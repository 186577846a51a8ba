#include "process.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static uint64_t task_cpu_ns(pid_t pid, const char *task)
{
    char path[320];
    uint64_t ns = 0;

    snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", (int)pid, task);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    if (fscanf(file, "%" SCNu64, &ns) != 1) {
        ns = 0;
    }
    fclose(file);
    return ns;
}

uint64_t process_cpu_ns(pid_t pid)
{
    char path[64];
    uint64_t ns = 0;
    struct dirent *task;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    if (tasks == NULL) {
        return 0;
    }
    while ((task = readdir(tasks)) != NULL) {
        if (task->d_name[0] != '.') {
            ns += task_cpu_ns(pid, task->d_name);
        }
    }
    closedir(tasks);
    return ns;
}

uint64_t process_resident_kb(pid_t pid)
{
    char path[64];
    char line[256];
    uint64_t kb = 0;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "VmRSS: %" SCNu64, &kb) == 1) {
            break;
        }
    }
    fclose(file);
    return kb;
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
