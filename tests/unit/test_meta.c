#include "unit/request_case.h"

/* clang-format off */
static const struct answered_case answered[] = {
    { BYTES("mg\r\n"),                        "ERROR\r\n", 0, 0 },
    { BYTES("md\r\n"),                        "ERROR\r\n", 0, 0 },
    { BYTES("ma\r\n"),                        "ERROR\r\n", 0, 0 },
    { BYTES("ms\r\n"),                        "ERROR\r\n", 0, 0 },
    { BYTES("me\r\n"),                        BAD_FORMAT, 0, 0 },
    { BYTES("mn\r\n"),                        "MN\r\n", 0, 0 },
    { BYTES("mn foo q\r\n"),                  "MN\r\n", 0, 0 },
    { BYTES("mg " K251 " v\r\n"),             BAD_FORMAT, 0, 0 },
    { BYTES("mg a\0b v\r\n"),                 BAD_FORMAT, 0, 0 },
    { BYTES("mg k t t\r\n"),                  DUPLICATE_FLAG, 0, 0 },
    { BYTES("mg k q q\r\n"),                  DUPLICATE_FLAG, 0, 0 },
    { BYTES("mg k q qq E\r\n"),               DUPLICATE_FLAG, 0, 0 },
    { BYTES("mg k E q q\r\n"),                INVALID_FLAG, 0, 0 },
    { BYTES("mg k E b\r\n"),                  INVALID_FLAG, 0, 0 },
    { BYTES("mg k b E\r\n"),                  INVALID_FLAG, 0, 0 },
    { BYTES("mg k \x7f\r\n"),                 DUPLICATE_FLAG, 0, 0 },
    { BYTES("mg k \x80\r\n"),                 DUPLICATE_FLAG, 0, 0 },
    { BYTES("mg k Tx\r\n"),                   BAD_TOKEN, 0, 0 },
    { BYTES("mg k Tx C1 b\r\n"),              "CLIENT_ERROR error decoding key\r\n", 0, 0 },
    { BYTES("mg k b\r\n"),                    "CLIENT_ERROR error decoding key\r\n", 0, 0 },
    { BYTES("mg Zm9 b\r\n"),                  "CLIENT_ERROR error decoding key\r\n", 0, 0 },
    { BYTES("mg k F-1\r\n"),                  BAD_FORMAT, 0, 0 },
    { BYTES("mg k Tx F-1\r\n"),               BAD_TOKEN, 0, 0 },
    { BYTES("mg k F-1 Tx\r\n"),               BAD_TOKEN, 0, 0 },
    { BYTES("mg k M\r\n"),                    "CLIENT_ERROR incorrect length for M token\r\n", 0, 0 },
    { BYTES("mg k J\r\n"),                    "CLIENT_ERROR invalid numeric initial value\r\n", 0, 0 },
    { BYTES("mg k Dx\r\n"),                   "CLIENT_ERROR invalid numeric delta value\r\n", 0, 0 },
    { BYTES("md k q q\r\n"),                  INVALID_OR_DUPLICATE, 0, 0 },
    { BYTES("md Zm9 b\r\n"),                  INVALID_OR_DUPLICATE, 0, 0 },
    { BYTES("ma k Dx\r\n"),                   INVALID_OR_DUPLICATE, 0, 0 },
    { BYTES("md " K251 "\r\n"),               BAD_FORMAT, 0, 0 },
    { BYTES("ma " K251 "\r\n"),               BAD_FORMAT, 0, 0 },
    { BYTES("me " K251 "\r\n"),               BAD_FORMAT, 0, 0 },
    { BYTES("me nokey b\r\n"),                BAD_FORMAT, 0, 0 },
    { BYTES("mg k " FLAGS_16 " C1 q\r\n"),    "CLIENT_ERROR options flags are too long\r\n", 0, 0 },
    { BYTES("md k " FLAGS_16 " C1 q\r\n"),    "CLIENT_ERROR options flags too long\r\n", 0, 0 },
    { BYTES("ms k 1 " FLAGS_16 " q\r\n"),     "CLIENT_ERROR options flags too long\r\n", 3, 0 },
    { BYTES("ms k x " FLAGS_16 " q\r\n"),     "CLIENT_ERROR options flags too long\r\n", 0, CLOSED },
    { BYTES("ms k\r\n"),                      BAD_FORMAT, 0, CLOSED },
    { BYTES("ms k x\r\n"),                    BAD_FORMAT, 0, CLOSED },
    { BYTES("ms k -1 c\r\n"),                 BAD_FORMAT, 0, CLOSED },
    { BYTES("ms k 4294967297\r\n"),           BAD_FORMAT, 0, CLOSED },
    { BYTES("ms " K251 " 9 c\r\n"),           BAD_FORMAT, 11, 0 },
    { BYTES("ms k\0 9 c\r\n"),                BAD_FORMAT, 11, 0 },
    { BYTES("ms k 1 t t\r\n"),                DUPLICATE_FLAG, 3, 0 },
    { BYTES("ms k 1 q q\r\n"),                DUPLICATE_FLAG, 3, 0 },
    { BYTES("ms k 1 \x80\r\n"),               DUPLICATE_FLAG, 3, 0 },
    { BYTES("ms k 1 Tx\r\n"),                 BAD_TOKEN, 3, 0 },
    { BYTES("ms k 1 Nx\r\n"),                 BAD_TOKEN, 3, 0 },
    { BYTES("ms k 1 Cx\r\n"),                 BAD_TOKEN, 3, 0 },
    { BYTES("ms k 1 Fx\r\n"),                 BAD_FORMAT, 3, 0 },
    { BYTES("ms k 1 MEE\r\n"),                "CLIENT_ERROR incorrect length for M token\r\n", 3, 0 },
    { BYTES("ms k 1 b\r\n"),                  "CLIENT_ERROR error decoding key\r\n", 3, 0 },
    { BYTES("ms k 1 q O12345678901234567890123456789012\r\n"),
                                              "CLIENT_ERROR opaque token too long\r\n", 3, 0 },
    { BYTES("ms k 3 q\r\nabcde"),             BAD_CHUNK, 0, 0 },
    { BYTES("ms k 3 Mx\r\nabcde"),            "CLIENT_ERROR invalid mode for ms M token\r\n", 0, 0 },
    { BYTES("ms k 3 E1\r\nabcde"),            INVALID_FLAG, 0, 0 },
    { BYTES("ms k 1001 Mx\r\n"),              "CLIENT_ERROR invalid mode for ms M token\r\n", 1003, 0 },
    { BYTES("ms k 1001 E1\r\n"),              INVALID_FLAG, 1003, 0 },
};

static const struct sent_case sent[] = {
    { BYTES("mg k\r\n"),                      ROUTE_KEY, "k", "mg k\r\n", REPEATABLE },
    { BYTES("mg a t\r\n"),                    ROUTE_KEY, "a", "mg a t\r\n", REPEATABLE },
    { BYTES("mg nope k Oab v\r\n"),           ROUTE_KEY, "nope", "mg nope k Oab v\r\n", REPEATABLE },
    { BYTES("mg k q\r\n"),                    ROUTE_KEY, "k", "mg k\r\n", REPEATABLE | QUIET },
    { BYTES("mg k v qx O1\r\n"),              ROUTE_KEY, "k", "mg k v O1\r\n", REPEATABLE | QUIET },
    { BYTES(" mg  k  v \n"),                  ROUTE_KEY, "k", "mg k v\r\n", REPEATABLE },
    { BYTES("mg k h\r\n"),                    ROUTE_KEY, "k", "mg k h\r\n", 0 },
    { BYTES("mg k N30 v\r\n"),                ROUTE_KEY, "k", "mg k N30 v\r\n", 0 },
    { BYTES("mg k T30\r\n"),                  ROUTE_KEY, "k", "mg k T30\r\n", 0 },
    { BYTES("mg k E9 t t q\r\n"),             ROUTE_KEY, "k", "mg k E9 t t\r\n", QUIET },
    { BYTES("mg YQ== b k\r\n"),               ROUTE_KEY, "a", "mg YQ== b k\r\n", REPEATABLE },
    { BYTES("mg Zm9v v b q\r\n"),             ROUTE_KEY, "foo", "mg Zm9v v b\r\n",
                                              REPEATABLE | QUIET },
    { BYTES("mg Z.m-9v b\r\n"),               ROUTE_KEY, "foo", "mg Z.m-9v b\r\n", REPEATABLE },
    { BYTES("mg Zm9v E b\r\n"),               ROUTE_KEY, "foo", "mg Zm9v E b\r\n", 0 },
    { BYTES("mg k O12345678901234567890123456789012\r\n"), ROUTE_KEY, "k",
                                              "mg k O12345678901234567890123456789012\r\n",
                                              REPEATABLE },
    { BYTES("mg k " FLAGS_16 " q\r\n"),       ROUTE_KEY, "k", "mg k " FLAGS_16 "\r\n", QUIET },
    { BYTES("md k\r\n"),                      ROUTE_KEY, "k", "md k\r\n", 0 },
    { BYTES("md k q I T30\r\n"),              ROUTE_KEY, "k", "md k I T30\r\n", QUIET },
    { BYTES("md k x\r\n"),                    ROUTE_KEY, "k", "md k x\r\n", 0 },
    { BYTES("ma k N0 J5 D2 MD q\r\n"),        ROUTE_KEY, "k", "ma k N0 J5 D2 MD q\r\n", ENDS_WITH_MN },
    { BYTES("ma k  q N0\r\n"),                ROUTE_KEY, "k", "ma k q N0\r\n", ENDS_WITH_MN },
    { BYTES("ma k J5 D2 MD q\r\n"),           ROUTE_KEY, "k", "ma k J5 D2 MD\r\n", QUIET },
    { BYTES("ma k Mx\r\n"),                   ROUTE_KEY, "k", "ma k Mx\r\n", 0 },
    { BYTES("me k\r\n"),                      ROUTE_KEY, "k", "me k\r\n", REPEATABLE },
    { BYTES("me Zm9v b\r\n"),                 ROUTE_KEY, "foo", "me Zm9v b\r\n", REPEATABLE },
    { BYTES("me Zm9v bb q\r\n"),              ROUTE_KEY, "Zm9v", "me Zm9v bb q\r\n", REPEATABLE },
    { BYTES("ms a 0\r\n\r\n"),                ROUTE_KEY, "a", "ms a 0\r\n", 0 },
    { BYTES("ms a 0 T3600\r\n\r\n"),          ROUTE_KEY, "a", "ms a 0 T3600\r\n", 0 },
    { BYTES("ms a 01 q c\r\nx\r\n"),          ROUTE_KEY, "a", "ms a 1 c\r\n", QUIET },
    { BYTES("ms Zm9v 1 b MA\r\nx\r\n"),       ROUTE_KEY, "foo", "ms Zm9v 1 b MA\r\n", 0 },
    { BYTES("ms a 1 E5\r\nx\r\n"),            ROUTE_KEY, "a", "ms a 1 E5\r\n", 0 },
    { BYTES("ms a 1 Ms\r\nx\r\n"),            ROUTE_KEY, "a", "ms a 1 Ms\r\n", 0 },
    { BYTES("ms a 1 T+5 F4294967297\r\nx\r\n"), ROUTE_KEY, "a",
                                              "ms a 1 T+5 F4294967297\r\n", 0 },
};

static const struct large_case large[] = {
    { BYTES("ms k 1001\r\n"),                 "k",   "md k\r\n", TOO_LARGE },
    { BYTES("ms k 1001 ME q\r\n"),            "k",   "md k\r\n", TOO_LARGE },
    { BYTES("ms Zm9v 1001 O1 b k\r\n"),       "foo", "md Zm9v b\r\n", TOO_LARGE },
};
/* clang-format on */

START_TEST(answers_what_no_server_may_see)
{
    check_answered(&answered[_i]);
}
END_TEST

START_TEST(sends_on_a_line_every_server_reads_alike)
{
    check_sent(&sent[_i]);
}
END_TEST

START_TEST(swallows_a_value_over_the_limit_and_removes_the_old_one)
{
    check_large(&large[_i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("meta");
    TCase *tests = tcase_create("meta");

    tcase_add_loop_test(tests, answers_what_no_server_may_see, 0, ARRAY_LEN(answered));
    tcase_add_loop_test(tests, sends_on_a_line_every_server_reads_alike, 0, ARRAY_LEN(sent));
    tcase_add_loop_test(tests, swallows_a_value_over_the_limit_and_removes_the_old_one, 0,
                        ARRAY_LEN(large));
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
