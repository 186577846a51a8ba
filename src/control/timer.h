/*
 * Timers that cannot be lost: where memory is short for one, it goes off at
 * once. Runs on the control thread.
 */
#ifndef CONTROL_TIMER_H
#define CONTROL_TIMER_H

#include <event2/event.h>
#include <stdint.h>

/* Lets timer go off after length_us, whenever it was to before. */
void timer_set(struct event *timer, uint64_t length_us);

#endif
