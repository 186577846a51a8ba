/* See admin_top.h. */
#include "control/admin_top.h"

#include "base/clock.h"
#include "control/metrics.h"
#include "control/server_status.h"
#include "control/text.h"

#include <inttypes.h>

static void add_servers(struct control *control, struct evbuffer *out)
{
    const struct topology *topology = control->slot.current;

    evbuffer_add_printf(out, "%-24s %-9s %10s %9s %9s %9s %9s\r\n", "server", "state", "requests/s",
                        "errors/s", "in_flight", "queued_b", "conns");
    for (uint32_t p = 0; p < topology->pool_count; p++) {
        const struct topology_pool *pool = &topology->pools[p];

        for (uint32_t s = 0; s < pool->server_count; s++) {
            const struct server *server = pool->servers[s].server;
            struct server_status status;
            struct server_totals totals;
            struct server_rates rates;
            size_t before = evbuffer_get_length(out);
            int used;

            server_status_get(control, pool, s, &status);
            metrics_read_server(control, server, &totals);
            metrics_server_rates(control->metrics, server, &rates);
            text_add_word(out, slice_text(pool->name));
            evbuffer_add(out, "/", 1);
            text_add_word(out, slice_text(server->label));
            used = (int)(evbuffer_get_length(out) - before);
            evbuffer_add_printf(
                out, "%*s %-9s %10.0f %9.0f %9" PRIu64 " %9" PRIu64 " %9" PRIu64 "\r\n",
                used < 24 ? 24 - used : 0, "", status.state, rates.requests, rates.errors,
                totals.values[SERVER_IN_FLIGHT], totals.values[SERVER_QUEUED_BYTES],
                totals.values[SERVER_CONNECTIONS]);
        }
    }
}

bool admin_top_run(struct admin_call *call)
{
    static const struct moment none = {0};
    const struct moment *moment = metrics_moment(call->control->metrics, 0);
    double asked;

    moment = moment != NULL ? moment : &none;
    asked = moment->hits + moment->misses;
    evbuffer_add_printf(
        call->out, "up %" PRIu64 " s, %" PRIu64 " clients, %" PRIu64 " requests in flight\r\n",
        (clock_us() - call->control->started_us) / 1000000, moment->clients, moment->in_flight);
    evbuffer_add_printf(
        call->out, "%.0f requests/s, %.1f %% hits, %.0f errors/s, in %.1f MB/s, out %.1f MB/s\r\n",
        moment->requests, asked > 0 ? 100 * moment->hits / asked : 0, moment->errors,
        moment->read_bytes / 1e6, moment->written_bytes / 1e6);
    evbuffer_add_printf(call->out,
                        "latency p50 %" PRIu64 " us, p90 %" PRIu64 " us, p99 %" PRIu64
                        " us, p99.9 %" PRIu64 " us\r\n",
                        moment->p50_us, moment->p90_us, moment->p99_us, moment->p999_us);
    add_servers(call->control, call->out);
    evbuffer_add_printf(call->out, "END\r\n");
    return true;
}
