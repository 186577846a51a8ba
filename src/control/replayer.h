/*
 * Sends one server the deletes it missed, or a flush_all, and sees to it that
 * every one was carried out. Runs on the control thread.
 */
#ifndef CONTROL_REPLAYER_H
#define CONTROL_REPLAYER_H

#include "base/address.h"
#include "proxy/journal.h"

#include <event2/event.h>

struct replayer;

/* Called once, from the loop; is_done: everything was acknowledged. May free the replayer. */
typedef void replayer_on_end(void *arg, bool is_done);

/*
 * Begins. entries stay the caller's and must live until the end; flushes: one flush_all instead of
 * them. idle_us is the longest silence of the server that is borne. NULL: out of memory, or no
 * endpoint.
 */
struct replayer *replayer_start(struct event_base *base, const struct endpoint *endpoints,
                                uint32_t endpoint_count, const struct journal_entry *entries,
                                bool flushes, uint64_t idle_us, replayer_on_end *on_end, void *arg);

/* Ends it without a call. NULL is fine. */
void replayer_free(struct replayer *replayer);

/* How many deletes were acknowledged so far. */
uint64_t replayer_done(const struct replayer *replayer);

#endif
