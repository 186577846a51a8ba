/*
 * Numbers on the wire, read as memcached 1.6.18 reads them (strtol's rules,
 * not ours) and written in their one canonical form. Pure; any thread.
 */
#ifndef PROTO_NUMBER_H
#define PROTO_NUMBER_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    NUMBER_TEXT_MAX = 20, /* longest canonical number: 2^64-1, or -2^63 */
};

/*
 * Both accept white space other than a blank before the number, one sign,
 * leading zeros, and anything at all behind a white space that ends the
 * digits; both refuse what is out of 64 bits and leave *value alone then.
 * A negative unsigned number wraps, as strtoull does: -(2^64-1) is 1, but a
 * result of 2^63 or more is refused. Callers cut to 32 bits where memcached does.
 */
MUST_CHECK bool number_read_u64(struct slice text, uint64_t *value);
MUST_CHECK bool number_read_i64(struct slice text, int64_t *value);

/* A server's number: digits only, at most 20 of them, within 64 bits. */
MUST_CHECK bool number_read_digits(struct slice text, uint64_t *value);

/* Writes the canonical form at out (NUMBER_TEXT_MAX bytes) and returns its length. */
size_t number_write_u64(char *out, uint64_t value);
size_t number_write_i64(char *out, int64_t value);

#endif
