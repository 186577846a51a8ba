/* See server_status.h. */
#include "control/server_status.h"

#include "base/clock.h"
#include "control/member.h"

void server_status_get(const struct control *control, const struct topology_pool *pool,
                       uint32_t number, struct server_status *status)
{
    const struct member *member = member_find(control, pool->servers[number].server);

    *status = (struct server_status){.state = "live", .cause = ""};
    if (member == NULL) {
        return;
    }
    status->state = member_state_text(member);
    status->since_wall_us = clock_wall_us() - (clock_us() - member->phase_since_us);
    if (member->phase != MEMBER_LIVE) {
        status->cause = health_cause_text(member->health.cause);
        status->since_wall_us = clock_wall_us() - (clock_us() - member->out_since_us);
    }
}
