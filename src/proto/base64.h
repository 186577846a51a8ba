/*
 * Base64 as memcached 1.6.18 decodes keys: bytes outside the alphabet are
 * skipped, the rest must come in fours, the first padded four ends it. The
 * decoded key decides placement, so leniency here must equal the server's.
 * Pure; any thread.
 */
#ifndef PROTO_BASE64_H
#define PROTO_BASE64_H

#include "base/slice.h"

/*
 * Decodes into out, which has room for text.len bytes, and returns how many
 * were written; 0 where memcached answers "error decoding key".
 */
size_t base64_decode(struct slice text, char *out);

/* Encodes with padding into out, which has room for (bytes.len + 2) / 3 * 4; returns how many. */
size_t base64_encode(struct slice bytes, char *out);

#endif
