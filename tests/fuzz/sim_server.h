/*
 * Scripted servers: every connection that the worker opens, what came over it
 * and what is said on it, rightly or wrongly.
 */
#ifndef SIM_SERVER_H
#define SIM_SERVER_H

#include <stdbool.h>
#include <stdint.h>

enum { SIM_SERVERS = 4 };

enum sim_connect { CONNECT_AT_ONCE, CONNECT_SOON, CONNECT_NEVER, CONNECT_REFUSED, CONNECT_FAILS };

enum sim_end { END_CLOSE, END_RESET, END_SHUT };

enum { SIM_BREAKS = 11 };

/* buffer_bytes: of each connection's socket, 0 for the system's own. */
void sim_servers_begin(int buffer_bytes);
void sim_servers_end(void);

/* How the next connects to a server end. */
void sim_server_connects(unsigned server, enum sim_connect how);

/* For kernel_begin. */
int sim_server_on_connect(int fd, uint16_t port);

/* Reads what the worker wrote, and checks that clients asked for it. */
void sim_servers_read(void);

/* The n-th of the open connections; n wraps. Each does nothing where there is none. */
void sim_server_answer(unsigned n, uint8_t how, uint8_t size);
void sim_server_push(unsigned n, uint32_t bytes);
void sim_server_break(unsigned n, unsigned kind);
void sim_server_say_unasked(unsigned n, uint8_t what);
void sim_server_end(unsigned n, enum sim_end how);
void sim_server_settle(unsigned n, bool succeeds);
void sim_server_stall(unsigned n);

/* Everything asked is answered and sent; stalls and pending connects are over. */
void sim_servers_answer_all(void);

#endif
