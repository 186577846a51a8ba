/*
 * Requests seen one by one: `watch` streams them to admin sessions as they
 * are answered, `slow` shows the slowest of late, `hot` the most frequent
 * keys. Runs on the main thread; the workers' side is proxy/trace.h
 * and proxy/hot.h.
 */
#ifndef CONTROL_WATCH_H
#define CONTROL_WATCH_H

#include "control/admin_command.h"
#include "proxy/hot.h"
#include "proxy/trace.h"

bool watch_run(struct admin_call *call);
bool watch_slow_run(struct admin_call *call);
bool watch_hot_run(struct admin_call *call);

/* The session sees no more; harmless where it saw nothing. */
void watch_stop(struct control *control, const struct session *session);
bool watch_is_on(const struct control *control, const struct session *session);

/* Its peer sends no more, and may be gone: a watching session gets a line now and then. */
void watch_half_closed(struct control *control, const struct session *session);

void watch_free(struct control *control);

/* A key that many ask for, over all workers. */
struct hot_key {
    uint64_t count; /* at most; about as many requests as there were ... */
    uint64_t error; /* ... less at most this */
    uint8_t len;
    char key[SPACE_SAVING_KEY_MAX];
};

/* Fills keys with up to max, the most frequent first; returns how many. total: of all keys. */
size_t watch_hot(const struct control *control, struct hot_key *keys, size_t max, uint64_t *total);

#endif
