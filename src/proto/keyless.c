/* See keyless.h. */
#include "proto/keyless.h"

#include "proto/number.h"
#include "proto/verdict.h"

/* What becomes of "stats <group>". */
struct stats_group {
    struct slice name;
    bool is_sent;           /* to all servers; else it is one process's business and refused */
    bool is_safe_to_repeat; /* reading twice harms nobody */
};

#define GROUP(literal)                                                                             \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }

/* clang-format off */
static const struct stats_group stats_groups[] = {
    { GROUP("reset"),         true,  false },
    { GROUP("settings"),      true,  true  },
    { GROUP("items"),         true,  true  },
    { GROUP("slabs"),         true,  true  },
    { GROUP("sizes"),         true,  true  },
    { GROUP("sizes_enable"),  false, false },
    { GROUP("sizes_disable"), false, false },
    { GROUP("conns"),         false, false },
    { GROUP("extstore"),      false, false },
    { GROUP("detail"),        false, false },
    { GROUP("cachedump"),     false, false },
};
/* clang-format on */

static void refuse(struct request *request, struct slice name, struct slice group)
{
    struct line_writer writer = verdict_writer(request);

    line_writer_word(&writer, SLICE("CLIENT_ERROR"));
    line_writer_word(&writer, name);
    if (group.len > 0) {
        line_writer_word(&writer, group);
    }
    line_writer_word(&writer, SLICE("is not available through a proxy"));
    request->route = ROUTE_LOCAL;
    request->answer = line_writer_end(&writer);
}

static void send_stats(struct request *request, struct slice group)
{
    struct line_writer writer = verdict_writer(request);

    line_writer_word(&writer, SLICE("stats"));
    if (group.len > 0) {
        line_writer_word(&writer, group);
    }
    request->stats_group = group;
    verdict_send(request, line_writer_end(&writer));
}

static void judge_stats(struct request *request, const struct line *line)
{
    if (line->word_count == 1) {
        request->is_safe_to_repeat = true;
        send_stats(request, SLICE(""));
        return;
    }
    for (size_t row = 0; row < ARRAY_LEN(stats_groups); row++) {
        const struct stats_group *group = &stats_groups[row];

        if (!slice_equals(group->name, line->words[1])) {
            continue;
        }
        if (group->is_sent) {
            request->is_safe_to_repeat = group->is_safe_to_repeat;
            send_stats(request, group->name);
        } else {
            refuse(request, SLICE("stats"), group->name);
        }
        return;
    }
    verdict_answer(request, ANSWER_ERROR);
}

static void judge_flush(struct request *request, const struct line *line,
                        const struct request_limits *limits)
{
    int64_t delay = 0;
    bool has_delay = line->word_count != (request->noreply ? 2 : 1);

    if (!limits->allow_flush) {
        verdict_answer(request, ANSWER_NO_FLUSH);
        return;
    }
    if (has_delay && !number_read_i64(line->words[1], &delay)) {
        verdict_answer(request, ANSWER_BAD_EXPTIME);
        return;
    }
    struct line_writer writer = verdict_writer(request);
    line_writer_word(&writer, SLICE("flush_all"));
    if (has_delay) {
        line_writer_i64(&writer, (int32_t)delay);
    }
    verdict_send(request, line_writer_end(&writer));
}

static void judge_verbosity(struct request *request, const struct line *line)
{
    uint64_t level;

    verdict_answer(request,
                   number_read_u64(line->words[1], &level) ? ANSWER_OK : ANSWER_BAD_FORMAT);
}

void keyless_judge(struct request *request, struct line *line, const struct request_limits *limits)
{
    const struct command *command = request->command;

    request->noreply = command->takes_noreply && line_ends_in_noreply(line);
    switch (command->id) {
    case COMMAND_STATS:
        judge_stats(request, line);
        break;
    case COMMAND_FLUSH_ALL:
        judge_flush(request, line, limits);
        break;
    case COMMAND_VERBOSITY:
        judge_verbosity(request, line);
        break;
    case COMMAND_MN:
        verdict_answer(request, ANSWER_MN);
        break;
    case COMMAND_VERSION:
        /* the proxy knows its servers' versions and fills in the answer */
        verdict_answer(request, ANSWER_NONE);
        break;
    case COMMAND_QUIT:
        verdict_close(request, ANSWER_NONE);
        break;
    case COMMAND_REFUSED:
        refuse(request, slice_make(command->name, command->name_len), SLICE(""));
        break;
    default:
        verdict_answer(request, ANSWER_ERROR);
        break;
    }
}
