/*
 * A configured server as the control plane sees it: its health, its standing,
 * and the way it leaves and returns without a stale value being shown.
 *
 * Leaving: the gate is closed (its requests are held), every worker says so,
 * then others stand in for it. Returning: once nothing sent to it before can
 * still take effect, the keys written meanwhile are deleted from it; the gate
 * is closed, the last of them follow, it is live. Then its stand-ins are rid
 * of their copies. Runs on the control thread.
 */
#ifndef CONTROL_MEMBER_H
#define CONTROL_MEMBER_H

#include "control/control.h"
#include "control/prober.h"
#include "control/replayer.h"
#include "topology/health.h"

enum member_phase {
    MEMBER_LIVE,      /* takes traffic */
    MEMBER_LEAVING,   /* gate closed: waits for every worker */
    MEMBER_OUT,       /* others stand in, or, where they may not, its requests fail */
    MEMBER_RETURNING, /* gets well: waits for what was sent before, then is brought up to date */
    MEMBER_JOINING,   /* gate closed: the last keys follow */
};

struct member {
    struct control *control;
    struct server *server;          /* a reference */
    const struct config_pool *pool; /* in the configuration in force */
    struct health health;
    struct health_rules rules;
    struct prober *prober;
    struct event *timer;      /* health's next moment */
    struct event *step_timer; /* a step that takes too long */
    enum member_phase phase;
    uint64_t phase_since_us;
    uint64_t out_since_us;   /* when it last stopped being live */
    unsigned surrenders_due; /* workers that have not answered yet ... */
    uint32_t ticket;         /* ... what they were asked last */
    uint64_t ejected_for_us; /* as the operator said last; 0: until restored */
    bool has_left;           /* LEAVING: every worker knows */
    bool is_gate_open;       /* OUT: nobody may stand in, so its requests fail */
    bool has_restarted;      /* since it left: its process is another one, and empty */
    bool is_tainted;         /* stand-ins hold keys of its that could not be noted */
    bool has_debts;          /* stand-ins still have to lose its keys */
    bool needs_flush;
    bool was_flushed;                /* since it began to return */
    struct journal_entry *deletes;   /* keys to be deleted from it */
    struct journal_entry *replaying; /* those of them that are on the way */
    bool is_flushing;
    struct journal_entry *owed; /* keys to be deleted from its stand-ins once it is live */
    uint64_t owed_count;
    uint64_t delete_count;
    uint64_t replayed_total;
    struct replayer *replayer;
    uint64_t adoption; /* the last topology it was seen in */
};

/* Makes members for every server of the published topology, drops those of others. */
MUST_CHECK bool members_adopt(struct control *control, const struct topology *topology);
void members_free(struct control *control);

/* The member of a server, or NULL. */
struct member *member_find(const struct control *control, const struct server *server);

/* The member called NAME, or POOL/NAME; NULL with a sentence in error. */
struct member *member_find_named(struct control *control, struct slice name, char *error,
                                 size_t error_size);

/* What the topology is to say of the server; the rest of it goes to at. */
enum server_standing member_standing(const struct member *member, struct topology_server *at);

/* "live", "leaving", "ejected", "down", "replaying", "joining", "drained". */
const char *member_state_text(const struct member *member);

enum { MEMBER_WISH_MAX = 80 };

/* "ejected by the operator for 5s", of one that is held out; returns out. */
char *member_wish_text(const struct member *member, char *out);

/* How many keys are noted to be deleted from it before it takes traffic again. */
uint64_t member_keys_to_delete(const struct member *member);

/* A worker saw it fail. Takes over mail's reference. */
void member_on_verdict(struct control *control, struct verdict_mail *mail);

/* It has been let back, or could not be: tells its health. */
void member_rejoined(struct member *member);
void member_failed_to_return(struct member *member);

/* The operator's wishes. for_us 0: until restored. */
void member_eject(struct member *member, uint64_t for_us);
void member_drain(struct member *member);
void member_restore(struct member *member);

#endif
