#include "proxy/histogram.h"
#include "unit/run_suite.h"

#include <check.h>
#include <stdlib.h>

/* What one value is told as by its percentile. */
static uint64_t told_as(uint64_t value)
{
    struct histogram histogram = {0};
    struct histogram_sum sum = {0};

    histogram_add(&histogram, value, 1);
    histogram_read(&histogram, &sum);
    histogram_fini(&histogram);
    ck_assert_uint_eq(sum.total, 1);
    return histogram_percentile(&sum, 0.5);
}

START_TEST(a_value_is_told_within_one_percent)
{
    for (uint64_t value = 0; value < HISTOGRAM_VALUE_MAX; value += 1 + value / 300) {
        double told = (double)told_as(value);

        ck_assert_msg(told >= 0.99 * (double)value && told <= 1.01 * (double)value,
                      "%lu is told as %f", value, told);
    }
}
END_TEST

START_TEST(small_values_are_exact_and_large_ones_bounded)
{
    for (uint64_t value = 0; value < 128; value++) {
        ck_assert_uint_eq(told_as(value), value);
    }
    ck_assert_uint_eq(told_as(UINT64_MAX), told_as(HISTOGRAM_VALUE_MAX));
}
END_TEST

START_TEST(buckets_follow_each_other_without_a_gap)
{
    for (unsigned bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
        uint64_t start = histogram_bucket_start(bucket);

        ck_assert_uint_eq(histogram_bucket((uint32_t)start), bucket);
        ck_assert_uint_eq(histogram_bucket((uint32_t)histogram_bucket_start(bucket + 1) - 1),
                          bucket);
    }
    ck_assert_uint_eq(histogram_bucket(HISTOGRAM_VALUE_MAX), HISTOGRAM_BUCKETS - 1);
}
END_TEST

START_TEST(percentiles_and_mean_of_many)
{
    struct histogram histogram = {0};
    struct histogram_sum sum = {0};

    for (uint64_t value = 1; value <= 10000; value++) {
        histogram_add(&histogram, value, 2);
    }
    histogram_read(&histogram, &sum);
    ck_assert_uint_eq(sum.total, 20000);
    ck_assert_double_eq_tol((double)histogram_percentile(&sum, 0.5), 5000, 50);
    ck_assert_double_eq_tol((double)histogram_percentile(&sum, 0.99), 9900, 99);
    ck_assert_double_eq_tol((double)histogram_percentile(&sum, 1), 10000, 100);
    ck_assert_double_eq_tol(histogram_mean(&sum), 5000.5, 50);
    ck_assert_uint_eq(histogram_below(&sum, 4096), 2 * 4095);
    histogram_fini(&histogram);
}
END_TEST

START_TEST(a_difference_is_what_came_between)
{
    struct histogram histogram = {0};
    struct histogram_sum before = {0};
    struct histogram_sum after = {0};

    histogram_add(&histogram, 10, 5);
    histogram_read(&histogram, &before);
    histogram_add(&histogram, 10, 1);
    histogram_add(&histogram, 900000, 3);
    histogram_read(&histogram, &after);
    histogram_subtract(&after, &before);
    ck_assert_uint_eq(after.total, 4);
    ck_assert_uint_eq(histogram_below(&after, 16), 1);
    histogram_fini(&histogram);
}
END_TEST

static void add_quickly(struct histogram *histogram, uint64_t value)
{
    if (!histogram_add_same(histogram, value)) {
        histogram_add_other(histogram, value);
    }
}

START_TEST(equal_values_in_a_row_add_up)
{
    struct histogram one = {0};
    struct histogram_sum sum = {0};

    ck_assert(!histogram_add_same(&one, 0));
    ck_assert(!histogram_add_same(&one, UINT64_MAX - 1));
    for (int i = 0; i < 100; i++) {
        add_quickly(&one, 7);
    }
    ck_assert(histogram_add_same(&one, 7));
    add_quickly(&one, 0);
    add_quickly(&one, 0);
    add_quickly(&one, 7);
    add_quickly(&one, UINT64_MAX - 1);
    histogram_add(&one, 7, 5);
    histogram_forget_last(&one);
    ck_assert(!histogram_add_same(&one, UINT64_MAX - 1));
    histogram_read(&one, &sum);
    ck_assert_uint_eq(sum.total, 110);
    ck_assert_uint_eq(sum.counts[7], 107);
    ck_assert_uint_eq(sum.counts[0], 2);
    histogram_fini(&one);
}
END_TEST

START_TEST(an_empty_one_has_no_percentile)
{
    struct histogram_sum sum = {0};

    ck_assert_uint_eq(histogram_percentile(&sum, 0.99), 0);
    ck_assert_double_eq(histogram_mean(&sum), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("histogram");
    TCase *all = tcase_create("all");

    tcase_set_timeout(all, 60);
    tcase_add_test(all, a_value_is_told_within_one_percent);
    tcase_add_test(all, small_values_are_exact_and_large_ones_bounded);
    tcase_add_test(all, buckets_follow_each_other_without_a_gap);
    tcase_add_test(all, percentiles_and_mean_of_many);
    tcase_add_test(all, a_difference_is_what_came_between);
    tcase_add_test(all, equal_values_in_a_row_add_up);
    tcase_add_test(all, an_empty_one_has_no_percentile);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
