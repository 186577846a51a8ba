/* See sim_request.h. */
#include "sim_request.h"

#include "proxy/leg_cause.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* clang-format off */
#define GETS(command) command " %K\r\n", command " ", NULL, "", NULL, SHAPE_VALUES
#define STORE(line) line "\r\n%V", line "\r\n%V", NULL, "STORED NOT_STORED EXISTS NOT_FOUND", NULL, SHAPE_LINE, true
#define STORE_SILENT(line) line " noreply\r\n%V", line "\r\n%V", NULL, "STORED NOT_STORED EXISTS NOT_FOUND", NULL, SHAPE_LINE, true, true
#define LINE(line, codes) line "\r\n", line "\r\n", NULL, codes, NULL, SHAPE_LINE
#define LINE_SILENT(line, codes) line " noreply\r\n", line "\r\n", NULL, codes, NULL, SHAPE_LINE, true, true
#define META(line, codes) line "\r\n", line "\r\n", NULL, codes, NULL, SHAPE_META
#define META_SILENT(line, codes, silent) line " q\r\nmn\r\n", line "\r\n", NULL, codes, silent, SHAPE_META
#define LOCAL(text, answer) text, NULL, answer, "", NULL, SHAPE_LOCAL
#define BAD_FORMAT "CLIENT_ERROR bad command line format\r\n"

const struct sim_template sim_templates[] = {
    {GETS("get")}, {GETS("gets")}, {GETS("gat 100"), true}, {GETS("gats 0"), true},
    {STORE("set %K 5 0 %L")}, {STORE_SILENT("set %K 0 0 %L")}, {STORE("add %K 0 10 %L")},
    {STORE_SILENT("append %K 0 0 %L")}, {STORE("prepend %K 0 0 %L")},
    {STORE("replace %K 1 1 %L")}, {STORE("cas %K 0 0 %L 77")},
    {LINE("delete %K", "DELETED NOT_FOUND"), true}, {LINE_SILENT("delete %K", "DELETED NOT_FOUND")},
    {LINE("incr %K 3", "# NOT_FOUND"), true}, {LINE_SILENT("decr %K 1", "# NOT_FOUND")},
    {LINE("touch %K 100", "TOUCHED NOT_FOUND"), true},
    {META("mg %K v", "VA EN")}, {META("mg %K", "HD EN")}, {META("mg %K k v f", "VA EN")},
    {META("mg %K b v", "VA EN")}, {META("mg %K N30 v", "VA EN"), true},
    {"ms %K %L\r\n%V", "ms %K %L\r\n%V", NULL, "HD NS EX NF", NULL, SHAPE_META, true},
    {META("md %K", "HD NF EX"), true}, {META("ma %K v", "VA NF NS"), true}, {META("ma %K", "HD NF"), true},
    {META("me %K", "ME EN")},
    {META_SILENT("mg %K v", "VA EN", "EN")}, {META_SILENT("md %K", "HD NF", "HD"), true},
    {META_SILENT("ma %K v", "VA NF", "HD VA"), true},
    {"ms %K %L q\r\n%Vmn\r\n", "ms %K %L\r\n%V", NULL, "HD NS", "HD", SHAPE_META, true},
    {"flush_all 1%S\r\n", "flush_all 1%S\r\n", NULL, "OK", NULL, SHAPE_FLUSH, true},
    {"flush_all 1%S noreply\r\n", "flush_all 1%S\r\n", NULL, "OK", NULL, SHAPE_FLUSH, true, true},
    {"stats\r\n", "stats\r\n", NULL, "", NULL, SHAPE_STATS},
    {"version\r\n", "version\r\n", NULL, "", NULL, SHAPE_VERSION},
    {LOCAL("mn\r\n", "MN\r\n")}, {LOCAL("verbosity 1\r\n", "OK\r\n")},
    {LOCAL("verbosity 1 noreply\r\n", ""), false, true},
    {LOCAL("bogus %K\r\n", "ERROR\r\n")}, {LOCAL("get\r\n", "ERROR\r\n")},
    {LOCAL("\r\n", "ERROR\r\n")}, {LOCAL("Get %K\n", "ERROR\r\n")},
    {LOCAL("incr %K x\r\n", "CLIENT_ERROR invalid numeric delta argument\r\n")},
    {LOCAL("touch %K x noreply\r\n", ""), false, true},
    {LOCAL("set %K x 0 %L\r\n%V", BAD_FORMAT)},
    {LOCAL("set %K 0 0 %L %L noreply\r\n%V", "ERROR\r\n")},
    {LOCAL("set %K -1 0 %L noreply\r\n%V", ""), false, true},
    {LOCAL("cas %K 0 0 %L x\r\n%V", BAD_FORMAT)},
    {LOCAL("set %K 0 0 3\r\nabcdef\r\n", "CLIENT_ERROR bad data chunk\r\nERROR\r\n")},
    {LOCAL("ms %K %L F1 F2\r\n%V", "CLIENT_ERROR duplicate flag\r\n")},
    {LOCAL("shutdown\r\n", "CLIENT_ERROR shutdown is not available through a proxy\r\n")},
    {LOCAL("set %K 0 0 99999999999\r\n", BAD_FORMAT), false, false, true},
    {LOCAL("set %K 0 0 -1 noreply\r\n", ""), false, true, true},
    {LOCAL("quit\r\n", ""), false, true, true},
};

/* A me of 128 keys and more, as a script says, is this: one row more would change all scripts. */
static const struct sim_template me_raw = {META("me %K b", "MEB EN"), .shows_raw = true};
/* clang-format on */

const size_t sim_template_count = ARRAY_LEN(sim_templates);

static struct sim_request *requests[REQUESTS_MAX];
static uint32_t request_count;
static size_t max_value;
static bool misses;
static bool runs_out;
static bool is_calm;

void sim_fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fputs("the proxy is wrong: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    abort();
}

void sim_requests_begin(size_t max_value_bytes, bool misses_on_failure, bool may_run_out)
{
    request_count = 0;
    max_value = max_value_bytes;
    misses = misses_on_failure;
    runs_out = may_run_out;
    is_calm = !may_run_out;
}

void sim_requests_end(void)
{
    for (uint32_t i = 0; i < request_count; i++) {
        struct sim_answer *answer = requests[i]->answers;

        while (answer != NULL) {
            struct sim_answer *next = answer->next;

            free(answer->text);
            free(answer);
            answer = next;
        }
        free(requests[i]->text);
        free(requests[i]->wire);
        free(requests[i]);
    }
    request_count = 0;
}

void sim_disturb(void)
{
    is_calm = false;
}

bool sim_is_calm(void)
{
    return is_calm;
}

size_t sim_size(uint8_t choice)
{
    static const size_t sizes[] = {7, 0, 1, 30, 300, 900, 1001, 2030, 6000, 16500, 33000, 66000};

    return sizes[choice % ARRAY_LEN(sizes)] + choice / 128;
}

void sim_request_key(const struct sim_request *request, unsigned n, char *out)
{
    static const char lines[] = "DQpFTg0KSEQgeA0K"; /* base64 of "\r\nEN\r\nHD x\r\n" */
    char text[16];

    snprintf(text, sizeof(text), "k%05u%02u", request->serial, n);
    memcpy(out, text, SIM_KEY_BYTES);
    for (uint32_t i = SIM_KEY_BYTES; i < request->key_bytes; i++) {
        out[i] =
            request->template->shows_raw ? lines[(i - SIM_KEY_BYTES) % (sizeof(lines) - 1)] : 'x';
    }
}

/* Text that grows. */
struct text {
    char *data;
    size_t len;
    size_t room;
};

static void text_add(struct text *text, const void *data, size_t len)
{
    if (text->len + len > text->room) {
        text->room = (text->len + len) * 2;
        text->data = realloc(text->data, text->room);
        assert(text->data != NULL);
    }
    memcpy(text->data + text->len, data, len);
    text->len += len;
}

/* A block that would do harm where it is taken for commands. */
static void add_block(struct text *text, const struct sim_request *request, size_t len)
{
    static const char harm[] = "\r\nget " SIM_POISON "\r\nflush_all\r\n";

    size_t at = request->serial % (sizeof(harm) - 1);
    size_t left = len;

    while (left > 0) {
        size_t part = sizeof(harm) - 1 - at < left ? sizeof(harm) - 1 - at : left;

        text_add(text, harm + at, part);
        left -= part;
        at = 0;
    }
    text_add(text, "\r\n", 2);
}

static void add_keys(struct text *text, const struct sim_request *request)
{
    char key[256];

    for (uint32_t i = 0; i < request->key_count; i++) {
        sim_request_key(request, request->keys[i], key);
        text_add(text, " ", i > 0);
        text_add(text, key, request->key_bytes);
    }
}

static void expand(struct text *text, const struct sim_request *request, const char *format,
                   size_t value_bytes)
{
    char number[32];

    for (const char *at = format; *at != '\0'; at++) {
        if (*at != '%') {
            text_add(text, at, 1);
        } else if (*++at == 'K') {
            add_keys(text, request);
        } else if (*at == 'V') {
            add_block(text, request, value_bytes);
        } else {
            snprintf(number, sizeof(number), "%zu",
                     *at == 'L' ? value_bytes : (size_t)request->serial);
            text_add(text, number, strlen(number));
        }
    }
}

/* A value over the limit is refused, and the old one removed. */
static const char *too_large(struct sim_request *request, const char *verb)
{
    static const char text[] = "SERVER_ERROR object too large for cache\r\n";

    request->shape = SHAPE_LOCAL;
    request->answer = text;
    return strncmp(verb, "set", 3) == 0  ? "delete %K\r\n"
           : strncmp(verb, "ms", 2) == 0 ? "md %K\r\n"
                                         : NULL;
}

struct sim_request *sim_request_new(const struct sim_template *template, uint8_t size, uint8_t keys)
{
    size_t value_bytes = sim_size(size);
    const char *wire;
    struct sim_request *request;
    struct text text = {0};

    if (request_count == REQUESTS_MAX) {
        return NULL;
    }
    if (keys >= 128 && strncmp(template->text, "me ", 3) == 0) {
        template = &me_raw;
    }
    wire = template->wire;
    request = calloc(1, sizeof(*request));
    assert(request != NULL);
    request->template = template;
    request->shape = template->shape;
    request->answer = template->answer;
    request->serial = request_count + 1;
    request->key_bytes = keys >= 240 ? 248 : SIM_KEY_BYTES;
    if (template->shows_raw) {
        request->key_bytes = SIM_KEY_BYTES + 16u * (keys % 16);
    }
    request->key_count = template->shape == SHAPE_VALUES ? 1u + keys % REQUEST_KEYS_MAX : 1;
    for (uint32_t i = 0; i < request->key_count; i++) {
        request->keys[i] = (uint8_t)(i > 0 && (i * 7 + keys) % 5 == 0 ? i / 2 : i);
    }
    if (value_bytes > max_value && wire != NULL && strstr(wire, "%V") != NULL) {
        wire = too_large(request, wire);
        if (template->silent != NULL) {
            request->answer = "SERVER_ERROR object too large for cache\r\nMN\r\n";
        }
    }
    expand(&text, request, template->text, value_bytes);
    request->text = text.data;
    request->text_len = text.len;
    if (wire != NULL) {
        text = (struct text){0};
        expand(&text, request, wire, value_bytes);
        request->wire = text.data;
        request->wire_len = text.len;
    }
    requests[request_count++] = request;
    return request;
}

struct sim_request *sim_request_by_serial(uint32_t serial)
{
    return serial >= 1 && serial <= request_count ? requests[serial - 1] : NULL;
}

struct sim_request *sim_request_find(struct slice text, unsigned *key)
{
    uint32_t number = 0;
    struct sim_request *request;

    if (text.len < SIM_KEY_BYTES || text.data[0] != 'k') {
        return NULL;
    }
    for (size_t i = 1; i < SIM_KEY_BYTES; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return NULL;
        }
        number = number * 10 + (uint32_t)(text.data[i] - '0');
    }
    request = sim_request_by_serial(number / 100);
    *key = number % 100;
    return request != NULL && text.len == request->key_bytes ? request : NULL;
}

struct sim_answer *sim_request_answer(struct sim_request *request, char *text, size_t len)
{
    struct sim_answer *answer = calloc(1, sizeof(*answer));

    assert(answer != NULL);
    answer->text = text;
    answer->len = len;
    answer->next = request->answers;
    request->answers = answer;
    return answer;
}

/* ---- judging what a client was told */

static bool begins_with(const char *data, size_t len, const char *text)
{
    return len >= strlen(text) && memcmp(data, text, strlen(text)) == 0;
}

/* The length of the line with its end, or SIZE_MAX where there is none yet. */
static size_t line_bytes(const char *data, size_t len)
{
    const char *newline = memchr(data, '\n', len);

    if (newline == NULL) {
        if (len > 10000) {
            sim_fail("a line without an end");
        }
        return SIZE_MAX;
    }
    if (newline == data || newline[-1] != '\r') {
        sim_fail("a line that ends in a bare newline: %.*s", (int)(newline - data), data);
    }
    return (size_t)(newline - data) + 1;
}

/* True for an error of the proxy's own making. */
static bool is_proxy_error(const char *line, size_t len)
{
    if (!begins_with(line, len, "SERVER_ERROR ")) {
        return false;
    }
    for (int cause = LEG_OK + 1; cause < LEG_CAUSES; cause++) {
        const char *text = leg_cause_text((enum leg_cause)cause);
        size_t text_len = strlen(text);

        if (len >= text_len + 15 && memcmp(line + len - 2 - text_len, text, text_len) == 0) {
            size_t before = len - 2 - text_len;

            return before == 13 || (before > 15 && memcmp(line + before - 2, ": ", 2) == 0);
        }
    }
    return begins_with(line, len, "SERVER_ERROR no answer\r\n") ||
           begins_with(line, len, "SERVER_ERROR no server answered\r\n");
}

/* A whole answer of a server to request that is exactly this text. */
static bool was_said(const struct sim_request *request, const char *text, size_t len)
{
    for (const struct sim_answer *a = request->answers; a != NULL; a = a->next) {
        if (a->is_whole && a->len == len && memcmp(a->text, text, len) == 0) {
            return true;
        }
    }
    return false;
}

/* The same of a value in the midst of an answer. */
static bool was_said_within(const struct sim_request *request, const char *text, size_t len)
{
    for (const struct sim_answer *a = request->answers; a != NULL; a = a->next) {
        if (a->is_whole && memmem(a->text, a->len, text, len) != NULL) {
            return true;
        }
    }
    return false;
}

static void judge_line(const struct sim_request *request, const char *line, size_t len)
{
    if (was_said(request, line, len)) {
        return;
    }
    if (sim_is_calm()) {
        sim_fail("request %u was answered, though nothing has failed: %.*s", request->serial,
                 (int)len, line);
    }
    if (is_proxy_error(line, len)) {
        return;
    }
    if (misses && ((request->shape == SHAPE_VALUES && begins_with(line, len, "END\r\n")) ||
                   (begins_with(request->text, 3, "mg ") && begins_with(line, len, "EN\r\n")))) {
        return;
    }
    sim_fail("request %u (%.*s) was answered with what is not its answer: %.*s", request->serial,
             (int)(request->text_len < 60 ? request->text_len : 60), request->text, (int)len, line);
}

/* Where nothing failed, no value is missing. */
static void judge_completeness(const struct sim_request *request, unsigned values)
{
    unsigned said = 0;

    for (const struct sim_answer *a = request->answers; a != NULL; a = a->next) {
        said += a->values;
    }
    if (sim_is_calm() && said != values) {
        sim_fail("request %u: %u values came, and %u were sent to the client", request->serial,
                 said, values);
    }
}

/* Takes one VALUE block; at is the next key to be answered. */
static size_t judge_value(const struct sim_request *request, const char *data, size_t len,
                          uint32_t *at)
{
    size_t head = line_bytes(data, len);
    char line[300] = "";
    char key[256];
    unsigned long value_bytes;
    unsigned n;

    if (head == SIZE_MAX) {
        return SIZE_MAX;
    }
    memcpy(line, data, head < sizeof(line) - 1 ? head : sizeof(line) - 1);
    if (sscanf(line, "VALUE %255s %*u %lu", key, &value_bytes) != 2 ||
        sim_request_find(slice_text(key), &n) != request) {
        sim_fail("request %u was sent a value for somebody else: %.*s", request->serial, (int)head,
                 data);
    }
    if (len < head + value_bytes + 2) {
        return SIZE_MAX;
    }
    while (*at < request->key_count && request->keys[*at] != n) {
        ++*at;
    }
    if (*at == request->key_count) {
        sim_fail("request %u was sent a value out of order: %.*s", request->serial, (int)head,
                 data);
    }
    ++*at;
    if (!was_said_within(request, data, head + value_bytes + 2)) {
        sim_fail("request %u was sent a value that no server sent for it: %.*s", request->serial,
                 (int)head, data);
    }
    return head + value_bytes + 2;
}

static size_t judge_values(const struct sim_request *request, const char *data, size_t len)
{
    uint32_t at = 0;
    unsigned values = 0;
    size_t taken = 0;

    while (len - taken >= 6 && begins_with(data + taken, len - taken, "VALUE ")) {
        size_t block = judge_value(request, data + taken, len - taken, &at);

        if (block == SIZE_MAX) {
            return SIZE_MAX;
        }
        taken += block;
        values++;
    }
    size_t line = line_bytes(data + taken, len - taken);
    if (line == SIZE_MAX) {
        return SIZE_MAX;
    }
    if (begins_with(data + taken, line, "END\r\n")) {
        if (values == 0 && sim_is_calm() && request->answers == NULL) {
            sim_fail("request %u was answered END by nobody", request->serial);
        }
        judge_completeness(request, values);
    } else if (values > 0) {
        sim_fail("request %u: values and then %.*s", request->serial, (int)line, data + taken);
    } else {
        judge_line(request, data, line);
    }
    return taken + line;
}

/* A reply that has the key undecoded: the lines in it are no ends. */
static size_t judge_raw(const struct sim_request *request, const char *data, size_t len)
{
    for (const struct sim_answer *a = request->answers; a != NULL; a = a->next) {
        if (a->is_whole && memcmp(a->text, data, len < a->len ? len : a->len) == 0) {
            return len < a->len ? SIZE_MAX : a->len;
        }
    }
    sim_fail("request %u was answered with what no server said: %.*s", request->serial,
             (int)(len < 60 ? len : 60), data);
}

/* A meta reply, which may have a block. */
static size_t judge_meta(const struct sim_request *request, const char *data, size_t len)
{
    size_t head = line_bytes(data, len);
    unsigned long value_bytes;

    if (head == SIZE_MAX) {
        return SIZE_MAX;
    }
    if (request->template->shows_raw && begins_with(data, head, "ME ")) {
        return judge_raw(request, data, len);
    }
    if (!begins_with(data, head, "VA ")) {
        judge_line(request, data, head);
        return head;
    }
    value_bytes = strtoul(data + 3, NULL, 10);
    if (len < head + value_bytes + 2) {
        return SIZE_MAX;
    }
    if (!was_said(request, data, head + value_bytes + 2)) {
        sim_fail("request %u was sent a value that no server sent for it: %.*s", request->serial,
                 (int)head, data);
    }
    return head + value_bytes + 2;
}

/* Last words in place of what asks no server: there was no room for a request's beginning. */
static bool are_last_words(struct sim_request *request, const char *line, size_t len)
{
    if (!runs_out || !begins_with(line, len, "SERVER_ERROR out of memory\r\n")) {
        return false;
    }
    request->is_last = true;
    return true;
}

/* A q and the mn behind it: silence needs a reason. */
static size_t judge_quiet(struct sim_request *request, const char *data, size_t len)
{
    size_t taken = 0;
    size_t line = line_bytes(data, len);

    if (line == SIZE_MAX) {
        return SIZE_MAX;
    }
    if (begins_with(data, line, "MN\r\n")) {
        for (const struct sim_answer *a = request->answers; a != NULL; a = a->next) {
            if (a->is_whole && a->is_silenced) {
                return line;
            }
        }
        if (misses && !sim_is_calm() && begins_with(request->text, 3, "mg ")) {
            return line;
        }
        sim_fail("request %u was not answered", request->serial);
    }
    taken = judge_meta(request, data, len);
    line = taken == SIZE_MAX ? SIZE_MAX : line_bytes(data + taken, len - taken);
    if (line == SIZE_MAX) {
        return SIZE_MAX;
    }
    if (!begins_with(data + taken, line, "MN\r\n") &&
        !are_last_words(request, data + taken, line)) {
        sim_fail("request %u: no MN behind its answer", request->serial);
    }
    for (const struct sim_answer *a = request->answers; a != NULL; a = a->next) {
        if (a->is_silenced && a->len == taken && memcmp(a->text, data, taken) == 0) {
            sim_fail("request %u is quiet and was told %.*s", request->serial, (int)taken, data);
        }
    }
    return taken + line;
}

static size_t judge_stats(const char *data, size_t len)
{
    size_t taken = 0;

    for (;;) {
        size_t line = line_bytes(data + taken, len - taken);

        if (line == SIZE_MAX) {
            return SIZE_MAX;
        }
        taken += line;
        if (begins_with(data + taken - line, line, "STAT ")) {
            continue;
        }
        if (!begins_with(data + taken - line, line, "END\r\n") &&
            !(taken == line && !sim_is_calm() && is_proxy_error(data, line))) {
            sim_fail("stats were answered %.*s", (int)line, data + taken - line);
        }
        return taken;
    }
}

static size_t judge_local(struct sim_request *request, const char *data, size_t len)
{
    size_t want = strlen(request->answer);
    size_t taken = 0;

    while (runs_out) { /* in place of each line */
        size_t line = line_bytes(data + taken, len - taken);

        if (line == SIZE_MAX) {
            return SIZE_MAX;
        }
        if (are_last_words(request, data + taken, line)) {
            return taken + line;
        }
        if (line >= want - taken || memcmp(data + taken, request->answer + taken, line) != 0) {
            break;
        }
        taken += line;
    }
    if (memcmp(data, request->answer, len < want ? len : want) != 0) {
        sim_fail("request %u (%.*s) is answered %.*s", request->serial,
                 (int)(request->text_len < 60 ? request->text_len : 60), request->text,
                 (int)(len < 60 ? len : 60), data);
    }
    return len < want ? SIZE_MAX : want;
}

size_t sim_request_judge(struct sim_request *request, const char *data, size_t len)
{
    size_t line;

    switch (request->shape) {
    case SHAPE_VALUES:
        return judge_values(request, data, len);
    case SHAPE_META:
        return request->template->silent != NULL ? judge_quiet(request, data, len)
                                                 : judge_meta(request, data, len);
    case SHAPE_STATS:
        return judge_stats(data, len);
    case SHAPE_LOCAL:
        return judge_local(request, data, len);
    case SHAPE_VERSION:
        line = line_bytes(data, len);
        if (line != SIZE_MAX && !begins_with(data, line, "VERSION 1.6.")) {
            judge_line(request, data, line);
        }
        return line;
    case SHAPE_LINE:
    case SHAPE_FLUSH:
        break;
    }
    line = line_bytes(data, len);
    if (line != SIZE_MAX) {
        judge_line(request, data, line);
    }
    return line;
}
