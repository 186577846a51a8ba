/*
 * A little memory for libevent where the system has none: it does not bear
 * every failed allocation (a connection that its http server could only half
 * make ends the process). Runs on the main thread, as libevent does.
 */
#ifndef CONTROL_RESERVE_H
#define CONTROL_RESERVE_H

/* From now on libevent allocates here; before anything else of it is called. */
void reserve_begin(void);

/* Frees what libevent has allocated for its caller, as lines of a buffer. NULL is fine. */
void reserve_free(void *memory);

#endif
