/*
 * Prints what a run found: a name and a number a line, or one JSON object.
 */
#ifndef LOADGEN_REPORT_H
#define LOADGEN_REPORT_H

#include "load.h"

void report_print(const struct load *load);

#endif
