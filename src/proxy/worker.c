/* See proxy/worker.h. */
#include "proxy/worker.h"

#include "proxy/adopt.h"
#include "proxy/backend.h"
#include "proxy/backend_out.h"
#include "proxy/client.h"
#include "proxy/deadline.h"
#include "proxy/hot.h"
#include "proxy/listener.h"
#include "proxy/overdue.h"
#include "proxy/roster.h"
#include "proxy/standin.h"
#include "proxy/trace.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SECOND_US = 1000000,
    BEHIND_US = 10000,    /* between tries to adopt a topology that there was no memory for */
    STOPPED_US = 250000,  /* no turn takes so long by itself */
    TRIM_BYTES = 1 << 20, /* a peak below this is not worth giving back */
};

struct chunk *worker_scratch(struct worker *worker)
{
    if (worker->scratch != NULL && chunk_room(worker->scratch) < WORKER_READ_MIN) {
        chunk_unref(worker->scratch);
        worker->scratch = NULL;
    }
    if (worker->scratch == NULL) {
        worker->scratch = chunk_new(&worker->pool, WORKER_SCRATCH_BYTES - sizeof(struct chunk));
        if (worker->scratch != NULL) {
            worker->scratch->is_shared = true;
        }
    }
    return worker->scratch;
}

void worker_want_deadline(struct worker *worker, uint64_t at_us)
{
    if (at_us < worker->deadline_at_us) {
        worker->deadline_at_us = at_us;
    }
}

static void expire_set(struct worker *worker, struct backend_set *set)
{
    for (unsigned i = 0; i < set->count; i++) {
        worker_want_deadline(worker, deadline_expire(&set->backends[i], worker->now_us));
    }
}

/* Fails what is due, and finds out when to look again. */
static void expire(struct worker *worker)
{
    worker->deadline_at_us = UINT64_MAX;
    for (uint32_t s = 0; s < worker->set_count; s++) {
        if (worker->sets[s] != NULL) {
            expire_set(worker, worker->sets[s]);
        }
    }
    worker_want_deadline(worker, standin_expire(worker, worker->now_us));
    list_each (at, &worker->retired_sets) {
        expire_set(worker, list_entry(at, struct backend_set, retired_link));
    }
}

static void every_second(struct worker *worker)
{
    worker->second_at_us = worker->now_us + SECOND_US;
    overdue_close_clients(worker);
    standin_forget_notes(worker);
    trace_publish(worker);
    hot_publish(worker->hot);
    tube_pool_age(&worker->pool.tubes);
    list_each (at, &worker->listeners) {
        listener_resume(list_entry(at, struct listener, link));
    }
    if (worker->lacks_listeners) {
        adopt_missing_listeners(worker);
    }
    if (worker->peak_bytes > TRIM_BYTES && worker->pool.used_bytes < worker->peak_bytes / 2) {
        worker->peak_bytes = 0;
        chunk_pool_trim(&worker->pool);
        while (worker->free_exchanges != NULL) {
            struct exchange *exchange = worker->free_exchanges;

            worker->free_exchanges = exchange->next;
            free(exchange);
        }
        worker->free_exchange_count = 0;
        malloc_trim(0);
    }
}

/* Clients accepted by others; one of them may have adopted a new listener before this worker. */
static void take_clients(struct worker *worker)
{
    struct list *at;

    if (worker->is_behind || worker->lacks_listeners) {
        return; /* they may have come by a listener that there was no memory for yet */
    }
    while ((at = list_pop(&worker->handed_over)) != NULL) {
        struct worker_client_mail *mail = list_entry(at, struct worker_client_mail, mail.link);
        struct listener *listener = adopt_find_listener(worker, mail->socket);

        if (listener == NULL || listener->is_removed) {
            atomic_fetch_sub_explicit(&worker->all->clients, 1, memory_order_relaxed);
            close(mail->fd);
        } else if (!listener_admits(listener, mail->fd)) { /* any more */
            atomic_fetch_sub_explicit(&worker->all->clients, 1, memory_order_relaxed);
            listener_deny(listener, mail->fd);
        } else {
            listener_take(listener, mail->fd);
        }
        atomic_fetch_sub(&worker->arriving, 1);
        listen_socket_put(mail->socket);
        free(mail);
    }
}

/* Takes no new clients; the present ones are closed as soon as nothing of theirs is under way. */
static void start_draining(struct worker *worker)
{
    worker->is_draining = true;
    list_each (at, &worker->listeners) {
        listener_finish(list_entry(at, struct listener, link));
    }
    atomic_fetch_add(&worker->all->draining, 1);
    mailbox_wake(worker->all->control);
    list_each_safe (at, after, &worker->clients) {
        struct client *client = list_entry(at, struct client, link);

        client_drain(client);
    }
}

/* Acts on what it was told without mail. */
static void hear(struct worker *worker)
{
    unsigned told = atomic_exchange(&worker->told, 0);

    if (told & WORKER_LOOK) {
        trace_look(worker); /* the topology is looked at at the end of every tick */
    }
    if (told & WORKER_DRAIN) {
        start_draining(worker);
    }
    if (told & WORKER_STOP) {
        worker->is_stopped = true;
    }
}

static void on_mail(struct watch *watch, uint32_t events)
{
    struct worker *worker = watch_owner(watch, struct worker, mail_watch);
    struct list mails;
    struct list *at;

    (void)events;
    list_init(&mails);
    mailbox_take(&worker->mailbox, &mails);
    while ((at = list_pop(&mails)) != NULL) {
        struct mail *mail = list_entry(at, struct mail, link);

        switch ((enum worker_mail)mail->kind) {
        case WORKER_MAIL_CLIENT:
            list_add_tail(&worker->handed_over, &mail->link);
            continue; /* taken once the newest topology is adopted */
        case WORKER_MAIL_ROSTER:
            roster_answer(worker, (struct worker_roster_mail *)mail);
            break;
        case WORKER_MAIL_SURRENDER:
            standin_ask(worker, (struct worker_surrender_mail *)mail);
            continue; /* it goes back with the answer */
        }
        free(mail);
    }
    hear(worker);
}

static void flush_backends(struct worker *worker)
{
    struct list *at;

    while (!list_is_empty(&worker->dirty_backends)) {
        at = worker->dirty_backends.next;
        backend_flush(list_entry(at, struct backend, dirty_link));
    }
}

static void flush_clients(struct worker *worker)
{
    while (!list_is_empty(&worker->dirty_clients)) {
        client_flush(list_entry(worker->dirty_clients.next, struct client, dirty_link));
    }
}

/* Clients that had more than enough under way and may go on. */
static void resume_clients(struct worker *worker)
{
    struct list *at;

    while ((at = list_pop(&worker->resumed_clients)) != NULL) {
        client_resume(list_entry(at, struct client, resumed_link));
    }
}

/* Copies what must live longer than the tick out of the shared chunks; makes these new again. */
static void settle(struct worker *worker)
{
    struct list *at;

    while ((at = list_pop(&worker->waiting)) != NULL) {
        exchange_settle(list_entry(at, struct exchange, waiting_link));
    }
    if (worker->scratch != NULL && worker->scratch->refs == 1) {
        worker->scratch->filled = 0;
    }
    if (worker->gather != NULL && worker->gather->refs == 1) {
        worker->gather->filled = 0;
    }
}

static void free_retired(struct worker *worker)
{
    while (!list_is_empty(&worker->retired_clients)) {
        client_free(list_entry(worker->retired_clients.next, struct client, link));
    }
    adopt_free_retired(worker);
}

/* True where the end of the last turn left something to be written. */
static bool has_work(const struct worker *worker)
{
    return !list_is_empty(&worker->dirty_backends) || !list_is_empty(&worker->dirty_clients) ||
           !list_is_empty(&worker->resumed_clients);
}

/* Brings the counters up to date that are not kept so request by request. */
static void publish(struct worker *worker)
{
    uint64_t in_use = worker->pool.used_bytes;

    struct counters *counters = &worker->counters;

    count(counters, COUNTER_TICKS);
    worker->peak_bytes = in_use > worker->peak_bytes ? in_use : worker->peak_bytes;
    count_set(counters, COUNTER_MEMORY, in_use);
    count_set(counters, COUNTER_IN_FLIGHT, worker->exchange_count);
}

/* When something is due by the clock. */
static uint64_t due_at_us(const struct worker *worker)
{
    uint64_t at_us = worker->deadline_at_us < worker->second_at_us ? worker->deadline_at_us
                                                                   : worker->second_at_us;

    return worker->is_behind && at_us > worker->now_us + BEHIND_US ? worker->now_us + BEHIND_US
                                                                   : at_us;
}

static void see_to_what_is_due(struct worker *worker)
{
    if (worker->now_us >= worker->deadline_at_us) {
        expire(worker);
    }
    if (worker->now_us >= worker->second_at_us) {
        every_second(worker);
    }
}

/*
 * Sleeps until there is something to do. One that slept far longer than it was to was stopped: what
 * it has not heard in that time is nobody's fault.
 */
static void sleep_and_look(struct worker *worker, bool waits)
{
    uint64_t until_us = !waits || has_work(worker) ? 0 : due_at_us(worker);
    uint64_t latest_us = (until_us > worker->now_us ? until_us : worker->now_us) + STOPPED_US;

    poller_wait(&worker->poller, until_us);
    worker->now_us = clock_us();
    if (waits && worker->now_us > latest_us) {
        worker->resumed_us = worker->now_us;
    }
}

/* New periodic work gets a line here. */
void worker_tick(struct worker *worker, bool waits)
{
    sleep_and_look(worker, waits);
    poller_call(&worker->poller); /* callbacks parse, route and queue; nobody writes yet */
    see_to_what_is_due(worker);   /* after the callbacks: a reply that is here is in time */
    flush_backends(worker);       /* one write for each that is dirty */
    flush_clients(worker);
    resume_clients(worker);
    settle(worker);
    publish(worker);
    free_retired(worker);
    adopt_topology(worker);
    take_clients(worker);
    standin_surrender(worker);
}

bool worker_begin(struct worker *worker)
{
    worker->now_us = clock_us();
    worker->second_at_us = worker->now_us + SECOND_US;
    adopt_topology(worker);
    return worker->topology != NULL && !worker->lacks_listeners;
}

void worker_end(struct worker *worker)
{
    list_each_safe (at, after, &worker->clients) {
        client_retire(list_entry(at, struct client, link));
    }
    free_retired(worker);
}

/* True where nobody is left to be served, nor on the way here. */
static bool is_drained(struct worker *worker)
{
    return worker->is_draining && worker->client_count == 0 && atomic_load(&worker->arriving) == 0;
}

static void *run(void *arg)
{
    struct worker *worker = arg;

    while (!worker->is_stopped && !is_drained(worker)) {
        worker_tick(worker, true);
    }
    worker_end(worker);
    atomic_store(&worker->adopted, UINT64_MAX); /* nothing goes by an older one here */
    atomic_fetch_add(&worker->all->stopped, 1);
    mailbox_wake(worker->all->control);
    return NULL;
}

bool worker_init(struct worker *worker, struct workers *all, unsigned number)
{
    worker->number = number;
    worker->all = all;
    list_init(&worker->listeners);
    list_init(&worker->handed_over);
    list_init(&worker->clients);
    list_init(&worker->dirty_clients);
    list_init(&worker->resumed_clients);
    list_init(&worker->retired_clients);
    list_init(&worker->dirty_backends);
    list_init(&worker->retired_sets);
    list_init(&worker->waiting);
    list_init(&worker->surrenders);
    chunk_pool_init(&worker->pool);
    tube_pool_init(&worker->pool.tubes, all->tubes_max);
    worker->large_bytes = WORKER_LARGE_BYTES;
    worker->deadline_at_us = UINT64_MAX;
    worker->write_buffer = malloc(WORKER_WRITE_BYTES);
    worker->trace = trace_new();
    worker->hot = hot_new();
    worker->poller.fd = -1;
    worker->poller.timer.fd = -1;
    worker->mailbox.wake_fd = -1;
    if (worker->write_buffer == NULL || worker->trace == NULL || worker->hot == NULL ||
        !poller_init(&worker->poller) || !mailbox_init(&worker->mailbox)) {
        goto fail;
    }
    worker->mail_watch = (struct watch){.on_ready = on_mail, .fd = worker->mailbox.wake_fd};
    if (!poller_set(&worker->poller, &worker->mail_watch, EPOLLIN)) {
        goto fail;
    }
    return true;

fail:
    if (worker->mailbox.wake_fd != -1) {
        mailbox_fini(&worker->mailbox);
    }
    poller_fini(&worker->poller);
    hot_free(worker->hot);
    trace_free(worker->trace);
    free(worker->write_buffer);
    return false;
}

/* Makes the workers, ready to turn. False with a sentence: some may have been made. */
static bool make_workers(struct workers *workers, unsigned count, char *error, size_t error_size)
{
    for (unsigned i = 0; i < count; i++) {
        if (!worker_init(&workers->at[i], workers, i)) {
            snprintf(error, error_size,
                     "cannot make worker %u: out of memory or of file descriptors", i);
            return false;
        }
        workers->count = i + 1;
    }
    for (unsigned i = 0; i < count; i++) { /* all are there: they look at each other */
        if (!worker_begin(&workers->at[i])) {
            snprintf(error, error_size, "cannot start worker %u: out of memory", i);
            return false;
        }
    }
    return true;
}

/* Starts a thread for each. False with a sentence: those that were started have ended again. */
static bool start_threads(struct workers *workers, char *error, size_t error_size)
{
    for (unsigned i = 0; i < workers->count; i++) {
        int failure = pthread_create(&workers->at[i].thread, NULL, run, &workers->at[i]);

        if (failure != 0) {
            snprintf(error, error_size, "cannot start worker %u: %s", i, strerror(failure));
            workers_stop(workers);
            while (i > 0) {
                pthread_join(workers->at[--i].thread, NULL);
            }
            return false;
        }
    }
    return true;
}

/* Frees workers whose threads have ended, or never began. */
static void free_workers(struct workers *workers)
{
    for (unsigned i = 0; i < workers->count; i++) {
        worker_fini(&workers->at[i]);
    }
    free(workers->at);
    workers->at = NULL;
    workers->count = 0;
}

bool workers_start(struct workers *workers, unsigned worker_count, struct topology_slot *slot,
                   struct mailbox *control, char *error, size_t error_size)
{
    sigset_t all_signals;
    sigset_t before;
    bool done;

    memset(workers, 0, sizeof(*workers));
    workers->slot = slot;
    workers->control = control;
    workers->tubes_max = tube_pool_share(worker_count);
    workers->at = aligned_alloc(64, worker_count * sizeof(workers->at[0]));
    if (workers->at == NULL) {
        snprintf(error, error_size, "out of memory");
        return false;
    }
    memset(workers->at, 0, worker_count * sizeof(workers->at[0]));
    sigfillset(&all_signals); /* signals are the control thread's */
    pthread_sigmask(SIG_BLOCK, &all_signals, &before);
    done = make_workers(workers, worker_count, error, error_size) &&
           start_threads(workers, error, error_size);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!done) {
        free_workers(workers);
    }
    return done;
}

static void tell_all(struct workers *workers, enum worker_word word)
{
    for (unsigned i = 0; i < workers->count; i++) {
        atomic_fetch_or(&workers->at[i].told, word);
        mailbox_wake(&workers->at[i].mailbox);
    }
}

void workers_wake(struct workers *workers)
{
    tell_all(workers, WORKER_LOOK);
}

uint64_t workers_adopted(const struct workers *workers)
{
    uint64_t least = UINT64_MAX;

    for (unsigned i = 0; i < workers->count; i++) {
        uint64_t adopted = atomic_load(&workers->at[i].adopted);

        least = adopted < least ? adopted : least;
    }
    return least;
}

bool workers_ask_journal(struct workers *workers, struct server *server, uint64_t generation,
                         enum surrender_quiet quiet, bool closes, uint32_t ticket)
{
    struct list mails;
    struct list *at;

    list_init(&mails);
    for (unsigned i = 0; i < workers->count; i++) {
        struct worker_surrender_mail *mail = calloc(1, sizeof(*mail));

        if (mail == NULL) {
            while ((at = list_pop(&mails)) != NULL) {
                mail = list_entry(at, struct worker_surrender_mail, mail.link);
                server_put(mail->server);
                free(mail);
            }
            return false;
        }
        mail->mail.kind = WORKER_MAIL_SURRENDER;
        mail->server = server_get(server);
        mail->generation = generation;
        mail->quiet = quiet;
        mail->ticket = ticket;
        mail->closes = closes;
        list_add_tail(&mails, &mail->mail.link);
    }
    for (unsigned i = 0; (at = list_pop(&mails)) != NULL; i++) {
        mailbox_post(&workers->at[i].mailbox, list_entry(at, struct mail, link));
    }
    return true;
}

void workers_drain(struct workers *workers)
{
    atomic_store(&workers->is_draining, true);
    tell_all(workers, WORKER_DRAIN);
}

void workers_stop(struct workers *workers)
{
    tell_all(workers, WORKER_STOP);
}

/* Frees mails that the worker will not act on. */
static void free_mails(struct list *mails)
{
    struct list *at;

    while ((at = list_pop(mails)) != NULL) {
        struct mail *mail = list_entry(at, struct mail, link);

        if (mail->kind == WORKER_MAIL_CLIENT) {
            struct worker_client_mail *client = (struct worker_client_mail *)mail;

            close(client->fd);
            listen_socket_put(client->socket);
        } else if (mail->kind == WORKER_MAIL_ROSTER) {
            free(((struct worker_roster_mail *)mail)->answer);
        } else if (mail->kind == WORKER_MAIL_SURRENDER) {
            server_put(((struct worker_surrender_mail *)mail)->server);
        }
        free(mail);
    }
}

void worker_fini(struct worker *worker)
{
    struct list mails;

    standin_forget(worker);
    adopt_nothing(worker);
    free_mails(&worker->handed_over);
    list_init(&mails);
    mailbox_take(&worker->mailbox, &mails);
    free_mails(&mails);
    mailbox_fini(&worker->mailbox);
    poller_fini(&worker->poller);
    while (worker->free_exchanges != NULL) {
        struct exchange *exchange = worker->free_exchanges;

        worker->free_exchanges = exchange->next;
        free(exchange);
    }
    chunk_unref(worker->scratch);
    chunk_unref(worker->gather);
    chunk_pool_fini(&worker->pool);
    free(worker->write_buffer);
    trace_free(worker->trace);
    hot_free(worker->hot);
    for (int i = 0; i < COMMAND_COUNT; i++) {
        histogram_fini(&worker->counters.commands[i].latency);
    }
    histogram_fini(&worker->counters.batch);
}

void workers_join(struct workers *workers)
{
    for (unsigned i = 0; i < workers->count; i++) {
        pthread_join(workers->at[i].thread, NULL);
    }
    free_workers(workers);
}
