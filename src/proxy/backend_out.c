/* See proxy/backend_out.h. */
#include "proxy/backend_out.h"

#include "base/io.h"
#include "proxy/backend_set.h"
#include "proxy/pipeline.h"
#include "proxy/server_counter.h"

#include <errno.h>
#include <unistd.h>

/* Drops the legs that n written bytes complete; returns how many. */
static unsigned advance(struct backend *backend, size_t n)
{
    unsigned completed = 0;

    backend->unsent_bytes -= n;
    while (n > 0) {
        struct leg *leg = backend->unsent;
        size_t left = pipeline_leg_bytes(leg) - backend->unsent_done;

        leg->is_begun = true;
        if (n < left) {
            backend->unsent_done += (uint32_t)n;
            break;
        }
        n -= left;
        completed++;
        leg->is_sent = true;
        backend->unsent = leg->next;
        backend->unsent_done = 0;
        if (backend->fresh == leg) {
            backend->fresh = leg->next;
        }
        if (leg->value.len > 0) {
            chunk_unref(leg->value.chunk);
            leg->value = (struct piece){0};
        }
        if (leg->is_answered) {
            pipeline_remove_first(backend, leg);
            exchange_free_if_over(leg->exchange);
        } else if (leg->kind != REPLY_VALUES && !leg->exchange->is_safe_to_repeat) {
            chunk_unref(leg->line.chunk);
            leg->line = (struct piece){0};
        }
    }
    return completed;
}

/* Counts one write of n bytes that completed so many legs. */
static void count_write(struct backend *backend, size_t n, unsigned completed)
{
    struct counters *counters = &backend->worker->counters;
    struct server_counters *server = backend->set->counters;

    count(counters, COUNTER_BACKEND_WRITES);
    count_add(counters, COUNTER_BACKEND_BYTES_WRITTEN, n);
    count_add(counters, COUNTER_BACKEND_REQUESTS, completed);
    count_server(server, SERVER_REQUESTS, completed);
    count_server(server, SERVER_WRITES, 1);
    count_server(server, SERVER_BYTES_WRITTEN, n);
    if (COUNTING && completed > 0) {
        histogram_add(&counters->batch, completed, 1);
    }
}

/* Gathers from the first unsent byte on. */
static void gather_legs(struct backend *backend, struct gathering *g)
{
    uint32_t skip = backend->unsent_done;

    for (struct leg *leg = backend->unsent; leg != NULL; leg = leg->next) {
        uint32_t line_skip = skip < leg->line.len ? skip : leg->line.len;
        uint32_t value_skip = skip - line_skip;

        if (!gathering_add(g, leg->line.data + line_skip, leg->line.len - line_skip) ||
            (leg->value.len > 0 &&
             !gathering_add(g, leg->value.data + value_skip, leg->value.len - value_skip))) {
            return;
        }
        skip = 0;
    }
}

/* Only what was queued since the last time: many may wait for a server that takes nothing. */
static void settle(struct backend *backend)
{
    for (struct leg *leg = backend->fresh; leg != NULL; leg = leg->next) {
        pipeline_own(leg);
    }
    backend->fresh = NULL;
}

static void flush(struct backend *backend)
{
    struct worker *worker = backend->worker;

    if (backend->state != BACKEND_READY || backend->is_choked) {
        settle(backend);
        return;
    }
    while (backend->state == BACKEND_READY && backend->unsent != NULL) {
        struct gathering g;
        ssize_t n;

        gathering_begin(&g, worker->write_buffer, WORKER_WRITE_BYTES);
        gather_legs(backend, &g);
        n = io_writev(backend->watch.fd, g.parts, g.count);
        if (n == -1 && errno == EINTR) {
            continue;
        }
        if (n == -1 && errno == EAGAIN) {
            n = 0;
        }
        if (n == -1) {
            backend_ended(backend, backend_cause_of_errno(errno));
            return;
        }
        count_write(backend, (size_t)n, advance(backend, (size_t)n));
        if ((size_t)n < g.total) {
            backend_listen_for(backend, BACKEND_HEARS | EPOLLOUT);
            backend->is_choked = (backend->watch.events & EPOLLOUT) != 0;
            settle(backend);
            return;
        }
    }
    if (backend->state == BACKEND_READY) {
        backend_listen_for(backend, BACKEND_HEARS);
    }
}

void backend_flush(struct backend *backend)
{
    list_remove(&backend->dirty_link);
    flush(backend);
    pipeline_publish(backend);
}
