/*
 * inih neither says which line a pair is on nor that a section begins, cuts
 * section names at 49 bytes, joins lines that begin with a blank and splits
 * lines that are too long. So it is fed line by line: the reader below hands
 * it one trimmed line at a time, keeps the section lines for itself, and
 * notices a line that was handed over without a pair coming back.
 */
#include "config/reader.h"

#include <ini.h>

struct reader {
    struct slice rest; /* not yet read */
    struct slice line; /* the one inih has, or empty */
    unsigned number;   /* of that line, from 1 */
    bool got_pair;     /* inih made something of it */
    const struct reader_events *events;
    void *arg;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct slice trim(struct slice text)
{
    while (text.len > 0 && is_blank(text.data[0])) {
        text = slice_make(text.data + 1, text.len - 1);
    }
    while (text.len > 0 && is_blank(text.data[text.len - 1])) {
        text.len--;
    }
    return text;
}

static struct slice next_line(struct reader *reader)
{
    const char *end = (const char *)memchr(reader->rest.data, '\n', reader->rest.len);
    size_t len = end == NULL ? reader->rest.len : (size_t)(end - reader->rest.data);
    struct slice line = slice_make(reader->rest.data, len);

    reader->rest.data += len;
    reader->rest.len -= len;
    if (end != NULL) {
        reader->rest.data++;
        reader->rest.len--;
    }
    reader->number++;
    return trim(line);
}

static const char *find_bad_byte(struct slice line)
{
    for (size_t i = 0; i < line.len; i++) {
        unsigned char c = (unsigned char)line.data[i];

        if (c == '\0') {
            return "the line has a NUL byte; a configuration is plain text";
        }
        if ((c < ' ' && c != '\t') || c == 0x7f) {
            return "the line has a control character; a configuration is plain text";
        }
    }
    return NULL;
}

static void say_bad(struct reader *reader, struct slice line, const char *what)
{
    reader->events->on_bad_line(reader->arg, line, what, reader->number);
}

static void read_section(struct reader *reader, struct slice line)
{
    const char *close = (const char *)memchr(line.data, ']', line.len);
    struct slice behind;

    if (close == NULL) {
        say_bad(reader, line, "the bracket ] is missing, allowed: [proxy], [pool NAME]");
        return;
    }
    behind = trim(slice_make(close + 1, line.len - (size_t)(close + 1 - line.data)));
    if (behind.len > 0 && behind.data[0] != ';' && behind.data[0] != '#') {
        say_bad(reader, line, "something follows the bracket ], allowed: a comment behind ;");
        return;
    }
    reader->events->on_section(reader->arg,
                               trim(slice_make(line.data + 1, (size_t)(close - line.data) - 1)),
                               reader->number);
}

/* The line as inih is to see it: empty where there is nothing in it for inih. */
static struct slice judge_line(struct reader *reader, struct slice line, size_t room)
{
    const struct slice nothing = {"", 0};
    const char *bad = find_bad_byte(line);

    if (line.len == 0 || line.data[0] == ';' || line.data[0] == '#') {
        return nothing;
    }
    if (bad == NULL && line.len > room) {
        bad = "the line is too long, allowed: 4096 bytes";
    }
    if (bad != NULL) {
        say_bad(reader, line, bad);
        return nothing;
    }
    if (line.data[0] == '[') {
        read_section(reader, line);
        return nothing;
    }
    return line;
}

/* inih has had the line; nothing came of it where it holds no pair. */
static void settle_line(struct reader *reader)
{
    if (reader->line.len > 0 && !reader->got_pair) {
        say_bad(reader, reader->line,
                "not understood, allowed: key = value, [section], a comment behind ; or #");
    }
    reader->line.len = 0;
    reader->got_pair = false;
}

/* inih's fgets: one line into out, which has size bytes. */
static char *serve_line(char *out, int size, void *stream)
{
    struct reader *reader = (struct reader *)stream;
    size_t room = (size_t)size - sizeof("\n");

    settle_line(reader);
    if (reader->rest.len == 0) {
        return NULL;
    }
    reader->line = judge_line(reader, next_line(reader), room);
    memcpy(out, reader->line.data, reader->line.len);
    memcpy(out + reader->line.len, "\n", sizeof("\n"));
    return out;
}

static int on_inih_pair(void *user, const char *section, const char *name, const char *value)
{
    struct reader *reader = (struct reader *)user;

    (void)section;
    if (*name != '\0') {
        reader->got_pair = true;
        reader->events->on_pair(reader->arg, slice_text(name), slice_text(value), reader->number);
    }
    return 1;
}

bool reader_run(struct slice text, const struct reader_events *events, void *arg)
{
    struct reader reader = {.rest = text, .events = events, .arg = arg};

    if (text.len >= 3 && memcmp(text.data, "\xef\xbb\xbf", 3) == 0) {
        reader.rest = slice_make(text.data + 3, text.len - 3);
    }
    ini_max_line = READER_LINE_MAX + 2; /* line end and NUL */
    ini_allow_multiline = false;
    ini_allow_no_value = false;
    ini_allow_bom = false;
    ini_stop_on_first_error = false;
    /* its result says no more than that some line held no pair */
    (void)ini_parse_stream(serve_line, &reader, on_inih_pair, &reader);
    settle_line(&reader);
    return reader.rest.len == 0;
}
