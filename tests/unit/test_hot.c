#include "proxy/hot.h"
#include "unit/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t state = 88172645463325252u;

static uint64_t drawn(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void ask(struct hot *hot, const char *text)
{
    struct slice key = slice_make(text, strlen(text));

    hot_key(hot, &key);
}

static uint32_t slot_of(const char *text)
{
    struct slice key = slice_make(text, strlen(text));

    return hot_slot(&key);
}

/* One of many keys that are asked once. */
static void ask_other(struct hot *hot)
{
    char key[32];

    snprintf(key, sizeof(key), "other:%llx", (unsigned long long)drawn());
    ask(hot, key);
}

static struct hot *hot_of_many(void)
{
    struct hot *hot = hot_new();

    ck_assert_ptr_nonnull(hot);
    for (unsigned i = 0; i < 200000; i++) { /* from here on one in HOT_GAP_MAX is looked at */
        ask_other(hot);
    }
    ck_assert_uint_eq(hot->gap, HOT_GAP_MAX);
    return hot;
}

static const struct hot_published_key *published(const struct hot *hot, const char *text)
{
    for (uint32_t i = 0; i < hot->published.count; i++) {
        const struct hot_published_key *key = &hot->published.keys[i];

        if (key->len == strlen(text) && memcmp(key->key, text, key->len) == 0) {
            return key;
        }
    }
    return NULL;
}

/* Keys that differ in few places, short ones, and one that is the end of another. */
static const char *const families[][4] = {
    {"key:00000001", "key:00000002", "key:00000003", "key:00000004"},
    {"user:1:profile", "user:2:profile", "user:3:profile", "user:4:profile"},
    {"a", "b", "ab", "abcdefg"},
    {"abcdefgh", "xabcdefgh", "abcdefghx", "xxabcdefgh"},
    {"1-------------------------------long", "2-------------------------------long",
     "3-------------------------------long", "4-------------------------------long"},
};

START_TEST(counts_the_frequent_ones_exactly_however_busy_it_is)
{
    enum { ROUNDS = 20000 };
    struct hot *hot = hot_of_many();
    uint64_t before[4];

    for (unsigned round = 0; round < 2 * ROUNDS; round++) {
        if (round == ROUNDS) { /* by now they are known */
            hot_publish(hot);
            hot_publish(hot);
            for (unsigned k = 0; k < 4; k++) {
                ck_assert_ptr_nonnull(published(hot, families[_i][k]));
                before[k] = published(hot, families[_i][k])->count;
            }
        }
        for (unsigned k = 0; k < 4; k++) {
            for (unsigned times = 0; times <= k; times++) {
                ask(hot, families[_i][k]);
            }
        }
        ask_other(hot);
        ask_other(hot);
    }
    hot_publish(hot);
    for (unsigned k = 0; k < 4; k++) {
        ck_assert_uint_eq(published(hot, families[_i][k])->count - before[k], (k + 1) * ROUNDS);
    }
    hot_free(hot);
}
END_TEST

START_TEST(more_keys_of_one_slot_than_it_takes_are_counted_about_right)
{
    enum { KEYS = 12, ROUNDS = 20000 };
    struct hot *hot = hot_of_many();
    char keys[KEYS][64];

    for (unsigned k = 0; k < KEYS; k++) { /* they differ where no slot looks */
        snprintf(keys[k], sizeof(keys[k]), "%02u0000000000000000000000000000000000000000", k);
        ck_assert_uint_eq(slot_of(keys[k]), slot_of(keys[0]));
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned k = 0; k < KEYS; k++) {
            ask(hot, keys[k]);
        }
        if (round % 1000 == 0) {
            hot_publish(hot);
        }
    }
    hot_publish(hot);
    for (unsigned k = 0; k < KEYS; k++) {
        const struct hot_published_key *key = published(hot, keys[k]);

        ck_assert_ptr_nonnull(key);
        ck_assert_uint_ge(key->count, ROUNDS * 8 / 10);
        ck_assert_uint_le(key->count - key->error, ROUNDS * 12 / 10);
    }
    hot_free(hot);
}
END_TEST

START_TEST(what_was_hot_gives_way_to_what_is)
{
    struct hot *hot = hot_of_many();

    for (unsigned i = 0; i < 100000; i++) {
        ask(hot, "yesterday");
    }
    for (unsigned second = 0; second < 1200; second++) {
        for (unsigned i = 0; i < 100; i++) {
            ask(hot, "today");
        }
        hot_publish(hot);
    }
    ck_assert_uint_eq(hot->published.keys[0].len, strlen("today"));
    ck_assert_uint_lt(hot->published.keys[0].count, 2 * 60 * 100 + 100);
    hot_free(hot);
}
END_TEST

START_TEST(the_start_of_a_load_is_counted_whole_after_quiet_seconds)
{
    struct hot *hot = hot_new();

    ck_assert_ptr_nonnull(hot);
    hot_publish(hot);
    hot_publish(hot);
    for (unsigned i = 0; i < 500; i++) {
        ask(hot, "key:frequent");
        ask_other(hot);
    }
    hot_publish(hot);
    ck_assert_uint_eq(hot->published.keys[0].count, 500);
    ck_assert_uint_eq(hot->published.keys[0].error, 0);
    ck_assert_uint_eq(hot->published.total, 1000);
    hot_free(hot);
}
END_TEST

/* Ten keys of 1 in 100 each, that a second ends wherever it likes. */
START_TEST(where_in_a_second_a_load_begins_does_not_matter)
{
    enum { HOT = 10, PARTS = 1000, PART = 10, ASKED = 100000, STEP = 25 };
    static const char *const keys[HOT] = {"key:zero",  "key:one",  "key:two",  "key:three",
                                          "key:four",  "key:five", "key:six2", "key:seven",
                                          "key:eight", "key:nine"};

    for (unsigned ends_at = 0; ends_at < 2 * HOT_LOOKS_FIRST; ends_at += STEP) {
        struct hot *hot = hot_new();
        unsigned asked[HOT] = {0};

        ck_assert_ptr_nonnull(hot);
        for (unsigned i = 0; i < ASKED; i++) {
            unsigned key = (unsigned)(drawn() % PARTS) / PART;

            if (i == ends_at) {
                hot_publish(hot);
            }
            if (key < HOT) {
                ask(hot, keys[key]);
                asked[key]++;
            } else {
                ask_other(hot);
            }
        }
        hot_publish(hot);
        for (unsigned k = 0; k < HOT; k++) {
            const struct hot_published_key *key = published(hot, keys[k]);

            ck_assert_ptr_nonnull(key);
            ck_assert_msg(llabs((long long)key->count - asked[k]) <=
                              asked[k] / 10 + (long long)key->error,
                          "ended at %u: %s %llu of %u", ends_at, keys[k],
                          (unsigned long long)key->count, asked[k]);
        }
        hot_free(hot);
    }
}
END_TEST

START_TEST(a_load_without_hot_keys_has_none_counted_one_by_one)
{
    struct hot *hot = hot_of_many();

    hot_publish(hot);
    ck_assert_uint_eq(hot->exact_count, 0);
    hot_free(hot);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hot");
    TCase *all = tcase_create("all");

    tcase_set_timeout(all, 300);
    tcase_add_loop_test(all, counts_the_frequent_ones_exactly_however_busy_it_is, 0,
                        (int)(sizeof(families) / sizeof(families[0])));
    tcase_add_test(all, more_keys_of_one_slot_than_it_takes_are_counted_about_right);
    tcase_add_test(all, what_was_hot_gives_way_to_what_is);
    tcase_add_test(all, the_start_of_a_load_is_counted_whole_after_quiet_seconds);
    tcase_add_test(all, where_in_a_second_a_load_begins_does_not_matter);
    tcase_add_test(all, a_load_without_hot_keys_has_none_counted_one_by_one);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
