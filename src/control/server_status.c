#include "control/server_status.h"

void server_status_get(const struct control *control, const struct topology_pool *pool,
                       uint32_t number, struct server_status *status)
{
    static const char *const states[] = {
        [STANDING_OUT] = "ejected",
        [STANDING_LIVE] = "up",
        [STANDING_DOWN] = "down",
        [STANDING_GATED] = "changing",
    };

    (void)control;
    *status = (struct server_status){.state = states[pool->live[number]], .cause = ""};
}
