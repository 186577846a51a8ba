/* See base64.h. */
#include "proto/base64.h"

#include <stdint.h>

/* The six bits a byte stands for, -1 outside the alphabet; padding counts as zeros. */
static int sextet(char byte)
{
    if (byte >= 'A' && byte <= 'Z') {
        return byte - 'A';
    }
    if (byte >= 'a' && byte <= 'z') {
        return byte - 'a' + 26;
    }
    if (byte >= '0' && byte <= '9') {
        return byte - '0' + 52;
    }
    switch (byte) {
    case '+':
        return 62;
    case '/':
        return 63;
    case '=':
        return 0;
    default:
        return -1;
    }
}

static size_t count_sextets(struct slice text)
{
    size_t count = 0;

    for (size_t i = 0; i < text.len; i++) {
        count += sextet(text.data[i]) >= 0;
    }
    return count;
}

size_t base64_decode(struct slice text, char *out)
{
    if (count_sextets(text) % 4 != 0) {
        return 0;
    }
    size_t written = 0;
    size_t padding = 0;
    size_t filled = 0;
    uint32_t quantum = 0;
    for (size_t i = 0; i < text.len; i++) {
        int bits = sextet(text.data[i]);

        if (bits < 0) {
            continue;
        }
        padding += text.data[i] == '=';
        quantum = quantum << 6 | (uint32_t)bits;
        if (++filled < 4) {
            continue;
        }
        out[written++] = (char)(quantum >> 16);
        out[written++] = (char)(quantum >> 8);
        out[written++] = (char)quantum;
        if (padding > 2) {
            return 0;
        }
        if (padding > 0) {
            return written - padding;
        }
        filled = 0;
        quantum = 0;
    }
    return written;
}

size_t base64_encode(struct slice bytes, char *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t n = 0;

    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        uint32_t three = (uint32_t)(unsigned char)bytes.data[i] << 16;

        three |= left > 1 ? (uint32_t)(unsigned char)bytes.data[i + 1] << 8 : 0;
        three |= left > 2 ? (uint32_t)(unsigned char)bytes.data[i + 2] : 0;
        out[n++] = digits[three >> 18];
        out[n++] = digits[three >> 12 & 63];
        out[n++] = digits[three >> 6 & 63];
        out[n++] = digits[three & 63];
        if (left < 3) {
            out[n - 1] = '=';
            out[n - 2] = left == 1 ? '=' : out[n - 2];
        }
    }
    return n;
}
