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

/*
 * The common case: up to nine digits without a zero before them, which is how number_write_u64
 * writes the number, and which fit in 31 bits. False: it is another thing.
 */
static inline bool number_read_plain(struct slice text, uint32_t *value)
{
    enum { PLAIN_DIGITS = 9 };
    uint32_t sum = 0;

    if (text.len == 0 || text.len > PLAIN_DIGITS || (text.data[0] == '0' && text.len > 1)) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        const uint32_t digit = (uint32_t)(unsigned char)text.data[i] - '0';

        if (digit > 9) {
            return false;
        }
        sum = sum * 10 + digit;
    }
    *value = sum;
    return true;
}

/* Writes the canonical form at out (NUMBER_TEXT_MAX bytes) and returns its length. */
size_t number_write_u64(char *out, uint64_t value);
size_t number_write_i64(char *out, int64_t value);

#endif
