/*
 * Sends the same random streams of commands to one memcached and to another
 * server that claims to look like it, and compares the replies byte for byte.
 * On a difference it looks for a smaller case that shows it too, and prints it.
 *
 * The last line is "N passed, N failed": commands compared, differences.
 */
#include "compare.h"
#include "exchange.h"
#include "generate.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DIFFERENCES_MAX = 3, SHRINK_TRIES = 600, SHRINK_SECONDS = 30 };

struct run {
    struct side one;   /* memcached */
    struct side other; /* what is compared with it */
    bool strict;       /* the other is memcached too */
    unsigned timeout_ms;
    struct difference found;  /* the last */
    char why[128];            /* what found.why may be */
    size_t stream;            /* the number of its stream */
    struct bytes left, right; /* both replies to that */
};

/* plain: the side is memcached, to be sent what suits it where the two differ. */
static void build_request(struct run *run, struct side *side, const struct stream *stream,
                          bool plain, const struct cas_book *book)
{
    struct bytes *out = &side->request;

    out->len = 0;
    for (size_t i = 0; i < stream->count; i++) {
        const struct command *command = &stream->commands[i];
        const struct bytes *text =
            command->differs && plain ? &command->instead : &command->request;
        uint64_t cas;

        if (command->cas_key == NO_KEY) {
            bytes_add(out, text->data, text->len);
            continue;
        }
        cas = side == &run->one ? book->last_one[command->cas_key]
                                : book->last_other[command->cas_key];
        if (cas == 0 || command->request.len % 5 == 0) {
            cas = 99999999999999;
        }
        bytes_add(out, text->data, command->cas_at);
        bytes_printf(out, "%llu", (unsigned long long)cas);
        bytes_add(out, text->data + command->cas_at, text->len - command->cas_at);
    }
    side->waits_for_close =
        stream->end == END_HALF_CLOSED || (stream->end == END_OTHER_CLOSES && !plain);
    if (!side->waits_for_close) {
        sentinel_request(stream, out);
    }
}

/* Takes from the other side's reply what only it was asked; false when that is not there. */
static bool take_extras(struct run *run, const struct stream *stream)
{
    for (size_t i = 0; i < stream->count; i++) {
        const struct command *command = &stream->commands[i];
        struct bytes *reply = &run->other.reply;
        size_t mark = strlen(command->mark);
        char *found;
        size_t at;

        if (command->extra == NULL || reply->len == 0) {
            continue;
        }
        found = memmem(reply->data, reply->len, command->mark, mark);
        if (found == NULL) {
            continue; /* the comparison will say so */
        }
        at = (size_t)(found - reply->data) + mark;
        if (reply->len - at < strlen(command->extra) ||
            memcmp(reply->data + at, command->extra, strlen(command->extra)) != 0) {
            run->found = (struct difference){at, at, run->why};
            snprintf(run->why, sizeof(run->why), "not the answer specified: %.*s",
                     (int)strlen(command->extra) - 2, command->extra);
            return false;
        }
        bytes_remove(reply, at, strlen(command->extra));
    }
    return true;
}

static void keep_difference(struct run *run, size_t stream)
{
    run->stream = stream;
    run->left.len = run->right.len = 0;
    bytes_add(&run->left, run->one.reply.data != NULL ? run->one.reply.data : "",
              run->one.reply.len);
    bytes_add(&run->right, run->other.reply.data != NULL ? run->other.reply.data : "",
              run->other.reply.len);
}

/* True when both answered the stream alike. */
static bool run_stream(struct run *run, const struct stream *stream, size_t number,
                       struct cas_book *book)
{
    run->found = (struct difference){.why = run->why};
    if (!side_connect(&run->one) || !side_connect(&run->other)) {
        snprintf(run->why, sizeof(run->why), "%s: cannot connect: %s",
                 run->one.fd == -1 ? run->one.name : run->other.name, strerror(errno));
        run->one.reply.len = run->other.reply.len = 0;
        keep_difference(run, number);
        return false;
    }
    build_request(run, &run->one, stream, true, book);
    build_request(run, &run->other, stream, run->strict, book);
    if (!sides_exchange(&run->one, &run->other, stream, run->timeout_ms)) {
        snprintf(run->why, sizeof(run->why), "%s: no end of the replies within %u ms",
                 run->one.ended ? run->other.name : run->one.name, run->timeout_ms);
        run->found = (struct difference){run->one.reply.len, run->other.reply.len, run->why};
    } else if (run->one.closed != run->other.closed && stream->end != END_OTHER_CLOSES) {
        snprintf(run->why, sizeof(run->why), "%s closed the connection",
                 run->one.closed ? run->one.name : run->other.name);
        run->found = (struct difference){run->one.reply.len, run->other.reply.len, run->why};
    } else if (take_extras(run, stream)) {
        if (replies_equal(book, &run->one.reply, &run->other.reply, &run->found)) {
            if (stream->end != END_SENTINEL || run->one.closed) {
                side_close(&run->one);
                side_close(&run->other);
            }
            return true;
        }
    }
    keep_difference(run, number);
    return false;
}

/* Fresh connections, and nothing stored on either side. */
static bool begin_episode(struct run *run)
{
    static const struct stream flush = {.end = END_SENTINEL,
                                        .sentinel = "HD Oflush-before-all\r\n"};
    struct side *sides[2] = {&run->one, &run->other};

    for (int i = 0; i < 2; i++) {
        side_close(sides[i]);
        if (!side_connect(sides[i])) {
            return false;
        }
        sides[i]->request.len = 0;
        bytes_printf(&sides[i]->request, "flush_all\r\n");
        sentinel_request(&flush, &sides[i]->request);
        sides[i]->waits_for_close = false;
    }
    return sides_exchange(&run->one, &run->other, &flush, run->timeout_ms) &&
           run->one.reply.len == 4 && bytes_equal(&run->one.reply, &run->other.reply);
}

static bool run_episode(struct run *run, const struct episode *episode)
{
    struct cas_book book = {0};
    bool equal = true;

    if (!begin_episode(run)) {
        snprintf(run->why, sizeof(run->why), "flush_all before the episode is not answered OK");
        keep_difference(run, 0);
        return false;
    }
    for (size_t i = 0; equal && i < episode->count; i++) {
        equal = run_stream(run, &episode->streams[i], i, &book);
    }
    cas_book_fini(&book);
    return equal;
}

/* ---- a smaller case */

/* A view of the episode without the commands that are not kept. */
static void make_view(const struct episode *episode, const bool *kept, struct episode *view)
{
    size_t number = 0;

    *view = (struct episode){0};
    for (size_t i = 0; i < episode->count; i++) {
        const struct stream *from = &episode->streams[i];
        struct stream *to = &view->streams[view->count];
        size_t last = number + from->count - 1;

        *to = *from;
        to->commands = calloc(from->count + 1, sizeof(*to->commands));
        if (to->commands == NULL) {
            abort();
        }
        to->count = 0;
        if (from->end == END_OTHER_CLOSES && !kept[last]) {
            to->end = END_SENTINEL;
        }
        for (size_t j = 0; j < from->count; j++, number++) {
            if (kept[number]) {
                to->commands[to->count++] = from->commands[j];
            }
        }
        if (to->count > 0) {
            view->count++;
        } else {
            free(to->commands);
        }
    }
}

static void free_view(struct episode *view)
{
    for (size_t i = 0; i < view->count; i++) {
        free(view->streams[i].commands);
    }
}

/* Runs what is kept; the last difference is kept too where there is none now. */
static bool still_differs(struct run *run, const struct episode *episode, const bool *kept)
{
    struct episode view;
    struct difference found = run->found;
    char why[sizeof(run->why)];
    bool equal;

    memcpy(why, run->why, sizeof(why));
    make_view(episode, kept, &view);
    equal = run_episode(run, &view);
    free_view(&view);
    if (equal) {
        run->found = found;
        memcpy(run->why, why, sizeof(why));
    }
    return !equal;
}

/* Leaves out ever smaller runs of commands as long as the difference stays. */
static void shrink(struct run *run, const struct episode *episode, bool *kept, size_t count)
{
    unsigned timeout_ms = run->timeout_ms;
    time_t stop = time(NULL) + SHRINK_SECONDS;
    int tries = 0;

    run->timeout_ms = timeout_ms / 5 + 1;
    for (size_t width = count / 2; width > 0; width = width > 1 ? width / 2 : 0) {
        for (size_t from = 0; from < count; from += width) {
            bool before[EPISODE_STREAMS_MAX * (STREAM_COMMANDS_MAX + 2)];

            memcpy(before, kept, sizeof(before));
            for (size_t i = from; i < from + width && i < count; i++) {
                kept[i] = false;
            }
            if (memcmp(before, kept, sizeof(before)) == 0) {
                continue;
            }
            if (++tries > SHRINK_TRIES || time(NULL) > stop || !still_differs(run, episode, kept)) {
                memcpy(kept, before, sizeof(before));
            }
        }
    }
    run->timeout_ms = timeout_ms;
}

/* ---- telling */

static void print_stream(const struct stream *stream)
{
    static const char *const ends[] = {"then a sentinel", "then a sentinel and a new connection",
                                       "then no more is sent, and the close is awaited",
                                       "then the close is awaited"};

    for (size_t i = 0; i < stream->count; i++) {
        const struct command *command = &stream->commands[i];

        printf("    \"");
        if (command->cas_key == NO_KEY) {
            print_escaped(stdout, command->request.data, command->request.len);
        } else {
            print_escaped(stdout, command->request.data, command->cas_at);
            printf("<the last CAS of that key>");
            print_escaped(stdout, command->request.data + command->cas_at,
                          command->request.len - command->cas_at);
        }
        printf("\"\n");
        if (command->differs) {
            printf("      memcached is sent \"");
            print_escaped(stdout, command->instead.data, command->instead.len);
            printf("\"\n");
        }
    }
    printf("    %s\n", ends[stream->end]);
}

static void print_reply(const char *name, const struct bytes *reply, size_t at)
{
    size_t from = at > 300 ? at - 300 : 0;
    size_t end;

    at = at < reply->len ? at : reply->len;
    from = from < at ? from : at;
    end = reply->len - at > 500 ? at + 500 : reply->len;
    printf("  %s, %zu bytes:\n    %s\"", name, reply->len, from > 0 ? "... " : "");
    print_escaped(stdout, reply->data + from, at - from);
    printf("\"\n    here: \"");
    print_escaped(stdout, reply->data + at, end - at);
    printf("\"%s\n", end < reply->len ? " ..." : "");
}

static void print_where(const struct run *run, uint64_t seed, uint64_t number)
{
    printf("\ndifference in episode %llu of seed %llu: %s (stream %zu, byte %zu)\n",
           (unsigned long long)number, (unsigned long long)seed, run->found.why, run->stream,
           run->found.other);
}

static void report(struct run *run, const struct episode *episode, uint64_t seed, uint64_t number)
{
    bool kept[EPISODE_STREAMS_MAX * (STREAM_COMMANDS_MAX + 2)] = {0};
    size_t count = episode_commands(episode);
    struct episode view;

    print_where(run, seed, number);
    memset(kept, true, count);
    if (still_differs(run, episode, kept)) {
        shrink(run, episode, kept, count);
        if (!still_differs(run, episode, kept)) {
            printf("  the smaller case does not always show it\n");
        }
    } else {
        printf("  it did not show again when repeated; as it was:\n");
    }
    make_view(episode, kept, &view);
    printf("  after flush_all, %zu commands: %s\n", episode_commands(&view), run->found.why);
    for (size_t i = 0; i < view.count && i <= run->stream; i++) {
        printf("  stream %zu:\n", i);
        print_stream(&view.streams[i]);
    }
    print_reply(run->one.name, &run->left, run->found.one);
    print_reply(run->other.name, &run->right, run->found.other);
    printf("  again: --seed %llu --episode %llu\n", (unsigned long long)seed,
           (unsigned long long)number);
    fflush(stdout);
    free_view(&view);
}

/* ---- main */

struct options {
    uint64_t commands;
    uint64_t seed;
    uint64_t episode;
    bool only_episode;
};

static int run_all(struct run *run, const struct options *options)
{
    uint64_t passed = 0;
    unsigned failed = 0;

    printf("seed %llu\n", (unsigned long long)options->seed);
    fflush(stdout);
    for (uint64_t number = options->episode; passed < options->commands; number++) {
        struct episode episode;

        episode_make(&episode, options->seed, number, run->strict);
        if (run_episode(run, &episode)) {
            passed += episode_commands(&episode);
        } else {
            failed++;
            report(run, &episode, options->seed, number);
        }
        episode_fini(&episode);
        if (options->only_episode || failed >= DIFFERENCES_MAX) {
            break;
        }
    }
    printf("%llu passed, %u failed\n", (unsigned long long)passed, failed);
    return failed == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    static const struct option names[] = {
        {"one", required_argument, NULL, 'a'},        {"other", required_argument, NULL, 'b'},
        {"commands", required_argument, NULL, 'n'},   {"seed", required_argument, NULL, 's'},
        {"episode", required_argument, NULL, 'e'},    {"strict", no_argument, NULL, 'x'},
        {"timeout-ms", required_argument, NULL, 't'}, {NULL, 0, NULL, 0},
    };
    struct options options = {.commands = 100000, .seed = (uint64_t)time(NULL)};
    struct run run = {.one = {.name = "memcached", .fd = -1},
                      .other = {.name = "the other", .fd = -1},
                      .timeout_ms = 10000};
    int option, status;

    while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
        switch (option) {
        case 'a':
            run.one.address = optarg;
            break;
        case 'b':
            run.other.address = optarg;
            break;
        case 'n':
            options.commands = strtoull(optarg, NULL, 10);
            break;
        case 's':
            options.seed = strtoull(optarg, NULL, 10);
            break;
        case 'e':
            options.episode = strtoull(optarg, NULL, 10);
            options.only_episode = true;
            break;
        case 't':
            run.timeout_ms = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'x':
            run.strict = true;
            break;
        default:
            return 2;
        }
    }
    if (run.one.address == NULL || run.other.address == NULL) {
        fprintf(stderr,
                "usage: differential --one ADDRESS --other ADDRESS [--commands N] [--seed S]"
                " [--episode N] [--strict] [--timeout-ms N]\n");
        return 2;
    }
    status = run_all(&run, &options);
    side_fini(&run.one);
    side_fini(&run.other);
    bytes_fini(&run.left);
    bytes_fini(&run.right);
    return status;
}
