/*
 * Keys as ketamactl reads and writes them: a control character, a blank, a %,
 * and a byte above 0x7e is %XX. Pure.
 */
#ifndef CLI_KEYTEXT_H
#define CLI_KEYTEXT_H

#include "base/slice.h"

/* Decodes text where it stands. False: a % without two hexadecimal digits behind it. */
MUST_CHECK bool keytext_decode(char *text, size_t len, struct slice *key);

/* How many bytes keytext_encode writes at most, with the zero behind them. */
size_t keytext_encoded_max(struct slice key);

/* Writes the key's text and a zero; returns out. */
char *keytext_encode(struct slice key, char *out);

#endif
