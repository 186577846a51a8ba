/* See leg_cause.h. */
#include "proxy/leg_cause.h"

static const struct {
    const char *name;
    const char *text;
} causes[LEG_CAUSES] = {
    [LEG_OK] = {"ok", "no failure"},
    [LEG_REFUSED] = {"refused", "connection refused"},
    [LEG_UNREACHABLE] = {"unreachable", "cannot be reached"},
    [LEG_CONNECT_TIMEOUT] = {"connect_timeout", "connect timed out"},
    [LEG_RESET] = {"reset", "connection reset"},
    [LEG_CLOSED] = {"closed", "connection closed"},
    [LEG_CROWDED] = {"crowded", "too many open connections"},
    [LEG_TIMEOUT] = {"timeout", "request timed out"},
    [LEG_BROKEN] = {"broken", "broken reply"},
    [LEG_QUEUE_FULL] = {"queue_full", "too many requests waiting"},
    [LEG_UNRESOLVED] = {"unresolved", "name does not resolve"},
    [LEG_OUT_OF_MEMORY] = {"out_of_memory", "out of memory"},
    [LEG_NO_DESCRIPTOR] = {"no_descriptor", "no descriptor left"},
    [LEG_REMOVED] = {"removed", "removed from the configuration"},
    [LEG_SKIPPED] = {"skipped", "server is out"},
    [LEG_DOWN] = {"down", "server is down"},
    [LEG_CUT_OFF] = {"cut_off", "taken out before it answered"},
    [LEG_NO_SERVER] = {"no_server", "no server is live"},
    [LEG_NO_POOL] = {"no_pool", "no pool takes this key"},
};

const char *leg_cause_text(enum leg_cause cause)
{
    return causes[cause].text;
}

const char *leg_cause_name(enum leg_cause cause)
{
    return causes[cause].name;
}
