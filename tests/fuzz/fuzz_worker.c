/*
 * The whole data path: one worker, turned by hand, between scripted clients
 * and scripted servers under a clock of the script's. The input is the script;
 * after every step each byte that a client got must be due to it, and each
 * line that a server got must be somebody's. With SIM_TRACE in the environment
 * the steps are told.
 */
#include "base/log.h"
#include "proxy/journal.h"
#include "proxy/worker.h"

#include "sim_client.h"
#include "sim_kernel.h"
#include "sim_request.h"
#include "sim_server.h"
#include "sim_topology.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum {
    END_TURNS = 400,
    TUBED_BYTES = 16, /* a value of so many goes through a tube */
    STEPS_MAX = 600,
    CALM_US = SIM_TIMEOUT_MS * 400, /* so much may pass, and nothing has timed out */
    NO_TURN = 0x80,                 /* the worker is not turned behind this step */
};

/* Everything of one run that is not in a file of its own. */
struct run {
    struct workers all;
    struct worker worker;
    struct mailbox control;
    const uint8_t *at;
    const uint8_t *end;
    uint64_t passed_us;
    bool traces;
};

static void turn(struct run *run);

static uint8_t next(struct run *run)
{
    return run->at < run->end ? *run->at++ : 0;
}

/* ---- steps */

static void step_say(struct run *run)
{
    unsigned client = next(run);
    uint8_t template = next(run);
    uint8_t size = next(run);

    sim_client_say(client, template, size, next(run));
    if ((client & 0x40) == 0) {
        sim_client_push(client, UINT32_MAX);
    }
}

static void step_push(struct run *run)
{
    unsigned client = next(run);

    sim_client_push(client, 1u + next(run));
}

static void step_stall_client(struct run *run)
{
    sim_client_stall(next(run));
}

static void step_close_client(struct run *run)
{
    sim_client_close(next(run));
}

static void step_shut_client(struct run *run)
{
    sim_client_shut(next(run));
}

static void step_answer(struct run *run)
{
    unsigned conn = next(run);
    uint8_t how = next(run);

    sim_server_answer(conn, how, next(run));
    sim_server_push(conn, UINT32_MAX);
}

/* The answer is made and not sent. */
static void step_compose(struct run *run)
{
    unsigned conn = next(run);
    uint8_t how = next(run);

    sim_server_answer(conn, how, next(run));
}

static void step_push_server(struct run *run)
{
    unsigned conn = next(run);

    sim_server_push(conn, 1u + next(run));
}

static void step_answer_all(struct run *run)
{
    (void)run;
    sim_servers_answer_all();
}

static void step_break(struct run *run)
{
    unsigned conn = next(run);
    uint8_t kind = next(run);

    sim_server_break(conn, kind);
    sim_server_push(conn, kind < 128 ? UINT32_MAX : kind % 16u);
}

static void step_unasked(struct run *run)
{
    unsigned conn = next(run);

    sim_server_say_unasked(conn, next(run));
}

static void step_end(struct run *run)
{
    unsigned conn = next(run);

    sim_server_end(conn, (enum sim_end)(next(run) % 3));
}

static void step_connects(struct run *run)
{
    unsigned server = next(run);

    sim_server_connects(server, (enum sim_connect)(next(run) % 5));
}

static void step_settle(struct run *run)
{
    unsigned conn = next(run);

    sim_server_settle(conn, next(run) % 4 != 0);
}

static void step_stall_server(struct run *run)
{
    sim_server_stall(next(run));
}

static void step_stand(struct run *run)
{
    uint8_t how = next(run);

    sim_disturb();
    sim_topology_stand(how >> 4, (enum server_standing)(how & 3), (how & 4) != 0, how >= 0xc0);
    if ((how & 8) == 0) {
        sim_topology_publish();
    }
}

static void step_change(struct run *run)
{
    uint8_t how = next(run);

    sim_disturb();
    sim_topology_change(how & 15, 1 + (how >> 4) % 3);
    sim_topology_publish();
}

/* Clients of a listener that was removed stay as long as its pool does. */
static void step_listen(struct run *run)
{
    bool has_new_pool = (next(run) & 3) == 0;

    if (sim_topology_listen_elsewhere(has_new_pool) && has_new_pool) {
        sim_disturb();
        sim_clients_cut_off();
    }
    turn(run);
}

static void step_pass(struct run *run)
{
    static const uint32_t steps_us[] = {1000, 5000, 20000, 50000, 100000, 101000, 250000, 1100000};
    uint32_t us = steps_us[next(run) % ARRAY_LEN(steps_us)];

    run->passed_us += us;
    if (run->passed_us > CALM_US) {
        sim_disturb();
    }
    kernel_pass_us(us);
}

static void step_cut(struct run *run)
{
    uint8_t how = next(run);

    kernel_cut_writes(1u + (how & 3), how / 4u);
}

static void step_ask(struct run *run)
{
    uint8_t how = next(run);
    struct server *server = sim_topology_server(how);
    bool closes = (how & 16) != 0;

    if (server == NULL) {
        return;
    }
    if (closes) {
        sim_disturb();
    }
    if (!workers_ask_journal(&run->all, server, sim_topology_slot()->current->generation,
                             (enum surrender_quiet)(how >> 2 & 3), closes, how)) {
        abort();
    }
}

/* clang-format off */
static const struct {
    const char *name;
    void (*run)(struct run *run);
} steps[] = {
    {"a client says", step_say}, {"a client says", step_say}, {"a client says", step_say},
    {"a client sends", step_push}, {"a client stalls", step_stall_client},
    {"a client closes", step_close_client}, {"a client shuts", step_shut_client},
    {"a server answers", step_answer}, {"a server answers", step_answer},
    {"a server composes", step_compose}, {"a server sends", step_push_server},
    {"servers answer all", step_answer_all}, {"a server breaks", step_break},
    {"a server speaks unasked", step_unasked}, {"a connection ends", step_end},
    {"connects change", step_connects}, {"a connect settles", step_settle},
    {"a server stalls", step_stall_server}, {"a server stands otherwise", step_stand},
    {"servers change", step_change}, {"time passes", step_pass}, {"writes are cut", step_cut},
    {"the journal is asked for", step_ask}, {"the listener changes", step_listen},
};
/* clang-format on */

/* ---- the run */

/* Reads the control plane's mail, as it would. */
static void read_mail(struct run *run)
{
    struct list mails;
    struct list *at;

    list_init(&mails);
    mailbox_take(&run->control, &mails);
    while ((at = list_pop(&mails)) != NULL) {
        struct mail *mail = list_entry(at, struct mail, link);

        if (mail->kind == CONTROL_MAIL_VERDICT) {
            server_put(((struct verdict_mail *)mail)->server);
        } else {
            struct worker_surrender_mail *surrender = (struct worker_surrender_mail *)mail;

            while (surrender->entries != NULL) {
                struct journal_entry *entry = surrender->entries;

                surrender->entries = entry->next;
                journal_entry_free(entry);
            }
            server_put(surrender->server);
        }
        free(mail);
    }
}

static void turn(struct run *run)
{
    worker_tick(&run->worker, false);
    sim_clients_read();
    sim_servers_read();
    read_mail(run);
}

static void begin(struct run *run)
{
    static const uint64_t memories[] = {64 << 20, 64 << 20, 64 << 20, 200 << 10};
    uint8_t how = next(run);
    uint8_t more = next(run);
    uint64_t memory = memories[more >> 2 & 3];
    struct sim_limits limits = {
        .on_failure = (enum config_on_failure)(how >> 4 & 3) % 3,
        .rejoin = (how & 64) != 0 ? REJOIN_KEEP : REJOIN_REPLAY,
        .max_value_bytes = (how & 128) != 0 ? 1000 : 70000,
        .max_memory_bytes = memory,
    };
    int buffer_bytes = (more & 16) != 0 ? 1 : 0;

    kernel_begin(sim_server_on_connect);
    sim_requests_begin(limits.max_value_bytes, limits.on_failure == ON_FAILURE_MISS,
                       memory < 1 << 20);
    sim_servers_begin(buffer_bytes);
    sim_topology_begin(&limits, 1u + (how & 3), 1u + (how >> 2 & 3) % 3);
    if (!mailbox_init(&run->control)) {
        abort();
    }
    run->all = (struct workers){.at = &run->worker,
                                .count = 1,
                                .slot = sim_topology_slot(),
                                .control = &run->control,
                                .tubes_max = TUBES_MAX};
    if (!worker_init(&run->worker, &run->all, 0) || !worker_begin(&run->worker)) {
        abort();
    }
    if ((more & 32) != 0) {
        run->worker.large_bytes = TUBED_BYTES; /* else values are too small for tubes */
    }
    sim_clients_begin(&run->worker, buffer_bytes, memory < 1 << 20);
}

/* Everybody does what is due; first without, then with time passing. */
static void settle(struct run *run, bool drains)
{
    for (unsigned i = 0; i < SIM_SERVERS; i++) {
        sim_server_connects(i, CONNECT_AT_ONCE);
        sim_topology_stand(i, STANDING_LIVE, false, false);
    }
    sim_topology_publish();
    kernel_cut_writes(0, 0);
    for (unsigned i = 0; i < END_TURNS && !sim_clients_are_served(); i++) {
        sim_clients_push_all();
        if (!sim_is_calm() && i > END_TURNS / 4) {
            kernel_pass_us(20000);
        }
        turn(run);
        sim_servers_answer_all();
        if (drains && i == 20) {
            workers_drain(&run->all);
            sim_clients_drain();
        }
    }
    sim_clients_check_served();
}

static void end(struct run *run)
{
    struct worker *worker = &run->worker;

    sim_clients_end();
    for (unsigned i = 0; i < END_TURNS && (worker->exchange_count > 0 || worker->client_count > 0);
         i++) {
        sim_servers_answer_all();
        turn(run);
        kernel_pass_us(50000);
    }
    if (worker->exchange_count > 0 || worker->client_count > 0) {
        sim_fail("%u exchanges and %u clients are left", worker->exchange_count,
                 worker->client_count);
    }
    worker_end(worker);
    worker_fini(worker); /* asserts that no chunk is left */
    read_mail(run);
    mailbox_fini(&run->control);
    sim_servers_end();
    sim_topology_end();
    sim_requests_end();
    kernel_end();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    /* not on the stack: gcc's sanitizer does not align it there as a worker wants it */
    static struct run run;
    bool drains = len > 1 && (bytes[1] & 1) != 0;

    run = (struct run){.at = bytes, .end = bytes + len, .traces = getenv("SIM_TRACE") != NULL};
    log_set_level(LOG_LEVEL_ERROR);
    begin(&run);
    for (unsigned i = 0; i < STEPS_MAX && run.at < run.end; i++) {
        uint8_t op = next(&run);
        unsigned step = (op & ~(unsigned)NO_TURN) % ARRAY_LEN(steps);

        if (run.traces) {
            fprintf(stderr, "%u: %s %u %u%s\n", i, steps[step].name,
                    run.at < run.end ? run.at[0] : 0, run.at + 1 < run.end ? run.at[1] : 0,
                    (op & NO_TURN) != 0 ? "" : ", turn");
        }
        steps[step].run(&run);
        if ((op & NO_TURN) == 0) {
            turn(&run);
        }
    }
    settle(&run, drains);
    end(&run);
    return 0;
}
