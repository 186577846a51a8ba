#include "control/text.h"
#include "unit/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

typedef void add_fn(struct evbuffer *out, struct slice text);

/* What add makes of text; the caller frees. */
static char *added(add_fn *add, struct slice text)
{
    struct evbuffer *out = evbuffer_new();
    size_t len;
    char *copy;

    add(out, text);
    len = evbuffer_get_length(out);
    copy = calloc(1, len + 1);
    ck_assert_int_eq(evbuffer_remove(out, copy, len), (int)len);
    ck_assert_uint_eq(strlen(copy), len);
    evbuffer_free(out);
    return copy;
}

/* clang-format off */
static const struct {
    add_fn *add;
    const char *text;
    const char *want;
} cases[] = {
    { text_add_word,  "plain-key:1",       "plain-key:1" },
    { text_add_word,  "",                  "" },
    { text_add_word,  "a b%c",             "a%20b%25c" },
    { text_add_word,  "\x01\r\n\x1b[2J",   "%01%0D%0A%1B[2J" },
    { text_add_word,  "\x7f\x80\x9b\xff",  "%7F%80%9B%FF" },
    { text_add_word,  "\xc3\xb6",          "%C3%B6" },
    { text_add_word,  "\"<b>&'\\",         "\"<b>&'\\" },
    { text_add_line,  "a b%c",             "a b%c" },
    { text_add_line,  "a\nb\x9b",          "a%0Ab%9B" },
    { text_add_json,  "plain-key:1",       "\"plain-key:1\"" },
    { text_add_json,  "",                  "\"\"" },
    { text_add_json,  "\"\\",              "\"\\u0022\\u005c\"" },
    { text_add_json,  "</script>",         "\"\\u003c/script>\"" },
    { text_add_json,  "\x01\n\x7f\xff",    "\"\\u0001\\u000a\\u007f\\u00ff\"" },
    { text_add_label, "mc1",               "mc1" },
    { text_add_label, "\"} 1\\",           "\\\"} 1\\\\" },
    { text_add_label, "\n\x80",            "%0A%80" },
};
/* clang-format on */

START_TEST(bytes_leave_as_their_readers_can_take_them)
{
    char *got = added(cases[_i].add, slice_text(cases[_i].text));

    ck_assert_str_eq(got, cases[_i].want);
    free(got);
}
END_TEST

/* Whatever the byte, one at a time and between others. */
START_TEST(no_byte_leaves_as_a_control_byte)
{
    static add_fn *const adds[] = {text_add_word, text_add_line, text_add_json, text_add_label};
    char bytes[3] = {'a', (char)_i, 'z'};

    for (size_t a = 0; a < ARRAY_LEN(adds); a++) {
        char *got = added(adds[a], slice_make(bytes, sizeof(bytes)));

        for (const char *p = got; *p != '\0'; p++) {
            ck_assert_msg(*p >= ' ' && *p <= '~', "%02x of %02x", (unsigned char)*p, (unsigned)_i);
        }
        ck_assert_ptr_nonnull(strchr(got, 'a'));
        ck_assert_ptr_nonnull(strchr(got, 'z'));
        free(got);
    }
}
END_TEST

START_TEST(two_words_are_never_one)
{
    char one[2] = {(char)_i, '\0'};
    char *word = added(text_add_word, slice_make(one, 1));

    ck_assert_ptr_null(strchr(word, ' '));
    if (_i > ' ' && _i <= '~' && _i != '%') {
        ck_assert_str_eq(word, one);
    } else {
        ck_assert_uint_eq(strlen(word), 3);
        ck_assert_int_eq(strtol(word + 1, NULL, 16), _i);
    }
    free(word);
}
END_TEST

START_TEST(a_time_is_written_to_the_millisecond)
{
    char out[32];

    ck_assert_str_eq(text_time(0, out), "1970-01-01T00:00:00.000Z");
    ck_assert_str_eq(text_time(UINT64_C(1769903999123456), out), "2026-01-31T23:59:59.123Z");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("text");
    TCase *tcase = tcase_create("text");

    tcase_add_loop_test(tcase, bytes_leave_as_their_readers_can_take_them, 0, ARRAY_LEN(cases));
    tcase_add_loop_test(tcase, no_byte_leaves_as_a_control_byte, 0, 256);
    tcase_add_loop_test(tcase, two_words_are_never_one, 0, 256);
    tcase_add_test(tcase, a_time_is_written_to_the_millisecond);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
