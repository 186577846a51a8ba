/* See control/admin_member.h. */
#include "control/admin_member.h"

#include "base/clock.h"
#include "config/units.h"
#include "control/admin.h"
#include "control/member.h"
#include "control/metrics.h"
#include "control/resolver.h"
#include "control/text.h"
#include "ring/compare.h"

#include <inttypes.h>
#include <stdlib.h>

/* How long it is until then. */
static double seconds_until(uint64_t at_us, uint64_t now_us)
{
    return (double)(at_us > now_us ? at_us - now_us : 0) / 1e6;
}

static void add_server(struct evbuffer *out, const struct member *member, double share)
{
    uint64_t now_us = clock_us();
    const struct health *health = &member->health;
    bool is_live = member->phase == MEMBER_LIVE;
    char address[ADDRESS_TEXT_MAX];
    struct server_totals totals;
    char next[32] = "-";
    const char *name_error = resolver_error(member->control->resolver, &member->server->address);

    address_format(&member->server->address, address, sizeof(address));
    if (prober_is_busy(member->prober)) {
        snprintf(next, sizeof(next), "now"); /* health has planned for no answer at all */
    } else if (health->next_probe_at_us != HEALTH_NEVER) {
        snprintf(next, sizeof(next), "%.1fs", seconds_until(health->next_probe_at_us, now_us));
    }
    evbuffer_add_printf(out, "SERVER %s/", member->server->pool_name);
    text_add_word(out, slice_text(member->server->label));
    evbuffer_add(out, " ", 1);
    text_add_word(out, slice_text(address));
    evbuffer_add_printf(out, " state=%s since=%.1fs share=%.3f%% failures=%u next_probe=%s",
                        member_state_text(member), (double)(now_us - member->phase_since_us) / 1e6,
                        share * 100, health->failures, next);
    metrics_read_server(member->control, member->server, &totals);
    evbuffer_add_printf(
        out, " connections=%" PRIu64 " in_flight=%" PRIu64 " requests=%" PRIu64 " errors=%" PRIu64,
        totals.values[SERVER_CONNECTIONS], totals.values[SERVER_IN_FLIGHT],
        totals.values[SERVER_REQUESTS], totals.errors_sum);
    evbuffer_add_printf(out, " to_delete=%" PRIu64 " replayed=%" PRIu64 " cause=\"%s\"",
                        member_keys_to_delete(member), member->replayed_total,
                        is_live ? "" : health_cause_text(health->cause));
    evbuffer_add_printf(out, " last_error=\"%s\"",
                        health->counted_us != 0 ? health_cause_text(health->last_cause) : "");
    if (health->ejected_until_us != 0 && health->ejected_until_us != HEALTH_NEVER) {
        evbuffer_add_printf(out, " out_for=%.1fs", seconds_until(health->ejected_until_us, now_us));
    }
    if (name_error != NULL) {
        evbuffer_add_printf(out, " name_error=\"%s\"", name_error);
    }
    evbuffer_add(out, "\r\n", 2);
}

bool admin_member_servers(struct admin_call *call)
{
    const struct topology *topology = call->control->slot.current;
    for (uint32_t p = 0; p < topology->pool_count; p++) {
        const struct topology_pool *pool = &topology->pools[p];
        double *shares = calloc(pool->server_count, sizeof(shares[0]));

        if (shares != NULL) {
            placement_shares(pool->placement, pool->live, shares);
        }
        for (uint32_t s = 0; s < pool->server_count; s++) {
            const struct member *member = member_find(call->control, pool->servers[s].server);

            if (member != NULL) {
                add_server(call->out, member, shares != NULL ? shares[s] : 0);
            }
        }
        free(shares);
    }
    evbuffer_add_printf(call->out, "END\r\n");
    return true;
}

/* The member that the first word names; NULL after an answer that says what is wrong. */
static struct member *named(struct admin_call *call, struct slice *rest, const char *usage)
{
    struct slice name = admin_next_word(rest);
    struct member *member;
    char error[400];

    if (name.len == 0) {
        evbuffer_add_printf(call->out, "ERROR usage: %s\r\n", usage);
        return NULL;
    }
    member = member_find_named(call->control, name, error, sizeof(error));
    if (member == NULL) {
        evbuffer_add_printf(call->out, "ERROR ");
        text_add_line(call->out, slice_text(error));
        evbuffer_add(call->out, "\r\n", 2);
    }
    return member;
}

bool admin_member_eject(struct admin_call *call)
{
    static const char usage[] = "eject NAME [for 60s]";
    struct slice arguments = call->arguments;
    struct member *member = named(call, &arguments, usage);
    struct slice word = admin_next_word(&arguments);
    uint64_t for_ms = 0;

    if (member == NULL) {
        return true;
    }
    if (word.len > 0) {
        struct slice duration = admin_next_word(&arguments);

        if (!slice_equals(word, SLICE("for")) ||
            units_parse_duration(duration, &for_ms) != UNITS_DONE || for_ms == 0 ||
            admin_next_word(&arguments).len > 0) {
            evbuffer_add_printf(call->out, "ERROR usage: %s\r\n", usage);
            return true;
        }
    }
    member_eject(member, for_ms * 1000);
    admin_answer_adopted(call);
    return true;
}

bool admin_member_restore(struct admin_call *call)
{
    struct slice arguments = call->arguments;
    struct member *member = named(call, &arguments, "restore NAME");

    if (member != NULL) {
        if (member->phase == MEMBER_LIVE && !member->is_tainted) {
            evbuffer_add_printf(call->out, "server ");
            text_add_line(call->out, slice_text(member->server->label));
            evbuffer_add_printf(call->out, " was live already\r\n");
        }
        member_restore(member);
        admin_answer_adopted(call);
    }
    return true;
}

bool admin_member_drain(struct admin_call *call)
{
    struct slice arguments = call->arguments;
    struct member *member = named(call, &arguments, "drain NAME");

    if (member != NULL) {
        member_drain(member);
        admin_answer_adopted(call);
    }
    return true;
}
