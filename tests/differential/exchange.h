/*
 * The two connections, and sending one stream over both at once.
 */
#ifndef DIFFERENTIAL_EXCHANGE_H
#define DIFFERENTIAL_EXCHANGE_H

#include "bytes.h"
#include "generate.h"

/* One side of the comparison. */
struct side {
    const char *name;
    const char *address;
    int fd; /* or -1 */
    struct bytes request;
    size_t sent;
    struct bytes reply;
    bool ended;           /* all that is due has come */
    bool closed;          /* by the peer */
    bool waits_for_close; /* else for the sentinel */
};

/* Connects where not connected; false with errno set. */
bool side_connect(struct side *side);
void side_close(struct side *side);
void side_fini(struct side *side);

/*
 * Sends both requests in pieces chosen by split_seed and reads until both
 * replies are whole. False when one did not end within the time.
 */
bool sides_exchange(struct side *one, struct side *other, const struct stream *stream,
                    unsigned timeout_ms);

#endif
