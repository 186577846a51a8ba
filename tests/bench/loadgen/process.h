/*
 * What the kernel says of other processes: CPU time and memory.
 */
#ifndef LOADGEN_PROCESS_H
#define LOADGEN_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

/* Nanoseconds on a CPU of all the threads a process has now; 0 if it is gone. */
uint64_t process_cpu_ns(pid_t pid);

/* Resident memory in KiB; 0 if it is gone. */
uint64_t process_resident_kb(pid_t pid);

/* User and system nanoseconds of this process. */
uint64_t process_own_cpu_ns(void);

#endif
