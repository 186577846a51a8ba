/* See control/admit.h. */
#include "control/admit.h"

#include "base/log.h"

bool admit_allows(const struct config_listen *listen, int fd)
{
    struct endpoint peer = {.len = sizeof(peer.at)};

    if (listen->allow.count == 0) {
        return true;
    }
    /* whom the kernel does not know any more is gone */
    return getpeername(fd, &peer.at.any, &peer.len) == 0 &&
           networks_admit(&listen->allow, &peer.at.any);
}

bool admit_peer(struct control *control, const struct config_listen *listen, const char *key,
                int fd)
{
    struct endpoint peer = {.len = sizeof(peer.at)};
    char from[ADDRESS_TEXT_MAX];
    uint64_t skipped;

    if (admit_allows(listen, fd)) {
        return true;
    }
    if (getpeername(fd, &peer.at.any, &peer.len) == -1) {
        return false; /* gone, from wherever it was */
    }
    control->denied++;
    if (log_limit_pass(&control->denied_log, &skipped)) {
        log_warn("%s: %s refused: its network is not allowed (%llu more since the last such line)",
                 key, endpoint_format(&peer, from, sizeof(from)), (unsigned long long)skipped);
    }
    return false;
}
