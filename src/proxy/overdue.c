/* See overdue.h. */
#include "proxy/overdue.h"

#include "base/log.h"
#include "proxy/client.h"

enum {
    LINGER_US = 1000000,
    STALL_US = 5000000, /* with memory, while others lack it */
};

/* True where the client takes no answers, or broke off within a request, and memory is held for it.
 */
static bool is_stalled(const struct client *client)
{
    const struct worker *worker = client->worker;

    if (worker->now_us - client->active_us <= STALL_US ||
        worker->now_us - worker->resumed_us <= STALL_US) {
        return false;
    }
    return !outq_is_empty(&client->out) || client->swallow_bytes > 0 ||
           (client->held != NULL && client->first == NULL);
}

static void close_stalled(struct client *client)
{
    struct worker *worker = client->worker;
    char peer[ADDRESS_TEXT_MAX] = "-";

    client_peer(client, peer, sizeof(peer));
    log_warn_limited(
        &worker->stalled_log,
        "client %s closed: memory is short, and it has kept some for %d s without a move", peer,
        STALL_US / 1000000);
    count(&worker->counters, COUNTER_CLIENTS_STALLED);
    client_retire(client);
}

void overdue_close_clients(struct worker *worker)
{
    uint64_t idle_us = worker->topology->client_idle_timeout_us;

    list_each_safe (at, after, &worker->clients) {
        struct client *client = list_entry(at, struct client, link);
        uint64_t silent_us = worker->now_us - client->active_us;

        if (client->state == CLIENT_LINGERING) {
            if (silent_us > LINGER_US) {
                client_retire(client);
            }
        } else if (idle_us != 0 && silent_us > idle_us && client->first == NULL) {
            count(&worker->counters, COUNTER_CLIENTS_IDLE_CLOSED);
            client_retire(client);
        } else if (worker->lacks_memory && is_stalled(client)) {
            close_stalled(client);
        }
    }
    worker->lacks_memory = false;
}
