#include "base/network.h"
#include "unit/run_suite.h"

#include <arpa/inet.h>
#include <check.h>
#include <stdlib.h>

static struct network parse(const char *text)
{
    struct network network;
    char wrong[NETWORK_WRONG_MAX] = "";

    ck_assert_msg(network_parse(&network, slice_text(text), wrong), "%s: %s", text, wrong);
    return network;
}

static bool holds(struct network network, const struct sockaddr *address)
{
    const struct networks one = {&network, 1};

    return networks_admit(&one, address);
}

static struct endpoint endpoint_of(const char *text)
{
    struct address address = {0};
    struct endpoint endpoint;

    strcpy(address.host, text);
    ck_assert_msg(address_to_endpoint(&address, &endpoint), "%s", text);
    return endpoint;
}

/* clang-format off */
static const struct { const char *text; const char *formatted; } good[] = {
    { "10.0.0.0/8",           "10.0.0.0/8" },
    { "10.1.2.3",             "10.1.2.3/32" },
    { "10.1.2.3/32",          "10.1.2.3/32" },
    { "192.168.128.0/17",     "192.168.128.0/17" },
    { "0.0.0.0/0",            "0.0.0.0/0" },
    { "::1",                  "::1/128" },
    { "::/0",                 "::/0" },
    { "2001:DB8::/32",        "2001:db8::/32" },
    { "fe80::/10",            "fe80::/10" },
    { "::ffff:10.0.0.0/104",  "10.0.0.0/8" },
    { "::ffff:10.1.2.3",      "10.1.2.3/32" },
    { "::ffff:0.0.0.0/96",    "0.0.0.0/0" },
};

static const struct { const char *text; const char *wrong; } bad[] = {
    { "",                   "it does not begin with an IPv4 or IPv6 address" },
    { "/8",                 "it does not begin with an IPv4 or IPv6 address" },
    { "localhost",          "it does not begin with an IPv4 or IPv6 address" },
    { "10/8",               "it does not begin with an IPv4 or IPv6 address" },
    { "10.0.0/24",          "it does not begin with an IPv4 or IPv6 address" },
    { "010.0.0.1",          "it does not begin with an IPv4 or IPv6 address" },
    { "10.0.0.256",         "it does not begin with an IPv4 or IPv6 address" },
    { "[::1]",              "it does not begin with an IPv4 or IPv6 address" },
    { "fe80::1%eth0",       "it does not begin with an IPv4 or IPv6 address" },
    { "1111:2222:3333:4444:5555:6666:7777:8888:9999:0000",
                            "it does not begin with an IPv4 or IPv6 address" },
    { "10.0.0.0/",          "behind the slash stands no number from 0 to 32" },
    { "10.0.0.0/33",        "behind the slash stands no number from 0 to 32" },
    { "10.0.0.0/-1",        "behind the slash stands no number from 0 to 32" },
    { "10.0.0.0/8/8",       "behind the slash stands no number from 0 to 32" },
    { "10.0.0.0/255.0.0.0", "behind the slash stands no number from 0 to 32" },
    { "10.0.0.0/4294967304", "behind the slash stands no number from 0 to 32" },
    { "::/129",             "behind the slash stands no number from 0 to 128" },
    { "10.0.0.1/8",         "bits are set behind the first 8; the network is 10.0.0.0/8" },
    { "192.168.192.0/17",   "bits are set behind the first 17; the network is 192.168.128.0/17" },
    { "1.2.3.4/0",          "bits are set behind the first 0; the network is 0.0.0.0/0" },
    { "2001:db8::1/32",     "bits are set behind the first 32; the network is 2001:db8::/32" },
    { "::ffff:10.0.0.1/104", "bits are set behind the first 8; the network is 10.0.0.0/8" },
    { "::ffff:10.0.0.0/95", "IPv4 addresses inside IPv6 ones have 96 to 128" },
};

static const struct { const char *network; const char *address; bool holds; } cases[] = {
    { "10.0.0.0/8",          "10.0.0.0",         true },
    { "10.0.0.0/8",          "10.255.255.255",   true },
    { "10.0.0.0/8",          "11.0.0.0",         false },
    { "10.0.0.0/8",          "9.255.255.255",    false },
    { "192.168.128.0/17",    "192.168.128.1",    true },
    { "192.168.128.0/17",    "192.168.127.255",  false },
    { "10.1.2.2/31",         "10.1.2.3",         true },
    { "10.1.2.2/31",         "10.1.2.4",         false },
    { "10.1.2.3",            "10.1.2.3",         true },
    { "10.1.2.3",            "10.1.2.2",         false },
    { "0.0.0.0/0",           "255.255.255.255",  true },
    { "0.0.0.0/0",           "::1",              false },
    { "0.0.0.0/0",           "::ffff:1.2.3.4",   true },
    { "::/0",                "2001:db8::1",      true },
    { "::/0",                "1.2.3.4",          false },
    { "::/0",                "::ffff:1.2.3.4",   false },
    { "2001:db8::/33",       "2001:db8:7fff::1", true },
    { "2001:db8::/33",       "2001:db8:8000::1", false },
    { "::1",                 "::1",              true },
    { "::1",                 "::2",              false },
    { "10.0.0.0/8",          "::ffff:10.9.9.9",  true },
    { "10.0.0.0/8",          "::ffff:11.9.9.9",  false },
    { "::ffff:10.0.0.0/104", "10.9.9.9",         true },
    { "::ffff:10.0.0.0/104", "::ffff:10.9.9.9",  true },
    { "a00::/8",             "10.0.0.1",         false },
};
/* clang-format on */

START_TEST(a_network_is_read_and_written)
{
    char text[NETWORK_TEXT_MAX];
    const struct network network = parse(good[_i].text);

    ck_assert_str_eq(network_format(&network, text), good[_i].formatted);
}
END_TEST

START_TEST(what_is_no_network_is_refused_with_the_reason)
{
    struct network network;
    char wrong[NETWORK_WRONG_MAX] = "";

    ck_assert_msg(!network_parse(&network, slice_text(bad[_i].text), wrong), "%s", bad[_i].text);
    ck_assert_str_eq(wrong, bad[_i].wrong);
}
END_TEST

START_TEST(a_network_has_no_byte_beyond_its_text)
{
    const char bytes[] = "10.0.0.0\0/8";
    struct network network;
    char wrong[NETWORK_WRONG_MAX] = "";

    ck_assert(!network_parse(&network, slice_make(bytes, sizeof(bytes) - 1), wrong));
    ck_assert(network_parse(&network, slice_make("10.0.0.0/81", 10), wrong));
    ck_assert_uint_eq(network.bits, 8);
}
END_TEST

START_TEST(a_network_holds_what_shares_its_bits)
{
    const struct network network = parse(cases[_i].network);
    const struct endpoint endpoint = endpoint_of(cases[_i].address);

    ck_assert_msg(holds(network, &endpoint.at.any) == cases[_i].holds, "%s in %s",
                  cases[_i].address, cases[_i].network);
}
END_TEST

/* Against arithmetic on whole numbers, at every length of prefix. */
START_TEST(every_prefix_length_agrees_with_a_mask)
{
    static const uint32_t hosts[] = {0, 1, 0x7f000001, 0x80000000, 0xaaaaaaaa, 0xffffffff};

    for (uint8_t bits = 0; bits <= 32; bits++) {
        uint32_t mask = bits == 0 ? 0 : UINT32_MAX << (32 - bits);

        for (size_t n = 0; n < ARRAY_LEN(hosts); n++) {
            for (size_t a = 0; a < ARRAY_LEN(hosts); a++) {
                struct network network = {.bits = bits};
                struct endpoint peer = {.at.v4 = {.sin_family = AF_INET}};
                uint32_t base = htonl(hosts[n] & mask);

                memcpy(network.bytes, &base, sizeof(base));
                peer.at.v4.sin_addr.s_addr = htonl(hosts[a]);
                ck_assert_int_eq(holds(network, &peer.at.any),
                                 (hosts[a] & mask) == (hosts[n] & mask));
            }
        }
    }
}
END_TEST

START_TEST(an_empty_list_admits_everybody_and_another_only_its_own)
{
    struct network both[2] = {parse("10.0.0.0/8"), parse("::1")};
    const struct networks list = {both, 2};
    const struct networks none = {NULL, 0};
    const struct endpoint inside = endpoint_of("10.1.1.1");
    const struct endpoint outside = endpoint_of("127.0.0.1");
    const struct endpoint loopback = endpoint_of("::1");
    const struct endpoint path = {.at.path = {.sun_family = AF_UNIX}};

    ck_assert(networks_admit(&none, &outside.at.any));
    ck_assert(networks_admit(&none, &path.at.any));
    ck_assert(networks_admit(&list, &inside.at.any));
    ck_assert(networks_admit(&list, &loopback.at.any));
    ck_assert(!networks_admit(&list, &outside.at.any));
    ck_assert(!networks_admit(&list, &path.at.any));
}
END_TEST

START_TEST(a_copy_is_equal_until_one_differs)
{
    struct network both[2] = {parse("10.0.0.0/8"), parse("::1")};
    const struct networks list = {both, 2};
    const struct networks none = {NULL, 0};
    struct networks copy;

    ck_assert(networks_copy(&copy, &none));
    ck_assert(networks_equal(&copy, &none));
    ck_assert(networks_copy(&copy, &list));
    ck_assert(networks_equal(&copy, &list));
    ck_assert(!networks_equal(&copy, &none));
    copy.at[1].bits--;
    ck_assert(!networks_equal(&copy, &list));
    networks_fini(&copy);
    ck_assert(networks_equal(&copy, &none));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("network");
    TCase *tcase = tcase_create("network");

    tcase_add_loop_test(tcase, a_network_is_read_and_written, 0, ARRAY_LEN(good));
    tcase_add_loop_test(tcase, what_is_no_network_is_refused_with_the_reason, 0, ARRAY_LEN(bad));
    tcase_add_test(tcase, a_network_has_no_byte_beyond_its_text);
    tcase_add_loop_test(tcase, a_network_holds_what_shares_its_bits, 0, ARRAY_LEN(cases));
    tcase_add_test(tcase, every_prefix_length_agrees_with_a_mask);
    tcase_add_test(tcase, an_empty_list_admits_everybody_and_another_only_its_own);
    tcase_add_test(tcase, a_copy_is_equal_until_one_differs);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
