/*
 * Every hash against values recorded from libhashkit, and MD5 against libmd.
 * crc16, crc32a, hsieh, xxh3 and Java's are held by the placements in test_vectors.c.
 */
#include "ring/crc.h"
#include "ring/hash.h"
#include "ring/java.h"
#include "ring/md5.h"
#include "unit/run_suite.h"

#include <check.h>
#include <md5.h>
#include <stdio.h>
#include <stdlib.h>

/* The columns of tests/vectors/hash-values.tsv behind the key. */
static const enum hash columns[] = {
    HASH_ONE_AT_A_TIME, HASH_MD5,      HASH_CRC15,  HASH_FNV1_64, HASH_FNV1A_64,
    HASH_FNV1_32,       HASH_FNV1A_32, HASH_MURMUR, HASH_MURMUR3, HASH_JENKINS,
};

static struct slice decoded(char *text)
{
    size_t len = 0;

    for (const char *at = text; *at != '\0'; at++) {
        unsigned byte = (unsigned char)*at;

        if (byte == '%') {
            ck_assert_int_eq(sscanf(at + 1, "%2x", &byte), 1);
            at += 2;
        }
        text[len++] = (char)byte;
    }
    return slice_make(text, len);
}

START_TEST(hashes_as_libhashkit_does)
{
    char line[2048];
    size_t lines = 0;
    FILE *in = fopen("tests/vectors/hash-values.tsv", "r");

    ck_assert_ptr_nonnull(in);
    while (fgets(line, sizeof(line), in) != NULL) {
        char *at = line;
        struct slice key;

        if (strncmp(line, "# ", 2) == 0) {
            continue;
        }
        key = decoded(strsep(&at, "\t"));
        for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
            const uint64_t want = strtoull(strsep(&at, "\t\n"), NULL, 10);

            ck_assert_msg(hash_value(columns[i], 0, key) == want, "column %zu of %.*s", i + 1,
                          (int)key.len, key.data);
        }
        lines++;
    }
    fclose(in);
    ck_assert_uint_ge(lines, 200);
}
END_TEST

START_TEST(digests_as_libmd_does_at_every_length)
{
    unsigned char data[300];

    for (size_t i = 0; i < sizeof(data); i++) {
        data[i] = (unsigned char)(i * 7 + 3);
    }
    for (size_t len = 0; len <= sizeof(data); len++) {
        unsigned char want[MD5_DIGEST_LENGTH];
        uint32_t got[4];
        uint32_t first;
        MD5_CTX md5;

        MD5Init(&md5);
        MD5Update(&md5, data, len);
        MD5Final(want, &md5);
        md5_digest(data, len, got);
        first = md5_first_word(data, len);
        for (int word = 0; word < 4; word++) {
            const unsigned char *at = want + 4 * word;
            const uint32_t value = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
                                   (uint32_t)at[3] << 24;

            ck_assert_uint_eq(got[word], value);
        }
        ck_assert_uint_eq(first, got[0]);
    }
}
END_TEST

START_TEST(a_byte_above_0x7f_counts_as_negative)
{
    /* the unsigned reading gives another value in each of these */
    const struct slice key = SLICE("caf\xc3\xa9");

    ck_assert_uint_eq(hash_value(HASH_FNV1A_32, 0, SLICE("\xff")),
                      (uint32_t)((0x811c9dc5u ^ 0xffffffffu) * 0x01000193u));
    ck_assert_uint_ne(hash_value(HASH_FNV1A_32, 0, key), hash_value(HASH_JAVA_FNV1A_32, 0, key));
}
END_TEST

START_TEST(java_hashes_utf16_units)
{
    /* "hello", and the surrogate pair of U+1F600 after an e with acute */
    const uint32_t pair[] = {0xe9, 0xd83d, 0xde00};
    uint32_t want = 0;

    for (size_t i = 0; i < ARRAY_LEN(pair); i++) {
        want = want * 31 + pair[i];
    }
    ck_assert_uint_eq(java_string_hash(SLICE("hello")), 99162322);
    ck_assert_uint_eq(java_string_hash(SLICE("\xc3\xa9\xf0\x9f\x98\x80")), want);
}
END_TEST

START_TEST(text_that_is_not_utf8_is_taken_byte_by_byte)
{
    static const char *const broken[] = {"\xc3",         "\xff",  "\xe2\x82",
                                         "\xf0\x9f\x98", "\xc3x", "\x80"};

    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        struct slice text = slice_text(broken[i]);
        const size_t len = text.len;

        ck_assert_uint_eq(utf8_take(&text), (unsigned char)broken[i][0]);
        ck_assert_uint_eq(text.len, len - 1);
    }
}
END_TEST

START_TEST(java_writes_ipv6_addresses_out)
{
    char out[128];

    java_address("::1", 11212, out, sizeof(out));
    ck_assert_str_eq(out, "[0:0:0:0:0:0:0:1]:11212");
    java_address("2001:db8::a0", 1, out, sizeof(out));
    ck_assert_str_eq(out, "[2001:db8:0:0:0:0:0:a0]:1");
    java_address("1:2:3:4:5:6:7:8", 1, out, sizeof(out));
    ck_assert_str_eq(out, "[1:2:3:4:5:6:7:8]:1");
    java_address("::ffff:10.0.0.1", 1, out, sizeof(out));
    ck_assert_str_eq(out, "[0:0:0:0:0:ffff:a00:1]:1");
    java_address("fe80::", 1, out, sizeof(out));
    ck_assert_str_eq(out, "[fe80:0:0:0:0:0:0:0]:1");
    java_address("::", 1, out, sizeof(out));
    ck_assert_str_eq(out, "[0:0:0:0:0:0:0:0]:1");
    java_address("1::2::3", 1, out, sizeof(out));
    ck_assert_str_eq(out, "1::2::3/<unresolved>:1");
    java_address("10.0.0.1", 11211, out, sizeof(out));
    ck_assert_str_eq(out, "10.0.0.1:11211");
    java_address("mc.example", 11211, out, sizeof(out));
    ck_assert_str_eq(out, "mc.example/<unresolved>:11211");
}
END_TEST

START_TEST(a_name_means_what_its_family_means_by_it)
{
    enum hash hash;

    ck_assert(hash_find("crc32", HASH_OF_TWEMPROXY, &hash));
    ck_assert_int_eq(hash, HASH_CRC15);
    ck_assert(hash_find("crc32", HASH_OF_PECL, &hash));
    ck_assert_int_eq(hash, HASH_CRC32);
    ck_assert(hash_find("fnv1_32", HASH_OF_SPYMEMCACHED, &hash));
    ck_assert_int_eq(hash, HASH_JAVA_FNV1_32);
    ck_assert(!hash_find("hsieh", HASH_OF_LIBMEMCACHED, &hash));
    ck_assert(!hash_find("fnv1a_64", HASH_OF_MD5_ONLY, &hash));
}
END_TEST

START_TEST(crc32_goes_on_from_where_it_was)
{
    ck_assert_uint_eq(crc32_extend(0, "123456789", 9), 0xcbf43926u);
    ck_assert_uint_eq(crc32_extend(crc32_extend(0, "1234", 4), "56789", 5), 0xcbf43926u);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hash");
    TCase *tcase = tcase_create("hash");

    tcase_add_test(tcase, hashes_as_libhashkit_does);
    tcase_add_test(tcase, digests_as_libmd_does_at_every_length);
    tcase_add_test(tcase, a_byte_above_0x7f_counts_as_negative);
    tcase_add_test(tcase, java_hashes_utf16_units);
    tcase_add_test(tcase, text_that_is_not_utf8_is_taken_byte_by_byte);
    tcase_add_test(tcase, java_writes_ipv6_addresses_out);
    tcase_add_test(tcase, a_name_means_what_its_family_means_by_it);
    tcase_add_test(tcase, crc32_goes_on_from_where_it_was);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
