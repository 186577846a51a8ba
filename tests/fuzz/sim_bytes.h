/*
 * Bytes that grow at one end and are used up at the other, and lines cut into
 * words.
 */
#ifndef SIM_BYTES_H
#define SIM_BYTES_H

#include "base/slice.h"

struct sim_bytes {
    char *data;
    size_t len;
    size_t room;
};

/* Makes room for more bytes behind those there are. */
void sim_bytes_reserve(struct sim_bytes *bytes, size_t more);

void sim_bytes_add(struct sim_bytes *bytes, const char *data, size_t len);

/* Drops the first len bytes. */
void sim_bytes_drop(struct sim_bytes *bytes, size_t len);

/* Takes the next word of a line whose words are parted by one blank each. */
struct slice sim_next_word(struct slice *rest);

/* words has a blank before and behind each. */
bool sim_is_one_of(struct slice word, const char *words);

#endif
