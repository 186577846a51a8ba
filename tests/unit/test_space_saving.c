#include "proxy/space_saving.h"
#include "unit/run_suite.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ZIPF_KEYS = 1000000, ZIPF_LOAD = 3000000, TOP = 10 };

static uint64_t state = 88172645463325252u;

static double drawn(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

static void add(struct space_saving *sketch, unsigned number, uint32_t weight)
{
    char key[24];
    int len = snprintf(key, sizeof(key), "key:%u", number);

    space_saving_add(sketch, slice_make(key, (size_t)len), number * 2654435761u, weight);
}

static unsigned number_of(const struct space_saving_key *kept)
{
    char text[SPACE_SAVING_KEY_MAX + 1] = "";

    memcpy(text, kept->key, kept->len);
    return (unsigned)strtoul(text + 4, NULL, 10);
}

static struct space_saving *sketch_new(void)
{
    struct space_saving *sketch = calloc(1, sizeof(*sketch));

    ck_assert_ptr_nonnull(sketch);
    space_saving_init(sketch);
    return sketch;
}

/* Running sums of 1 / rank ^ 0.99. */
static double *zipf(void)
{
    double *sums = calloc(ZIPF_KEYS, sizeof(sums[0]));
    double sum = 0;

    ck_assert_ptr_nonnull(sums);
    for (unsigned i = 0; i < ZIPF_KEYS; i++) {
        sum += pow(i + 1, -0.99);
        sums[i] = sum;
    }
    return sums;
}

static unsigned pick(const double *sums)
{
    double at = drawn() * sums[ZIPF_KEYS - 1];
    unsigned low = 0;
    unsigned high = ZIPF_KEYS - 1;

    while (low < high) {
        unsigned middle = (low + high) / 2;

        if (sums[middle] < at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

START_TEST(finds_the_hottest_of_a_zipf_load_in_order)
{
    struct space_saving *sketch = sketch_new();
    uint32_t *truth = calloc(ZIPF_KEYS, sizeof(truth[0]));
    double *sums = zipf();
    uint16_t top[TOP];

    ck_assert_ptr_nonnull(truth);
    for (unsigned i = 0; i < ZIPF_LOAD; i++) {
        unsigned number = pick(sums);

        truth[number]++;
        add(sketch, number, 1);
    }
    ck_assert_uint_eq(sketch->total, ZIPF_LOAD);
    ck_assert_uint_eq(space_saving_top(sketch, top, TOP), TOP);
    for (unsigned i = 0; i < TOP; i++) {
        const struct space_saving_key *kept = &sketch->keys[top[i]];

        ck_assert_uint_eq(number_of(kept), i);
        ck_assert_uint_ge(sketch->counts[kept - sketch->keys], truth[i]);
        ck_assert_uint_le(sketch->counts[kept - sketch->keys] - kept->error, truth[i]);
    }
    for (unsigned i = 0; i < SPACE_SAVING_KEYS; i++) {
        ck_assert_uint_le(sketch->keys[i].error, ZIPF_LOAD / SPACE_SAVING_KEYS);
    }
    free(truth);
    free(sums);
    free(sketch);
}
END_TEST

START_TEST(is_exact_while_there_is_room)
{
    struct space_saving *sketch = sketch_new();
    uint16_t top[SPACE_SAVING_KEYS];

    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < SPACE_SAVING_KEYS; i++) {
            add(sketch, i, i + 1);
        }
    }
    ck_assert_uint_eq(space_saving_top(sketch, top, SPACE_SAVING_KEYS), SPACE_SAVING_KEYS);
    for (unsigned i = 0; i < SPACE_SAVING_KEYS; i++) {
        const struct space_saving_key *kept = &sketch->keys[top[i]];

        ck_assert_uint_eq(number_of(kept), SPACE_SAVING_KEYS - 1 - i);
        ck_assert_uint_eq(sketch->counts[kept - sketch->keys], 3 * (SPACE_SAVING_KEYS - i));
        ck_assert_uint_eq(kept->error, 0);
    }
    free(sketch);
}
END_TEST

START_TEST(counts_are_never_too_low_and_errors_are_bounds)
{
    enum { KEYS = 5000, LOAD = 200000 };
    struct space_saving *sketch = sketch_new();
    uint32_t truth[KEYS] = {0};
    uint64_t sum = 0;

    for (unsigned i = 0; i < LOAD; i++) {
        unsigned number = (unsigned)(drawn() * drawn() * KEYS);

        truth[number]++;
        add(sketch, number, 1);
    }
    for (uint32_t i = 0; i < sketch->used; i++) {
        const struct space_saving_key *kept = &sketch->keys[i];
        uint32_t right = truth[number_of(kept)];

        ck_assert_uint_ge(sketch->counts[kept - sketch->keys], right);
        ck_assert_uint_le(sketch->counts[kept - sketch->keys] - kept->error, right);
        sum += sketch->counts[kept - sketch->keys];
    }
    ck_assert_uint_eq(sum, LOAD);
    free(sketch);
}
END_TEST

START_TEST(halving_keeps_the_order)
{
    struct space_saving *sketch = sketch_new();
    uint16_t top[3];

    for (unsigned i = 0; i < 3; i++) {
        add(sketch, i, 100 * (i + 1));
    }
    space_saving_halve(sketch);
    ck_assert_uint_eq(sketch->total, 300);
    ck_assert_uint_eq(space_saving_top(sketch, top, 3), 3);
    ck_assert_uint_eq(number_of(&sketch->keys[top[0]]), 2);
    ck_assert_uint_eq(sketch->counts[top[0]], 150);
    for (int i = 0; i < 10; i++) {
        space_saving_halve(sketch);
    }
    ck_assert_uint_eq(space_saving_top(sketch, top, 3), 0);
    add(sketch, 1, 5);
    ck_assert_uint_eq(space_saving_top(sketch, top, 3), 1);
    free(sketch);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("space_saving");
    TCase *all = tcase_create("all");

    tcase_set_timeout(all, 300);
    tcase_add_test(all, finds_the_hottest_of_a_zipf_load_in_order);
    tcase_add_test(all, is_exact_while_there_is_room);
    tcase_add_test(all, counts_are_never_too_low_and_errors_are_bounds);
    tcase_add_test(all, halving_keeps_the_order);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
