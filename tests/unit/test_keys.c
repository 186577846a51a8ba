#include "config/diff.h"
#include "config/keys.h"
#include "config/load.h"
#include "config/value.h"
#include "ring/placement.h"
#include "unit/run_suite.h"

#include <check.h>
#include <stdlib.h>

#define MINIMAL "[pool main]\nlisten = 127.0.0.1:11211\nserver = 10.0.0.1:11211\n"

static struct config *load(const char *text)
{
    struct config_errors errors;
    struct config *config = config_load_text("test.conf", text, strlen(text), &errors);

    ck_assert_msg(errors.count == 0, "%s", errors.count == 0 ? "" : errors.lines[0]);
    ck_assert_ptr_nonnull(config);
    config_errors_fini(&errors);
    return config;
}

START_TEST(every_row_is_complete)
{
    const struct config_key *key = &config_keys[_i];
    char allowed[KEY_ALLOWED_MAX];
    size_t help = strlen(key->help);

    ck_assert(help > 0 && key->help[help - 1] == '.');
    ck_assert(strlen(config_key_allowed(key, allowed)) > 0);
    ck_assert(strlen(config_key_type_text(key)) > 0);
    ck_assert_uint_le(key->min, key->max);
    ck_assert_int_eq(key->type == KEY_CHOICE, key->choices != NULL);
    ck_assert_ptr_eq(config_key_find(key->section, slice_text(key->name)), key);
    ck_assert_int_eq((key->flags & KEY_REPEATS) != 0,
                     key->type == KEY_LISTEN || key->type == KEY_SERVER);
}
END_TEST

/* diff.c and the promise of the manual depend on it */
START_TEST(every_key_of_a_pool_changes_live)
{
    ck_assert(config_keys[_i].section == SECTION_PROXY || (config_keys[_i].flags & KEY_LIVE) != 0);
}
END_TEST

START_TEST(every_default_is_a_value_of_its_key)
{
    const struct config_key *key = &config_keys[_i];
    union {
        struct config proxy;
        struct config_pool pool;
    } target = {0};

    ck_assert(config_value_set_default(key, &target));
    config_value_free_all(key->section, &target);
}
END_TEST

/* clang-format off */
static const struct {
    enum key_section section;
    const char *written;
    const char *nearest; /* NULL: none */
} typos[] = {
    { SECTION_PROXY, "worker",          "workers" },
    { SECTION_PROXY, "Workers",         "workers" },
    { SECTION_PROXY, "log_levle",       "log_level" },
    { SECTION_PROXY, "max-value-size",  "max_value_size" },
    { SECTION_PROXY, "pid_file",        "pidfile" },
    { SECTION_PROXY, "lgo",             NULL },
    { SECTION_PROXY, "servers",         NULL },
    { SECTION_POOL,  "servers",         "server" },
    { SECTION_POOL,  "lisen",           "listen" },
    { SECTION_POOL,  "connection",      "connections" },
    { SECTION_POOL,  "auto_eject_hosts", NULL },
    { SECTION_POOL,  "",                NULL },
    { SECTION_POOL,  "a_name_that_is_longer_than_any_key_of_ours_could_be", NULL },
};
/* clang-format on */

START_TEST(suggests_what_was_meant)
{
    const struct config_key *key =
        config_key_nearest(typos[_i].section, slice_text(typos[_i].written));

    if (typos[_i].nearest == NULL) {
        ck_assert_msg(key == NULL, "%s: %s", typos[_i].written, key == NULL ? "" : key->name);
    } else {
        ck_assert_msg(key != NULL, "%s", typos[_i].written);
        ck_assert_str_eq(key->name, typos[_i].nearest);
    }
}
END_TEST

START_TEST(counts_edits_between_words)
{
    ck_assert_uint_eq(config_key_distance(SLICE("listen"), SLICE("listen"), 3), 0);
    ck_assert_uint_eq(config_key_distance(SLICE("listen"), SLICE("lisen"), 3), 1);
    ck_assert_uint_eq(config_key_distance(SLICE("kitten"), SLICE("sitting"), 3), 3);
    ck_assert_uint_eq(config_key_distance(SLICE("kitten"), SLICE("sitting"), 2), 3);
    ck_assert_uint_eq(config_key_distance(SLICE(""), SLICE("abc"), 5), 3);
}
END_TEST

START_TEST(prints_every_key)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    size_t lines = 0;
    size_t placements;

    ck_assert_ptr_nonnull(out);
    config_print_keys(out);
    fclose(out);
    for (size_t i = 0; i < len; i++) {
        lines += text[i] == '\n';
    }
    for (placements = 0; placement_word(placements) != NULL; placements++) {
        ck_assert_ptr_nonnull(strstr(text, placement_word_help(placements)));
    }
    ck_assert_uint_eq(lines, config_key_count + 1 + placements + 2);
    for (size_t i = 0; i < config_key_count; i++) {
        ck_assert_ptr_nonnull(strstr(text, config_keys[i].name));
        ck_assert_ptr_nonnull(strstr(text, config_keys[i].help));
    }
    free(text);
}
END_TEST

/* make runs the tests in the top directory */
START_TEST(the_manual_names_every_placement)
{
    static char manual[1 << 17];
    FILE *in = fopen("docs/man/ketama.conf.5", "r");

    ck_assert_ptr_nonnull(in);
    manual[fread(manual, 1, sizeof(manual) - 1, in)] = '\0';
    fclose(in);
    for (size_t i = 0; placement_word(i) != NULL; i++) {
        char item[128];

        snprintf(item, sizeof(item), ".It Cm %s\n", placement_word(i));
        ck_assert_msg(strstr(manual, item) != NULL, "%s is not in the manual", placement_word(i));
    }
}
END_TEST

/* clang-format off */
static const struct {
    const char *before;
    const char *after;
    const char *told; /* names with a comma behind each */
} diffs[] = {
    { "", "", "" },
    { "[proxy]\nworkers=2\n", "[proxy]\nworkers=3\n", "workers," },
    { "[proxy]\nworkers=2\nuser=a\n", "[proxy]\nuser=b\nworkers=2\n", "user," },
    { "[proxy]\nuser=a\n", "", "user," },
    { "", "[proxy]\nadmin=127.0.0.1:1\n", "admin," },
    { "[proxy]\nadmin=127.0.0.1:1\n", "[proxy]\nadmin=127.0.0.1:2\n", "admin," },
    { "[proxy]\nadmin=[::1]:1\n", "[proxy]\nadmin=[0::1]:1\n", "" },
    { "[proxy]\nadmin=/a mode=0600\n", "[proxy]\nadmin=/a mode=0660\n", "admin," },
    { "[proxy]\nhttp=127.0.0.1:1\npidfile=/a\n", "[proxy]\npidfile=/b\n", "http,pidfile," },
    { "[proxy]\nlog=syslog\n", "", "log," },
    { "[proxy]\nlog=file:/a\n", "[proxy]\nlog=file:/b\n", "log," },
    { "[proxy]\nlog=file:/a\n", "[proxy]\nlog=file:/a\n", "" },
    { "[proxy]\nworkers=1\n", "[proxy]\nworkers=1\nlog_level=debug\nmax_clients=1\n"
      "client_idle_timeout=1s\nmax_value_size=2m\nmax_memory=1g\ndrain_timeout=0\n", "" },
};
/* clang-format on */

static void note_key(void *arg, const char *key)
{
    strcat((char *)arg, key);
    strcat((char *)arg, ",");
}

START_TEST(tells_the_keys_that_need_a_restart)
{
    char before_text[512];
    char after_text[512];
    char told[512] = "";
    struct config *before;
    struct config *after;
    size_t commas = 0;

    snprintf(before_text, sizeof(before_text), "%s%s", diffs[_i].before, MINIMAL);
    snprintf(after_text, sizeof(after_text), "%s%s", diffs[_i].after, MINIMAL);
    before = load(before_text);
    after = load(after_text);
    for (const char *p = diffs[_i].told; *p != '\0'; p++) {
        commas += *p == ',';
    }
    ck_assert_uint_eq(config_diff_fixed(before, after, note_key, told), commas);
    ck_assert_str_eq(told, diffs[_i].told);
    config_free(before);
    config_free(after);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("keys");
    TCase *tests = tcase_create("keys");
    int keys = (int)config_key_count;

    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, every_row_is_complete, 0, keys);
    tcase_add_loop_test(tests, every_key_of_a_pool_changes_live, 0, keys);
    tcase_add_loop_test(tests, every_default_is_a_value_of_its_key, 0, keys);
    tcase_add_loop_test(tests, suggests_what_was_meant, 0, ARRAY_LEN(typos));
    tcase_add_test(tests, counts_edits_between_words);
    tcase_add_test(tests, prints_every_key);
    tcase_add_test(tests, the_manual_names_every_placement);
    tcase_add_loop_test(tests, tells_the_keys_that_need_a_restart, 0, ARRAY_LEN(diffs));
    return run_suite(suite);
}
