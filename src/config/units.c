/*
 * Numbers with units: one reader of digits, and a table of units for each kind.
 */
#include "config/units.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct unit {
    const char *name;
    uint64_t factor;
};

/* clang-format off */
static const struct unit duration_units[] = {
    { "ms", 1 },
    { "s",  1000 },
    { "m",  60 * 1000 },
    { "h",  60 * 60 * 1000 },
};

static const struct unit size_units[] = {
    { "b", 1 },
    { "k", 1 << 10 },
    { "m", 1 << 20 },
    { "g", 1 << 30 },
};

static const struct unit percent_units[] = {
    { "%", 1 },
};
/* clang-format on */

static size_t count_digits(struct slice text)
{
    size_t digits = 0;

    while (digits < text.len && text.data[digits] >= '0' && text.data[digits] <= '9') {
        digits++;
    }
    return digits;
}

/* Reads text, which is all digits. */
static enum units_result read_digits(struct slice text, uint64_t *number)
{
    uint64_t value = 0;

    if (text.len == 0) {
        return UNITS_NOT_A_NUMBER;
    }
    for (size_t i = 0; i < text.len; i++) {
        value = value * 10 + (uint64_t)(text.data[i] - '0');
        if (value > UNITS_MAX) {
            return UNITS_TOO_LARGE;
        }
    }
    *number = value;
    return UNITS_DONE;
}

/* Units are compared as written; fold says whether an upper case letter is as good. */
static bool unit_matches(const struct unit *unit, struct slice text, bool fold)
{
    char lower;

    if (!fold || text.len != 1) {
        return slice_equals(slice_text(unit->name), text);
    }
    lower = text.data[0];
    if (lower >= 'A' && lower <= 'Z') {
        lower = (char)(lower - 'A' + 'a');
    }
    return lower == unit->name[0];
}

static enum units_result parse_with_unit(struct slice text, const struct unit *units,
                                         size_t unit_count, bool fold, uint64_t *number)
{
    size_t digits = count_digits(text);
    struct slice rest = slice_make(text.data + digits, text.len - digits);
    uint64_t value;
    enum units_result result = read_digits(slice_make(text.data, digits), &value);

    if (result != UNITS_DONE) {
        return result;
    }
    if (rest.len == 0 && value != 0) {
        return UNITS_NO_UNIT;
    }
    if (rest.len == 0) {
        *number = 0;
        return UNITS_DONE;
    }
    for (size_t i = 0; i < unit_count; i++) {
        if (unit_matches(&units[i], rest, fold)) {
            if (value > UNITS_MAX / units[i].factor) {
                return UNITS_TOO_LARGE;
            }
            *number = value * units[i].factor;
            return UNITS_DONE;
        }
    }
    return UNITS_UNKNOWN_UNIT;
}

enum units_result units_parse_number(struct slice text, uint64_t *number)
{
    return count_digits(text) == text.len ? read_digits(text, number) : UNITS_NOT_A_NUMBER;
}

enum units_result units_parse_duration(struct slice text, uint64_t *ms)
{
    return parse_with_unit(text, duration_units, ARRAY_LEN(duration_units), false, ms);
}

enum units_result units_parse_size(struct slice text, uint64_t *bytes)
{
    return parse_with_unit(text, size_units, ARRAY_LEN(size_units), true, bytes);
}

enum units_result units_parse_percent(struct slice text, uint64_t *percent)
{
    return parse_with_unit(text, percent_units, ARRAY_LEN(percent_units), false, percent);
}

enum units_result units_parse_decimal(struct slice text, double *number)
{
    char copy[UNITS_TEXT_MAX];
    struct slice fraction;
    size_t digits = count_digits(text);

    if (text.len >= sizeof(copy)) {
        return UNITS_NOT_A_NUMBER;
    }
    if (digits < text.len) {
        if (text.data[digits] != '.') {
            return UNITS_NOT_A_NUMBER;
        }
        fraction = slice_make(text.data + digits + 1, text.len - digits - 1);
        if (fraction.len == 0 || count_digits(fraction) != fraction.len) {
            return UNITS_NOT_A_NUMBER;
        }
    }
    if (digits == 0) {
        return UNITS_NOT_A_NUMBER;
    }
    /* strtod rounds correctly, which a ring that must equal another's depends on; the program
     * never leaves the C locale, so its point is this one */
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    *number = strtod(copy, NULL);
    return *number > (double)UNITS_MAX ? UNITS_TOO_LARGE : UNITS_DONE;
}

bool units_parse_yes_no(struct slice text, bool *yes)
{
    *yes = slice_equals(text, SLICE("yes"));
    return *yes || slice_equals(text, SLICE("no"));
}

static char *format_with_unit(uint64_t number, const struct unit *units, size_t unit_count,
                              char *out)
{
    size_t i = unit_count - 1;

    if (number == 0) {
        snprintf(out, UNITS_TEXT_MAX, "0");
        return out;
    }
    while (number % units[i].factor != 0) {
        assert(i > 0); /* the first factor is 1 */
        i--;
    }
    snprintf(out, UNITS_TEXT_MAX, "%" PRIu64 "%s", number / units[i].factor, units[i].name);
    return out;
}

char *units_format_duration(uint64_t ms, char *out)
{
    return format_with_unit(ms, duration_units, ARRAY_LEN(duration_units), out);
}

char *units_format_size(uint64_t bytes, char *out)
{
    return format_with_unit(bytes, size_units, ARRAY_LEN(size_units), out);
}

const char *units_result_text(enum units_result result)
{
    switch (result) {
    case UNITS_DONE:
        return "is right";
    case UNITS_NOT_A_NUMBER:
        return "is not a number";
    case UNITS_NO_UNIT:
        return "has no unit";
    case UNITS_UNKNOWN_UNIT:
        return "has an unknown unit";
    case UNITS_TOO_LARGE:
        return "is too large";
    }
    return "is wrong";
}
