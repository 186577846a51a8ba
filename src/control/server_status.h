/*
 * What is said of a server everywhere: its state in a word, why, and since
 * when. Runs on the main thread.
 */
#ifndef CONTROL_SERVER_STATUS_H
#define CONTROL_SERVER_STATUS_H

#include "control/control.h"

struct server_status {
    const char *state;       /* "up", "down", "ejected", ... */
    const char *cause;       /* why it is not up; "" where it is */
    uint64_t since_wall_us;  /* of the state; 0: since the start */
};

void server_status_get(const struct control *control, const struct topology_pool *pool,
                       uint32_t number, struct server_status *status);

#endif
