/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Addresses at which code is missing: each region is reported once, and then counted.
 */
#ifndef NTRACE_MISSING_H
#define NTRACE_MISSING_H

#include <stdbool.h>
#include <stdint.h>

struct missing;

/* NULL: out of memory */
struct missing *missing_new(void);

/* Count @addr. True: nothing near it was counted before, so that it is worth a line. */
bool missing_add(struct missing *missing, uint64_t addr);

/* Print a line for each region that was met more than once, to the standard error, and free. */
void missing_report(struct missing *missing);

#endif /* NTRACE_MISSING_H */
