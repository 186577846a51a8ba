/*
 * What happened of late to servers and configuration: reloads, ejections,
 * rejoins. The last few are kept for the admin port and the page; each is
 * logged too. Runs on the main thread.
 */
#ifndef CONTROL_EVENT_LOG_H
#define CONTROL_EVENT_LOG_H

#include "control/admin_command.h"

enum {
    EVENT_LOG_EVENTS = 64,
    EVENT_LOG_TEXT = 240,
};

struct event_log_event {
    uint64_t wall_us;
    char text[EVENT_LOG_TEXT];
};

/* Zeroed is empty. */
struct event_log {
    struct event_log_event events[EVENT_LOG_EVENTS];
    uint64_t count; /* ever */
};

/* Notes one event, one line without its end. */
__attribute__((format(printf, 2, 3))) void event_log_note(struct control *control,
                                                          const char *format, ...);

/* The same, and logs it as a notice. */
__attribute__((format(printf, 2, 3))) void event_log_add(struct control *control,
                                                         const char *format, ...);

/* The event that many before the last one (0), or NULL where it is not kept. */
const struct event_log_event *event_log_get(const struct control *control, unsigned before);

void event_log_free(struct control *control);

/* The admin command. */
bool event_log_run(struct admin_call *call);

#endif
