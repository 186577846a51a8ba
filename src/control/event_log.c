/* See event_log.h. */
#include "control/event_log.h"

#include "base/clock.h"
#include "base/log.h"
#include "control/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void keep(struct control *control, const char *text)
{
    struct event_log *log = control->events;

    if (log == NULL) {
        log = control->events = calloc(1, sizeof(*log));
        if (log == NULL) {
            return;
        }
    }
    log->events[log->count % EVENT_LOG_EVENTS].wall_us = clock_wall_us();
    snprintf(log->events[log->count % EVENT_LOG_EVENTS].text, EVENT_LOG_TEXT, "%s", text);
    log->count++;
}

void event_log_note(struct control *control, const char *format, ...)
{
    char text[EVENT_LOG_TEXT];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    keep(control, text);
}

void event_log_add(struct control *control, const char *format, ...)
{
    char text[EVENT_LOG_TEXT];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    log_notice("%s", text);
    keep(control, text);
}

const struct event_log_event *event_log_get(const struct control *control, unsigned before)
{
    const struct event_log *log = control->events;

    if (log == NULL || before >= log->count || before >= EVENT_LOG_EVENTS) {
        return NULL;
    }
    return &log->events[(log->count - 1 - before) % EVENT_LOG_EVENTS];
}

void event_log_free(struct control *control)
{
    free(control->events);
    control->events = NULL;
}

bool event_log_run(struct admin_call *call)
{
    const struct event_log_event *event;
    char time[32];

    for (unsigned i = EVENT_LOG_EVENTS; i > 0; i--) {
        event = event_log_get(call->control, i - 1);
        if (event != NULL) {
            evbuffer_add_printf(call->out, "%s ", text_time(event->wall_us, time));
            text_add_line(call->out, slice_text(event->text));
            evbuffer_add(call->out, "\r\n", 2);
        }
    }
    evbuffer_add_printf(call->out, "END\r\n");
    return true;
}
