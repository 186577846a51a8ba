/* See sim_compose.h. */
#include "sim_compose.h"

#include "proto/base64.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static uint32_t answer_serial;

void sim_compose_begin(void)
{
    answer_serial = 0;
}

/* A block that tells which answer it is of. */
static void add_block(struct sim_bytes *text, size_t len)
{
    char serial[24];
    int n = snprintf(serial, sizeof(serial), "<%u>\r\nEND\r\n", answer_serial);
    char *block = malloc(len + 2);

    assert(block != NULL);
    for (size_t i = 0; i < len; i++) {
        block[i] = serial[i % (size_t)n];
    }
    memcpy(block + len, "\r\n", 2);
    sim_bytes_add(text, block, len + 2);
    free(block);
}

static void add_value(struct sim_bytes *text, const struct sim_request *request, unsigned key,
                      size_t len)
{
    char head[400];
    int n = snprintf(head, sizeof(head), "VALUE ");

    sim_request_key(request, key, head + n);
    n += (int)request->key_bytes;
    n += snprintf(head + n, sizeof(head) - (size_t)n, " %u %zu%s\r\n", answer_serial, len,
                  request->wire[3] == 's' ? " 12345" : "");
    sim_bytes_add(text, head, (size_t)n);
    add_block(text, len);
}

/* The word number n of words, n wraps; empty where there is none. */
static struct slice pick(const char *words, unsigned n)
{
    struct slice rest = slice_text(words);
    unsigned count = 0;

    while (rest.len > 0) {
        sim_next_word(&rest);
        count++;
    }
    rest = slice_text(words);
    for (unsigned i = 0; count > 0 && i < n % count; i++) {
        sim_next_word(&rest);
    }
    return sim_next_word(&rest);
}

/* What memcached says of a base64 key: it shows it as it keeps it, undecoded. */
static void add_raw_key(struct sim_bytes *text, const struct sim_request *request)
{
    char key[256];
    char raw[256];
    char line[64];

    sim_request_key(request, request->keys[0], key);
    sim_bytes_add(text, "ME ", 3);
    sim_bytes_add(text, raw, base64_decode(slice_make(key, request->key_bytes), raw));
    sim_bytes_add(text, line,
                  (size_t)snprintf(line, sizeof(line), " exp=-1 la=0 cas=%u\r\n", answer_serial));
}

static void add_code(struct sim_bytes *text, struct slice code, const struct sim_request *request,
                     size_t size)
{
    char line[64];

    if (slice_equals(code, SLICE("#"))) {
        sim_bytes_add(text, line, (size_t)snprintf(line, sizeof(line), "%u\r\n", answer_serial));
    } else if (slice_equals(code, SLICE("MEB"))) {
        add_raw_key(text, request);
    } else if (slice_equals(code, SLICE("VA"))) {
        sim_bytes_add(text, line,
                      (size_t)snprintf(line, sizeof(line), "VA %zu s%u\r\n", size, answer_serial));
        add_block(text, size);
    } else {
        sim_bytes_add(text, code.data, code.len);
        if (request->shape == SHAPE_META) {
            sim_bytes_add(text, line, (size_t)snprintf(line, sizeof(line), " O%u", answer_serial));
        }
        sim_bytes_add(text, "\r\n", 2);
    }
}

struct sim_bytes sim_compose(const struct sim_leg *leg, uint8_t how, size_t size, unsigned *values,
                             bool *silenced)
{
    static const char *const errors[] = {"SERVER_ERROR out of memory storing object",
                                         "CLIENT_ERROR no", "ERROR"};
    struct sim_request *request = leg->request;
    struct sim_bytes text = {0};
    char line[80];

    answer_serial++;
    if (request == NULL) {
        const char *said =
            leg->is_version ? "VERSION 1.6.18\r\n" : "STAT pid 1\r\nSTAT total_items 12\r\nEND\r\n";

        sim_bytes_add(&text, said, strlen(said));
    } else if (how >= 250 && how - 250u < ARRAY_LEN(errors)) {
        const char *error = errors[how - 250u];

        sim_bytes_add(&text, line,
                      (size_t)snprintf(line, sizeof(line), "%s %u\r\n", error, answer_serial));
        if (request->shape == SHAPE_VALUES && error[0] == 'S') {
            sim_disturb(); /* the values of others are given without these */
        }
    } else if (request->shape == SHAPE_VALUES) {
        for (unsigned i = 0; i < leg->key_count; i++) {
            if ((how >> i % 7 & 1) == 0) {
                add_value(&text, request, leg->keys[i], i == 0 ? size : size % 100);
                ++*values;
            }
        }
        sim_bytes_add(&text, "END\r\n", 5);
    } else {
        bool is_delete = request->shape == SHAPE_LOCAL; /* of a value too large */
        struct slice code = is_delete
                                ? pick(request->wire[0] == 'm' ? "HD NF" : "DELETED NOT_FOUND", how)
                                : pick(request->template->codes, how);

        add_code(&text, code, request, size);
        if (request->template->silent != NULL) {
            char padded[16];

            snprintf(padded, sizeof(padded), " %s ", request->template->silent);
            *silenced = sim_is_one_of(code, padded);
        }
    }
    return text;
}

void sim_compose_broken(struct sim_bytes *text, const struct sim_leg *leg, unsigned kind)
{
    static const char *const plain[] = {
        SIM_POISON " nonsense\r\n",
        "VALUE " SIM_POISON " 0 6\r\n" SIM_POISON "\r\nEND\r\n",
        "SERVER_ERROR " SIM_POISON "\n",
        "VALUE k 0 99999999999999999999\r\n" SIM_POISON "\r\n",
        "VA 6x k" SIM_POISON "\r\n" SIM_POISON "\r\n",
        "VALUE k 0 -6\r\n" SIM_POISON "\r\n",
        "\r\n" SIM_POISON "\r\n",
    };
    bool is_values = leg->request != NULL && leg->request->shape == SHAPE_VALUES;

    answer_serial++;
    if (kind < ARRAY_LEN(plain)) {
        sim_bytes_add(text, plain[kind], strlen(plain[kind]));
    } else if (kind == 7) {
        char *line = malloc(9000);

        assert(line != NULL);
        memset(line, 'P', 9000);
        sim_bytes_add(text, line, 9000);
        free(line);
    } else if (kind == 8 || !is_values) {
        const char *other = is_values ? "STORED\r\n" : "VALUE " SIM_POISON " 0 0\r\n\r\nEND\r\n";

        sim_bytes_add(text, other, strlen(other));
    } else if (kind == 9) { /* longer than it said */
        add_value(text, leg->request, leg->keys[0], 4);
        text->len -= 2;
        sim_bytes_add(text, SIM_POISON "\r\nEND\r\n", sizeof(SIM_POISON "\r\nEND\r\n") - 1);
    } else { /* the last key, and then all the keys again */
        for (unsigned i = leg->key_count - 1; i < 2 * leg->key_count; i++) {
            add_value(text, leg->request, leg->keys[i % leg->key_count], 9);
        }
        sim_bytes_add(text, "END\r\n", 5);
    }
}
