/*
 * Placements recorded from the real clients and proxies: tests/vectors, and how
 * each file's setting is written for us, tests/vectors/MANIFEST.tsv. Another
 * folder of the same form can be given in KETAMA_VECTORS.
 */
#include "ring/layout.h"
#include "ring/weight.h"
#include "unit/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINE_MAX_BYTES = 8192, SERVERS_MAX = 200, VECTORS_MAX = 512, FIELDS_MAX = 9 };

/* A line of the manifest. */
struct vector {
    char line[512];
    char *file;
    char *kind;
    char *placement;
    char *key_hash;
    char *hash_tag;
    char *hash_skip;
    char *hash_stop;
    char *points;
    char *names;
};

/* A file's header, as far as a ring depends on it. */
struct listed {
    size_t count;
    char labels[SERVERS_MAX][320];
    char hosts[SERVERS_MAX][320];
    char names[SERVERS_MAX][700];
    struct placement_server servers[SERVERS_MAX];
};

static struct vector vectors[VECTORS_MAX];
static size_t vector_count;
static const char *folder = "tests/vectors";

static size_t split(char *line, char **fields, size_t max)
{
    size_t count = 0;

    line[strcspn(line, "\r\n")] = '\0';
    for (char *at = line; at != NULL && count < max; count++) {
        fields[count] = strsep(&at, "\t");
    }
    return count;
}

static char *given(char *field)
{
    return strcmp(field, "-") == 0 ? NULL : field;
}

static void load_manifest(void)
{
    char path[512];
    char line[sizeof(vectors[0].line)];
    FILE *in;

    snprintf(path, sizeof(path), "%s/MANIFEST.tsv", folder);
    in = fopen(path, "r");
    if (in == NULL) {
        perror(path);
        exit(1);
    }
    while (vector_count < VECTORS_MAX && fgets(line, sizeof(line), in) != NULL) {
        struct vector *v = &vectors[vector_count];
        char *fields[FIELDS_MAX];

        if (line[0] == '#') {
            continue;
        }
        memcpy(v->line, line, sizeof(line));
        if (split(v->line, fields, FIELDS_MAX) != FIELDS_MAX) {
            fprintf(stderr, "%s: a line without %d fields\n", path, FIELDS_MAX);
            exit(1);
        }
        v->file = fields[0];
        v->kind = fields[1];
        v->placement = fields[2];
        v->key_hash = given(fields[3]);
        v->hash_tag = given(fields[4]);
        v->hash_skip = given(fields[5]);
        v->hash_stop = given(fields[6]);
        v->points = given(fields[7]);
        v->names = fields[8];
        vector_count++;
    }
    fclose(in);
}

/* "# server:" LABEL host port weight [name] */
static void add_server(struct listed *listed, const struct vector *v, char **fields, size_t count)
{
    const size_t i = listed->count++;
    struct placement_server *server = &listed->servers[i];

    ck_assert_uint_lt(i, SERVERS_MAX);
    snprintf(listed->labels[i], sizeof(listed->labels[i]), "%s", fields[1]);
    snprintf(listed->hosts[i], sizeof(listed->hosts[i]), "%s", fields[2]);
    *server = (struct placement_server){
        .host = listed->hosts[i],
        .port = (uint16_t)strtoul(fields[3], NULL, 10),
        .is_unix = fields[2][0] == '/',
        .weight = strtod(fields[4], NULL),
    };
    if (strcmp(v->names, "named") == 0) {
        ck_assert_uint_eq(count, 6);
        snprintf(listed->names[i], sizeof(listed->names[i]), "%s", fields[5]);
        server->name = listed->names[i];
    } else if (strcmp(v->names, "path") == 0) {
        server->name = listed->hosts[i];
    }
}

/* "# resolves:" host IP */
static void add_address(struct listed *listed, const struct vector *v, char **fields)
{
    for (size_t i = 0; strcmp(v->names, "resolved") == 0 && i < listed->count; i++) {
        if (strcmp(listed->hosts[i], fields[1]) == 0) {
            snprintf(listed->names[i], sizeof(listed->names[i]), "%s/%s:%u", fields[1], fields[2],
                     listed->servers[i].port);
            listed->servers[i].name = listed->names[i];
        }
    }
}

static void read_header_line(struct listed *listed, const struct vector *v, char *line)
{
    char *fields[FIELDS_MAX];
    const size_t count = split(line, fields, FIELDS_MAX);

    if (strcmp(fields[0], "# server:") == 0) {
        add_server(listed, v, fields, count);
    } else if (strcmp(fields[0], "# resolves:") == 0) {
        add_address(listed, v, fields);
    }
}

static uint32_t server_of(const struct listed *listed, const char *label)
{
    for (uint32_t i = 0; i < listed->count; i++) {
        if (strcmp(listed->labels[i], label) == 0) {
            return i;
        }
    }
    ck_abort_msg("no server is called %s", label);
    return 0;
}

static struct slice decoded(char *text)
{
    size_t len = 0;

    for (const char *at = text; *at != '\0'; at++) {
        unsigned byte = (unsigned char)*at;

        if (byte == '%') {
            ck_assert_int_eq(sscanf(at + 1, "%2x", &byte), 1);
            at += 2;
        }
        text[len++] = (char)byte;
    }
    return slice_make(text, len);
}

static struct placement *build(const struct vector *v, const struct listed *listed)
{
    const struct placement_options options = {
        .placement = v->placement,
        .key_hash = v->key_hash,
        .hash_tag = v->hash_tag,
        .hash_skip = v->hash_skip,
        .hash_stop = v->hash_stop,
        .points = v->points != NULL ? (unsigned)strtoul(v->points, NULL, 10) : 0,
    };
    char error[4096] = "";
    struct placement *placement =
        placement_new(&options, listed->servers, listed->count, error, sizeof(error));

    ck_assert_msg(placement != NULL, "%s: %s", v->file, error);
    return placement;
}

/* Counts of a list of weights, both written as numbers with commas between. */
static size_t wrong_counts(const struct vector *v, char *weights, char *counts)
{
    const struct recipe *recipe = recipe_find(v->placement);
    double weight[SERVERS_MAX];
    uint32_t points[SERVERS_MAX];
    size_t count = 0;

    for (char *word; (word = strsep(&weights, ",")) != NULL; count++) {
        weight[count] = strtod(word, NULL);
    }
    weight_points(recipe->weight, true, recipe->count, weight, count, points);
    for (size_t i = 0; i < count; i++) {
        if (points[i] != strtoul(strsep(&counts, ","), NULL, 10)) {
            return 1;
        }
    }
    return 0;
}

/* True where this line says something else than the placement. */
static bool is_wrong(const struct vector *v, const struct listed *listed,
                     const struct placement *placement, size_t number, char **fields)
{
    if (strcmp(v->kind, "counts-many") == 0) {
        return wrong_counts(v, fields[0], fields[1]) != 0;
    }
    if (strcmp(v->kind, "counts") == 0) {
        return placement_points_of(placement, server_of(listed, fields[0])) !=
               strtoul(fields[1], NULL, 10);
    }
    if (strcmp(v->kind, "ring") == 0) {
        const struct ring_entry *entry = &placement->ring.entries[number];

        return entry->high != strtoul(fields[0], NULL, 10) ||
               entry->server != server_of(listed, fields[1]);
    }
    return placement_find(placement, decoded(fields[0]), NULL) != server_of(listed, fields[1]);
}

START_TEST(places_every_key_as_recorded)
{
    const struct vector *v = &vectors[_i];
    static struct listed listed;
    struct placement *placement = NULL;
    static char line[LINE_MAX_BYTES];
    char path[1024];
    size_t lines = 0;
    size_t wrong = 0;

    listed.count = 0;
    snprintf(path, sizeof(path), "%s/%s", folder, v->file);
    FILE *in = fopen(path, "r");
    ck_assert_msg(in != NULL, "cannot read %s", path);
    while (fgets(line, sizeof(line), in) != NULL) {
        char *fields[FIELDS_MAX];

        if (strncmp(line, "# ", 2) == 0) {
            read_header_line(&listed, v, line);
            continue;
        }
        if (placement == NULL && listed.count > 0) {
            placement = build(v, &listed);
        }
        ck_assert_uint_eq(split(line, fields, FIELDS_MAX), 2);
        wrong += is_wrong(v, &listed, placement, lines, fields);
        lines++;
    }
    fclose(in);
    placement_free(placement);
    ck_assert_uint_gt(lines, 0);
    ck_assert_msg(wrong == 0, "%s: %zu of %zu lines are wrong", v->file, wrong, lines);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("vectors");
    TCase *tcase = tcase_create("vectors");

    if (getenv("KETAMA_VECTORS") != NULL) {
        folder = getenv("KETAMA_VECTORS");
    }
    load_manifest();
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, places_every_key_as_recorded, 0, (int)vector_count);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
