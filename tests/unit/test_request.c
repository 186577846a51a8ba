#include "proto/request.h"

#include <check.h>
#include <stdlib.h>

enum {
    MAX_VALUE = 1000,

    /* What a case may say besides its texts. */
    SILENT = 1 << 0,
    QUIET = 1 << 1,
    CLOSED = 1 << 2,
    REPEATABLE = 1 << 3,
    FOREIGN = 1 << 4,
    FIRST = 1 << 5,    /* the first bytes of a client */
    NO_FLUSH = 1 << 6, /* allow_flush = no */
};

#define BYTES(literal)                                                                             \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }
#define K50                  "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"
#define K250                 K50 K50 K50 K50 K50
#define K251                 K250 "k"
#define BAD_FORMAT           "CLIENT_ERROR bad command line format\r\n"
#define BAD_DELETE           "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n"
#define BAD_EXPTIME          "CLIENT_ERROR invalid exptime argument\r\n"
#define BAD_DELTA            "CLIENT_ERROR invalid numeric delta argument\r\n"
#define BAD_CHUNK            "CLIENT_ERROR bad data chunk\r\n"
#define BAD_TOKEN            "CLIENT_ERROR bad token in command line format\r\n"
#define TOO_LARGE            "SERVER_ERROR object too large for cache\r\n"
#define INVALID_FLAG         "CLIENT_ERROR invalid flag\r\n"
#define DUPLICATE_FLAG       "CLIENT_ERROR duplicate flag\r\n"
#define INVALID_OR_DUPLICATE "CLIENT_ERROR invalid or duplicate flag\r\n"
#define NOT_HERE(what)       "CLIENT_ERROR " what " is not available through a proxy\r\n"
#define FLAGS_16             "k s t c f v h u l O P L I D1 J1 N1"

/* Answered without a server; the whole input is the request, but for what it swallows. */
struct answered_case {
    struct slice in;
    const char *answer;
    size_t swallow_bytes;
    unsigned int marks;
};

/* clang-format off */
static const struct answered_case answered[] = {
    { BYTES("\r\n"),                          "ERROR\r\n", 0, 0 },
    { BYTES("\n"),                            "ERROR\r\n", 0, 0 },
    { BYTES("  \r\n"),                        "ERROR\r\n", 0, 0 },
    { BYTES("foo\r\n"),                       "ERROR\r\n", 0, 0 },
    { BYTES("foo bar noreply\r\n"),           "ERROR\r\n", 0, 0 },
    { BYTES("lower and upper case words\r\n"), "ERROR\r\n", 0, 0 },
    { BYTES("GET a\r\n"),                     "ERROR\r\n", 0, 0 },
    { BYTES("GET a\r\n"),                     "ERROR\r\n", 0, FIRST },
    { BYTES("GET / HTTP/1.1\r\n"),            "ERROR\r\n", 0, 0 },
    { BYTES("SET a 0 0 1\r\n"),               "ERROR\r\n", 0, 0 },
    { BYTES("rget a b\r\n"),                  "ERROR\r\n", 0, 0 },
    { BYTES("\x80\x01\r\n"),                  "ERROR\r\n", 0, 0 },
    { BYTES("mx a\r\n"),                      "ERROR\r\n", 0, 0 },
    { BYTES("quit\r\r\n"),                    "ERROR\r\n", 0, 0 },

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

    { BYTES("set\r\n"),                       "ERROR\r\n", 0, 0 },
    { BYTES("cas\r\n"),                       "ERROR\r\n", 0, 0 },
    { BYTES("set k\r\n"),                     "ERROR\r\n", 0, CLOSED },
    { BYTES("set  0 0 5\r\n"),                "ERROR\r\n", 0, CLOSED },
    { BYTES("set k 0 0 noreply\r\n"),         "", 0, SILENT | CLOSED },
    { BYTES("set k 0 0 1 x y\r\n"),           "ERROR\r\n", 3, 0 },
    { BYTES("set k 0 0 1 x noreply\r\n"),     "ERROR\r\n", 3, 0 },
    { BYTES("cas k 0 0 5\r\n"),               "ERROR\r\n", 7, 0 },
    { BYTES("cas k 0 0 5 x\r\n"),             BAD_FORMAT, 7, 0 },
    { BYTES("cas k 0 0 5 -1\r\n"),            BAD_FORMAT, 7, 0 },
    { BYTES("cas k 0 0 5 18446744073709551616\r\n"), BAD_FORMAT, 7, 0 },
    { BYTES("cas k 0 0 5 noreply\r\n"),       "", 7, SILENT },
    { BYTES("cas k 0 0 5 1 2 3\r\n"),         "ERROR\r\n", 7, 0 },
    { BYTES("set k 0 99999999999999999999999 9\r\n"), BAD_FORMAT, 11, 0 },
    { BYTES("set k 0 0.2 9\r\n"),             BAD_FORMAT, 11, 0 },
    { BYTES("set " K251 " 0 0 9\r\n"),        BAD_FORMAT, 11, 0 },
    { BYTES("set " K251 " 0 0 9 noreply\r\n"), "", 11, SILENT },
    { BYTES("set k -1 0 9\r\n"),              BAD_FORMAT, 11, 0 },
    { BYTES("set k 18446744073709551616 0 9\r\n"), BAD_FORMAT, 11, 0 },
    { BYTES("set k x 0 9 noreply\r\n"),       "", 11, SILENT },
    { BYTES("set k\0l 0 0 9\r\n"),            BAD_FORMAT, 11, 0 },
    { BYTES("set k 0 0 9 \0\r\n"),            BAD_FORMAT, 11, 0 },
    { BYTES("set k x 0 2147483645\r\n"),      BAD_FORMAT, 2147483647, 0 },
    { BYTES("set k 0 0 -1\r\n"),              BAD_FORMAT, 0, CLOSED },
    { BYTES("set k 0 0 x\r\n"),               BAD_FORMAT, 0, CLOSED },
    { BYTES("set k 0 0 1.0\r\n"),             BAD_FORMAT, 0, CLOSED },
    { BYTES("set k 0 0 0x1\r\n"),             BAD_FORMAT, 0, CLOSED },
    { BYTES("set k 0 0 1\0\r\n"),             BAD_FORMAT, 0, CLOSED },
    { BYTES("set k 0 0 2147483646\r\n"),      BAD_FORMAT, 0, CLOSED },
    { BYTES("set k 0 0 4294967299\r\n"),      BAD_FORMAT, 0, CLOSED },
    { BYTES("set k 0 0 9223372036854775808\r\n"), BAD_FORMAT, 0, CLOSED },
    { BYTES("set k 0 0 99999999999999999999\r\n"), BAD_FORMAT, 0, CLOSED },
    { BYTES("set k 0 0 99999999999999999999 noreply\r\n"), "", 0, SILENT | CLOSED },
    { BYTES("add k 0 0 1001\r\n"),            TOO_LARGE, 1003, 0 },
    { BYTES("cas k 0 0 1001 5\r\n"),          TOO_LARGE, 1003, 0 },
    { BYTES("append k 0 0 2147483645 noreply\r\n"), "", 2147483647, SILENT },
    { BYTES("set k 0 0 3\r\nabcde"),          BAD_CHUNK, 0, 0 },
    { BYTES("set k 0 0 3\r\nabc\n\r"),        BAD_CHUNK, 0, 0 },
    { BYTES("set k 0 0 0\r\nab"),             BAD_CHUNK, 0, 0 },
    { BYTES("set k 0 0 3 noreply\r\nabcde"),  "", 0, SILENT },

    { BYTES("delete\r\n"),                    "ERROR\r\n", 0, 0 },
    { BYTES("delete k 0 noreply x\r\n"),      "ERROR\r\n", 0, 0 },
    { BYTES("delete k 5\r\n"),                BAD_DELETE, 0, 0 },
    { BYTES("delete k 00\r\n"),               BAD_DELETE, 0, 0 },
    { BYTES("delete k 0 5\r\n"),              BAD_DELETE, 0, 0 },
    { BYTES("delete k noreply 0\r\n"),        BAD_DELETE, 0, 0 },
    { BYTES("delete k noreply noreply\r\n"),  "", 0, SILENT },
    { BYTES("delete " K251 "\r\n"),           BAD_FORMAT, 0, 0 },
    { BYTES("delete " K251 " 5\r\n"),         BAD_DELETE, 0, 0 },
    { BYTES("delete " K251 " noreply\r\n"),   "", 0, SILENT },
    { BYTES("delete k\0l\r\n"),               BAD_FORMAT, 0, 0 },
    { BYTES("delete k\0l noreply\r\n"),       "", 0, SILENT },
    { BYTES("incr\r\n"),                      "ERROR\r\n", 0, 0 },
    { BYTES("incr k\r\n"),                    "ERROR\r\n", 0, 0 },
    { BYTES("incr k 1 x y\r\n"),              "ERROR\r\n", 0, 0 },
    { BYTES("incr k noreply\r\n"),            "", 0, SILENT },
    { BYTES("incr k 0.2\r\n"),                BAD_DELTA, 0, 0 },
    { BYTES("decr k -1\r\n"),                 BAD_DELTA, 0, 0 },
    { BYTES("incr k 18446744073709551616\r\n"), BAD_DELTA, 0, 0 },
    { BYTES("incr " K251 " x\r\n"),           BAD_FORMAT, 0, 0 },
    { BYTES("touch k\r\n"),                   "ERROR\r\n", 0, 0 },
    { BYTES("touch k 1 x y\r\n"),             "ERROR\r\n", 0, 0 },
    { BYTES("touch k 0.2\r\n"),               BAD_EXPTIME, 0, 0 },
    { BYTES("touch k x noreply\r\n"),         "", 0, SILENT },
    { BYTES("touch " K251 " x\r\n"),          BAD_FORMAT, 0, 0 },

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

    { BYTES("flush_all\r\n"),                 "CLIENT_ERROR flush_all not allowed\r\n", 0, NO_FLUSH },
    { BYTES("flush_all x\r\n"),               "CLIENT_ERROR flush_all not allowed\r\n", 0, NO_FLUSH },
    { BYTES("flush_all noreply\r\n"),         "", 0, NO_FLUSH | SILENT },
    { BYTES("flush_all abc\r\n"),             BAD_EXPTIME, 0, 0 },
    { BYTES("flush_all abc noreply\r\n"),     "", 0, SILENT },
    { BYTES("flush_all noreply 10\r\n"),      BAD_EXPTIME, 0, 0 },
    { BYTES("flush_all 0 noreply x\r\n"),     "ERROR\r\n", 0, 0 },
    { BYTES("verbosity\r\n"),                 "ERROR\r\n", 0, 0 },
    { BYTES("verbosity 1\r\n"),               "OK\r\n", 0, 0 },
    { BYTES("verbosity 1 2\r\n"),             "OK\r\n", 0, 0 },
    { BYTES("verbosity 1 2 3\r\n"),           "ERROR\r\n", 0, 0 },
    { BYTES("verbosity 1 noreply\r\n"),       "", 0, SILENT },
    { BYTES("verbosity noreply\r\n"),         "", 0, SILENT },
    { BYTES("verbosity abc\r\n"),             BAD_FORMAT, 0, 0 },
    { BYTES("version\r\n"),                   "", 0, 0 }, /* the proxy fills it in */
    { BYTES("version foo bar\r\n"),           "", 0, 0 },
    { BYTES("quit\r\n"),                      "", 0, CLOSED },
    { BYTES("quit foo\r\n"),                  "", 0, CLOSED },
    { BYTES("stats foo\r\n"),                 "ERROR\r\n", 0, 0 },
    { BYTES("stats noreply\r\n"),             "ERROR\r\n", 0, 0 },
    { BYTES("stats RESET\r\n"),               "ERROR\r\n", 0, 0 },
    { BYTES("stats cachedump 1 1\r\n"),       NOT_HERE("stats cachedump"), 0, 0 },
    { BYTES("stats detail on\r\n"),           NOT_HERE("stats detail"), 0, 0 },
    { BYTES("stats conns\r\n"),               NOT_HERE("stats conns"), 0, 0 },
    { BYTES("shutdown\r\n"),                  NOT_HERE("shutdown"), 0, 0 },
    { BYTES("watch fetchers\r\n"),            NOT_HERE("watch"), 0, 0 },
    { BYTES("lru tune 10 25 0.1 2.0\r\n"),    NOT_HERE("lru"), 0, 0 },
    { BYTES("lru_crawler metadump all\r\n"),  NOT_HERE("lru_crawler"), 0, 0 },
    { BYTES("slabs reassign 1 2 noreply\r\n"), NOT_HERE("slabs"), 0, 0 },
    { BYTES("cache_memlimit 64\r\n"),         NOT_HERE("cache_memlimit"), 0, 0 },
    { BYTES("extstore\r\n"),                  NOT_HERE("extstore"), 0, 0 },
    { BYTES("refresh_certs\r\n"),             NOT_HERE("refresh_certs"), 0, 0 },
    { BYTES("misbehave\r\n"),                 NOT_HERE("misbehave"), 0, 0 },
    { BYTES("debugtime p\r\n"),               NOT_HERE("debugtime"), 0, 0 },

    { BYTES("get a\0b c\r\n"),                BAD_FORMAT, 0, 0 },
    { BYTES("\0\r\n"),                        BAD_FORMAT, 0, 0 },
    { BYTES("foo\0\r\n"),                     BAD_FORMAT, 0, 0 },

    { BYTES("GET / HTTP/1.1\r\n"),
      "CLIENT_ERROR this port speaks memcached's text protocol, not HTTP\r\n", 0,
      FIRST | CLOSED | FOREIGN },
    { BYTES("POST /a?b HTTP/1.0\n"),
      "CLIENT_ERROR this port speaks memcached's text protocol, not HTTP\r\n", 0,
      FIRST | CLOSED | FOREIGN },
    { BYTES("PRI * HTTP/2.0\r\n"),
      "CLIENT_ERROR this port speaks memcached's text protocol, not HTTP\r\n", 0,
      FIRST | CLOSED | FOREIGN },
    { BYTES("GET HTTP/1.1\r\n"),              "ERROR\r\n", 0, FIRST },
    { BYTES("GET / \r\n"),                    "ERROR\r\n", 0, FIRST },
};

/* Sent on: with which key and line; the value is what follows the line in the input. */
static const struct sent_case {
    struct slice in;
    enum command_route route;
    const char *key;
    const char *line;
    unsigned int marks;
} sent[] = {
    { BYTES("set k 0 0 3\r\nabc\r\n"),        ROUTE_KEY, "k", "set k 0 0 3\r\n", 0 },
    { BYTES("set k 0 0 0\r\n\r\n"),           ROUTE_KEY, "k", "set k 0 0 0\r\n", 0 },
    { BYTES("set k 0 0 3\na\nc\r\n"),         ROUTE_KEY, "k", "set k 0 0 3\r\n", 0 },
    { BYTES("  set  k 0   0 3 \r\n\0\r\n\r\n"), ROUTE_KEY, "k", "set k 0 0 3\r\n", 0 },
    { BYTES("set k 0 0 9\r\nflush_all\r\n"),  ROUTE_KEY, "k", "set k 0 0 9\r\n", 0 },
    { BYTES("set k 4294967297 -4294967295 +03\r\nabc\r\n"), ROUTE_KEY, "k",
                                              "set k 1 1 3\r\n", 0 },
    { BYTES("set k 18446744073709551615 -1 1\r\na\r\n"), ROUTE_KEY, "k",
                                              "set k 4294967295 -1 1\r\n", 0 },
    { BYTES("set k -0 -0 -0\r\n\r\n"),        ROUTE_KEY, "k", "set k 0 0 0\r\n", 0 },
    { BYTES("set k \t1 1\tx 1\r\r\na\r\n"),   ROUTE_KEY, "k", "set k 1 1 1\r\n", 0 },
    { BYTES("set k 0 0 1 noreply\r\na\r\n"),  ROUTE_KEY, "k", "set k 0 0 1\r\n", SILENT },
    { BYTES("set k 0 0 1 NOREPLY\r\na\r\n"),  ROUTE_KEY, "k", "set k 0 0 1\r\n", 0 },
    { BYTES("set noreply 0 0 1\r\na\r\n"),    ROUTE_KEY, "noreply", "set noreply 0 0 1\r\n", 0 },
    { BYTES("set " K250 " 0 0 1\r\na\r\n"),   ROUTE_KEY, K250, "set " K250 " 0 0 1\r\n", 0 },
    { BYTES("set \x01\t\x7f\x80\xff 0 0 1\r\na\r\n"), ROUTE_KEY, "\x01\t\x7f\x80\xff",
                                              "set \x01\t\x7f\x80\xff 0 0 1\r\n", 0 },
    { BYTES("add k 1 2 1\r\na\r\n"),          ROUTE_KEY, "k", "add k 1 2 1\r\n", 0 },
    { BYTES("replace k 1 2 1\r\na\r\n"),      ROUTE_KEY, "k", "replace k 1 2 1\r\n", 0 },
    { BYTES("append k 1 2 1\r\na\r\n"),       ROUTE_KEY, "k", "append k 1 2 1\r\n", 0 },
    { BYTES("prepend k 1 2 1 x\r\na\r\n"),    ROUTE_KEY, "k", "prepend k 1 2 1\r\n", 0 },
    { BYTES("cas k 1 2 1 18446744073709551615\r\na\r\n"), ROUTE_KEY, "k",
                                              "cas k 1 2 1 18446744073709551615\r\n", 0 },
    { BYTES("cas k 1 2 1 03 noreply\r\na\r\n"), ROUTE_KEY, "k", "cas k 1 2 1 3\r\n", SILENT },

    { BYTES("delete k\r\n"),                  ROUTE_KEY, "k", "delete k\r\n", 0 },
    { BYTES("delete k 0\r\n"),                ROUTE_KEY, "k", "delete k\r\n", 0 },
    { BYTES("delete k noreply\r\n"),          ROUTE_KEY, "k", "delete k\r\n", SILENT },
    { BYTES("delete k 0 noreply\r\n"),        ROUTE_KEY, "k", "delete k\r\n", SILENT },
    { BYTES("delete noreply\r\n"),            ROUTE_KEY, "noreply", "delete noreply\r\n", 0 },
    { BYTES("incr k 1\r\n"),                  ROUTE_KEY, "k", "incr k 1\r\n", 0 },
    { BYTES("decr k +01 x\r\n"),              ROUTE_KEY, "k", "decr k 1\r\n", 0 },
    { BYTES("incr k 1 noreply\n"),            ROUTE_KEY, "k", "incr k 1\r\n", SILENT },
    { BYTES("incr k -18446744073709551615\r\n"), ROUTE_KEY, "k", "incr k 1\r\n", 0 },
    { BYTES("touch k -1\r\n"),                ROUTE_KEY, "k", "touch k -1\r\n", 0 },
    { BYTES("touch k 4294967297 noreply\r\n"), ROUTE_KEY, "k", "touch k 1\r\n", SILENT },

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
    { BYTES("ma k N0 J5 D2 MD q\r\n"),        ROUTE_KEY, "k", "ma k N0 J5 D2 MD\r\n", QUIET },
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

    { BYTES("flush_all\r\n"),                 ROUTE_ALL, "", "flush_all\r\n", 0 },
    { BYTES("flush_all 0\r\n"),               ROUTE_ALL, "", "flush_all 0\r\n", 0 },
    { BYTES("flush_all -1\r\n"),              ROUTE_ALL, "", "flush_all -1\r\n", 0 },
    { BYTES("flush_all 0 foo\r\n"),           ROUTE_ALL, "", "flush_all 0\r\n", 0 },
    { BYTES("flush_all noreply\r\n"),         ROUTE_ALL, "", "flush_all\r\n", SILENT },
    { BYTES("flush_all 10 noreply\r\n"),      ROUTE_ALL, "", "flush_all 10\r\n", SILENT },
    { BYTES("flush_all 4294967296\r\n"),      ROUTE_ALL, "", "flush_all 0\r\n", 0 },
    { BYTES("stats\r\n"),                     ROUTE_ALL, "", "stats\r\n", REPEATABLE },
    { BYTES("stats \r\n"),                    ROUTE_ALL, "", "stats\r\n", REPEATABLE },
    { BYTES("stats settings\r\n"),            ROUTE_ALL, "", "stats settings\r\n", REPEATABLE },
    { BYTES("stats items foo\r\n"),           ROUTE_ALL, "", "stats items\r\n", REPEATABLE },
    { BYTES("stats slabs\r\n"),               ROUTE_ALL, "", "stats slabs\r\n", REPEATABLE },
    { BYTES("stats sizes\r\n"),               ROUTE_ALL, "", "stats sizes\r\n", REPEATABLE },
    { BYTES("stats reset\r\n"),               ROUTE_ALL, "", "stats reset\r\n", 0 },
};

/* A value over the limit: what is sent in its place, and the answer that waits for it. */
static const struct large_case {
    struct slice in;
    const char *key;
    const char *line;
    const char *answer;
} large[] = {
    { BYTES("set k 0 0 1001\r\n"),            "k",   "delete k\r\n", TOO_LARGE },
    { BYTES("set k 0 0 1001 noreply\r\n"),    "k",   "delete k\r\n", "" },
    { BYTES("ms k 1001\r\n"),                 "k",   "md k\r\n", TOO_LARGE },
    { BYTES("ms k 1001 ME q\r\n"),            "k",   "md k\r\n", TOO_LARGE },
    { BYTES("ms Zm9v 1001 O1 b k\r\n"),       "foo", "md Zm9v b\r\n", TOO_LARGE },
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

/* The struct is large and never cleared: what an earlier request left must not be seen. */
static struct request request;

static struct request_limits limits_of(unsigned int marks)
{
    return (struct request_limits){MAX_VALUE, (marks & NO_FLUSH) == 0};
}

static enum parse_status parse(struct slice in, size_t scanned, unsigned int marks,
                               size_t *consumed)
{
    struct request_limits limits = limits_of(marks);

    return request_parse(&request, in.data, in.len, scanned, (marks & FIRST) != 0, &limits,
                         consumed);
}

/* Gives the bytes one by one, then all: every proper prefix must be asked to go on. */
static void parse_at_every_split(struct slice in, unsigned int marks)
{
    size_t consumed = 0;
    size_t scanned = 0;

    memset(&request, 0xee, sizeof(request));
    for (size_t have = 0; have < in.len; have++) {
        char *copy = malloc(have + 1); /* exact, for the sanitizers */

        ck_assert_ptr_nonnull(copy);
        memcpy(copy, in.data, have);
        ck_assert_msg(parse(slice_make(copy, have), 0, marks, &consumed) == PARSE_MORE,
                      "%zu of %zu bytes of %s", have, in.len, in.data);
        ck_assert_int_eq(parse(slice_make(copy, have), scanned, marks, &consumed), PARSE_MORE);
        ck_assert_uint_ge(request.scanned, scanned);
        ck_assert_uint_le(request.scanned, have);
        ck_assert(request.need_bytes == 0 || request.need_bytes > have);
        scanned = request.scanned;
        free(copy);
    }
    ck_assert_msg(parse(in, scanned, marks, &consumed) == PARSE_DONE, "%s", in.data);
    ck_assert_uint_eq(consumed, in.len);
}

static void check_text(struct slice have, const char *want, struct slice in)
{
    ck_assert_msg(slice_equals(have, slice_text(want)), "%s: \"%.*s\", not \"%s\"", in.data,
                  (int)have.len, have.data, want);
}

static void check_marks(unsigned int marks, struct slice in)
{
    ck_assert_msg(request.noreply == ((marks & SILENT) != 0), "%s", in.data);
    ck_assert_msg(request.quiet == ((marks & QUIET) != 0), "%s", in.data);
    ck_assert_msg(request.close == ((marks & CLOSED) != 0), "%s", in.data);
    ck_assert_msg(request.is_safe_to_repeat == ((marks & REPEATABLE) != 0), "%s", in.data);
    ck_assert_msg(request.is_foreign == ((marks & FOREIGN) != 0), "%s", in.data);
}

static void check_answered(const struct answered_case *c)
{
    ck_assert_int_eq(request.route, ROUTE_LOCAL);
    check_text(request.answer, c->answer, c->in);
    ck_assert_uint_eq(request.swallow_bytes, c->swallow_bytes);
    ck_assert_uint_eq(request.value.len, 0);
    check_marks(c->marks, c->in);
}

START_TEST(answers_what_no_server_may_see)
{
    parse_at_every_split(answered[_i].in, answered[_i].marks);
    check_answered(&answered[_i]);
}
END_TEST

START_TEST(sends_on_a_line_every_server_reads_alike)
{
    const struct sent_case *c = &sent[_i];

    parse_at_every_split(c->in, c->marks);
    ck_assert_int_eq(request.route, c->route);
    check_text(request.line, c->line, c->in);
    check_text(request.key, c->key, c->in);
    check_text(request.answer, "", c->in);
    check_marks(c->marks, c->in);
    ck_assert_uint_eq(request.swallow_bytes, 0);
    if (request.command->takes_value) {
        const char *newline = memchr(c->in.data, '\n', c->in.len);

        ck_assert_ptr_eq(request.value.data, newline + 1);
        ck_assert_ptr_eq(request.value.data + request.value.len, c->in.data + c->in.len);
    } else {
        ck_assert_uint_eq(request.value.len, 0);
    }
}
END_TEST

START_TEST(does_not_copy_a_line_that_is_canonical)
{
    const struct sent_case *c = &sent[_i];
    size_t consumed;

    ck_assert_int_eq(parse(c->in, 0, c->marks, &consumed), PARSE_DONE);
    if (c->route == ROUTE_KEY && strncmp(c->in.data, c->line, strlen(c->line)) == 0) {
        ck_assert_ptr_eq(request.line.data, c->in.data);
    }
}
END_TEST

START_TEST(swallows_a_value_over_the_limit_and_removes_the_old_one)
{
    const struct large_case *c = &large[_i];

    parse_at_every_split(c->in, 0);
    ck_assert_int_eq(request.route, ROUTE_KEY);
    check_text(request.key, c->key, c->in);
    check_text(request.line, c->line, c->in);
    check_text(request.answer, c->answer, c->in);
    ck_assert_uint_eq(request.value.len, 0);
    ck_assert_uint_eq(request.swallow_bytes, 1003);
    ck_assert_int_eq(request.noreply, c->answer[0] == '\0');
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

START_TEST(leaves_what_follows_to_the_next_call)
{
    struct slice in = SLICE("set k 0 0 3\r\nabcdefmn\r\n");
    size_t consumed;

    ck_assert_int_eq(parse(in, 0, 0, &consumed), PARSE_DONE);
    check_text(request.answer, BAD_CHUNK, in);
    ck_assert_uint_eq(consumed, 18);
    in = slice_make(in.data + consumed, in.len - consumed);
    ck_assert_int_eq(parse(in, 0, 0, &consumed), PARSE_DONE);
    check_text(request.answer, "ERROR\r\n", in);
    ck_assert_uint_eq(consumed, 5);
}
END_TEST

START_TEST(says_how_many_bytes_a_value_needs)
{
    struct slice in = SLICE("set k 0 0 1000\r\nabc");
    size_t consumed;

    ck_assert_int_eq(parse(in, 0, 0, &consumed), PARSE_MORE);
    ck_assert_uint_eq(request.need_bytes, 16 + 1002);
    ck_assert_int_eq(parse(slice_make(in.data, 15), 0, 0, &consumed), PARSE_MORE);
    ck_assert_uint_eq(request.need_bytes, 0);
}
END_TEST

START_TEST(turns_away_the_binary_protocol_at_its_first_byte)
{
    struct slice in = slice_make("\x80\x00\x00\x01", 4);
    size_t consumed;

    for (in.len = 1; in.len <= 4; in.len++) {
        ck_assert_int_eq(parse(in, 0, FIRST, &consumed), PARSE_DONE);
        ck_assert_uint_eq(consumed, in.len);
        ck_assert(request.close && request.is_foreign);
        check_text(request.answer,
                   "CLIENT_ERROR this proxy speaks memcached's "
                   "text protocol, not the binary one"
                   "\r\n",
                   in);
    }
}
END_TEST

/* A line of so many bytes before its newline, which is left out on
 * demand. */
static struct slice long_line(const char *start, size_t bytes, bool has_newline)
{
    static char line[200000];
    size_t len = strlen(start);

    ck_assert_uint_lt(bytes, sizeof(line));
    memset(line, 'x', bytes);
    memcpy(line, start, len);
    for (size_t i = len + 1; i < bytes; i += 2) {
        line[i] = ' ';
    }
    line[bytes] = '\n';
    return slice_make(line, bytes + (has_newline ? 1 : 0));
}

/* clang-format off */
static const struct {
    const char *start;
    bool may_be_long;
} beginnings[] = {
    { "get ", true },   { "gets ", true },  { "gat 0 ", true },  { "gats 0 ", true },
    { "  get ", true }, { "bget ", false }, { "set ", false },   { "mg ", false },
    { "xyz", false },   { "GET ", false },  { "getx ", false },
};
/* clang-format on */

START_TEST(closes_on_a_line_without_end_but_not_on_keys)
{
    const char *start = beginnings[_i].start;
    size_t consumed;

    ck_assert_int_eq(parse(long_line(start, 2048, false), 0, 0, &consumed), PARSE_MORE);
    ck_assert_uint_eq(request.scanned, 2048);
    if (beginnings[_i].may_be_long) {
        ck_assert_int_eq(parse(long_line(start, 2049, false), 0, 0, &consumed), PARSE_MORE);
        ck_assert_int_eq(parse(long_line(start, 150001, false), 0, 0, &consumed), PARSE_MORE);
        ck_assert_int_eq(parse(long_line(start, 150001, true), 0, 0, &consumed), PARSE_DONE);
        ck_assert_uint_eq(consumed, 150002);
        ck_assert_int_eq(request.route, ROUTE_EACH_KEY);
        ck_assert_uint_gt(request.key_count, 74900);
    } else {
        ck_assert_int_eq(parse(long_line(start, 2049, false), 0, 0, &consumed), PARSE_DONE);
        ck_assert_uint_eq(consumed, 2049);
        ck_assert(request.close);
        ck_assert_uint_eq(request.answer.len, 0);
    }
}
END_TEST

START_TEST(never_sends_a_server_a_line_it_might_close_on)
{
    size_t consumed;

    ck_assert_int_eq(parse(long_line("mg k k s t ", 2048, true), 0, 0, &consumed), PARSE_DONE);
    check_text(request.answer, "CLIENT_ERROR options flags are too long\r\n", SLICE("mg"));
    ck_assert(!request.close);

    struct slice line = long_line("", 3000, true);
    char *text = (char *)line.data;
    memset(text, ' ', 3000);
    memcpy(text, "mg k", 4);
    memset(text + 1000, 'E', 2000);
    ck_assert_int_eq(parse(line, 0, 0, &consumed), PARSE_DONE);
    ck_assert_uint_eq(consumed, 3001);
    ck_assert_int_eq(request.route, ROUTE_LOCAL);
    ck_assert(request.close);

    line = long_line("xyz", 3000, true);
    ck_assert_int_eq(parse(line, 0, 0, &consumed), PARSE_DONE);
    check_text(request.answer, "ERROR\r\n", SLICE("xyz"));
    ck_assert(!request.close);
}
END_TEST

START_TEST(gives_up_after_a_hundred_leading_blanks)
{
    char line[REQUEST_LINE_MAX + 2];
    size_t consumed;

    memset(line, 'x', sizeof(line));
    memset(line, ' ', 104);
    memcpy(line + 100, "get ", 4);
    ck_assert_int_eq(parse(slice_make(line, sizeof(line)), 0, 0, &consumed), PARSE_MORE);
    memset(line, ' ', 105);
    memcpy(line + 101, "get ", 4);
    ck_assert_int_eq(parse(slice_make(line, sizeof(line)), 0, 0, &consumed), PARSE_DONE);
    ck_assert(request.close);
}
END_TEST

START_TEST(does_not_look_twice_for_a_newline)
{
    struct slice in = SLICE("get a\nget b\r\n");
    size_t consumed;

    /* had it looked at the first bytes again, it
     * would have found that newline */
    ck_assert_int_eq(parse(in, 6, 0, &consumed), PARSE_DONE);
    ck_assert_uint_eq(consumed, in.len);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("request");
    TCase *tests = tcase_create("request");

    tcase_add_loop_test(tests, answers_what_no_server_may_see, 0, ARRAY_LEN(answered));
    tcase_add_loop_test(tests, sends_on_a_line_every_server_reads_alike, 0, ARRAY_LEN(sent));
    tcase_add_loop_test(tests, does_not_copy_a_line_that_is_canonical, 0, ARRAY_LEN(sent));
    tcase_add_loop_test(tests, swallows_a_value_over_the_limit_and_removes_the_old_one, 0,
                        ARRAY_LEN(large));
    tcase_add_loop_test(tests, splits_the_keys_of_a_get, 0, ARRAY_LEN(keys));
    tcase_add_test(tests, leaves_what_follows_to_the_next_call);
    tcase_add_test(tests, says_how_many_bytes_a_value_needs);
    tcase_add_test(tests, turns_away_the_binary_protocol_at_its_first_byte);
    tcase_add_loop_test(tests, closes_on_a_line_without_end_but_not_on_keys, 0,
                        ARRAY_LEN(beginnings));
    tcase_add_test(tests, never_sends_a_server_a_line_it_might_close_on);
    tcase_add_test(tests, gives_up_after_a_hundred_leading_blanks);
    tcase_add_test(tests, does_not_look_twice_for_a_newline);
    suite_add_tcase(suite, tests);

    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
