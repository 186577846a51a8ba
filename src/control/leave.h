/*
 * How a member leaves: its gate closes, and once every worker knows, others
 * stand in for it, where they may. Runs on the control thread.
 */
#ifndef CONTROL_LEAVE_H
#define CONTROL_LEAVE_H

#include "control/member.h"

/* It is down: others are to stand in, or its requests to fail. */
void leave_begin(struct member *member);

/* A member that is leaving: every worker knows, or has had its time. */
void leave_go_on(struct member *member, bool waits_for_others);

/* Something of member's pool became better: one that could not be replaced before may be now. */
void leave_reconsider_pool(struct member *member);

/* True where a live server of the pool, member's apart, still has copies to lose that it took on
 * another's behalf. */
bool leave_pool_has_debts(const struct member *member);

#endif
