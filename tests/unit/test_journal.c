#include "proxy/journal.h"
#include "unit/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <xxhash.h>

enum { KEYS = 2000, BUCKETS = 4096 };

static size_t longest_chain(const struct journal *journal)
{
    size_t longest = 0;

    for (size_t b = 0; b < journal->bucket_count; b++) {
        size_t len = 0;

        for (const struct journal_entry *e = journal->buckets[b]; e != NULL; e = e->next) {
            len++;
        }
        longest = len > longest ? len : longest;
    }
    return longest;
}

/* Else each write while a server is out would look through all those before it. */
START_TEST(keys_chosen_to_meet_in_one_bucket_do_not)
{
    struct journal journal = {0};
    unsigned number = 0;

    while (journal.count < KEYS) {
        char key[16];
        struct slice text = slice_make(key, (size_t)snprintf(key, sizeof(key), "key%u", number++));

        if ((XXH3_64bits(text.data, text.len) & (BUCKETS - 1)) == 0) {
            ck_assert(journal_add(&journal, text, NULL, UINT64_MAX));
            ck_assert(!journal_add(&journal, text, NULL, UINT64_MAX));
        }
    }
    ck_assert_uint_le(journal.bucket_count, BUCKETS);
    ck_assert_uint_lt(longest_chain(&journal), 30);
    journal_clear(&journal);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("journal");
    TCase *tests = tcase_create("journal");

    tcase_add_test(tests, keys_chosen_to_meet_in_one_bucket_do_not);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
