/*
 * The design documents' walk and figures, exact; options and their mistakes.
 * Laws over random lists are in test_placement_laws.c.
 */
#include "ring/compare.h"
#include "unit/run_suite.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { A, B, C, D, E };

static struct placement *drawn(const struct placement_point *points, size_t count, size_t servers)
{
    struct placement *placement = placement_from_points(points, count, servers);

    ck_assert_ptr_nonnull(placement);
    return placement;
}

static struct placement *built(const struct placement_options *options,
                               const struct placement_server *servers, size_t count)
{
    char error[4096] = "";
    struct placement *placement = placement_new(options, servers, count, error, sizeof(error));

    ck_assert_msg(placement != NULL, "%s", error);
    return placement;
}

static struct placement *built_names(const char *word, unsigned points, const char *const *names,
                                     size_t count)
{
    const struct placement_options options = {.placement = word, .points = points};
    struct placement_server servers[64];

    ck_assert_uint_le(count, ARRAY_LEN(servers));
    for (size_t i = 0; i < count; i++) {
        servers[i] = (struct placement_server){
            .host = "10.0.0.1", .port = (uint16_t)(1000 + i), .name = names[i], .weight = 1};
    }
    return built(&options, servers, count);
}

static struct slice user_key(char *out, unsigned number)
{
    return slice_make(out, (size_t)sprintf(out, "user:%u", number));
}

/* The walk: A@10, B@40, C@70; B leaves; D joins at 20. */
static const struct {
    uint64_t key;
    uint32_t with_abc;
    uint32_t without_b;
    uint32_t with_d;
} walk[] = {
    {15, B, C, D}, {25, B, C, B}, {45, C, C, C}, {75, A, A, A}, {5, A, A, A},
};

START_TEST(walks_the_design_documents_ring)
{
    const struct placement_point abc[] = {{10, A}, {40, B}, {70, C}};
    const struct placement_point abcd[] = {{10, A}, {40, B}, {70, C}, {20, D}};
    const struct placement_point ac[] = {{10, A}, {70, C}};
    const uint8_t no_b[] = {1, 0, 1};
    struct placement *three = drawn(abc, ARRAY_LEN(abc), 3);
    struct placement *four = drawn(abcd, ARRAY_LEN(abcd), 4);
    struct placement *two = drawn(ac, ARRAY_LEN(ac), 3);

    for (size_t i = 0; i < ARRAY_LEN(walk); i++) {
        ck_assert_uint_eq(placement_find_at(three, walk[i].key, NULL), walk[i].with_abc);
        ck_assert_uint_eq(placement_find_at(three, walk[i].key, no_b), walk[i].without_b);
        ck_assert_uint_eq(placement_find_at(two, walk[i].key, NULL), walk[i].without_b);
        ck_assert_uint_eq(placement_find_at(four, walk[i].key, NULL), walk[i].with_d);
    }
    placement_free(three);
    placement_free(four);
    placement_free(two);
}
END_TEST

START_TEST(walks_the_ring_of_virtual_nodes)
{
    const struct placement_point points[] = {{10, A}, {41, A}, {73, A}, {22, B}, {55, B},
                                             {88, B}, {34, C}, {67, C}, {96, C}};
    static const struct {
        uint64_t from;
        uint64_t to;
        uint32_t list[3];
    } arcs[] = {
        {0, 10, {A, B, C}},  {11, 22, {B, C, A}}, {23, 34, {C, A, B}}, {35, 41, {A, B, C}},
        {42, 55, {B, C, A}}, {56, 67, {C, A, B}}, {68, 73, {A, B, C}}, {74, 88, {B, C, A}},
        {89, 96, {C, A, B}}, {97, 99, {A, B, C}},
    };
    struct placement *placement = drawn(points, ARRAY_LEN(points), 3);
    size_t keys = 0;

    for (size_t i = 0; i < ARRAY_LEN(arcs); i++) {
        for (uint64_t key = arcs[i].from; key <= arcs[i].to; key++, keys++) {
            uint32_t list[3];

            ck_assert_uint_eq(placement_find_at(placement, key, NULL), arcs[i].list[0]);
            ck_assert_uint_eq(placement_list_at(placement, key, list, 3), 3);
            ck_assert_mem_eq(list, arcs[i].list, sizeof(list));
        }
    }
    ck_assert_uint_eq(keys, 100);
    placement_free(placement);
}
END_TEST

START_TEST(gives_the_figures_of_the_documents_program)
{
    static const char *const names[] = {"A", "B", "C", "D", "E"};
    const size_t want[] = {26983, 25905, 24145, 22967};
    const uint32_t copies[] = {D, C, E};
    struct placement *four = built_names("md5-64", 150, names, 4);
    struct placement *five = built_names("md5-64", 150, names, 5);
    size_t load[4] = {0};
    size_t moved = 0;
    uint32_t list[3];
    char text[32];

    for (unsigned i = 0; i < 100000; i++) {
        const struct slice key = user_key(text, i);
        const uint32_t old = placement_find(four, key, NULL);
        const uint32_t new = placement_find(five, key, NULL);

        load[old]++;
        moved += old != new;
        ck_assert(old == new || new == E);
    }
    ck_assert_mem_eq(load, want, sizeof(want));
    ck_assert_uint_eq(moved, 18519);
    ck_assert_uint_eq(placement_list(five, user_key(text, 42), list, 3), 3);
    ck_assert_mem_eq(list, copies, sizeof(copies));
    placement_free(four);
    placement_free(five);
}
END_TEST

/* The busiest of ten servers over the mean, for 50,000 keys from first on. */
static double busiest(const struct placement *placement, unsigned first)
{
    enum { KEYS = 50000, SERVERS = 10 };
    size_t load[SERVERS] = {0};
    size_t most = 0;
    char text[32];

    for (unsigned i = 0; i < KEYS; i++) {
        load[placement_find(placement, user_key(text, first + i), NULL)]++;
    }
    for (size_t i = 0; i < SERVERS; i++) {
        most = load[i] > most ? load[i] : most;
    }
    return (double)most * SERVERS / KEYS;
}

/* Means over 20 runs: of rings with other names, and of one ring with other keys. */
static const struct {
    unsigned points;
    double of_names;
    double of_keys;
} evenness[] = {
    {1, 2.8028, 2.92},   {10, 1.5089, 1.40},  {50, 1.2072, 1.17},  {100, 1.1689, 1.21},
    {150, 1.1114, 1.15}, {200, 1.1052, 1.13}, {500, 1.0823, 1.06},
};

START_TEST(gives_the_documents_table_of_the_busiest_server)
{
    static const char *const letters[] = {"A", "B", "C", "D", "E", "F", "G", "H", "I", "J"};
    const unsigned points = evenness[_i].points;
    struct placement *one = built_names("md5-64", points, letters, 10);
    double of_names = 0;
    double of_keys = 0;

    for (unsigned run = 0; run < 20; run++) {
        char text[10][16];
        const char *names[10];

        for (unsigned i = 0; i < 10; i++) {
            snprintf(text[i], sizeof(text[i]), "r%u-s%u", run, i);
            names[i] = text[i];
        }
        struct placement *placement = built_names("md5-64", points, names, 10);

        of_names += busiest(placement, 0) / 20;
        of_keys += busiest(one, 50000 * run) / 20;
        placement_free(placement);
    }
    ck_assert_double_eq_tol(of_names, evenness[_i].of_names, 0.00005);
    ck_assert_double_eq_tol(of_keys, evenness[_i].of_keys, 0.005);
    placement_free(one);
}
END_TEST

static const struct placement_server plain[] = {
    {"10.0.0.1", 11211, false, "mc1", 1},
    {"10.0.0.2", 11211, false, "mc2", 1},
    {"10.0.0.3", 11211, false, "mc3", 1},
};

/* A mistake, and what its sentence must contain. */
static const struct {
    struct placement_options options;
    double weight; /* of the second server */
    const char *name;
    const char *says;
} mistakes[] = {
    {{.placement = "foo"}, 1, NULL, "placement: unknown 'foo', allowed: ketama, "},
    {{.placement = "ketama", .key_hash = "md5"}, 1, NULL, "allowed: xxh3"},
    {{.placement = "ketama:twemproxy", .key_hash = "x"}, 1, NULL, "key_hash: 'x' is not for"},
    {{.placement = "ketama:libketama", .key_hash = "crc"}, 1, NULL, "allowed: md5"},
    {{.placement = "ketama", .hash_tag = "{"}, 1, NULL, "hash_tag: '{' is not two characters"},
    {{.placement = "jump", .points = 10}, 1, NULL, "points: placement jump has none"},
    {{.placement = "ketama:mcproxy", .points = 10}, 1, NULL, "multiple of 4"},
    {{.placement = "ketama", .points = 2000000}, 1, NULL, "points: 2000000 is too many"},
    {{.placement = "ketama:twemproxy"}, 1.5, NULL, "takes whole numbers only"},
    {{.placement = "ketama"}, 0, NULL, "weight: server mc2 has 0"},
    {{.placement = "ketama"}, -1, NULL, "weight: server mc2 has -1"},
    {{.placement = "ketama"}, NAN, NULL, "weight: server mc2 has"},
    {{.placement = "ketama"}, 1e9, NULL, "divide all by the same number"},
    {{.placement = "modulo"}, 1e9, NULL, "divide all by the same number"},
    {{.placement = "ketama"}, 1, "mc1", "both called mc1"},
};

START_TEST(says_what_is_wrong)
{
    struct placement_server servers[3];
    char error[4096] = "";

    memcpy(servers, plain, sizeof(servers));
    servers[1].weight = mistakes[_i].weight;
    if (mistakes[_i].name != NULL) {
        servers[1].name = mistakes[_i].name;
    }
    ck_assert_ptr_null(placement_new(&mistakes[_i].options, servers, 3, error, sizeof(error)));
    ck_assert_msg(strstr(error, mistakes[_i].says) != NULL, "'%s' lacks '%s'", error,
                  mistakes[_i].says);
}
END_TEST

START_TEST(an_empty_list_is_a_mistake)
{
    const struct placement_options options = {.placement = "ketama"};
    char error[256] = "";

    ck_assert_ptr_null(placement_new(&options, plain, 0, error, sizeof(error)));
    ck_assert_str_eq(error, "server: a pool needs at least one");
}
END_TEST

/* Two keys that are the same to a placement, or are not. */
static const struct {
    struct placement_options options;
    const char *one;
    const char *other;
    bool same;
} parts[] = {
    {{.placement = "ketama", .hash_tag = "{}"}, "{u7}:a", "x{u7}", true},
    {{.placement = "ketama", .hash_tag = "{}"}, "{u7}a{b}", "u7", true},
    {{.placement = "ketama", .hash_tag = "{}"}, "a{}b", "", false},
    {{.placement = "ketama:mcproxy", .hash_tag = "{}"}, "a{}b", "", true},
    {{.placement = "ketama", .hash_tag = "$$"}, "a$u$b", "u", true},
    {{.placement = "ketama", .hash_tag = "{}"}, "a}u{b", "u", false},
    {{.placement = "ketama", .hash_skip = "app:"}, "app:k", "k", true},
    {{.placement = "ketama", .hash_skip = "app:"}, "app:", "", true},
    {{.placement = "ketama", .hash_skip = "app:"}, "app", "", false},
    {{.placement = "ketama", .hash_skip = "app:"}, "app:app:k", "app:k", false},
    {{.placement = "ketama:php-session"}, "memc.sess.key.abc", "abc", true},
    {{.placement = "ketama", .hash_stop = "|#|"}, "k|#|x|#|y", "k", true},
    {{.placement = "ketama", .hash_skip = "a:", .hash_tag = "{}"}, "a:{k}b", "k", true},
};

START_TEST(hashes_the_part_of_the_key_that_counts)
{
    static char names[26][2];
    struct placement_server servers[26];
    uint32_t one[26];
    uint32_t other[26];

    for (size_t i = 0; i < ARRAY_LEN(servers); i++) {
        names[i][0] = (char)('a' + i);
        servers[i] = (struct placement_server){"h", (uint16_t)(i + 1), false, names[i], 1};
    }
    struct placement *placement = built(&parts[_i].options, servers, ARRAY_LEN(servers));

    /* 26 servers in the same order: 1 in 26! by chance */
    ck_assert_uint_eq(placement_list(placement, slice_text(parts[_i].one), one, 26), 26);
    ck_assert_uint_eq(placement_list(placement, slice_text(parts[_i].other), other, 26), 26);
    ck_assert_int_eq(memcmp(one, other, sizeof(one)) == 0, parts[_i].same);
    placement_free(placement);
}
END_TEST

START_TEST(a_host_replaced_under_its_name_moves_no_key)
{
    const struct placement_options options = {.placement = "ketama"};
    struct placement_server servers[3];

    memcpy(servers, plain, sizeof(servers));
    servers[1].host = "192.0.2.77";
    servers[1].port = 22122;
    struct placement *before = built(&options, plain, 3);
    struct placement *after = built(&options, servers, 3);

    ck_assert_double_eq(placement_moved(before, NULL, after, NULL, NULL), 0);
    placement_free(before);
    placement_free(after);
}
END_TEST

START_TEST(a_weight_with_decimals_gets_its_share)
{
    const struct placement_options options = {.placement = "ketama", .points = 2000};
    struct placement_server servers[3];
    double shares[3];

    memcpy(servers, plain, sizeof(servers));
    servers[1].weight = 0.5;
    servers[2].weight = 2.5;
    struct placement *placement = built(&options, servers, 3);

    ck_assert_uint_eq(placement_points_of(placement, 1), 1000);
    ck_assert_uint_eq(placement_points_of(placement, 2), 5000);
    ck_assert(placement_shares(placement, NULL, shares));
    ck_assert_double_eq_tol(shares[1], 0.125, 0.02);
    ck_assert_double_eq_tol(shares[2], 0.625, 0.04);
    placement_free(placement);
}
END_TEST

START_TEST(nine_to_ten_servers_moves_a_tenth_and_modulo_nine)
{
    static const char *const names[] = {"mc0", "mc1", "mc2", "mc3", "mc4",
                                        "mc5", "mc6", "mc7", "mc8", "mc9"};
    static const struct {
        const char *word;
        double least;
        double most;
    } cases[] = {
        {"ketama", 0.08, 0.12},       {"modulo", 0.9, 0.9},  {"jump", 0.1, 0.1},
        {"rendezvous", 0.099, 0.101}, {"maglev", 0.1, 0.13}, {"slots", 0.1, 0.14},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct placement *nine = built_names(cases[i].word, 0, names, 9);
        struct placement *ten = built_names(cases[i].word, 0, names, 10);
        const double moved = placement_moved(nine, NULL, ten, NULL, NULL);

        ck_assert_msg(moved > cases[i].least - 1e-4 && moved < cases[i].most + 1e-4, "%s moves %f",
                      cases[i].word, moved);
        placement_free(nine);
        placement_free(ten);
    }
}
END_TEST

START_TEST(a_pool_with_nobody_live_has_no_server)
{
    const uint8_t dead[3] = {0, 0, 0};

    for (size_t i = 0; placement_word(i) != NULL; i++) {
        const struct placement_options options = {.placement = placement_word(i)};
        struct placement *placement = built(&options, plain, 3);

        ck_assert_uint_eq(placement_find(placement, SLICE("key"), dead), PLACEMENT_NONE);
        placement_free(placement);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("placement");
    TCase *tcase = tcase_create("placement");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, walks_the_design_documents_ring);
    tcase_add_test(tcase, walks_the_ring_of_virtual_nodes);
    tcase_add_test(tcase, gives_the_figures_of_the_documents_program);
    tcase_add_loop_test(tcase, gives_the_documents_table_of_the_busiest_server, 0,
                        ARRAY_LEN(evenness));
    tcase_add_loop_test(tcase, says_what_is_wrong, 0, ARRAY_LEN(mistakes));
    tcase_add_test(tcase, an_empty_list_is_a_mistake);
    tcase_add_loop_test(tcase, hashes_the_part_of_the_key_that_counts, 0, ARRAY_LEN(parts));
    tcase_add_test(tcase, a_host_replaced_under_its_name_moves_no_key);
    tcase_add_test(tcase, a_weight_with_decimals_gets_its_share);
    tcase_add_test(tcase, nine_to_ten_servers_moves_a_tenth_and_modulo_nine);
    tcase_add_test(tcase, a_pool_with_nobody_live_has_no_server);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
