/*
 * Checks that take more than one line of a configuration to judge.
 */
#ifndef CONFIG_VERIFY_H
#define CONFIG_VERIFY_H

#include "config/draft.h"

/* Adds what is wrong with the draft, all defaults in place, to its errors. */
void config_verify(struct draft *draft);

#endif
