/*
 * Upper case digits on the way out, either case on the way in.
 */
#include "cli/keytext.h"

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

bool keytext_decode(char *text, size_t len, struct slice *key)
{
    size_t used = 0;

    for (size_t i = 0; i < len; i++) {
        char byte = text[i];

        if (byte == '%') {
            const int high = i + 2 < len ? hex_digit(text[i + 1]) : -1;
            const int low = i + 2 < len ? hex_digit(text[i + 2]) : -1;

            if (high < 0 || low < 0) {
                return false;
            }
            byte = (char)(high << 4 | low);
            i += 2;
        }
        text[used++] = byte;
    }
    *key = slice_make(text, used);
    return true;
}

size_t keytext_encoded_max(struct slice key)
{
    return 3 * key.len + 1;
}

char *keytext_encode(struct slice key, char *out)
{
    static const char digits[] = "0123456789ABCDEF";
    char *at = out;

    for (size_t i = 0; i < key.len; i++) {
        const unsigned char byte = (unsigned char)key.data[i];

        if (byte <= ' ' || byte > '~' || byte == '%') {
            *at++ = '%';
            *at++ = digits[byte >> 4];
            *at++ = digits[byte & 15];
        } else {
            *at++ = (char)byte;
        }
    }
    *at = '\0';
    return out;
}
