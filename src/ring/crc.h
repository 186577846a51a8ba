/*
 * Cyclic redundancy checks as memcached's clients use them. Pure.
 */
#ifndef RING_CRC_H
#define RING_CRC_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32 as in zlib; crc is 0 to start, or the value so far to go on. */
uint32_t crc32_extend(uint32_t crc, const void *data, size_t len);

/* CRC-16/XMODEM in a 32-bit register that is never masked, as twemproxy has it. */
uint32_t crc16_wide(const void *data, size_t len);

#endif
