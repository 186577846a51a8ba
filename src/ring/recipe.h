/*
 * What each placement is made of: one row of independent settings a placement.
 * Nothing here computes; label.h, weight.h, ring.h and table.h read the
 * columns. Pure.
 */
#ifndef RING_RECIPE_H
#define RING_RECIPE_H

#include "ring/hash.h"

enum recipe_kind {
    KIND_RING,       /* sorted points; a key belongs to the first one at or after it */
    KIND_TABLE,      /* an array of owners and a rule from key to index */
    KIND_RENDEZVOUS, /* a score for each server and key; the highest wins */
    KIND_PYMEMCACHE, /* the same, with pymemcache's score over the text of both */
};

/* How a server without name= is called in the ring. */
enum label_rule {
    LABEL_ADDRESS,       /* host:port, [v6]:port, /path */
    LABEL_FULL,          /* host:port always, IPv6 bare; /path */
    LABEL_SHORT,         /* host where the port is 11211, else host:port; /path:0 */
    LABEL_SHORT_COLON,   /* the same, but /path: */
    LABEL_SLASH,         /* /host:port always */
    LABEL_HOST_AND_FULL, /* host/host:port */
    LABEL_JAVA,          /* Java's text of an address */
    LABEL_HOST_NUL_PORT, /* host, a zero byte, port */
};

enum point_rule {
    POINTS_DIGEST,        /* four 32-bit points of MD5(label-i) */
    POINTS_KEY_HASH,      /* one point of the key hash of label-i */
    POINTS_DIGEST_IF_MD5, /* POINTS_DIGEST where the key hash is md5, else POINTS_KEY_HASH */
    POINTS_ONE_AT_A_TIME, /* one 32-bit point of that hash, whatever keys are hashed by */
    POINTS_XXH3,          /* one 64-bit point of XXH3(label-i) */
    POINTS_XXH3_32,       /* its low 32 bits */
    POINTS_CRC_CHAIN,     /* each the CRC-32 of label and the point before */
    POINTS_MD5_64,        /* one 64-bit point of MD5(label#i) */
};

/* How weights become points, `count` being the recipe's. */
enum weight_rule {
    WEIGHT_IGNORED,   /* count each */
    WEIGHT_SINGLE,    /* share of count x servers, binary32 at every step */
    WEIGHT_LIBKETAMA, /* the same, binary64 in the middle */
    WEIGHT_TIMES,     /* count x weight */
};

/* Which server has a point that two fall on, and the order of a table's servers. */
enum tie_rule {
    TIE_LISTED,      /* the first in the list */
    TIE_LAST_LISTED, /* the last */
    TIE_LABEL,       /* the least label, bytewise */
    TIE_SHORT_LABEL, /* the shortest label, then the least */
    TIE_HOST_PORT,   /* the least host, then port */
};

/* From a key's hash to its place. */
enum key_rule {
    KEY_AS_IS,
    KEY_BUCKETS,       /* one of 1024 fixed places on the ring */
    KEY_UPPER_15,      /* bits 16 to 30 */
    KEY_UPPER_15_NOT0, /* the same, 1 for 0 */
};

/* How a table is filled and read. */
enum table_rule {
    TABLE_REMAINDER, /* each server weight times; hash % size */
    TABLE_JUMP,      /* the same; jump(hash, size) */
    TABLE_MAGLEV,
    TABLE_SLOTS,
};

struct recipe {
    const char *name;
    enum recipe_kind kind;
    enum label_rule label;
    enum point_rule points;
    unsigned count;
    enum weight_rule weight;
    enum hash_family family; /* what key_hash may be */
    enum hash key_hash;
    enum tie_rule tie;
    enum key_rule key;
    enum table_rule table;
    bool decimals;           /* weights need not be whole */
    bool empty_tag_counts;   /* {} hashes no byte at all, instead of the whole key */
    bool bytes_repr;         /* keys hashed as Python writes bytes */
    const char *skip;        /* default hash_skip */
    const char *if_weighted; /* the row that gives points, count and weight once one is > 1 */
    const char *summary;
};

/* The row of that name or alias, or NULL. */
const struct recipe *recipe_find(const char *name);

/* The names in the order of the table, then the aliases; NULL past the end. */
const char *recipe_name(size_t i);

/* What that name, row or alias, stands for; NULL past the end. */
const char *recipe_summary(size_t i);

#endif
