/*
 * Values with units as written in ketama.conf: "250ms", "1m", "50%", "2.5".
 * Every function takes the whole text or refuses it. Pure; any thread.
 */
#ifndef CONFIG_UNITS_H
#define CONFIG_UNITS_H

#include "base/slice.h"

#include <stdint.h>

/* No value may be larger, so that sums and products of a few cannot overflow. */
#define UNITS_MAX (UINT64_C(1) << 53)

enum { UNITS_TEXT_MAX = 32 };

enum units_result {
    UNITS_DONE,
    UNITS_NOT_A_NUMBER,
    UNITS_NO_UNIT,
    UNITS_UNKNOWN_UNIT,
    UNITS_TOO_LARGE, /* over UNITS_MAX */
};

/* A whole number without a unit. */
MUST_CHECK enum units_result units_parse_number(struct slice text, uint64_t *number);

/* ms, s, m or h, in milliseconds; 0 needs no unit. */
MUST_CHECK enum units_result units_parse_duration(struct slice text, uint64_t *ms);

/* b, k, m or g in either case, in bytes; 0 needs no unit. */
MUST_CHECK enum units_result units_parse_size(struct slice text, uint64_t *bytes);

/* A whole number and %; 0 needs no unit. */
MUST_CHECK enum units_result units_parse_percent(struct slice text, uint64_t *percent);

/* Digits, with a decimal point and digits or without; no sign, no exponent. */
MUST_CHECK enum units_result units_parse_decimal(struct slice text, double *number);

/* "yes" or "no"; false when it is neither. */
MUST_CHECK bool units_parse_yes_no(struct slice text, bool *yes);

/* The shortest text that reads back as the value; out has UNITS_TEXT_MAX bytes; returns out. */
char *units_format_duration(uint64_t ms, char *out);
char *units_format_size(uint64_t bytes, char *out);

/* What is wrong, as the end of a sentence that begins with the value. */
const char *units_result_text(enum units_result result);

#endif
