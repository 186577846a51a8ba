/* See control/step.h. */
#include "control/step.h"

#include "base/clock.h"
#include "base/log.h"
#include "control/rebuild.h"
#include "control/timer.h"

static const char *const phase_texts[] = {
    [MEMBER_LIVE] = "live",           [MEMBER_LEAVING] = "leaving", [MEMBER_OUT] = "out",
    [MEMBER_RETURNING] = "returning", [MEMBER_JOINING] = "joining",
};

void step_to(struct member *member, enum member_phase next)
{
    log_debug("server %s: %s -> %s", member->server->label, phase_texts[member->phase],
              phase_texts[next]);
    member->phase = next;
    member->phase_since_us = clock_us();
    evtimer_del(member->step_timer);
}

void step_allow_ms(struct member *member, unsigned ms)
{
    timer_set(member->step_timer, (uint64_t)ms * 1000);
}

void step_ask_workers(struct member *member, enum surrender_quiet quiet, bool closes)
{
    struct control *control = member->control;

    member->surrenders_due = control->workers.count;
    member->ticket++;
    if (!workers_ask_journal(&control->workers, member->server, rebuild_generation(control), quiet,
                             closes, member->ticket)) {
        log_error("out of memory: server %s keeps its standing for now", member->server->label);
        member->surrenders_due = 0;
        step_allow_ms(member, STEP_GATE_MAX_MS);
    }
}
