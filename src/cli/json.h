/*
 * Writes JSON to a stream, a value at a time; commas and quotes are its
 * business. Main thread.
 */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include "base/slice.h"

#include <stdint.h>
#include <stdio.h>

enum { JSON_DEPTH_MAX = 16 };

struct json {
    FILE *out;
    int depth;
    char closing[JSON_DEPTH_MAX]; /* what ends each open object or array */
    bool is_first;                /* nothing was written yet inside the innermost */
};

void json_init(struct json *json, FILE *out);

/* name is the member's in an object, NULL in an array and outside. */
void json_object(struct json *json, const char *name);
void json_array(struct json *json, const char *name);
void json_end(struct json *json); /* of the innermost; the outermost ends the line too */

void json_text(struct json *json, const char *name, const char *text);
void json_number(struct json *json, const char *name, double number);
void json_count(struct json *json, const char *name, uint64_t count);
void json_bool(struct json *json, const char *name, bool value);

#endif
