#include "base/outq.h"
#include "unit/run_suite.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* A sender, and who gets what comes of it: two pairs of sockets, the pool and a queue between. */
static struct chunk_pool pool;
static struct outq queue;
static int sender[2];
static int taker[2];
static unsigned descriptors;

static unsigned open_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    unsigned count = 0;

    ck_assert_ptr_nonnull(directory);
    while (readdir(directory) != NULL) {
        count++;
    }
    closedir(directory);
    return count;
}

static void set_up(void)
{
    chunk_pool_init(&pool);
    outq_init(&queue, &pool);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sender), 0);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, taker), 0);
    descriptors = open_descriptors();
}

static void tear_down(void)
{
    outq_fini(&queue);
    ck_assert_uint_eq(pool.used_bytes, 0);
    chunk_pool_fini(&pool);
    ck_assert_uint_eq(open_descriptors(), descriptors);
    for (int i = 0; i < 2; i++) {
        close(sender[i]);
        close(taker[i]);
    }
}

static struct chunk *new_tube(void)
{
    struct chunk *chunk = chunk_new_tube(&pool);

    ck_assert_ptr_nonnull(chunk);
    return chunk;
}

/* Sends text and moves it to chunk's tube and to the queue's end. */
static void move(struct chunk *chunk, const char *text, uint32_t ordinal)
{
    size_t len = strlen(text);

    ck_assert_int_eq(write(sender[0], text, len), len);
    ck_assert_int_eq(chunk_fill_tube(chunk, sender[1], len), len);
    ck_assert(outq_append(&queue, NULL, len, chunk, ordinal));
}

/* What the taker was sent so far. */
static void expect_taken(const char *text)
{
    char got[200] = "";
    ssize_t n = read(taker[1], got, sizeof(got) - 1);

    ck_assert_int_eq(n, strlen(text));
    ck_assert_str_eq(got, text);
}

/* Writes the first piece, which is in a tube, at most so many bytes of it. */
static void drain(size_t most)
{
    const struct piece *first = outq_at(&queue, 0);
    size_t len = first->len < most ? first->len : most;

    ck_assert_ptr_null(first->data);
    ck_assert_int_eq(chunk_drain_tube(first->chunk, taker[0], len, false), len);
    outq_advance(&queue, len);
}

START_TEST(what_is_moved_comes_out_in_order_and_counts_until_it_has)
{
    struct chunk *chunk = new_tube();
    uint64_t empty = pool.used_bytes;

    move(chunk, "one", 0);
    move(chunk, "two", 0);
    ck_assert_uint_eq(queue.count, 1);
    ck_assert_uint_eq(queue.bytes, 6);
    ck_assert_uint_eq(pool.used_bytes, empty + 6);
    chunk_unref(chunk);
    drain(4);
    expect_taken("onet");
    ck_assert_uint_eq(pool.used_bytes, empty + 2);
    drain(100);
    expect_taken("wo");
    ck_assert(outq_is_empty(&queue));
    ck_assert_uint_eq(pool.tubes.kept_count, 1);
}
END_TEST

START_TEST(a_short_piece_behind_it_leaves_with_it)
{
    struct chunk *chunk = new_tube();

    move(chunk, "value", 0);
    chunk_unref(chunk);
    ck_assert(outq_append(&queue, "\r\nEND\r\n", 7, NULL, 0));
    ck_assert(outq_append(&queue, "more", 4, NULL, 0));
    drain(2);
    outq_join_tube(&queue);
    ck_assert_uint_eq(queue.count, 2);
    ck_assert_uint_eq(queue.bytes, 3 + 7 + 4);
    drain(100);
    expect_taken("value\r\nEND\r\n");
    outq_join_tube(&queue); /* the first is in no tube: nothing is done */
    ck_assert_uint_eq(queue.count, 1);
    ck_assert_str_eq(outq_at(&queue, 0)->data, "more");
}
END_TEST

START_TEST(a_long_piece_or_another_tube_behind_it_is_not_joined)
{
    static char text[GATHERING_SMALL_MAX + 1];
    struct chunk *chunk = new_tube();
    struct chunk *other = new_tube();

    move(chunk, "a", 0);
    outq_join_tube(&queue);
    move(other, "b", 0);
    outq_join_tube(&queue);
    ck_assert_uint_eq(queue.count, 2);
    drain(1);
    ck_assert(outq_append(&queue, text, sizeof(text), NULL, 0));
    outq_join_tube(&queue);
    ck_assert_uint_eq(queue.count, 2);
    chunk_unref(chunk);
    chunk_unref(other);
}
END_TEST

START_TEST(values_of_different_keys_are_different_pieces)
{
    struct chunk *chunk = new_tube();
    struct outq other;

    move(chunk, "k", 1);
    move(chunk, "l", 2);
    ck_assert_uint_eq(queue.count, 2);
    outq_init(&other, &pool);
    for (uint32_t i = 0; i < 2; i++) { /* as an answer is put together */
        const struct piece *piece = outq_at(&queue, i);

        ck_assert(outq_append(&other, piece->data, piece->len, piece->chunk, 0));
    }
    ck_assert_uint_eq(other.count, 1);
    ck_assert_uint_eq(other.bytes, 2);
    outq_fini(&other);
    chunk_unref(chunk);
}
END_TEST

START_TEST(a_write_stops_before_a_tube)
{
    char buffer[GATHERING_SMALL_MAX];
    struct chunk *chunk = new_tube();
    struct gathering g;

    ck_assert(outq_append(&queue, "VALUE\r\n", 7, NULL, 0));
    gathering_begin(&g, buffer, sizeof(buffer));
    outq_gather(&queue, &g);
    ck_assert(!g.meets_tube);
    move(chunk, "value", 0);
    chunk_unref(chunk);
    ck_assert(outq_append(&queue, "\r\n", 2, NULL, 0));
    gathering_begin(&g, buffer, sizeof(buffer));
    outq_gather(&queue, &g);
    ck_assert(g.meets_tube);
    ck_assert_uint_eq(g.total, 7);
}
END_TEST

START_TEST(what_cannot_be_moved_on_is_copied)
{
    struct chunk *chunk = new_tube();
    const struct piece *first;

    move(chunk, "0123456789", 0);
    chunk_unref(chunk);
    drain(3);
    ck_assert(outq_copy_tube(&queue));
    first = outq_at(&queue, 0);
    ck_assert_uint_eq(first->len, 7);
    ck_assert_int_eq(memcmp(first->data, "3456789", 7), 0);
    ck_assert(!outq_copy_tube(&queue)); /* it is in none any more */
    ck_assert_uint_eq(pool.tubes.kept_count, 1);
}
END_TEST

START_TEST(one_that_still_holds_bytes_is_closed_not_kept)
{
    struct chunk *chunk = new_tube();

    move(chunk, "left", 0);
    chunk_unref(chunk);
    outq_fini(&queue);
    ck_assert_uint_eq(pool.tubes.kept_count, 0);
    ck_assert_uint_eq(pool.tubes.count, 0);
    ck_assert_uint_eq(open_descriptors(), descriptors);
}
END_TEST

START_TEST(there_are_so_many_and_those_not_used_are_closed)
{
    struct chunk *chunks[TUBES_MAX];

    for (unsigned i = 0; i < TUBES_MAX; i++) {
        chunks[i] = new_tube();
    }
    ck_assert_ptr_null(chunk_new_tube(&pool));
    ck_assert(!pool.tubes.is_off);
    for (unsigned i = 0; i < TUBES_MAX; i++) {
        chunk_unref(chunks[i]);
    }
    tube_pool_age(&pool.tubes); /* all were used just now */
    ck_assert_uint_eq(pool.tubes.kept_count, TUBES_MAX);
    chunks[0] = new_tube();
    chunks[1] = new_tube();
    chunk_unref(chunks[0]);
    chunk_unref(chunks[1]);
    tube_pool_age(&pool.tubes); /* two were, since then */
    ck_assert_uint_eq(pool.tubes.kept_count, 2);
    tube_pool_age(&pool.tubes);
    ck_assert_uint_eq(pool.tubes.kept_count, 0);
    ck_assert_uint_eq(open_descriptors(), descriptors);
}
END_TEST

START_TEST(pools_share_an_eighth_of_the_descriptors)
{
    static const struct {
        unsigned descriptors, pools, share;
    } cases[] = {{1024, 1, 32}, {512, 1, 32}, {496, 1, 31}, {512, 4, 8}, {16, 2, 0}, {3, 1, 0}};
    struct tube_pool none;
    struct rlimit limit;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        limit.rlim_cur = cases[i].descriptors;
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
        ck_assert_uint_eq(tube_pool_share(cases[i].pools), cases[i].share);
    }
    tube_pool_init(&none, 0);
    ck_assert_ptr_null(tube_get(&none));
    limit.rlim_cur = limit.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0); /* the fixture looks at descriptors */
}
END_TEST

START_TEST(where_the_system_has_none_it_is_not_asked_at_once_again)
{
    struct rlimit before;
    struct rlimit none;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){.rlim_cur = 1, .rlim_max = before.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    ck_assert_ptr_null(chunk_new_tube(&pool));
    ck_assert(pool.tubes.is_off);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    ck_assert_ptr_null(chunk_new_tube(&pool));
    tube_pool_age(&pool.tubes);
    chunk_unref(new_tube());
}
END_TEST

START_TEST(empty_ends_and_full_tubes_are_told)
{
    static char text[1000];
    struct chunk *chunk = new_tube();
    ssize_t n;

    ck_assert_int_eq(chunk_fill_tube(chunk, sender[1], 10), -1);
    ck_assert_int_eq(errno, EAGAIN);
    do { /* each part of its own, so that there is no room at last */
        ck_assert_int_eq(write(sender[0], text, 1), 1);
        n = chunk_fill_tube(chunk, sender[1], 10);
    } while (n > 0);
    ck_assert_int_eq(n, -1);
    ck_assert_int_eq(errno, EAGAIN);
    ck_assert(!chunk_add_to_tube(chunk, text, 10));
    shutdown(sender[0], SHUT_WR);
    ck_assert_int_eq(read(sender[1], text, sizeof(text)), 1);
    chunk_unref(chunk);
    chunk = new_tube();
    ck_assert_int_eq(chunk_fill_tube(chunk, sender[1], 10), 0);
    chunk_unref(chunk);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tube");
    TCase *tests = tcase_create("tube");

    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, what_is_moved_comes_out_in_order_and_counts_until_it_has);
    tcase_add_test(tests, a_short_piece_behind_it_leaves_with_it);
    tcase_add_test(tests, a_long_piece_or_another_tube_behind_it_is_not_joined);
    tcase_add_test(tests, values_of_different_keys_are_different_pieces);
    tcase_add_test(tests, a_write_stops_before_a_tube);
    tcase_add_test(tests, what_cannot_be_moved_on_is_copied);
    tcase_add_test(tests, one_that_still_holds_bytes_is_closed_not_kept);
    tcase_add_test(tests, there_are_so_many_and_those_not_used_are_closed);
    tcase_add_test(tests, pools_share_an_eighth_of_the_descriptors);
    tcase_add_test(tests, where_the_system_has_none_it_is_not_asked_at_once_again);
    tcase_add_test(tests, empty_ends_and_full_tubes_are_told);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
