/* See control/timer.h. */
#include "control/timer.h"

enum { SECOND_US = 1000000 };

void timer_set(struct event *timer, uint64_t length_us)
{
    struct timeval wait = {
        .tv_sec = (time_t)(length_us / SECOND_US),
        .tv_usec = (suseconds_t)(length_us % SECOND_US),
    };

    if (event_add(timer, &wait) == -1) {
        event_active(timer, EV_TIMEOUT, 0); /* needs no memory */
    }
}
