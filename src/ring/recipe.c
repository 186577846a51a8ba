/*
 * The table. Where clients differ is told in docs/placement.md; recorded
 * placements of each are in tests/vectors.
 */
#include "ring/recipe.h"

#define RING  .kind = KIND_RING
#define TABLE .kind = KIND_TABLE

/* clang-format off */
static const struct recipe recipes[] = {
    { "ketama", RING, LABEL_ADDRESS, POINTS_XXH3, 160, WEIGHT_TIMES, HASH_OF_XXH3_ONLY, HASH_XXH3,
      TIE_LABEL, .decimals = true,
      .summary = "the native ring: 64-bit points, a server known by its name" },
    { "ketama:libmemcached-weighted", RING, LABEL_SHORT, POINTS_DIGEST, 160, WEIGHT_SINGLE,
      HASH_OF_LIBMEMCACHED, HASH_MD5, TIE_LISTED,
      .summary = "libmemcached KETAMA_WEIGHTED" },
    { "ketama:libmemcached-weighted-sorted", RING, LABEL_SHORT, POINTS_DIGEST, 160, WEIGHT_SINGLE,
      HASH_OF_LIBMEMCACHED, HASH_MD5, TIE_HOST_PORT,
      .summary = "the same with SORT_HOSTS" },
    { "ketama:libmemcached", RING, LABEL_SHORT, POINTS_KEY_HASH, 100, WEIGHT_IGNORED,
      HASH_OF_LIBMEMCACHED, HASH_ONE_AT_A_TIME, TIE_LISTED,
      .if_weighted = "ketama:libmemcached-weighted",
      .summary = "libmemcached KETAMA or CONSISTENT, then the servers" },
    { "ketama:libmemcached-unweighted", RING, LABEL_SHORT, POINTS_KEY_HASH, 100, WEIGHT_IGNORED,
      HASH_OF_LIBMEMCACHED, HASH_ONE_AT_A_TIME, TIE_LISTED,
      .summary = "libmemcached servers, then KETAMA or CONSISTENT: weights ignored" },
    { "ketama:libmemcached-latehash", RING, LABEL_SHORT, POINTS_ONE_AT_A_TIME, 100, WEIGHT_IGNORED,
      HASH_OF_LIBMEMCACHED, HASH_MD5, TIE_LISTED,
      .summary = "libmemcached KETAMA, the servers, then HASH: keys by key_hash, points not" },
    { "ketama:libmemcached-spy", RING, LABEL_SLASH, POINTS_KEY_HASH, 100, WEIGHT_IGNORED,
      HASH_OF_LIBMEMCACHED, HASH_ONE_AT_A_TIME, TIE_LISTED,
      .summary = "libmemcached CONSISTENT_KETAMA_SPY" },
    { "ketama:libmemcached-spy-weighted", RING, LABEL_SLASH, POINTS_DIGEST, 160, WEIGHT_SINGLE,
      HASH_OF_LIBMEMCACHED, HASH_MD5, TIE_LISTED,
      .summary = "libmemcached KETAMA_WEIGHTED, then CONSISTENT_KETAMA_SPY" },
    { "ketama:php-session", RING, LABEL_SHORT, POINTS_KEY_HASH, 100, WEIGHT_IGNORED,
      HASH_OF_LIBMEMCACHED, HASH_ONE_AT_A_TIME, TIE_LISTED, .skip = "memc.sess.key.",
      .summary = "php-memcached's session handler" },
    { "ketama:twemproxy", RING, LABEL_SHORT_COLON, POINTS_DIGEST, 160, WEIGHT_SINGLE,
      HASH_OF_TWEMPROXY, HASH_FNV1A_64, TIE_SHORT_LABEL,
      .summary = "twemproxy distribution: ketama" },
    { "ketama:libketama", RING, LABEL_FULL, POINTS_DIGEST, 160, WEIGHT_LIBKETAMA,
      HASH_OF_MD5_ONLY, HASH_MD5, TIE_LISTED,
      .summary = "the original libketama" },
    { "ketama:mcproxy", RING, LABEL_FULL, POINTS_DIGEST, 160, WEIGHT_IGNORED,
      HASH_OF_MCPROXY, HASH_MD5, TIE_LISTED, .empty_tag_counts = true,
      .summary = "memcached's proxy, dist_ring_hash, omode ketama" },
    { "ketama:mcproxy-twemproxy", RING, LABEL_SHORT, POINTS_DIGEST, 160, WEIGHT_IGNORED,
      HASH_OF_MCPROXY, HASH_MD5, TIE_LISTED, .empty_tag_counts = true,
      .summary = "the same, omode twemproxy" },
    { "ketama:mcproxy-evcache", RING, LABEL_HOST_AND_FULL, POINTS_DIGEST, 160, WEIGHT_IGNORED,
      HASH_OF_MCPROXY, HASH_MD5, TIE_LISTED, .empty_tag_counts = true,
      .summary = "the same, omode evcache" },
    { "ketama:mcproxy-default", RING, LABEL_FULL, POINTS_XXH3_32, 160, WEIGHT_IGNORED,
      HASH_OF_MCPROXY, HASH_XXH3_32, TIE_LISTED, .empty_tag_counts = true,
      .summary = "the same, omode default" },
    { "ketama:spymemcached", RING, LABEL_JAVA, POINTS_DIGEST_IF_MD5, 160, WEIGHT_IGNORED,
      HASH_OF_SPYMEMCACHED, HASH_MD5, TIE_LAST_LISTED,
      .summary = "spymemcached's KetamaNodeLocator" },
    { "ketama:spymemcached-weighted", RING, LABEL_JAVA, POINTS_DIGEST, 160, WEIGHT_SINGLE,
      HASH_OF_SPYMEMCACHED, HASH_MD5, TIE_LAST_LISTED,
      .summary = "the same with weights" },
    { "ketama:spymemcached-libmemcached", RING, LABEL_SHORT, POINTS_DIGEST_IF_MD5, 160,
      WEIGHT_IGNORED, HASH_OF_SPYMEMCACHED, HASH_MD5, TIE_LAST_LISTED,
      .summary = "the same, node key format LIBMEMCACHED" },
    { "ketama:spymemcached-libmemcached-weighted", RING, LABEL_SHORT, POINTS_DIGEST, 160,
      WEIGHT_SINGLE, HASH_OF_SPYMEMCACHED, HASH_MD5, TIE_LAST_LISTED,
      .summary = "the same with weights" },
    { "ketama:couchbase", RING, LABEL_ADDRESS, POINTS_DIGEST, 160, WEIGHT_IGNORED,
      HASH_OF_MD5_ONLY, HASH_MD5, TIE_LABEL,
      .summary = "a memcached bucket of Couchbase" },
    { "ketama:perl-fast", RING, LABEL_HOST_NUL_PORT, POINTS_CRC_CHAIN, 150, WEIGHT_TIMES,
      HASH_OF_PERL, HASH_CRC32, TIE_LISTED, .decimals = true,
      .summary = "Cache::Memcached::Fast with ketama_points" },
    { "ketama:pecl-memcache", RING, LABEL_FULL, POINTS_KEY_HASH, 160, WEIGHT_TIMES,
      HASH_OF_PECL, HASH_CRC32, TIE_LISTED, KEY_BUCKETS,
      .summary = "PECL memcache, hash_strategy=consistent" },
    { "md5-64", RING, LABEL_ADDRESS, POINTS_MD5_64, 150, WEIGHT_TIMES,
      HASH_OF_MD5_64_ONLY, HASH_MD5_64, TIE_LABEL,
      .summary = "a ring of the first eight bytes of the MD5 of NAME#i, in signed order" },
    { "rendezvous", KIND_RENDEZVOUS, LABEL_ADDRESS, .weight = WEIGHT_TIMES,
      .family = HASH_OF_XXH3_ONLY, .key_hash = HASH_XXH3, .tie = TIE_LABEL,
      .summary = "highest random weight: exact weights, a lookup looks at every server" },
    { "rendezvous:pymemcache", KIND_PYMEMCACHE, LABEL_FULL, .tie = TIE_LABEL,
      .family = HASH_OF_LIBMEMCACHED, .key_hash = HASH_MURMUR3,
      .summary = "pymemcache's HashClient, keys as str" },
    { "rendezvous:pymemcache-bytes", KIND_PYMEMCACHE, LABEL_FULL, .tie = TIE_LABEL,
      .family = HASH_OF_LIBMEMCACHED, .key_hash = HASH_MURMUR3, .bytes_repr = true,
      .summary = "the same, keys as bytes" },
    { "jump", TABLE, LABEL_ADDRESS, .weight = WEIGHT_TIMES, .family = HASH_OF_XXH3_ONLY,
      .key_hash = HASH_XXH3, .tie = TIE_LISTED, .table = TABLE_JUMP,
      .summary = "jump hash over the list in order: add and remove at the end only" },
    { "maglev", TABLE, LABEL_ADDRESS, .weight = WEIGHT_TIMES, .family = HASH_OF_XXH3_ONLY,
      .key_hash = HASH_XXH3, .tie = TIE_LABEL, .table = TABLE_MAGLEV,
      .summary = "Maglev's table: the most even, an edit moves a little more than it must" },
    { "slots", TABLE, LABEL_ADDRESS, .count = 4096, .weight = WEIGHT_TIMES,
      .family = HASH_OF_XXH3_ONLY, .key_hash = HASH_XXH3, .tie = TIE_LABEL, .table = TABLE_SLOTS,
      .summary = "4096 partitions dealt out as evenly as weights allow" },
    { "modulo", TABLE, LABEL_ADDRESS, .weight = WEIGHT_TIMES, .family = HASH_OF_ANY,
      .key_hash = HASH_XXH3, .tie = TIE_LISTED,
      .summary = "hash % servers: an edit moves nearly every key" },
    { "modulo:libmemcached", TABLE, LABEL_SHORT, .weight = WEIGHT_IGNORED,
      .family = HASH_OF_LIBMEMCACHED, .key_hash = HASH_ONE_AT_A_TIME, .tie = TIE_LISTED,
      .summary = "libmemcached, php-memcached and pylibmc without a distribution set" },
    { "modulo:twemproxy", TABLE, LABEL_SHORT_COLON, .weight = WEIGHT_TIMES,
      .family = HASH_OF_TWEMPROXY, .key_hash = HASH_FNV1A_64, .tie = TIE_SHORT_LABEL,
      .summary = "twemproxy distribution: modula" },
    { "modulo:pecl-memcache", TABLE, LABEL_FULL, .weight = WEIGHT_TIMES, .family = HASH_OF_PECL,
      .key_hash = HASH_CRC32, .tie = TIE_LISTED, .key = KEY_UPPER_15_NOT0,
      .summary = "PECL memcache, hash_strategy=standard" },
    { "modulo:perl", TABLE, LABEL_FULL, .weight = WEIGHT_TIMES, .family = HASH_OF_PERL,
      .key_hash = HASH_CRC32, .tie = TIE_LISTED, .key = KEY_UPPER_15,
      .summary = "Cache::Memcached, and Cache::Memcached::Fast without ketama_points" },
};

static const struct {
    const char *name;
    const char *means;
} aliases[] = {
    { "ketama:php-compatible",    "ketama:libmemcached-weighted" },
    { "ketama:pylibmc-weighted",  "ketama:libmemcached-weighted" },
    { "ketama:php-consistent",    "ketama:libmemcached" },
    { "ketama:pylibmc",           "ketama:libmemcached" },
    { "ketama:md5-64",            "md5-64" },
};
/* clang-format on */

const struct recipe *recipe_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(aliases); i++) {
        if (strcmp(aliases[i].name, name) == 0) {
            name = aliases[i].means;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(recipes); i++) {
        if (strcmp(recipes[i].name, name) == 0) {
            return &recipes[i];
        }
    }
    return NULL;
}

const char *recipe_name(size_t i)
{
    if (i < ARRAY_LEN(recipes)) {
        return recipes[i].name;
    }
    i -= ARRAY_LEN(recipes);
    return i < ARRAY_LEN(aliases) ? aliases[i].name : NULL;
}

const char *recipe_summary(size_t i)
{
    if (i < ARRAY_LEN(recipes)) {
        return recipes[i].summary;
    }
    i -= ARRAY_LEN(recipes);
    return i < ARRAY_LEN(aliases) ? aliases[i].means : NULL;
}
