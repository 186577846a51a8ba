/* See control/admit.h. */
#include "control/admit.h"

#include "base/log.h"
#include "base/socket.h"

bool admit_peer(struct control *control, const struct config_listen *listen, const char *key,
                int fd)
{
    struct endpoint peer;
    char from[ADDRESS_TEXT_MAX];

    if (socket_admits(fd, &listen->allow)) {
        return true;
    }
    if (!socket_peer(fd, &peer)) {
        return false; /* gone, from wherever it was */
    }
    control->denied++;
    log_warn_limited(&control->denied_log, "%s: %s refused: its network is not allowed", key,
                     endpoint_format(&peer, from, sizeof(from)));
    return false;
}
