#include "config/config.h"
#include "config/errors.h"
#include "config/load.h"
#include "unit/run_suite.h"

#include <check.h>
#include <stdlib.h>

#define POOL      "[pool main]\nlisten = 127.0.0.1:1\nserver = 10.0.0.1:1\n" /* three lines */
#define ADDRESSES "IP:PORT or [IPv6]:PORT [allow=IP/BITS,...], unix:/PATH [mode=0660]"
#define SERVERS   "HOST:PORT, [IPv6]:PORT or unix:/PATH [name=NAME] [weight=W] [zone=ZONE]"

static struct config *load(const char *text)
{
    struct config_errors errors;
    struct config *config = config_load_text("c", text, strlen(text), &errors);

    ck_assert_msg(errors.count == 0, "%s", errors.count == 0 ? "" : errors.lines[0]);
    ck_assert_ptr_nonnull(config);
    config_errors_fini(&errors);
    return config;
}

/* clang-format off */
static const struct {
    const char *text;
    const char *wrong; /* the mistakes, a line each */
} cases[] = {
    /* lines and sections */
    { "",
      "c:1: pool: there is none, needed: a section [pool NAME] with listen and server\n" },
    { "; nothing\n\n",
      "c:1: pool: there is none, needed: a section [pool NAME] with listen and server\n" },
    { "[proxy]\nworkers = 1\n",
      "c:1: pool: there is none, needed: a section [pool NAME] with listen and server\n" },
    { "workers = 1\nlisten = 1\nx = 1\n" POOL,
      "c:1: workers: is outside a section, allowed: in [proxy]\n"
      "c:2: listen: is outside a section, allowed: in [pool NAME]\n"
      "c:3: x: is outside a section, allowed: in [proxy], [pool NAME]\n" },
    { POOL "[prxy]\nworkers = x\n",
      "c:4: [prxy]: unknown section, did you mean [proxy]? allowed: [proxy], [pool NAME]\n" },
    { POOL "[pools a]\nnothing = x\n",
      "c:4: [pools a]: unknown section, did you mean [pool NAME]? allowed: [proxy], [pool NAME]\n" },
    { POOL "[server]\n",
      "c:4: [server]: unknown section, allowed: [proxy], [pool NAME]\n" },
    { POOL "[Proxy]\n",
      "c:4: [Proxy]: unknown section, did you mean [proxy]? allowed: [proxy], [pool NAME]\n" },
    { POOL "[proxy x]\n",
      "c:4: [proxy x]: unknown section, did you mean [proxy]? allowed: [proxy], [pool NAME]\n" },
    { POOL "[]\n",
      "c:4: []: unknown section, allowed: [proxy], [pool NAME]\n" },
    { POOL "[proxy]\n[proxy]\n",
      "c:5: [proxy]: there is one in line 4, allowed: one\n" },
    { POOL POOL,
      "c:4: [pool main]: there is one of that name in line 1, allowed: a name of its own\n"
      "c:5: listen: 127.0.0.1:1 is already pool main's in line 2, allowed: pools with a different prefix each\n" },
    { POOL "[pool]\n",
      "c:4: [pool]: the pool's name is missing, allowed: 1 to 64 of A-Z a-z 0-9 . _ -\n" },
    { POOL "[pool a b]\n",
      "c:4: [pool a b]: the pool's name is wrong, allowed: 1 to 64 of A-Z a-z 0-9 . _ -\n" },
    { POOL "[pool a:b]\nserver = x y z\n",
      "c:4: [pool a:b]: the pool's name is wrong, allowed: 1 to 64 of A-Z a-z 0-9 . _ -\n" },
    { POOL "[pool b\nfall = x\n",
      "c:4: line: \"[pool b\": the bracket ] is missing, allowed: [proxy], [pool NAME]\n" },
    { POOL "[pool b] x = 1\n",
      "c:4: line: \"[pool b] x = 1\": something follows the bracket ], allowed: a comment behind ;\n" },
    { POOL "nonsense\n= 1\n",
      "c:4: line: \"nonsense\": not understood, allowed: key = value, [section], a comment behind ; or #\n"
      "c:5: line: \"= 1\": not understood, allowed: key = value, [section], a comment behind ; or #\n" },
    { POOL "fall = 1\x01\n",
      "c:4: line: \"fall = 1?\": the line has a control character; a configuration is plain text\n" },
    { POOL "server 10.0.0.2:11211\n",
      "c:4: server 10.0.0.2: is no key, allowed: a line key = value\n" },

    /* keys */
    { POOL "conections = 1\n",
      "c:4: conections: unknown key, did you mean connections? allowed: the keys of [pool NAME], see ketamad --keys\n" },
    { POOL "auto_eject_hosts = 1\n",
      "c:4: auto_eject_hosts: unknown key, allowed: the keys of [pool NAME], see ketamad --keys\n" },
    { POOL "workers = 1\n[proxy]\nfall = 1\n",
      "c:4: workers: is not a key of [pool NAME], allowed: in [proxy]\n"
      "c:6: fall: is not a key of [proxy], allowed: in [pool NAME]\n" },
    { POOL "fall = 1\nfall = 2\nfall = 2\n",
      "c:5: fall: is already set in line 4, allowed: once in a section\n"
      "c:6: fall: is already set in line 4, allowed: once in a section\n" },
    { "[pool a]\n",
      "c:1: listen: is missing in pool a, needed: at least one, " ADDRESSES "\n"
      "c:1: server: is missing in pool a, needed: at least one, " SERVERS "\n" },

    /* values */
    { POOL "connections = 65\nfall = 0\nrise = -1\npoints = many\n",
      "c:4: connections: \"65\" is too large, allowed: 1 to 64\n"
      "c:5: fall: \"0\" is too small, allowed: 1 to 1000\n"
      "c:6: rise: \"-1\" is not a number, allowed: 1 to 1000\n"
      "c:7: points: \"many\" is not a number, allowed: 1 to 10000\n" },
    { POOL "connections =\n",
      "c:4: connections: \"\" is not a number, allowed: 1 to 64\n" },
    { POOL "connect_timeout = 500\nrequest_timeout = 1d\nprobe_interval = 9ms\nprobe_timeout = 0\n",
      "c:4: connect_timeout: \"500\" has no unit, allowed: 1ms to 10m\n"
      "c:5: request_timeout: \"1d\" has an unknown unit, allowed: 1ms to 1h\n"
      "c:6: probe_interval: \"9ms\" is too small, allowed: 10ms to 1h, or 0\n"
      "c:7: probe_timeout: \"0\" is too small, allowed: 1ms to 10m\n" },
    { POOL "min_live = 101%\non_failure = retry\nallow_flush = true\n",
      "c:4: min_live: \"101%\" is too large, allowed: 0% to 100%\n"
      "c:5: on_failure: \"retry\" is not one of the words, allowed: eject, error or miss\n"
      "c:6: allow_flush: \"true\" is neither yes nor no, allowed: yes or no\n" },
    { POOL "hash_tag = {\nhash_skip =\nprefix = a b\nkey_hash =\n",
      "c:4: hash_tag: \"{\" is too short, allowed: 2 characters, no blanks\n"
      "c:5: hash_skip: \"\" is empty, allowed: 1 to 250 characters, no blanks\n"
      "c:6: prefix: \"a b\" has a blank, allowed: 0 to 250 characters, no blanks\n"
      "c:7: key_hash: \"\" is empty, allowed: 1 to 128 characters, no blanks\n" },
    { POOL "[proxy]\nworkers = 0\nmax_value_size = 1048576\nmax_memory = 1023k\n",
      "c:5: workers: \"0\" is too small, allowed: 1 to 256, or auto\n"
      "c:6: max_value_size: \"1048576\" has no unit, allowed: 1k to 1g\n"
      "c:7: max_memory: \"1023k\" is too small, allowed: 1m to 1024g, or 0\n" },
    { POOL "[proxy]\nmax_value_size = 8m\nmax_memory = 4m\n",
      "c:6: max_memory: is less than max_value_size, allowed: at least 8388608b, or 0\n" },
    { POOL "[proxy]\nlog = ketamad.log\npidfile = run/pid\nuser = \n",
      "c:5: log: \"ketamad.log\" is no place for a log, allowed: stderr, syslog or file:/PATH\n"
      "c:6: pidfile: \"run/pid\" does not begin with /, allowed: /PATH\n"
      "c:7: user: \"\" is empty, allowed: 1 to 32 characters, no blanks\n" },

    /* addresses */
    { POOL "listen = 127.0.0.1\nlisten = localhost:2\nlisten = 127.0.0.1:2 mode=0660\n",
      "c:4: listen: \"127.0.0.1\" is wrong: the port is missing, allowed: " ADDRESSES "\n"
      "c:5: listen: \"localhost\" is a name, and one listens on an IP address, allowed: " ADDRESSES "\n"
      "c:6: listen: \"mode=0660\" is wrong: only a unix socket has a mode, allowed: " ADDRESSES "\n" },
    { POOL "listen = /a mode=0999\nlisten = /b mode=\nlisten = /c mode=01777\nlisten = /d mdoe=1\nlisten =\n",
      "c:4: listen: \"mode=0999\" is wrong: a mode is an octal number from 1 to 777, as in 0660, allowed: " ADDRESSES "\n"
      "c:5: listen: \"mode=\" is wrong: a mode is an octal number from 1 to 777, as in 0660, allowed: " ADDRESSES "\n"
      "c:6: listen: \"mode=01777\" is wrong: a mode is an octal number from 1 to 777, as in 0660, allowed: " ADDRESSES "\n"
      "c:7: listen: \"mdoe=1\" is not an attribute, did you mean mode=?, allowed: " ADDRESSES "\n"
      "c:8: listen: the address is missing, allowed: " ADDRESSES "\n" },
    { POOL "listen = [::1]:9\nlisten = [0::1]:9\n",
      "c:5: listen: [0::1]:9 is already there in line 4, allowed: once in a pool\n" },
    { POOL "[pool b]\nlisten = 127.0.0.1:1\nserver = a\nprefix = b:\n"
           "[pool c]\nlisten = 127.0.0.1:1\nserver = a\nprefix = b:\n",
      "c:9: listen: 127.0.0.1:1 is already pool b's in line 5, allowed: pools with a different prefix each\n" },
    { POOL "listen = 127.0.0.1:2 allow=10.0.0.1/8\nlisten = 127.0.0.1:3 allow=::1,10.0.0.0/33,::2\n"
      "listen = 127.0.0.1:4 allow=\nlisten = 127.0.0.1:5 allow=10.0.0.0/8,\nlisten = /e allow=::1\n"
      "listen = 127.0.0.1:6 allow=::1 allow=::2\nlisten = 127.0.0.1:7 alow=::1\n",
      "c:4: listen: \"allow=10.0.0.1/8\" is wrong: \"10.0.0.1/8\": bits are set behind the first 8; the network is 10.0.0.0/8, allowed: " ADDRESSES "\n"
      "c:5: listen: \"allow=::1,10.0.0.0/33,::2\" is wrong: \"10.0.0.0/33\": behind the slash stands no number from 0 to 32, allowed: " ADDRESSES "\n"
      "c:6: listen: \"allow=\" is wrong: \"\": it does not begin with an IPv4 or IPv6 address, allowed: " ADDRESSES "\n"
      "c:7: listen: \"allow=10.0.0.0/8,\" is wrong: \"\": it does not begin with an IPv4 or IPv6 address, allowed: " ADDRESSES "\n"
      "c:8: listen: \"allow=::1\" is wrong: a unix socket has no networks, its mode says who may connect, allowed: " ADDRESSES "\n"
      "c:9: listen: allow is there twice, allowed: " ADDRESSES "\n"
      "c:10: listen: \"alow=::1\" is not an attribute, did you mean allow=?, allowed: " ADDRESSES "\n" },
    { "[proxy]\nadmin = 127.0.0.1:1 allow=10.0.0.0/7\nhttp = 127.0.0.1:2 allow=11.0.0.0/7\n[pool a]\nlisten = 127.0.0.1:3\nserver = a\n",
      "c:3: http: \"allow=11.0.0.0/7\" is wrong: \"11.0.0.0/7\": bits are set behind the first 7; the network is 10.0.0.0/7, allowed: " ADDRESSES "\n" },
    { "[pool a]\nlisten = 127.0.0.1:2 allow=::1\nserver = a\n"
      "[pool b]\nlisten = 127.0.0.1:2 allow=::2\nserver = a\nprefix = b\n",
      "c:5: listen: 127.0.0.1:2 has another allow in line 2, allowed: the same in all pools\n" },
    { "[pool a]\nlisten = /s mode=0600\nserver = a\n"
      "[pool b]\nlisten = unix:/s mode=0660\nserver = a\nprefix = b\n",
      "c:5: listen: unix:/s has another mode in line 2, allowed: the same in all pools\n" },
    { "[proxy]\nadmin = 127.0.0.1:1\nhttp = 127.0.0.1:1\n" POOL,
      "c:3: http: 127.0.0.1:1 is already admin in line 2, allowed: an address of its own\n"
      "c:5: listen: 127.0.0.1:1 is already admin in line 2, allowed: an address of its own\n"
      "c:5: listen: 127.0.0.1:1 is already http in line 3, allowed: an address of its own\n" },

    /* servers */
    { POOL "server = :1\nserver = a wieght=2\nserver = a weight\nserver = a x=1\nserver = a name=b name=c\n",
      "c:4: server: \":1\" is wrong: the host is missing, allowed: " SERVERS "\n"
      "c:5: server: \"wieght=2\" is not an attribute, did you mean weight=?, allowed: " SERVERS "\n"
      "c:6: server: \"weight\" is not an attribute, did you mean weight=?, allowed: " SERVERS "\n"
      "c:7: server: \"x=1\" is not an attribute, allowed: " SERVERS "\n"
      "c:8: server: name is there twice, allowed: " SERVERS "\n" },
    { POOL "server = a weight=0\nserver = b weight=-1\nserver = c weight=1000001\nserver = d weight=nan\n",
      "c:4: server: \"weight=0\" is wrong: a weight is a number above 0 and up to 1000000, allowed: " SERVERS "\n"
      "c:5: server: \"weight=-1\" is wrong: a weight is a number above 0 and up to 1000000, allowed: " SERVERS "\n"
      "c:6: server: \"weight=1000001\" is wrong: a weight is a number above 0 and up to 1000000, allowed: " SERVERS "\n"
      "c:7: server: \"weight=nan\" is wrong: a weight is a number above 0 and up to 1000000, allowed: " SERVERS "\n" },
    { POOL "server = a name=\nserver = a zone=\n",
      "c:4: server: \"name=\" is wrong: a name has 1 to 250 characters, no control characters, allowed: " SERVERS "\n"
      "c:5: server: \"zone=\" is wrong: a zone has 1 to 64 characters, no control characters, allowed: " SERVERS "\n" },
    { POOL "server = 10.0.0.1:1\nserver = 10.0.0.1:1 name=other\nserver = Host\nserver = host:11211\n",
      "c:4: server: 10.0.0.1:1 is already a server of the pool in line 3, allowed: an address of its own\n"
      "c:5: server: 10.0.0.1:1 is already a server of the pool in line 4, allowed: an address of its own\n"
      "c:7: server: host:11211 is already a server of the pool in line 6, allowed: an address of its own\n" },
    { POOL "placement = ketama:twemproxy\nserver = h2 name=two weight=1.5\n",
      "c:5: server: weight: server two has 1.5, but placement ketama:twemproxy takes whole numbers only\n" },
    { POOL "placement = ketama:twemproxy\npoints = 3\n",
      "c:5: points: 3 is not a multiple of 4, as placement ketama:twemproxy wants\n" },
    { POOL "server = a name=x\nserver = b name=x\nserver = c name=10.0.0.1:1\n",
      "c:5: server: x is already the name of a server in line 4, allowed: a name of its own\n"
      "c:6: server: 10.0.0.1:1 is already the name of a server in line 3, allowed: a name of its own\n" },
};
/* clang-format on */

START_TEST(says_every_mistake_with_line_key_and_what_is_allowed)
{
    struct config_errors errors;
    struct config *config = config_load_text("c", cases[_i].text, strlen(cases[_i].text), &errors);
    const char *want = cases[_i].wrong;

    ck_assert_ptr_null(config);
    for (size_t i = 0; i < errors.count; i++) {
        size_t len = strlen(errors.lines[i]);

        ck_assert_msg(strncmp(want, errors.lines[i], len) == 0 && want[len] == '\n',
                      "got \"%s\", expected\n%s", errors.lines[i], want);
        want += len + 1;
    }
    ck_assert_str_eq(want, "");
    config_errors_fini(&errors);
}
END_TEST

START_TEST(says_mistakes_in_the_order_of_the_file)
{
    const char *text = "[pool a]\n"                  /* 1: no listen */
                       "server = x:0\n"              /* 2 */
                       "placement = no-such-thing\n" /* 3: found last */
                       "server = y\n"
                       "server = y\n" /* 5: found after all lines are read */
                       "fall = none\n"
                       "[pool a]\n" /* 7 */
                       "listen = 127.0.0.1:1\n"
                       "listen = 127.0.0.1:1\n" /* 9 */
                       "server = z\n"
                       "bogus = 1\n"; /* 11 */
    static const unsigned want[] = {1, 2, 3, 5, 6, 7, 9, 11};
    struct config_errors errors;
    struct config *config = config_load_text("c", text, strlen(text), &errors);

    ck_assert_ptr_null(config);
    ck_assert_uint_eq(errors.count, ARRAY_LEN(want));
    for (size_t i = 0; i < errors.count; i++) {
        ck_assert_msg(strtoul(errors.lines[i] + 2, NULL, 10) == want[i], "%s", errors.lines[i]);
    }
    ck_assert_msg(strncmp(errors.lines[2], "c:3: placement: ", 16) == 0, "%s", errors.lines[2]);
    config_errors_fini(&errors);
}
END_TEST

START_TEST(takes_lines_up_to_the_limit_and_says_so_beyond)
{
    char text[8192];
    struct config_errors errors;
    struct config *config;
    int head = snprintf(text, sizeof(text), "%s", POOL "server = h name=x ;");

    memset(text + head, 'c', 4096 - 19);
    text[head + 4096 - 19] = '\0';
    config_free(load(text));
    strcat(text, "c\nfall = 0\n");
    config = config_load_text("c", text, strlen(text), &errors);
    ck_assert_ptr_null(config);
    ck_assert_uint_eq(errors.count, 2);
    ck_assert_ptr_nonnull(strstr(errors.lines[0], "c:4: line: \"server = h name=x ;ccc"));
    ck_assert_ptr_nonnull(strstr(errors.lines[0], "the line is too long, allowed: 4096 bytes"));
    ck_assert_ptr_nonnull(strstr(errors.lines[1], "c:5: fall: "));
    config_errors_fini(&errors);
}
END_TEST

START_TEST(refuses_a_nul_byte)
{
    static const char text[] = POOL "fall = 1\0 0\n";
    struct config_errors errors;
    struct config *config = config_load_text("c", text, sizeof(text) - 1, &errors);

    ck_assert_ptr_null(config);
    ck_assert_uint_eq(errors.count, 1);
    ck_assert_str_eq(errors.lines[0], "c:4: line: \"fall = 1? 0\": the line has "
                                      "a NUL byte; a "
                                      "configuration is plain text");
    config_errors_fini(&errors);
}
END_TEST

START_TEST(bounds_the_number_of_mistakes)
{
    const size_t lines = 5000;
    char *text = malloc(lines * 2 + 1);
    struct config_errors errors;
    struct config *config;

    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < lines; i++) {
        memcpy(text + 2 * i, "x\n", 3);
    }
    config = config_load_text("c", text, 2 * lines, &errors);
    ck_assert_ptr_null(config);
    ck_assert_uint_eq(errors.count, ERRORS_SHOWN_MAX + 1);
    ck_assert_str_eq(errors.lines[errors.count - 1], "c: 4001 more mistakes are not shown");
    config_errors_fini(&errors);
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config_mistakes");
    TCase *tests = tcase_create("config_mistakes");

    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, says_every_mistake_with_line_key_and_what_is_allowed, 0,
                        ARRAY_LEN(cases));
    tcase_add_test(tests, says_mistakes_in_the_order_of_the_file);
    tcase_add_test(tests, takes_lines_up_to_the_limit_and_says_so_beyond);
    tcase_add_test(tests, refuses_a_nul_byte);
    tcase_add_test(tests, bounds_the_number_of_mistakes);
    return run_suite(suite);
}
