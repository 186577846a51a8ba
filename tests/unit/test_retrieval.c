#include "unit/request_case.h"

/* clang-format off */
static const struct answered_case answered[] = {
    { BYTES("get\r\n"),                       "ERROR\r\n", 0, 0 },
    { BYTES("get \r\n"),                      "ERROR\r\n", 0, 0 },
    { BYTES("gets  \r\n"),                    "ERROR\r\n", 0, 0 },
    { BYTES("bget\r\n"),                      "ERROR\r\n", 0, 0 },
    { BYTES("gat\r\n"),                       "ERROR\r\n", 0, 0 },
    { BYTES("gat 10\r\n"),                    "END\r\n", 0, 0 },
    { BYTES("gats -1 \r\n"),                  "END\r\n", 0, 0 },
    { BYTES("gat abc\r\n"),                   BAD_EXPTIME, 0, 0 },
    { BYTES("gat abc a\r\n"),                 BAD_EXPTIME, 0, 0 },
    { BYTES("gat 1.0 " K251 "\r\n"),          BAD_EXPTIME, 0, 0 },
    { BYTES("get " K251 "\r\n"),              BAD_FORMAT, 0, 0 },
    { BYTES("get a " K251 " b\r\n"),          BAD_FORMAT, 0, 0 },
    { BYTES("gets a b " K251 "\r\n"),         BAD_FORMAT, 0, 0 },
    { BYTES("gat 0 " K251 "\r\n"),            BAD_FORMAT, 0, 0 },
};

/* get and its kin: the prefix of each part, the keys one by one, a lone key's line. */
static const struct keys_case {
    struct slice in;
    enum command_id id;
    const char *prefix;
    const char *keys; /* joined by commas */
    const char *line;
    unsigned int marks;
} keys[] = {
    { BYTES("get a\r\n"),                     COMMAND_GET,  "get ", "a", "get a\r\n", REPEATABLE },
    { BYTES("get a\n"),                       COMMAND_GET,  "get ", "a", "get a\r\n", REPEATABLE },
    { BYTES(" get   a \r\n"),                 COMMAND_GET,  "get ", "a", "get a\r\n", REPEATABLE },
    { BYTES("get noreply\r\n"),               COMMAND_GET,  "get ", "noreply", "get noreply\r\n",
                                              REPEATABLE },
    { BYTES("get a b a\r\n"),                 COMMAND_GET,  "get ", "a,b,a", "", REPEATABLE },
    { BYTES("get  a  b noreply \r\n"),        COMMAND_GET,  "get ", "a,b,noreply", "", REPEATABLE },
    { BYTES("get " K250 "\r\n"),              COMMAND_GET,  "get ", K250, "get " K250 "\r\n",
                                              REPEATABLE },
    { BYTES("get \x01\t\x7f\xff \xc3\xa4\r\n"), COMMAND_GET, "get ", "\x01\t\x7f\xff,\xc3\xa4", "",
                                              REPEATABLE },
    { BYTES("get !\x7f\x80\xff\r\n"),         COMMAND_GET,  "get ", "!\x7f\x80\xff", "get !\x7f\x80\xff\r\n", REPEATABLE },
    { BYTES("get a\x1f\r\n"),                COMMAND_GET,  "get ", "a\x1f", "get a\x1f\r\n", REPEATABLE },
    { BYTES("get a\rb\r\n"),                 COMMAND_GET,  "get ", "a\rb", "get a\rb\r\n", REPEATABLE },
    { BYTES("get a\r\r\n"),                   COMMAND_GET,  "get ", "a\r", "get a\r\r\n", REPEATABLE },
    { BYTES("bget a\r\n"),                    COMMAND_GET,  "get ", "a", "get a\r\n", REPEATABLE },
    { BYTES("gets a b\r\n"),                  COMMAND_GETS, "gets ", "a,b", "", REPEATABLE },
    { BYTES("gets a\r\n"),                    COMMAND_GETS, "gets ", "a", "gets a\r\n", REPEATABLE },
    { BYTES("gat 100 a\r\n"),                 COMMAND_GAT,  "gat 100 ", "a", "gat 100 a\r\n", 0 },
    { BYTES("gat +0100 a b\r\n"),             COMMAND_GAT,  "gat 100 ", "a,b", "", 0 },
    { BYTES("gats  -1 a\r\n"),                COMMAND_GATS, "gats -1 ", "a", "gats -1 a\r\n", 0 },
    { BYTES("gats 4294967297 " K250 " noreply\r\n"), COMMAND_GATS, "gats 1 ", K250 ",noreply", "", 0 },
    { BYTES("gats -2147483648 " K250 "\n"),   COMMAND_GATS, "gats -2147483648 ", K250,
                                              "gats -2147483648 " K250 "\r\n", 0 },
};
/* clang-format on */

START_TEST(answers_what_no_server_may_see)
{
    check_answered(&answered[_i]);
}
END_TEST

START_TEST(splits_the_keys_of_a_get)
{
    const struct keys_case *c = &keys[_i];
    char joined[1024] = "";
    struct slice rest;
    struct slice key;
    size_t count = 0;

    parse_at_every_split(c->in, c->marks);
    ck_assert_int_eq(request.route, ROUTE_EACH_KEY);
    ck_assert_int_eq(request.command->id, c->id);
    check_text(request.keys_prefix, c->prefix, c->in);
    check_text(request.line, c->line, c->in);
    check_marks(c->marks, c->in);
    rest = request.keys;
    while (request_next_key(&rest, &key)) {
        if (count++ > 0) {
            strcat(joined, ",");
        }
        strncat(joined, key.data, key.len);
    }
    ck_assert_str_eq(joined, c->keys);
    ck_assert_uint_eq(request.key_count, count);
    if (count == 1) {
        check_text(request.key, c->keys, c->in);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("retrieval");
    TCase *tests = tcase_create("retrieval");

    tcase_add_loop_test(tests, answers_what_no_server_may_see, 0, ARRAY_LEN(answered));
    tcase_add_loop_test(tests, splits_the_keys_of_a_get, 0, ARRAY_LEN(keys));
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
