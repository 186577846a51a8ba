/*
 * The part of the kernel that a simulated worker meets: a clock that moves
 * only when told, connects that end as the script says, writes that are cut
 * short. The clock and the connect are the C library's, replaced for the whole program; outside of
 * kernel_begin and kernel_end they do what they always do. Reads and writes are base/io.h's.
 */
#ifndef SIM_KERNEL_H
#define SIM_KERNEL_H

#include <stddef.h>
#include <stdint.h>

/* How a connect to a port ends: 0, or -1 with errno set. */
typedef int (*kernel_connect)(int fd, uint16_t port);

void kernel_begin(kernel_connect on_connect);
void kernel_end(void);

void kernel_pass_us(uint64_t us);
uint64_t kernel_now_us(void);

/* The next so many writes to sockets take at most bytes each; 0 bytes: they are interrupted. */
void kernel_cut_writes(unsigned writes, size_t bytes);

#endif
