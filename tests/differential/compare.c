#include "compare.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 64 };

struct word {
    const char *data;
    size_t len;
};

struct line {
    struct word words[WORDS_MAX];
    size_t count;
    const char *data;
    size_t len; /* the line's end included */
};

void cas_book_fini(struct cas_book *book)
{
    free(book->pairs);
    *book = (struct cas_book){0};
}

/* memcached's number is of one version of one item, so it has one counterpart; and the other way
 * round for one key. */
static bool cas_agree(struct cas_book *book, int key, uint64_t one, uint64_t other)
{
    bool known = false;

    if (key != NO_KEY) {
        book->last_one[key] = one;
        book->last_other[key] = other;
    }
    for (size_t i = 0; i < book->count; i++) {
        const struct cas_pair *pair = &book->pairs[i];

        if (pair->one == one && pair->other != other) {
            return false;
        }
        if (pair->other == other && pair->one != one && pair->key == key && key != NO_KEY) {
            return false;
        }
        known = known || (pair->one == one && pair->key == key);
    }
    if (known) {
        return true;
    }
    if (book->count == book->room) {
        book->room = book->room == 0 ? 64 : book->room * 2;
        book->pairs = realloc(book->pairs, book->room * sizeof(*book->pairs));
        if (book->pairs == NULL) {
            abort();
        }
    }
    book->pairs[book->count++] = (struct cas_pair){key, one, other};
    return true;
}

static bool take_line(const struct bytes *bytes, size_t at, struct line *line)
{
    const char *start = bytes->data + at;
    const char *end = at < bytes->len ? memchr(start, '\n', bytes->len - at) : NULL;

    *line = (struct line){.data = start};
    if (end == NULL) {
        return false;
    }
    line->len = (size_t)(end + 1 - start);
    for (const char *p = start; p < end && line->count < WORDS_MAX;) {
        const char *stop = memchr(p, ' ', (size_t)(end - p));

        if (stop == NULL) {
            stop = end > start && end[-1] == '\r' ? end - 1 : end;
        }
        line->words[line->count++] = (struct word){p, (size_t)(stop - p)};
        p = *stop == ' ' ? stop + 1 : end;
    }
    return true;
}

static bool word_is(const struct word *word, const char *text)
{
    return word->len == strlen(text) && memcmp(word->data, text, word->len) == 0;
}

static bool words_equal(const struct word *a, const struct word *b)
{
    return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

/* The number at data; false where it is none. */
static bool read_number(const char *data, size_t len, long long *number)
{
    bool negative = len > 0 && *data == '-';
    size_t i = negative ? 1 : 0;

    *number = 0;
    if (i == len || len - i > 18) {
        return false;
    }
    for (; i < len; i++) {
        if (!isdigit((unsigned char)data[i])) {
            return false;
        }
        *number = *number * 10 + (data[i] - '0');
    }
    *number = negative ? -*number : *number;
    return true;
}

/* Both words are prefix and a number, which may differ by the seconds that pass meanwhile. */
static bool times_agree(const struct word *a, const struct word *b, size_t prefix)
{
    long long one, other;

    if (a->len <= prefix || b->len <= prefix || memcmp(a->data, b->data, prefix) != 0 ||
        !read_number(a->data + prefix, a->len - prefix, &one) ||
        !read_number(b->data + prefix, b->len - prefix, &other)) {
        return false;
    }
    return (one == other) || (one >= 0 && other >= 0 && llabs(one - other) <= 2);
}

static bool cas_words_agree(struct cas_book *book, int key, const struct word *a,
                            const struct word *b, size_t prefix)
{
    long long one, other;

    if (a->len <= prefix || b->len <= prefix || memcmp(a->data, b->data, prefix) != 0 ||
        !read_number(a->data + prefix, a->len - prefix, &one) ||
        !read_number(b->data + prefix, b->len - prefix, &other)) {
        return false;
    }
    return cas_agree(book, key, (uint64_t)one, (uint64_t)other);
}

/* The key that a meta reply names by k, unless in base64. */
static int meta_key(const struct line *line)
{
    int key = NO_KEY;

    for (size_t i = 1; i < line->count; i++) {
        const struct word *word = &line->words[i];

        if (word_is(word, "b")) {
            return NO_KEY;
        }
        if (word->len > 1 && *word->data == 'k') {
            key = key_number(word->data + 1, word->len - 1);
        }
    }
    return key;
}

static bool meta_flags_agree(struct cas_book *book, const struct line *a, const struct line *b,
                             size_t from)
{
    int key = meta_key(a);

    for (size_t i = from; i < a->count; i++) {
        const struct word *one = &a->words[i], *other = &b->words[i];
        char letter = one->len > 0 ? *one->data : '\0';

        if (letter == 'c' && one->len > 1) {
            if (!cas_words_agree(book, key, one, other, 1)) {
                return false;
            }
        } else if (!words_equal(one, other) &&
                   ((letter != 't' && letter != 'l') || !times_agree(one, other, 1))) {
            return false;
        }
    }
    return true;
}

/* True where the line ends what me told of a key that holds the ends of lines. */
static bool is_end_of_me(const struct line *line)
{
    return line->count > 1 && line->words[0].len == 0 && line->words[1].len > 4 &&
           memcmp(line->words[1].data, "exp=", 4) == 0;
}

static bool me_agree(struct cas_book *book, const struct line *a, const struct line *b)
{
    for (size_t i = 1; i < a->count; i++) {
        const struct word *one = &a->words[i], *other = &b->words[i];

        if (words_equal(one, other) && (one->len < 4 || memcmp(one->data, "cas=", 4) != 0)) {
            continue;
        }
        if (!times_agree(one, other, 4) && !times_agree(one, other, 3) &&
            !cas_words_agree(book, key_number(a->words[1].data, a->words[1].len), one, other, 4)) {
            return false;
        }
    }
    return true;
}

static bool is_padded_number(const char *data, size_t len)
{
    size_t i = 0;

    while (i < len && isdigit((unsigned char)data[i])) {
        i++;
    }
    if (i == 0) {
        return false;
    }
    while (i < len && data[i] == ' ') {
        i++;
    }
    return i == len;
}

/* Compares two values with their "\r\n"; a number's padding does not count. */
static bool values_agree(const struct bytes *one, size_t a, long long a_len,
                         const struct bytes *other, size_t b, long long b_len)
{
    size_t a_size = (size_t)a_len, b_size = (size_t)b_len;

    if (a + a_size + 2 > one->len || b + b_size + 2 > other->len ||
        memcmp(one->data + a + a_size, "\r\n", 2) != 0 ||
        memcmp(other->data + b + b_size, "\r\n", 2) != 0) {
        return false;
    }
    if (a_size == b_size && memcmp(one->data + a, other->data + b, a_size) == 0) {
        return true;
    }
    if (!is_padded_number(one->data + a, a_size) || !is_padded_number(other->data + b, b_size)) {
        return false;
    }
    while (one->data[a + a_size - 1] == ' ') {
        a_size--;
    }
    while (other->data[b + b_size - 1] == ' ') {
        b_size--;
    }
    return a_size == b_size && memcmp(one->data + a, other->data + b, a_size) == 0;
}

/* Which word of the line says how long the block behind it is; 0: none. */
static size_t length_word(const struct line *line)
{
    if (line->count >= 4 && line->count <= 5 && word_is(&line->words[0], "VALUE")) {
        return 3;
    }
    return line->count >= 2 && word_is(&line->words[0], "VA") ? 1 : 0;
}

static bool lines_agree(struct cas_book *book, const struct line *a, const struct line *b)
{
    static const char *const meta_codes[] = {"HD", "VA", "EN", "NF", "NS", "EX"};
    const struct word *first = &a->words[0];

    if (a->count == 0 || a->count != b->count || !words_equal(first, &b->words[0])) {
        return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
    }
    if (length_word(a) == 3) {
        return words_equal(&a->words[1], &b->words[1]) && words_equal(&a->words[2], &b->words[2]) &&
               (a->count == 4 ||
                cas_words_agree(book, key_number(a->words[1].data, a->words[1].len), &a->words[4],
                                &b->words[4], 0));
    }
    for (size_t i = 0; i < sizeof(meta_codes) / sizeof(meta_codes[0]); i++) {
        if (word_is(first, meta_codes[i])) {
            return meta_flags_agree(book, a, b, length_word(a) + 1);
        }
    }
    if (word_is(first, "ME") || is_end_of_me(a)) {
        return me_agree(book, a, b);
    }
    return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

/* A key that is given back undecoded may hold a line's end: what is behind that is skipped. */
static bool skip_same_line(const struct bytes *one, size_t *a, const struct bytes *other, size_t *b)
{
    struct line left, right;

    if (!take_line(one, *a, &left) || !take_line(other, *b, &right) || left.len != right.len ||
        memcmp(one->data + *a, other->data + *b, left.len) != 0) {
        return false;
    }
    *a += left.len;
    *b += right.len;
    return true;
}

bool replies_equal(struct cas_book *book, const struct bytes *one, const struct bytes *other,
                   struct difference *difference)
{
    size_t a = 0, b = 0;

    while (a < one->len || b < other->len) {
        struct line left, right;
        bool has_left = take_line(one, a, &left);
        bool has_right = take_line(other, b, &right);
        size_t length;
        long long a_len, b_len;

        *difference = (struct difference){a, b, NULL};
        if (!has_left || !has_right) {
            difference->why = !has_left && !has_right ? "an unfinished line"
                              : has_left              ? "a reply is missing"
                                                      : "a reply too many";
            return false;
        }
        if (!lines_agree(book, &left, &right)) {
            difference->why = "another reply";
            return false;
        }
        a += left.len;
        b += right.len;
        length = length_word(&left);
        if (length == 0) {
            continue;
        }
        if (!read_number(left.words[length].data, left.words[length].len, &a_len) ||
            !read_number(right.words[length].data, right.words[length].len, &b_len) || a_len < 0 ||
            b_len < 0 ||
            (!values_agree(one, a, a_len, other, b, b_len) &&
             !(skip_same_line(one, &a, other, &b) &&
               values_agree(one, a, a_len, other, b, b_len)))) {
            difference->why = "another value";
            return false;
        }
        a += (size_t)a_len + 2;
        b += (size_t)b_len + 2;
    }
    return true;
}
