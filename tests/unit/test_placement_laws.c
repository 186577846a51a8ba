/*
 * What every placement keeps to, over random lists of servers and random keys:
 * who loses a key, who gets it, how much each has, and that nothing else counts.
 */
#include "ring/compare.h"
#include "ring/layout.h"
#include "unit/run_suite.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SERVERS_MAX = 12,
    KEYS = 24,
    LISTS = 1200,
    LISTS_OF_TABLES = 40, /* maglev and slots take milliseconds to build */
    WORDS_MAX = 64,
};

/* A random list, and room for one server more. */
struct list {
    size_t count;
    char hosts[SERVERS_MAX + 1][32];
    char names[SERVERS_MAX + 1][16];
    struct placement_server servers[SERVERS_MAX + 1];
};

static const char *words[WORDS_MAX];
static size_t word_count;

/* As ck_assert, which writes to a pipe each time: too slow for millions. */
#define CLAIM(holds)                                                                               \
    do {                                                                                           \
        if (!(holds)) {                                                                            \
            ck_abort_msg("does not hold: %s", #holds);                                             \
        }                                                                                          \
    } while (0)

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * 0x2545f4914f6cdd1du >> 16;
}

static unsigned random_below(uint64_t *state, unsigned limit)
{
    return (unsigned)(random_next(state) % limit);
}

static void random_server(uint64_t *state, struct list *list, size_t i, bool weighted)
{
    struct placement_server *server = &list->servers[i];

    snprintf(list->hosts[i], sizeof(list->hosts[i]), "10.%u.%u.%zu", random_below(state, 256),
             random_below(state, 256), i);
    snprintf(list->names[i], sizeof(list->names[i]), "n%u-%zu", random_below(state, 10000), i);
    *server = (struct placement_server){
        .host = list->hosts[i],
        .port = random_below(state, 2) != 0 ? 11211 : (uint16_t)(1024 + random_below(state, 60000)),
        .name = random_below(state, 2) != 0 ? list->names[i] : NULL,
        .weight = weighted ? 1 + random_below(state, 5) : 1,
    };
}

static void random_list(uint64_t *state, struct list *list, bool weighted)
{
    list->count = 1 + random_below(state, SERVERS_MAX);
    for (size_t i = 0; i < list->count; i++) {
        random_server(state, list, i, weighted);
    }
}

static struct slice random_key(uint64_t *state, char *out)
{
    const size_t len = 1 + random_below(state, 60);

    for (size_t i = 0; i < len; i++) {
        out[i] = (char)('!' + random_below(state, 94));
    }
    return slice_make(out, len);
}

static struct placement *build(const char *word, unsigned points, const struct list *list,
                               size_t count)
{
    const struct placement_options options = {.placement = word, .points = points};
    char error[4096];
    struct placement *placement =
        placement_new(&options, list->servers, count, error, sizeof(error));

    if (placement == NULL) {
        ck_abort_msg("%s: %s", word, error);
    }
    return placement;
}

/*
 * The same with a hash that is even over any keys: twemproxy's and libmemcached's own are not
 * quite, so that counts of keys stray from the exact share of hashes.
 */
static struct placement *build_even(const char *word, const struct list *list, size_t count)
{
    const enum hash_family family = recipe_find(word)->family;
    const bool can_choose = family == HASH_OF_TWEMPROXY || family == HASH_OF_LIBMEMCACHED;
    const struct placement_options options = {.placement = word,
                                              .key_hash = can_choose ? "md5" : NULL};
    char error[4096];
    struct placement *placement =
        placement_new(&options, list->servers, count, error, sizeof(error));

    if (placement == NULL) {
        ck_abort_msg("%s: %s", word, error);
    }
    return placement;
}

static bool is_table_of_its_own(const struct recipe *recipe)
{
    return recipe->kind == KIND_TABLE &&
           (recipe->table == TABLE_MAGLEV || recipe->table == TABLE_SLOTS);
}

static int lists_for(const struct recipe *recipe)
{
    return is_table_of_its_own(recipe) ? LISTS_OF_TABLES : LISTS;
}

/* Fewer points build faster; the laws are the same. */
static unsigned some_points(uint64_t *state, const struct recipe *recipe)
{
    if (recipe->kind != KIND_RING) {
        return 0;
    }
    return random_below(state, 16) == 0 ? 0 : 4 * (4 + random_below(state, 12));
}

static size_t live_head(const uint32_t *order, size_t count, const uint8_t *live)
{
    for (size_t i = 0; i < count; i++) {
        if (live[order[i]] != 0) {
            return order[i];
        }
    }
    return PLACEMENT_NONE;
}

static void check_ejections(const struct placement *placement, struct slice key, uint64_t *state,
                            size_t count)
{
    uint32_t order[SERVERS_MAX];
    uint8_t live[SERVERS_MAX];
    const size_t listed = placement_list(placement, key, order, SERVERS_MAX);
    unsigned seen = 0;

    CLAIM(listed >= 1);
    for (size_t i = 0; i < listed; i++) {
        CLAIM(order[i] < count);
        CLAIM((seen >> order[i] & 1) == 0);
        seen |= 1u << order[i];
    }
    CLAIM(placement_find(placement, key, NULL) == order[0]);
    /* the owner is ejected: the second of the list; another one is: nothing changes */
    memset(live, 1, sizeof(live));
    live[order[0]] = 0;
    CLAIM(placement_find(placement, key, live) == (listed > 1 ? order[1] : PLACEMENT_NONE));
    live[order[0]] = 1;
    if (listed > 1) {
        live[order[1 + random_below(state, (unsigned)listed - 1)]] = 0;
        CLAIM(placement_find(placement, key, live) == order[0]);
    }
    /* any number of them is: the first of the list that is live */
    for (size_t i = 0; i < count; i++) {
        live[i] = (uint8_t)random_below(state, 3);
    }
    CLAIM(placement_find(placement, key, live) == live_head(order, listed, live));
}

START_TEST(an_ejected_server_moves_its_own_keys_only)
{
    const char *word = words[_i];
    const struct recipe *recipe = recipe_find(word);
    uint64_t state = 0x1234567 + (uint64_t)_i;

    for (int round = 0; round < lists_for(recipe); round++) {
        struct list list;
        char text[64];

        random_list(&state, &list, round % 2 == 0);
        struct placement *placement = build(word, some_points(&state, recipe), &list, list.count);

        for (int i = 0; i < KEYS; i++) {
            check_ejections(placement, random_key(&state, text), &state, list.count);
        }
        placement_free(placement);
    }
}
END_TEST

/* The float roundings count all servers: one more changes what the others have. */
static bool joins_cleanly(const struct recipe *recipe)
{
    switch (recipe->kind) {
    case KIND_RING:
        return recipe->weight == WEIGHT_IGNORED || recipe->weight == WEIGHT_TIMES;
    case KIND_TABLE:
        return recipe->table == TABLE_JUMP;
    default:
        return true;
    }
}

START_TEST(a_server_that_joins_takes_keys_only_for_itself)
{
    const char *word = words[_i];
    const struct recipe *recipe = recipe_find(word);
    uint64_t state = 0x7654321 + (uint64_t)_i;

    for (int round = 0; joins_cleanly(recipe) && round < LISTS / 2; round++) {
        const unsigned points = some_points(&state, recipe);
        struct list list;
        char text[64];

        /* weights above 1 can turn another ring on in one row, by the first that has one */
        random_list(&state, &list, recipe->if_weighted == NULL && round % 2 == 0);
        random_server(&state, &list, list.count, false);
        struct placement *before = build(word, points, &list, list.count);
        struct placement *after = build(word, points, &list, list.count + 1);

        for (int i = 0; i < KEYS; i++) {
            const struct slice key = random_key(&state, text);
            const uint32_t old = placement_find(before, key, NULL);
            const uint32_t new = placement_find(after, key, NULL);

            CLAIM(new == old || new == list.count);
        }
        placement_free(before);
        placement_free(after);
    }
}
END_TEST

/* Where the imitated program lists ties or cells in the order given, order matters. */
static bool order_is_free(const struct recipe *recipe)
{
    return recipe->tie == TIE_LABEL || recipe->tie == TIE_SHORT_LABEL ||
           recipe->tie == TIE_HOST_PORT;
}

START_TEST(the_order_of_the_lines_does_not_matter)
{
    const char *word = words[_i];
    const struct recipe *recipe = recipe_find(word);
    uint64_t state = 0xabcdef + (uint64_t)_i;

    for (int round = 0; order_is_free(recipe) && round < lists_for(recipe) / 2; round++) {
        const unsigned points = some_points(&state, recipe);
        struct list list;
        uint32_t was[SERVERS_MAX];
        char text[64];

        random_list(&state, &list, round % 2 == 0);
        struct placement *before = build(word, points, &list, list.count);

        for (uint32_t i = 0; i < list.count; i++) {
            was[i] = i;
        }
        for (size_t i = list.count - 1; i > 0; i--) {
            const size_t j = random_below(&state, (unsigned)i + 1);
            const struct placement_server server = list.servers[i];
            const uint32_t number = was[i];

            list.servers[i] = list.servers[j];
            list.servers[j] = server;
            was[i] = was[j];
            was[j] = number;
        }
        struct placement *after = build(word, points, &list, list.count);

        for (int i = 0; i < KEYS; i++) {
            const struct slice key = random_key(&state, text);
            uint32_t old[SERVERS_MAX];
            uint32_t new[SERVERS_MAX];
            const size_t count = placement_list(before, key, old, SERVERS_MAX);

            CLAIM(placement_list(after, key, new, SERVERS_MAX) == count);
            for (size_t n = 0; n < count; n++) {
                CLAIM(was[new[n]] == old[n]);
            }
        }
        placement_free(before);
        placement_free(after);
    }
}
END_TEST

START_TEST(one_server_has_everything)
{
    const char *word = words[_i];
    uint64_t state = 0x5555 + (uint64_t)_i;
    struct list list;
    char text[64];

    random_server(&state, &list, 0, true);
    struct placement *placement = build(word, 0, &list, 1);
    double share;

    for (int i = 0; i < 1000; i++) {
        CLAIM(placement_find(placement, random_key(&state, text), NULL) == 0);
    }
    placement_shares(placement, NULL, &share);
    ck_assert_double_eq_tol(share, 1, 1e-9);
    placement_free(placement);
}
END_TEST

/* Relative spread of a server's share that is chance, not a fault: five deviations.
 */
static double share_bound(const struct placement *placement, uint32_t server)
{
    switch (placement->recipe.kind) {
    case KIND_RING:
        if (placement->recipe.points == POINTS_KEY_HASH && placement->recipe.key == KEY_BUCKETS) {
            return 1; /* CRC-32 of label-0, label-1 ... are anything but independent */
        }
        return 5 / sqrt((double)placement_points_of(placement, server));
    case KIND_TABLE:
        return placement->recipe.table == TABLE_SLOTS    ? 0.02
               : placement->recipe.table == TABLE_MAGLEV ? 0.01
                                                         : 0.002;
    default:
        return 1e-9;
    }
}

static void check_shares(const struct placement *placement, const struct list *list,
                         const uint8_t *live, bool bounded, uint64_t *state)
{
    enum { SAMPLE = 10000 };
    double shares[SERVERS_MAX];
    double weights = 0;
    double sum = 0;
    size_t counts[SERVERS_MAX] = {0};

    placement_shares(placement, live, shares);
    for (unsigned i = 0; i < SAMPLE; i++) {
        char text[64];

        counts[placement_find(placement, random_key(state, text), live)]++;
    }
    for (size_t i = 0; i < list->count; i++) {
        const bool ignores = placement->recipe.weight == WEIGHT_IGNORED;

        weights += ignores ? 1 : list->servers[i].weight;
    }
    for (uint32_t i = 0; i < list->count; i++) {
        const double noise = sqrt(SAMPLE * shares[i] * fmax(0, 1 - shares[i]));
        const double ideal = placement->recipe.weight == WEIGHT_IGNORED
                                 ? 1 / weights
                                 : list->servers[i].weight / weights;

        sum += shares[i];
        ck_assert_msg(fabs((double)counts[i] - shares[i] * SAMPLE) < 6 * noise + 2,
                      "%s: server %u has %zu of %d keys, not %g of all", placement->recipe.name, i,
                      counts[i], SAMPLE, shares[i]);
        if (bounded) {
            ck_assert_msg(fabs(shares[i] / ideal - 1) < share_bound(placement, i) + 0.03,
                          "%s: server %u has %g, its weight says %g", placement->recipe.name, i,
                          shares[i], ideal);
        }
    }
    ck_assert_double_eq_tol(sum, 1, 1e-6);
}

START_TEST(shares_are_what_keys_find_and_near_the_weights)
{
    const char *word = words[_i];
    uint64_t state = 0x999 + (uint64_t)_i;

    for (int round = 0; round < 6; round++) {
        struct list list;
        uint8_t live[SERVERS_MAX];

        random_list(&state, &list, round % 2 == 0);
        struct placement *placement = build_even(word, &list, list.count);

        check_shares(placement, &list, NULL, true, &state);
        for (size_t i = 0; i < list.count; i++) {
            live[i] = random_below(&state, 4) != 0;
        }
        live[random_below(&state, (unsigned)list.count)] = 1;
        check_shares(placement, &list, live, false, &state);
        placement_free(placement);
    }
}
END_TEST

static void add_part(void *arg, uint32_t from, uint32_t to, double part)
{
    double *sum = arg;

    (void)from;
    (void)to;
    CLAIM(part >= 0);
    *sum += part;
}

START_TEST(moved_is_what_keys_see)
{
    enum { SAMPLE = 10000 };
    const char *word = words[_i];
    uint64_t state = 0x777 + (uint64_t)_i;

    for (int round = 0; round < 4; round++) {
        const char *other =
            words[round % 3 != 1 ? (size_t)_i : random_below(&state, (unsigned)word_count)];
        struct list list;
        uint8_t live[SERVERS_MAX + 1];
        double sum = 0;
        size_t moved = 0;

        random_list(&state, &list, round % 2 == 0);
        random_server(&state, &list, list.count, false);
        struct placement *before = build_even(word, &list, list.count);
        struct placement *after = build_even(other, &list, list.count + 1);

        for (size_t i = 0; i <= list.count; i++) {
            live[i] = random_below(&state, 4) != 0;
        }
        live[0] = 1;
        const uint8_t *used = round < 2 ? NULL : live;

        placement_compare(before, NULL, after, used, add_part, &sum);
        ck_assert_double_eq_tol(sum, 1, 1e-6);
        for (unsigned i = 0; i < SAMPLE; i++) {
            char text[64];
            const struct slice key = random_key(&state, text);

            moved += placement_find(before, key, NULL) != placement_find(after, key, used);
        }
        const double part = placement_moved(before, NULL, after, used, NULL);

        ck_assert_msg(fabs((double)moved / SAMPLE - part) < 0.025, "%s to %s: %g, but keys say %g",
                      word, other, part, (double)moved / SAMPLE);
        placement_free(before);
        placement_free(after);
    }
}
END_TEST

START_TEST(ejecting_moves_exactly_the_share_of_the_ejected)
{
    const char *word = words[_i];
    uint64_t state = 0x333 + (uint64_t)_i;

    for (int round = 0; round < 3; round++) {
        struct list list;
        double shares[SERVERS_MAX];
        uint8_t live[SERVERS_MAX];

        random_list(&state, &list, true);
        struct placement *placement = build_even(word, &list, list.count);
        const unsigned out = random_below(&state, (unsigned)list.count);

        memset(live, 1, sizeof(live));
        live[out] = 0;
        placement_shares(placement, NULL, shares);
        ck_assert_double_eq_tol(placement_moved(placement, NULL, placement, live, NULL),
                                shares[out], placement->recipe.kind == KIND_RING ? 1e-9 : 0.004);
        placement_free(placement);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("placement laws");
    TCase *tcase = tcase_create("laws");

    /* the aliases come last and repeat a row */
    while (placement_word(word_count) != NULL &&
           strcmp(recipe_find(placement_word(word_count))->name, placement_word(word_count)) == 0) {
        words[word_count] = placement_word(word_count);
        word_count++;
    }
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, an_ejected_server_moves_its_own_keys_only, 0, (int)word_count);
    tcase_add_loop_test(tcase, a_server_that_joins_takes_keys_only_for_itself, 0, (int)word_count);
    tcase_add_loop_test(tcase, the_order_of_the_lines_does_not_matter, 0, (int)word_count);
    tcase_add_loop_test(tcase, one_server_has_everything, 0, (int)word_count);
    tcase_add_loop_test(tcase, shares_are_what_keys_find_and_near_the_weights, 0, (int)word_count);
    tcase_add_loop_test(tcase, moved_is_what_keys_see, 0, (int)word_count);
    tcase_add_loop_test(tcase, ejecting_moves_exactly_the_share_of_the_ejected, 0, (int)word_count);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
