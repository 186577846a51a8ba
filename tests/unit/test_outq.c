#include "base/outq.h"
#include "base/slice.h"
#include "unit/run_suite.h"

#include <check.h>
#include <stdlib.h>

/* A queue and what its bytes come from; made new for each test. */
static struct chunk_pool pool;
static struct chunk *gather;
static struct outq queue;
static char written[16 * 1024]; /* what small pieces are copied to for a write */

static void set_up(void)
{
    chunk_pool_init(&pool);
    gather = NULL;
    outq_init(&queue, &pool);
}

/* Nothing may be left over: each chunk was given back. */
static void tear_down(void)
{
    outq_fini(&queue);
    chunk_unref(gather);
    ck_assert_uint_eq(pool.used_bytes, 0);
    chunk_pool_fini(&pool);
}

/* The whole queue's bytes, which the caller frees. */
static char *all_bytes(size_t *len)
{
    char *bytes = malloc(queue.bytes > 0 ? queue.bytes : 1);
    size_t at = 0;

    ck_assert_ptr_nonnull(bytes);
    for (uint32_t i = 0; i < queue.count; i++) {
        const struct piece *piece = outq_at(&queue, i);

        ck_assert_uint_le(at + piece->len, queue.bytes);
        memcpy(bytes + at, piece->data, piece->len);
        at += piece->len;
    }
    ck_assert_uint_eq(at, queue.bytes);
    *len = at;
    return bytes;
}

/* The queue holds so many bytes, each of them told by its place. */
static void expect_bytes(size_t count)
{
    size_t len;
    char *bytes = all_bytes(&len);

    ck_assert_uint_eq(len, count);
    for (size_t i = 0; i < len; i++) {
        ck_assert_msg(bytes[i] == (char)(i % 251), "byte %zu", i);
    }
    free(bytes);
}

/* A text whose byte i is what belongs at place first + i. */
static void fill(char *text, size_t len, size_t first)
{
    for (size_t i = 0; i < len; i++) {
        text[i] = (char)((first + i) % 251);
    }
}

/* Copies pieces of many lengths, beginning at place first of the queue; returns where they end. */
static size_t copy_pieces(size_t first, unsigned count)
{
    struct outq_copier copier = outq_copier_begin(&queue, &gather);
    char text[700];
    size_t at = first;

    for (unsigned i = 0; i < count; i++) {
        size_t len = i * 37 % sizeof(text);

        fill(text, len, at);
        ck_assert(outq_copier_add(&copier, text, len));
        at += len;
    }
    ck_assert(outq_copier_end(&copier));
    return at;
}

START_TEST(what_is_copied_comes_out_in_order)
{
    size_t end = copy_pieces(0, 400);

    expect_bytes(end);
    ck_assert_uint_gt(end, 100000); /* many chunks */
    ck_assert_uint_lt(queue.count, 12);
}
END_TEST

START_TEST(copies_go_on_where_others_ended)
{
    size_t end = copy_pieces(0, 10);
    char text[90];

    fill(text, sizeof(text), end);
    ck_assert(outq_copy(&queue, text, sizeof(text), &gather));
    end = copy_pieces(end + sizeof(text), 9);
    expect_bytes(end);
    ck_assert_uint_eq(queue.count, 1);
}
END_TEST

START_TEST(a_copier_that_was_ended_may_go_on)
{
    struct outq_copier copier = outq_copier_begin(&queue, &gather);
    char text[1000];

    fill(text, sizeof(text), 0);
    ck_assert(outq_copier_end(&copier)); /* of nothing */
    ck_assert(outq_copier_add(&copier, text, 100));
    ck_assert(outq_copier_end(&copier));
    ck_assert(outq_append(&queue, text + 100, 300, NULL, 0));
    ck_assert(outq_copier_add(&copier, text + 400, 600));
    ck_assert(outq_copier_end(&copier));
    ck_assert(outq_copier_end(&copier));
    expect_bytes(1000);
    ck_assert_uint_eq(queue.count, 3);
}
END_TEST

START_TEST(one_larger_than_a_chunk_has_one_of_its_own)
{
    struct outq_copier copier = outq_copier_begin(&queue, &gather);
    const size_t len = 300000;
    char *text = malloc(len);

    ck_assert_ptr_nonnull(text);
    fill(text, len, 0);
    ck_assert(outq_copier_add(&copier, text, 10));
    ck_assert(outq_copier_add(&copier, text + 10, len - 10));
    ck_assert(outq_copier_end(&copier));
    free(text);
    expect_bytes(len);
}
END_TEST

START_TEST(pieces_are_written_off_byte_by_byte)
{
    size_t end = copy_pieces(0, 60);
    char text[5] = "text";

    ck_assert(outq_append(&queue, text, 4, NULL, 0));
    for (size_t left = end + 4; left > 0; left--) {
        struct gathering g;

        gathering_begin(&g, written, sizeof(written));
        outq_gather(&queue, &g);
        ck_assert_uint_eq(g.total, left);
        if (left > 4) {
            ck_assert_int_eq(*(char *)g.parts[0].iov_base, (char)((end + 4 - left) % 251));
        }
        outq_advance(&queue, 1);
        ck_assert_uint_eq(queue.bytes, left - 1);
    }
    ck_assert(outq_is_empty(&queue));
}
END_TEST

/* Pieces of these lengths, or fewer, are what a write takes; each byte of a piece is its number. */
static void gather_and_compare(const size_t *lens, unsigned count, size_t room, unsigned taken)
{
    static char pieces[70][2000];
    struct gathering g;
    unsigned n = 0;
    size_t of_piece = 0;
    size_t total = 0;

    for (unsigned i = 0; i < count; i++) {
        memset(pieces[i], (int)i, lens[i]);
        ck_assert(outq_append(&queue, pieces[i], lens[i], NULL, i));
        total += i < taken ? lens[i] : 0;
    }
    gathering_begin(&g, written, room);
    outq_gather(&queue, &g);
    ck_assert_uint_eq(g.total, total);
    for (int p = 0; p < g.count; p++) {
        for (size_t i = 0; i < g.parts[p].iov_len; i++) {
            ck_assert_int_eq(((char *)g.parts[p].iov_base)[i], (char)n);
            if (++of_piece == lens[n]) {
                n++;
                of_piece = 0;
            }
        }
    }
    ck_assert_uint_eq(n, taken);
    ck_assert_uint_eq(of_piece, 0);
    ck_assert(g.at <= written + room);
}

START_TEST(large_pieces_stay_where_they_lie_between_small_ones)
{
    size_t lens[] = {1, 1025, 1024, 7, 1025, 2000, 3};

    gather_and_compare(lens, ARRAY_LEN(lens), sizeof(written), ARRAY_LEN(lens));
}
END_TEST

START_TEST(a_write_takes_no_more_than_its_buffer_holds)
{
    size_t lens[] = {600, 1500, 400, 24, 1, 1500};

    gather_and_compare(lens, ARRAY_LEN(lens), 1024, 4);
    outq_fini(&queue);
    gather_and_compare(lens, ARRAY_LEN(lens), 1025, 6);
}
END_TEST

START_TEST(a_write_takes_no_more_parts_than_it_has)
{
    size_t lens[70];

    for (unsigned i = 0; i < ARRAY_LEN(lens); i++) {
        lens[i] = i % 2 ? 10 : 1025;
    }
    gather_and_compare(lens, ARRAY_LEN(lens), sizeof(written), GATHERING_PARTS);
}
END_TEST

START_TEST(the_last_part_still_grows)
{
    size_t lens[GATHERING_PARTS + 2];

    for (unsigned i = 0; i < ARRAY_LEN(lens); i++) {
        lens[i] = i < GATHERING_PARTS - 1 ? 1025 : 10;
    }
    gather_and_compare(lens, ARRAY_LEN(lens), sizeof(written), ARRAY_LEN(lens));
}
END_TEST

START_TEST(bytes_that_follow_in_memory_extend_the_last_piece)
{
    struct chunk *chunk = chunk_new(&pool, 100);

    ck_assert_ptr_nonnull(chunk);
    fill(chunk->data, 100, 0);
    ck_assert(outq_append(&queue, chunk->data, 10, chunk, 1));
    ck_assert(outq_append(&queue, chunk->data + 10, 20, chunk, 1));
    ck_assert_uint_eq(queue.count, 1);
    ck_assert(outq_append(&queue, chunk->data + 30, 5, chunk, 2)); /* another key's */
    ck_assert_uint_eq(queue.count, 2);
    ck_assert(outq_append(&queue, chunk->data + 35, 0, chunk, 2)); /* nothing at all */
    ck_assert_uint_eq(queue.count, 2);
    chunk_unref(chunk);
    expect_bytes(35);
}
END_TEST

START_TEST(a_settled_queue_pins_no_shared_chunk)
{
    struct chunk *shared = chunk_new(&pool, 64 * 1024);
    uint64_t before;

    ck_assert_ptr_nonnull(shared);
    shared->is_shared = true;
    fill(shared->data, 1000, 0);
    ck_assert(outq_append(&queue, shared->data, 400, shared, 0));
    ck_assert(outq_append(&queue, shared->data + 400, 600, shared, 1));
    chunk_unref(shared);
    before = pool.used_bytes;
    ck_assert(outq_settle(&queue));
    ck_assert_uint_lt(pool.used_bytes, before / 8);
    expect_bytes(1000);
}
END_TEST

/* Appends bytes of a shared chunk that nobody else has, told by their place in the queue. */
static void append_shared(size_t bytes)
{
    struct chunk *shared = chunk_new(&pool, 64 * 1024 - sizeof(struct chunk));

    ck_assert_ptr_nonnull(shared);
    shared->is_shared = true;
    fill(shared->data, bytes, queue.bytes);
    ck_assert(outq_append(&queue, shared->data, bytes, shared, 0));
    chunk_unref(shared);
}

START_TEST(a_few_bytes_more_pin_no_further_chunk)
{
    enum { SMALL = 10, TIMES = 20 };
    uint64_t before;

    append_shared(OUTQ_PIN_BYTES);
    ck_assert(outq_settle(&queue));
    before = pool.used_bytes;
    for (int i = 0; i < TIMES; i++) {
        append_shared(SMALL);
        ck_assert(outq_settle(&queue));
    }
    ck_assert_uint_le(pool.used_bytes, before + TIMES * 128);
    expect_bytes(OUTQ_PIN_BYTES + TIMES * SMALL);
}
END_TEST

START_TEST(what_is_settled_may_go_before_the_rest_is)
{
    append_shared(100);
    append_shared(100);
    ck_assert(outq_settle(&queue));
    outq_advance(&queue, 150);
    append_shared(100);
    append_shared(100);
    outq_advance(&queue, 100);
    ck_assert(outq_settle(&queue));
    ck_assert_uint_le(pool.used_bytes, 1024);
    ck_assert_uint_eq(queue.bytes, 150);
}
END_TEST

START_TEST(a_long_list_of_pieces_counts_as_memory_in_use)
{
    enum { PIECES = 1000 };

    for (uint32_t i = 0; i < PIECES; i++) {
        ck_assert(outq_append(&queue, "text", 4, NULL, i));
        ck_assert_uint_eq(pool.used_bytes,
                          i < OUTQ_INLINE ? 0 : queue.capacity * sizeof(struct piece));
    }
    outq_advance(&queue, 4 * (PIECES - 1));
    ck_assert_uint_ge(pool.used_bytes, PIECES * sizeof(struct piece));
    outq_advance(&queue, 4);
    ck_assert_uint_eq(pool.used_bytes, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("outq");
    TCase *tests = tcase_create("outq");

    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, what_is_copied_comes_out_in_order);
    tcase_add_test(tests, copies_go_on_where_others_ended);
    tcase_add_test(tests, a_copier_that_was_ended_may_go_on);
    tcase_add_test(tests, one_larger_than_a_chunk_has_one_of_its_own);
    tcase_add_test(tests, pieces_are_written_off_byte_by_byte);
    tcase_add_test(tests, large_pieces_stay_where_they_lie_between_small_ones);
    tcase_add_test(tests, a_write_takes_no_more_than_its_buffer_holds);
    tcase_add_test(tests, a_write_takes_no_more_parts_than_it_has);
    tcase_add_test(tests, the_last_part_still_grows);
    tcase_add_test(tests, bytes_that_follow_in_memory_extend_the_last_piece);
    tcase_add_test(tests, a_settled_queue_pins_no_shared_chunk);
    tcase_add_test(tests, a_few_bytes_more_pin_no_further_chunk);
    tcase_add_test(tests, what_is_settled_may_go_before_the_rest_is);
    tcase_add_test(tests, a_long_list_of_pieces_counts_as_memory_in_use);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
