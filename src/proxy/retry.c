/* See proxy/retry.h. */
#include "proxy/retry.h"

#include "proxy/backend_set.h"
#include "proxy/server_counter.h"
#include "proxy/standin.h"

enum {
    TRIES_SAME = 1,  /* a leg that broke off is tried once more on its own server ... */
    TRIES_MAX = 2,   /* ... and then once on the next */
    TRIES_ALONE = 8, /* on its own, where the next may hold old values: it waits for the verdict */
    MOVES_MAX = 250, /* reloads in a row that took its server away before it was sent */
};

static void count_retry(struct leg *leg)
{
    count(&leg->exchange->worker->counters, COUNTER_RETRIES);
    count_server(leg->backend->set->counters, SERVER_RETRIES, 1);
}

/* True where the leg's server was removed and there is another: its key's, or what replaced it. */
static bool has_elsewhere_to_go(const struct leg *leg)
{
    const struct backend_set *set = leg->backend != NULL ? leg->backend->set : NULL;

    return set != NULL && set->pool == NULL &&
           (leg->exchange->key.len > 0 || backend_set_of(set->worker, set->server) != NULL);
}

bool retry_leg(struct leg *leg, enum leg_cause cause)
{
    struct exchange *exchange = leg->exchange;
    bool is_broken_off = cause == LEG_RESET || cause == LEG_CLOSED || cause == LEG_CUT_OFF;
    bool is_unreached = cause == LEG_REFUSED || cause == LEG_UNREACHABLE ||
                        cause == LEG_CONNECT_TIMEOUT || cause == LEG_DOWN ||
                        cause == LEG_UNRESOLVED || cause == LEG_CROWDED || cause == LEG_REMOVED ||
                        (cause == LEG_BROKEN && !leg->is_begun);
    bool is_moved = cause == LEG_REMOVED && has_elsewhere_to_go(leg);

    if (exchange->is_released || leg->is_piped || leg->backend == NULL ||
        (leg->is_begun && !exchange->is_safe_to_repeat) || !(is_broken_off || is_unreached)) {
        return false;
    }
    if (is_moved ? leg->moves >= MOVES_MAX
                 : leg->tries >= (leg->is_alone ? TRIES_ALONE : TRIES_MAX)) {
        return false;
    }
    outq_fini(&leg->replies);
    leg->hits = 0;
    leg->next_ordinal = 0;
    leg->is_sent = false;
    leg->is_begun = false;
    leg->is_answered = false;
    leg->next_key = leg->line.data + leg->keys_at;
    if (is_moved) {
        leg->moves++;
        standin_release(leg);
        exchange_leg_route(leg);
        return true;
    }
    if (is_broken_off && leg->tries < (leg->is_alone ? TRIES_ALONE : TRIES_SAME)) {
        leg->tries++;
        count_retry(leg);
        backend_submit(leg->backend, leg);
        return true;
    }
    if (exchange->is_write || exchange->key.len == 0 || !leg->may_move || leg->is_alone) {
        return false;
    }
    leg->tries = TRIES_MAX;
    standin_release(leg);
    count_retry(leg);
    exchange_route(exchange, leg->backend->set->server, cause);
    return true;
}
