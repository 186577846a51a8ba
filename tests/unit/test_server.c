#include "topology/server.h"
#include "unit/run_suite.h"

#include <check.h>
#include <stdlib.h>

static struct server *make(const char *label)
{
    const struct address address = {.host = "10.0.0.1", .port = 11211};
    struct server *server = server_new("main", label, &address);

    ck_assert_ptr_nonnull(server);
    return server;
}

/* clang-format off */
static const struct { const char *text; unsigned major, minor, patch; } versions[] = {
    { "1.6.18",     1, 6, 18 },
    { "1.4",        1, 4, 0 },
    { "1",          1, 0, 0 },
    { "1.6.18-rc1", 1, 6, 18 },
    { "1.6.18.7",   1, 6, 18 },
    { "1..6",       1, 0, 0 },
    { ".6",         0, 0, 0 },
    { "",           0, 0, 0 },
    { "unknown",    0, 0, 0 },
    { "1023.1023.1023", 1023, 1023, 1023 },
    { "1.1024.0",   0, 0, 0 },
    { "99999999999999999999.0.0", 0, 0, 0 },
};
/* clang-format on */

START_TEST(a_version_is_read_as_far_as_it_is_one)
{
    ck_assert_uint_eq(server_version_parse(slice_text(versions[_i].text)),
                      versions[_i].major << 20 | versions[_i].minor << 10 | versions[_i].patch);
}
END_TEST

START_TEST(later_versions_compare_as_later)
{
    ck_assert_uint_lt(server_version_parse(SLICE("1.4.39")), server_version_parse(SLICE("1.5.0")));
    ck_assert_uint_lt(server_version_parse(SLICE("1.6.9")), server_version_parse(SLICE("1.6.10")));
}
END_TEST

START_TEST(servers_alive_have_slots_of_their_own_and_low_ones_are_used_again)
{
    enum { MANY = 200 };
    struct server *servers[MANY];
    uint32_t freed;
    uint32_t most = 0;

    for (int i = 0; i < MANY; i++) {
        servers[i] = make("s");
        most = servers[i]->slot > most ? servers[i]->slot : most;
        for (int k = 0; k < i; k++) {
            ck_assert_uint_ne(servers[k]->slot, servers[i]->slot);
        }
    }
    ck_assert_uint_lt(most, MANY);
    freed = servers[70]->slot;
    server_put(servers[70]);
    servers[70] = make("other");
    ck_assert_uint_eq(servers[70]->slot, freed);
    for (int i = 0; i < MANY; i++) {
        server_put(servers[i]);
    }
}
END_TEST

START_TEST(a_server_lives_until_its_last_reference_is_given_back)
{
    struct server *server = make("mc1");
    struct server *other;

    ck_assert_ptr_eq(server_get(server), server);
    server_put(server);
    ck_assert_str_eq(server->label, "mc1");
    ck_assert_str_eq(server->pool_name, "main");
    other = make("mc2");
    ck_assert_uint_ne(other->slot, server->slot);
    server_put(server);
    server_put(other);
    server_put(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("server");
    TCase *tcase = tcase_create("server");

    tcase_add_loop_test(tcase, a_version_is_read_as_far_as_it_is_one, 0, ARRAY_LEN(versions));
    tcase_add_test(tcase, later_versions_compare_as_later);
    tcase_add_test(tcase, servers_alive_have_slots_of_their_own_and_low_ones_are_used_again);
    tcase_add_test(tcase, a_server_lives_until_its_last_reference_is_given_back);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
