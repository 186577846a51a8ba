/*
 * A worker: one thread, one poller, its clients, its connections to
 * servers, its counters. Nothing in here is touched by another thread, but for
 * the mailbox, what is atomic, and what trace and hot publish under a lock.
 */
#ifndef PROXY_WORKER_H
#define PROXY_WORKER_H

#include "base/chunk.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mailbox.h"
#include "base/poller.h"
#include "proxy/counter.h"
#include "topology/topology.h"

#include <pthread.h>

enum {
    WORKER_SCRATCH_BYTES = 64 * 1024, /* chunk that small reads share */
    WORKER_READ_MIN = 16 * 1024,      /* least room for a read */
    WORKER_WRITE_BYTES = 64 * 1024,   /* small requests gathered for one write */
    WORKER_LARGE_BYTES = 64 * 1024,   /* worker->large_bytes, but for a test's own */
};

struct backend_set;
struct exchange;
struct hot;
struct journal_entry;
struct leg;
struct trace;
struct workers;

struct worker {
    struct counters counters;
    struct trace *trace;
    struct hot *hot;
    unsigned number;
    struct workers *all;
    pthread_t thread;
    struct mailbox mailbox;
    _Atomic unsigned told;    /* enum worker_word, not yet heard; any thread's */
    _Atomic uint64_t adopted; /* topology's generation, most once it has stopped; any thread's */
    struct watch mail_watch;

    struct topology *topology;
    struct backend_set **sets; /* by server slot; NULL where none */
    uint32_t set_count;
    struct list listeners;

    struct list handed_over;   /* mails with clients that others accepted, until the tick's end */
    _Atomic uint32_t arriving; /* those, and the ones still in the mailbox: any thread's */
    struct log_limit denied_log;
    struct log_limit paused_log;
    struct log_limit stalled_log;
    struct list clients;
    struct list dirty_clients;
    struct list resumed_clients; /* may parse again what they hold */
    struct list retired_clients;
    struct list dirty_backends;
    struct list retired_sets; /* of servers no longer configured */
    struct list surrenders;   /* journals asked for and not yet ripe */
    struct leg *first_held;   /* legs whose server is between two standings */
    struct leg *last_held;
    struct list waiting; /* exchanges with reply bytes that were not released yet */
    uint32_t client_count;
    uint64_t client_serial;

    struct chunk_pool pool;
    uint32_t large_bytes;  /* values of so many go through tubes: smaller ones are copied sooner */
    uint64_t memory_max;   /* bytes of the pool in use: this worker's part of max_memory */
    struct chunk *scratch; /* reads go here, each behind the last */
    struct chunk *gather;  /* small replies copied together */
    char *write_buffer;    /* small requests copied together for a write; only within a flush */
    struct exchange *free_exchanges;
    uint32_t free_exchange_count;
    uint32_t exchange_count; /* in use */
    uint32_t *leg_of_server; /* scratch for splitting a multi-get, by slot */

    uint64_t now_us;         /* when this tick began */
    uint64_t resumed_us;     /* when the process went on after it was stopped, or its machine was */
    uint64_t deadline_at_us; /* when backends are to be looked at; UINT64_MAX: no need */
    uint64_t second_at_us;   /* when the work of every second is due */
    uint64_t peak_bytes;     /* the most memory in use since it was last given back */
    bool lacks_memory;       /* somebody was refused some since the last second */
    bool is_draining;
    bool is_stopped;
    bool is_behind;       /* memory was short: a newer topology waits to be adopted */
    bool lacks_listeners; /* likewise: some listener of the topology is not there yet */

    struct poller poller;
};

/* What a worker can be told by mail. */
enum worker_mail {
    WORKER_MAIL_CLIENT,
    WORKER_MAIL_ROSTER,
    WORKER_MAIL_SURRENDER,
};

/* What it can be told without: a bit each, since memory must not be short for that. */
enum worker_word {
    WORKER_LOOK = 1, /* at the topology and the trace's settings */
    WORKER_DRAIN = 2,
    WORKER_STOP = 4,
};

/* What a worker waits for before it answers, and whether its notes come with the answer. */
enum surrender_quiet {
    SURRENDER_AT_ONCE,        /* the topology is adopted; no notes */
    SURRENDER_WHEN_QUIET,     /* and nothing sent to the server can still take effect; notes */
    SURRENDER_WHEN_ALL_QUIET, /* nor anything sent to others on its behalf; notes */
    SURRENDER_NOTES_AT_ONCE,  /* the topology is adopted; notes */
};

/* Asks for a server's journal; goes back to the control thread with it. */
struct worker_surrender_mail {
    struct mail mail;
    struct server *server; /* a reference */
    uint64_t generation;   /* of the topology that must have been adopted first */
    uint32_t ticket;       /* of the asking; comes back */
    enum surrender_quiet quiet;
    bool closes; /* the server's process is another one: its connections are dead */
    struct journal_entry *entries;
    bool is_overflowed;
    bool needs_flush;
};

/* Tells the control thread how a server behaved. */
struct verdict_mail {
    struct mail mail;
    struct server *server; /* a reference */
    int cause;             /* enum leg_cause */
    uint64_t begun_us;     /* when what failed was begun */
    uint64_t ended_us;     /* when that was seen */
};

struct worker_client_mail {
    struct mail mail;
    int fd;
    struct listen_socket *socket; /* the listener it came through; a reference */
};

/* All workers of the process, and what they share. */
struct workers {
    struct worker *at;
    unsigned count;
    struct topology_slot *slot;
    struct mailbox *control;   /* woken when a worker has stopped, told what servers did */
    uint32_t tubes_max;        /* a worker's, with so many descriptors as there are */
    _Atomic uint32_t clients;  /* over all workers, for max_clients */
    _Atomic bool is_draining;  /* no worker hands clients over any more */
    _Atomic unsigned draining; /* workers that take no new clients; control is woken with each */
    _Atomic unsigned stopped;  /* workers that have */
};

/* Starts count threads; they adopt what slot holds. False with one sentence in error. */
MUST_CHECK bool workers_start(struct workers *workers, unsigned count, struct topology_slot *slot,
                              struct mailbox *control, char *error, size_t error_size);

/* Asks all to look at the topology slot; control is woken when each has adopted what is there. */
void workers_wake(struct workers *workers);

/* The generation that no worker is behind. */
uint64_t workers_adopted(const struct workers *workers);

/*
 * Asks every worker for server's journal; each answers with one CONTROL_MAIL_SURRENDER. False:
 * out of memory, nobody was asked.
 */
MUST_CHECK bool workers_ask_journal(struct workers *workers, struct server *server,
                                    uint64_t generation, enum surrender_quiet quiet, bool closes,
                                    uint32_t ticket);

/* Asks all to take no new clients and to stop once the present ones are served. */
void workers_drain(struct workers *workers);

/* Asks all to stop at once. */
void workers_stop(struct workers *workers);

/* Waits for the threads and frees everything. */
void workers_join(struct workers *workers);

/*
 * The life of one worker, in this order; workers_start and workers_join see to it, and the turns
 * are made on a thread of its own. worker is zeroed. False: no event loop, and nothing to undo.
 */
MUST_CHECK bool worker_init(struct worker *worker, struct workers *all, unsigned number);

/* Takes over the topology that all->slot holds. False: out of memory; worker_fini is still due. */
MUST_CHECK bool worker_begin(struct worker *worker);

/* One turn. waits: sleeps until there is something to do. */
void worker_tick(struct worker *worker, bool waits);

/* Ends every client, answers nobody. */
void worker_end(struct worker *worker);

/* Frees what the worker still has. */
void worker_fini(struct worker *worker);

/* Kinds of mail to the control thread. */
enum control_mail {
    CONTROL_MAIL_VERDICT,
    CONTROL_MAIL_SURRENDER,
    CONTROL_MAIL_ROSTER,
};

/* True where buffers have reached this worker's part of max_memory. */
static inline bool worker_is_full(const struct worker *worker, uint64_t more)
{
    return worker->pool.used_bytes + more > worker->memory_max;
}

/* A request is refused for want of room. */
static inline void worker_refuse_room(struct worker *worker)
{
    worker->lacks_memory = true;
    count(&worker->counters, COUNTER_OUT_OF_MEMORY);
}

/*
 * Returns the shared chunk with at least WORKER_READ_MIN bytes of room behind
 * filled, or NULL out of memory. Valid until the end of the tick unless referenced.
 */
struct chunk *worker_scratch(struct worker *worker);

/* Sees to it that deadlines are looked at no later than at_us. */
void worker_want_deadline(struct worker *worker, uint64_t at_us);

#endif
