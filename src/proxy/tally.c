/* See proxy/tally.h. */
#include "proxy/tally.h"

#include "proxy/trace.h"

enum finding { NO_FINDING, FOUND, NOT_FOUND };

/* What a reply of one line says about its key. */
static enum finding finding_of(const struct command *command, enum reply_code code)
{
    static const uint8_t by_code[CODE_SERVER_ERROR + 1] = {
        [CODE_DELETED] = FOUND,
        [CODE_TOUCHED] = FOUND,
        [CODE_NUMBER] = FOUND,
        [CODE_HD] = FOUND,
        [CODE_VA] = FOUND,
        [CODE_ME] = FOUND,
        [CODE_NOT_FOUND] = NOT_FOUND,
        [CODE_EN] = NOT_FOUND,
        [CODE_NF] = NOT_FOUND,
    };

    if (!command->takes_value) {
        return (enum finding)by_code[code];
    }
    if (command->id != COMMAND_CAS) {
        return NO_FINDING; /* storing is neither */
    }
    return code == CODE_STORED ? FOUND : code == CODE_NOT_FOUND ? NOT_FOUND : NO_FINDING;
}

void tally_reply(const struct exchange *exchange, const struct leg *leg)
{
    struct server_counters *server = leg->backend->set->counters;
    uint32_t hits = 0;
    uint32_t misses = 0;

    if (leg->kind != REPLY_VALUES) {
        enum finding finding = finding_of(exchange->command, (enum reply_code)leg->code);

        hits = finding == FOUND;
        misses = finding == NOT_FOUND;
    } else if (leg->code == CODE_END) {
        hits = leg->hits;
        misses = leg->key_count - leg->hits;
    }
    count_command(exchange->counters, COMMAND_HITS, hits);
    count_command(exchange->counters, COMMAND_MISSES, misses);
    count_server(server, SERVER_HITS, hits);
    count_server(server, SERVER_MISSES, misses);
    histogram_add_other(&server->latency, exchange->worker->now_us - leg->queued_us);
}

void tally_other_time(struct worker *worker, const struct exchange *exchange, uint64_t took_us,
                      uint64_t bytes)
{
    struct histogram *latency = &exchange->counters->latency;

    if (took_us < worker->trace->note_from_us) {
        histogram_add_other(latency, took_us);
        return;
    }
    histogram_add(latency, took_us, 1); /* the next such request is to be noted too */
    trace_note(worker, exchange, took_us, bytes);
}
