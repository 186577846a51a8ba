/*
 * Writing text for people and programs into an evbuffer: bytes of keys and
 * names never leave as control bytes. Any thread.
 */
#ifndef CONTROL_TEXT_H
#define CONTROL_TEXT_H

#include "base/slice.h"

#include <event2/buffer.h>
#include <stdint.h>

/* As a word: blanks, control bytes, '%' and bytes above 0x7e percent-encoded. */
void text_add_word(struct evbuffer *out, struct slice text);

/* As part of a line: only control bytes and bytes above 0x7e are encoded. */
void text_add_line(struct evbuffer *out, struct slice text);

/* As a JSON string, quotes included; a byte that is not ASCII becomes \u00XX. */
void text_add_json(struct evbuffer *out, struct slice text);

/* As the inside of a quoted label value of the metrics format. */
void text_add_label(struct evbuffer *out, struct slice text);

/* A wall clock's time as 2026-01-31T23:59:59.123Z; out has 32 bytes; returns out. */
char *text_time(uint64_t wall_us, char *out);

#endif
