/*
 * Who may use the admin and http ports: what allow says on their lines, in the
 * configuration in force. Runs on the main thread.
 */
#ifndef CONTROL_ADMIT_H
#define CONTROL_ADMIT_H

#include "control/control.h"

/*
 * True where listen admits the peer of fd; one that is not admitted is counted and, at times,
 * logged. key: "admin" or "http".
 */
bool admit_peer(struct control *control, const struct config_listen *listen, const char *key,
                int fd);

#endif
