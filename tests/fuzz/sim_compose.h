/*
 * What scripted servers say: right answers, each with a serial of its own, and
 * wrong ones that show.
 */
#ifndef SIM_COMPOSE_H
#define SIM_COMPOSE_H

#include "sim_bytes.h"
#include "sim_request.h"

/* One line that came over a connection and is not answered yet. */
struct sim_leg {
    struct sim_request *request; /* NULL: stats or version, which nobody's name is on */
    bool is_version;
    unsigned key_count;
    uint8_t keys[REQUEST_KEYS_MAX];
};

void sim_compose_begin(void);

/*
 * A right answer to leg, malloc'ed; *values of them in it, *silenced where the client is not told
 * of it.
 */
struct sim_bytes sim_compose(const struct sim_leg *leg, uint8_t how, size_t size, unsigned *values,
                             bool *silenced);

/* Wrong in a way that shows; nothing in it may reach a client. */
void sim_compose_broken(struct sim_bytes *text, const struct sim_leg *leg, unsigned kind);

#endif
