/*
 * What is said of a server everywhere: its state in a word, why, and since
 * when. Runs on the main thread.
 */
#ifndef CONTROL_SERVER_STATUS_H
#define CONTROL_SERVER_STATUS_H

#include "control/control.h"

struct server_status {
    const char *state;      /* member_state_text */
    const char *cause;      /* why it is not live; "" where it is */
    uint64_t since_wall_us; /* that it is live, or is not */
};

void server_status_get(const struct control *control, const struct topology_pool *pool,
                       uint32_t number, struct server_status *status);

#endif
