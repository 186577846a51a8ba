/*
 * Scripted clients: what they send, and what they must be told in which order.
 */
#ifndef SIM_CLIENT_H
#define SIM_CLIENT_H

#include "proxy/listener.h"

enum { SIM_CLIENTS = 4 };

/* may_run_out: max_memory is so small that a client may be closed for it. */
void sim_clients_begin(struct worker *worker, int buffer_bytes, bool may_run_out);

/* Closes all. */
void sim_clients_end(void);

/* Each takes a number that wraps, and opens the client where it is closed. */
void sim_client_say(unsigned n, uint8_t template, uint8_t size, uint8_t keys);
void sim_client_push(unsigned n, uint32_t bytes);
void sim_client_stall(unsigned n);
void sim_client_close(unsigned n);
void sim_client_shut(unsigned n);

/* The proxy is to close all there are: what was sent until now is answered. */
void sim_clients_cut_off(void);

/* The worker takes no more clients, and closes these once they are served. */
void sim_clients_drain(void);

/* Reads what came and judges it. */
void sim_clients_read(void);

/* Sends what was not yet sent; stalls are over. */
void sim_clients_push_all(void);

/* True where every client has all that it is due. */
bool sim_clients_are_served(void);

/* Fails where one is not. */
void sim_clients_check_served(void);

#endif
