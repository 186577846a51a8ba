/* See number.h. No strtol here: slices are not terminated, and its rules hang on the locale. */
#include "proto/number.h"

/* What isspace says in the C locale. */
static bool is_white(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* Sign and magnitude by strtol's grammar; false where that finds no number or one over 2^64-1. */
static bool read_signed(struct slice text, bool *is_negative, uint64_t *magnitude)
{
    size_t at = 0;

    while (at < text.len && is_white(text.data[at])) {
        at++;
    }
    *is_negative = at < text.len && text.data[at] == '-';
    if (at < text.len && (text.data[at] == '-' || text.data[at] == '+')) {
        at++;
    }
    if (at == text.len || !is_digit(text.data[at])) {
        return false;
    }
    uint64_t sum = 0;
    for (; at < text.len && is_digit(text.data[at]); at++) {
        if (__builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_add_overflow(sum, (uint64_t)(text.data[at] - '0'), &sum)) {
            return false;
        }
    }
    *magnitude = sum;
    return at == text.len || is_white(text.data[at]);
}

bool number_read_u64(struct slice text, uint64_t *value)
{
    bool is_negative;
    uint64_t magnitude;

    if (!read_signed(text, &is_negative, &magnitude)) {
        return false;
    }
    uint64_t result = is_negative ? -magnitude : magnitude;
    if (is_negative && result > INT64_MAX) {
        return false;
    }
    *value = result;
    return true;
}

bool number_read_i64(struct slice text, int64_t *value)
{
    bool is_negative;
    uint64_t magnitude;

    if (!read_signed(text, &is_negative, &magnitude)) {
        return false;
    }
    if (magnitude > (uint64_t)INT64_MAX + (is_negative ? 1 : 0)) {
        return false;
    }
    *value = (int64_t)(is_negative ? -magnitude : magnitude);
    return true;
}

bool number_read_digits(struct slice text, uint64_t *value)
{
    enum { DIGITS_SAFE = 19 }; /* so many cannot be too large */
    uint64_t sum = 0;

    if (text.len == 0 || text.len > NUMBER_TEXT_MAX) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (!is_digit(text.data[i])) {
            return false;
        }
        const uint64_t digit = (uint64_t)(text.data[i] - '0');

        if (unlikely(i >= DIGITS_SAFE) && sum > (UINT64_MAX - digit) / 10) {
            return false;
        }
        sum = sum * 10 + digit;
    }
    *value = sum;
    return true;
}

size_t number_write_u64(char *out, uint64_t value)
{
    char reversed[NUMBER_TEXT_MAX];
    size_t len = 0;

    do {
        reversed[len++] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    for (size_t i = 0; i < len; i++) {
        out[i] = reversed[len - 1 - i];
    }
    return len;
}

size_t number_write_i64(char *out, int64_t value)
{
    if (value >= 0) {
        return number_write_u64(out, (uint64_t)value);
    }
    *out = '-';
    return 1 + number_write_u64(out + 1, -(uint64_t)value);
}
