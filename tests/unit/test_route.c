#include "topology/route.h"
#include "unit/run_suite.h"

#include <check.h>
#include <stdio.h>

enum { SERVERS = 200 };

static struct placement_point points[SERVERS];
static struct topology_server servers[SERVERS];
static uint8_t live[SERVERS];
static struct topology_pool pool;
static uint32_t pool_number;
static const struct topology_listener listener = {.pools = &pool_number, .pool_count = 1};
static const struct topology topology = {.pools = &pool, .pool_count = 1};

/* A pool whose servers have a point each; they are told apart by where they are. */
static void set_up(void)
{
    static char places[SERVERS];

    for (uint32_t i = 0; i < SERVERS; i++) {
        points[i] = (struct placement_point){(uint64_t)i * (UINT32_MAX / SERVERS), i};
        servers[i].server = (struct server *)&places[i];
        live[i] = STANDING_OUT;
    }
    pool = (struct topology_pool){
        .placement = placement_from_points(points, SERVERS, SERVERS),
        .servers = servers,
        .server_count = SERVERS,
        .live = live,
        .has_out = true,
    };
    ck_assert_ptr_nonnull(pool.placement);
}

static void tear_down(void)
{
    placement_free((struct placement *)pool.placement);
}

static struct route route(struct slice key, uint32_t avoid)
{
    return route_key_avoiding(&topology, &listener, key, servers[avoid].server);
}

START_TEST(a_retry_finds_the_other_live_server_however_many_are_out)
{
    live[10] = STANDING_LIVE;
    live[110] = STANDING_LIVE;
    live[60] = STANDING_DOWN;
    for (unsigned i = 0; i < 100; i++) {
        char text[16];
        struct slice key = slice_make(text, (size_t)snprintf(text, sizeof(text), "key%u", i));
        uint32_t owner = route_key(&topology, &listener, key).server;

        if (owner == 60) {
            continue; /* its requests fail at once */
        }
        ck_assert(owner == 10 || owner == 110);
        ck_assert_uint_eq(route(key, owner).server, 120 - owner);
        ck_assert_uint_eq(route(key, owner).standing, STANDING_LIVE);
        ck_assert_uint_eq(route(key, 120 - owner).server, owner);
    }
}
END_TEST

START_TEST(a_retry_has_nowhere_to_go_where_no_other_is_live)
{
    live[10] = STANDING_LIVE;
    ck_assert_uint_eq(route(SLICE("key"), 10).server, PLACEMENT_NONE);
    ck_assert_uint_eq(route(SLICE("key"), 10).standing, STANDING_OUT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("route");
    TCase *tests = tcase_create("route");

    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, a_retry_finds_the_other_live_server_however_many_are_out);
    tcase_add_test(tests, a_retry_has_nowhere_to_go_where_no_other_is_live);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
