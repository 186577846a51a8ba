/*
 * Values that are an address followed by words: "host:port name=N weight=W"
 * "address mode=0660" and "address allow=10.0.0.0/8". Any thread.
 */
#ifndef CONFIG_ATTRIBUTES_H
#define CONFIG_ATTRIBUTES_H

#include "config/config.h"

enum {
    SERVER_NAME_MAX = 250,
    SERVER_ZONE_MAX = 64,
    SERVER_WEIGHT_MAX = 1000000,
    SERVER_PORT_DEFAULT = 11211,
};

/*
 * False when text is wrong: then nothing is allocated and wrong, of
 * VALUE_WRONG_MAX bytes, says why; it is empty where memory ran out.
 */
MUST_CHECK bool server_parse(struct config_server *server, struct slice text, char *wrong);
MUST_CHECK bool listen_parse(struct config_listen *listen, struct slice text, char *wrong);

void server_fini(struct config_server *server);
void listen_fini(struct config_listen *listen);

#endif
