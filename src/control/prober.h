/*
 * Asks one server how it is, over connections of its own: "version" for its
 * health, over one that is kept open, and "stats" for its age, over one that is
 * not. Judges nothing (topology/health.h) and keeps no time table. Runs on the
 * control thread.
 */
#ifndef CONTROL_PROBER_H
#define CONTROL_PROBER_H

#include "base/address.h"
#include "topology/health.h"

#include <event2/event.h>

struct prober;

struct probe_result {
    enum health_cause cause; /* HEALTH_NO_CAUSE: it is well */
    uint64_t begun_us;       /* monotonic */
    uint64_t ended_us;
    struct slice version; /* behind "VERSION "; valid during the call; empty on failure */
};

struct uptime_result {
    enum health_cause cause; /* HEALTH_NO_CAUSE: the two below are known */
    uint64_t begun_us;
    uint64_t ended_us;
    uint64_t pid;
    uint64_t uptime_s;
};

/* Each is called exactly once for a start, from the loop; may start anew or free the prober. */
struct prober_callbacks {
    void (*on_probe)(void *arg, const struct probe_result *result);
    void (*on_uptime)(void *arg, const struct uptime_result *result); /* NULL: never asked */
};

/* NULL out of memory. */
struct prober *prober_new(struct event_base *base, const struct prober_callbacks *callbacks,
                          void *arg);

/* Ends what is under way without a call. NULL is fine. */
void prober_free(struct prober *prober);

/*
 * Begins a probe of the server at the endpoints (copied; 0 of them: it fails as
 * unresolved). All are tried within timeout_us. Does nothing where one is under way.
 */
void prober_start(struct prober *prober, const struct endpoint *endpoints, uint32_t count,
                  uint64_t timeout_us);
bool prober_is_busy(const struct prober *prober);

/* Begins to ask for pid and uptime, likewise and independently of a probe. */
void prober_uptime(struct prober *prober, const struct endpoint *endpoints, uint32_t count,
                   uint64_t timeout_us);

#endif
