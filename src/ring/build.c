/*
 * Checks the options, counts, makes one allocation and fills it.
 * Labels and unsorted points are scratch and gone when it returns.
 */
#include "ring/build.h"

#include "ring/label.h"
#include "ring/layout.h"
#include "ring/points.h"
#include "ring/table.h"
#include "ring/weight.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    POINTS_MAX = 1 << 26,     /* on a ring: a gigabyte with what building needs */
    POINTS_EACH_MAX = 100000, /* what points = may ask for */
    WORDS_TEXT_MAX = 2048,
};
#define WEIGHT_MAX 4294967295.0

/* What placement_new holds while it builds. */
struct build {
    struct recipe recipe;
    uint64_t seed;
    size_t count;
    struct labels labels;
    double *weights;
    uint32_t *counts; /* points of each server */
    uint64_t points;
    size_t cells;
};

static void say_unknown(const char *word, char *error, size_t size)
{
    char allowed[WORDS_TEXT_MAX];
    size_t used = 0;

    for (size_t i = 0; recipe_name(i) != NULL; i++) {
        used += (size_t)snprintf(allowed + used, sizeof(allowed) - used, "%s%s", i > 0 ? ", " : "",
                                 recipe_name(i));
    }
    snprintf(error, size, "placement: unknown '%s', allowed: %s", word, allowed);
}

bool build_read_options(const struct placement_options *options, struct recipe *recipe,
                        uint64_t *seed, char *error, size_t size)
{
    static const char seeded[] = "xxh3:";
    const char *word = options->placement != NULL ? options->placement : "ketama";
    const struct recipe *row = recipe_find(word);
    const char *hash = options->key_hash;

    *seed = 0;
    if (row == NULL) {
        say_unknown(word, error, size);
        return false;
    }
    *recipe = *row;
    if (hash != NULL && recipe->family == HASH_OF_MCPROXY &&
        strncmp(hash, seeded, strlen(seeded)) == 0) {
        const char *text = hash + strlen(seeded);

        recipe->key_hash = HASH_XXH3_32;
        *seed = XXH3_64bits(text, strlen(text));
    } else if (hash != NULL && !hash_find(hash, recipe->family, &recipe->key_hash)) {
        char allowed[WORDS_TEXT_MAX];

        snprintf(error, size, "key_hash: '%s' is not for placement %s, allowed: %s", hash, word,
                 hash_names(recipe->family, allowed, sizeof(allowed)));
        return false;
    }
    if (options->hash_tag != NULL && strlen(options->hash_tag) != 2) {
        snprintf(error, size, "hash_tag: '%s' is not two characters, such as {}",
                 options->hash_tag);
        return false;
    }
    if (options->points == 0) {
        return true;
    }
    if (recipe->count == 0) {
        snprintf(error, size, "points: placement %s has none to choose", word);
        return false;
    }
    if (options->points > POINTS_EACH_MAX) {
        snprintf(error, size, "points: %u is too many, allowed: 1 to %d", options->points,
                 POINTS_EACH_MAX);
        return false;
    }
    if (recipe->kind == KIND_RING && points_are_digests(recipe) && options->points % 4 != 0) {
        snprintf(error, size, "points: %u is not a multiple of 4, as placement %s wants",
                 options->points, word);
        return false;
    }
    recipe->count = options->points;
    return true;
}

static bool check_weights(const struct build *build, char *error, size_t size)
{
    for (size_t i = 0; i < build->count; i++) {
        const double weight = build->weights[i];
        const struct slice label = build->labels.of[i];

        if (!(weight > 0) || weight > WEIGHT_MAX) {
            snprintf(error, size, "weight: server %.*s has %g, allowed: more than 0, up to %.0f",
                     (int)label.len, label.data, weight, WEIGHT_MAX);
            return false;
        }
        if (!build->recipe.decimals && weight != floor(weight)) {
            snprintf(error, size,
                     "weight: server %.*s has %g, but placement %s takes whole numbers only",
                     (int)label.len, label.data, weight, build->recipe.name);
            return false;
        }
    }
    return true;
}

static bool check_labels(const struct build *build, char *error, size_t size)
{
    size_t one;
    size_t other;

    for (size_t i = 0; i < build->count; i++) {
        if (build->labels.of[i].len > LABEL_MAX || build->labels.of[i].len == 0) {
            snprintf(error, size, "name: server %zu has one of %zu bytes, allowed: 1 to %d", i + 1,
                     build->labels.of[i].len, LABEL_MAX);
            return false;
        }
    }
    if (labels_find_twins(&build->labels, &one, &other)) {
        snprintf(error, size, "server: number %zu and number %zu are both called %.*s", one + 1,
                 other + 1, (int)build->labels.of[one].len, build->labels.of[one].data);
        return false;
    }
    return true;
}

/* A list with unequal weights can turn another row's ring on. */
static void apply_weights_rule(struct build *build)
{
    const struct recipe *other;

    if (build->recipe.if_weighted == NULL) {
        return;
    }
    for (size_t i = 0; i < build->count; i++) {
        if (build->weights[i] > 1) {
            other = recipe_find(build->recipe.if_weighted);
            build->recipe.points = other->points;
            build->recipe.count = other->count;
            build->recipe.weight = other->weight;
            return;
        }
    }
}

/* Counts points or cells. */
static bool measure(struct build *build, char *error, size_t size)
{
    const struct recipe *recipe = &build->recipe;

    if (recipe->kind == KIND_RING) {
        build->points = weight_points(recipe->weight, points_are_digests(recipe), recipe->count,
                                      build->weights, build->count, build->counts);
        if (build->points > POINTS_MAX) {
            snprintf(error, size,
                     "weight: they come to %llu points, allowed: %d; divide all by the same number",
                     (unsigned long long)build->points, POINTS_MAX);
            return false;
        }
        if (build->points == 0) {
            snprintf(error, size, "weight: no server gets a single point");
            return false;
        }
    }
    if (recipe->kind == KIND_TABLE) {
        if (recipe->weight == WEIGHT_IGNORED) {
            for (size_t i = 0; i < build->count; i++) {
                build->weights[i] = 1;
            }
        }
        build->cells = table_cells(recipe->table, recipe->count, build->weights, build->count);
        if (build->cells == 0) {
            snprintf(error, size,
                     "weight: they make a table of more than %d cells; divide all by "
                     "the same number",
                     TABLE_CELLS_MAX);
            return false;
        }
    }
    return true;
}

/* Where a part of the one allocation goes, in multiples of 8. */
static void *take(char **at, size_t bytes)
{
    void *here = *at;

    *at += (bytes + 7) & ~(size_t)7;
    return here;
}

static size_t text_bytes(const char *text)
{
    return text != NULL ? strlen(text) : 0;
}

static size_t total_bytes(const struct build *build, const struct placement_options *options)
{
    const struct recipe *recipe = &build->recipe;
    size_t bytes = sizeof(struct placement) + 64;

    bytes +=
        text_bytes(recipe->skip) + text_bytes(options->hash_skip) + text_bytes(options->hash_stop);
    bytes += build->count * sizeof(uint32_t) + 8;
    switch (recipe->kind) {
    case KIND_RING:
        bytes += ring_bytes(build->points);
        break;
    case KIND_TABLE:
        bytes += build->cells * sizeof(uint32_t) + 8;
        break;
    case KIND_RENDEZVOUS:
        bytes += build->count * (sizeof(uint64_t) + sizeof(double));
        break;
    case KIND_PYMEMCACHE:
        for (size_t i = 0; i < build->count; i++) {
            bytes += sizeof(struct slice) + build->labels.of[i].len + 9;
        }
        break;
    }
    return bytes;
}

static bool fill_ring(struct placement *placement, const struct build *build, char **at)
{
    struct ring_point *points = malloc(build->points * sizeof(*points));
    const bool is_64 = points_are_64(&build->recipe);
    size_t used = 0;
    bool is_built = false;

    if (points != NULL) {
        for (uint32_t i = 0; i < build->count; i++) {
            points_make(&build->recipe, build->labels.of[i], i, build->counts[i], points + used);
            used += build->counts[i];
        }
        is_built = ring_build(&placement->ring, take(at, ring_bytes(used)), points, used,
                              build->labels.rank, is_64);
    }
    free(points);
    return is_built;
}

static void fill_scores(struct placement *placement, const struct build *build, char **at)
{
    uint64_t *hashes = take(at, build->count * sizeof(*hashes));
    double *inverse = take(at, build->count * sizeof(*inverse));

    for (size_t rank = 0; rank < build->count; rank++) {
        const uint32_t server = build->labels.by_rank[rank];
        const struct slice label = build->labels.of[server];

        hashes[rank] = XXH3_64bits(label.data, label.len);
        inverse[rank] = 1 / build->weights[server];
    }
    placement->label_hash = hashes;
    placement->inverse_weight = inverse;
    score_table_init(&placement->scores);
}

static void fill_texts(struct placement *placement, const struct build *build, char **at)
{
    struct slice *labels = take(at, build->count * sizeof(*labels));

    for (size_t i = 0; i < build->count; i++) {
        const struct slice label = build->labels.of[i];
        char *text = take(at, label.len + 1);

        memcpy(text, label.data, label.len);
        text[label.len] = '-';
        labels[i] = slice_make(text, label.len + 1);
    }
    placement->labels = labels;
}

static bool fill(struct placement *placement, const struct build *build, char **at)
{
    uint32_t *cells;

    switch (build->recipe.kind) {
    case KIND_RING:
        return fill_ring(placement, build, at);
    case KIND_TABLE:
        cells = take(at, build->cells * sizeof(*cells));
        placement->cells = cells;
        placement->cell_count = (uint32_t)build->cells;
        return table_fill(build->recipe.table, cells, build->cells, &build->labels, build->weights);
    case KIND_RENDEZVOUS:
        fill_scores(placement, build, at);
        break;
    case KIND_PYMEMCACHE:
        fill_texts(placement, build, at);
        break;
    }
    return true;
}

static struct slice keep_text(char **at, const char *text)
{
    const size_t len = text_bytes(text);
    char *kept = take(at, len);

    if (len > 0) {
        memcpy(kept, text, len);
    }
    return slice_make(kept, len);
}

static struct placement *assemble(const struct build *build,
                                  const struct placement_options *options)
{
    const size_t bytes = total_bytes(build, options);
    struct placement *placement = calloc(1, bytes);
    uint32_t *by_rank;
    char *at;

    if (placement == NULL) {
        return NULL;
    }
    at = (char *)placement + ((sizeof(*placement) + 7) & ~(size_t)7);
    placement->bytes = bytes;
    placement->recipe = build->recipe;
    placement->seed = build->seed;
    placement->servers = (uint32_t)build->count;
    placement->place_shift = 64 - hash_bits(build->recipe.key_hash);
    if (placement->place_shift > 32) {
        placement->place_shift = 32; /* 15 bits keep their value among 32-bit points */
    }
    placement->skip =
        keep_text(&at, options->hash_skip != NULL ? options->hash_skip : build->recipe.skip);
    placement->stop = keep_text(&at, options->hash_stop);
    placement->has_tag = options->hash_tag != NULL;
    if (placement->has_tag) {
        memcpy(placement->tag, options->hash_tag, sizeof(placement->tag));
    }
    placement->takes_whole_key =
        !placement->has_tag && placement->skip.len == 0 && placement->stop.len == 0;
    by_rank = take(&at, build->count * sizeof(*by_rank));
    memcpy(by_rank, build->labels.by_rank, build->count * sizeof(*by_rank));
    placement->by_rank = by_rank;
    if (!fill(placement, build, &at)) {
        free(placement);
        return NULL;
    }
    return placement;
}

struct placement *build_listed(const struct placement_options *options,
                               const struct placement_server *servers, size_t count, char *error,
                               size_t error_size)
{
    struct build build = {.count = count};
    struct placement *placement = NULL;

    if (!build_read_options(options, &build.recipe, &build.seed, error, error_size)) {
        return NULL;
    }
    if (count == 0 || count > UINT32_MAX / 2) {
        snprintf(error, error_size, "server: a pool needs at least one");
        return NULL;
    }
    snprintf(error, error_size, "out of memory");
    build.weights = calloc(count, sizeof(*build.weights));
    build.counts = calloc(count, sizeof(*build.counts));
    if (labels_init(&build.labels, build.recipe.label, build.recipe.tie, servers, count) &&
        build.weights != NULL && build.counts != NULL) {
        for (size_t i = 0; i < count; i++) {
            build.weights[i] = servers[i].weight;
        }
        apply_weights_rule(&build);
        if (check_labels(&build, error, error_size) && check_weights(&build, error, error_size) &&
            measure(&build, error, error_size)) {
            placement = assemble(&build, options);
        }
    }
    labels_fini(&build.labels);
    free(build.weights);
    free(build.counts);
    return placement;
}

struct placement *build_drawn(const struct placement_point *points, size_t count, size_t servers)
{
    const size_t bytes =
        sizeof(struct placement) + servers * sizeof(uint32_t) + 16 + ring_bytes(count);
    struct placement *placement = calloc(1, bytes);
    struct ring_point *sorted = calloc(count, sizeof(*sorted));
    bool is_built = false;
    char *at;

    if (placement != NULL && sorted != NULL) {
        at = (char *)placement + ((sizeof(*placement) + 7) & ~(size_t)7);
        uint32_t *by_rank = take(&at, servers * sizeof(*by_rank));

        placement->recipe = *recipe_find("ketama");
        placement->bytes = bytes;
        placement->servers = (uint32_t)servers;
        placement->takes_whole_key = true;
        placement->by_rank = by_rank;
        for (uint32_t i = 0; i < servers; i++) {
            by_rank[i] = i;
        }
        for (size_t i = 0; i < count; i++) {
            sorted[i] = (struct ring_point){points[i].place, points[i].server};
        }
        is_built = ring_build(&placement->ring, take(&at, ring_bytes(count)), sorted, count,
                              by_rank, true);
    }
    free(sorted);
    if (!is_built) {
        free(placement);
        return NULL;
    }
    return placement;
}
