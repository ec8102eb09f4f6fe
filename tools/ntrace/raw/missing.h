/* SPDX-License-Identifier: GPL-2.0-only */
/* Addresses at which code is missing. Each region is reported once and then counted. */
#ifndef NTRACE_MISSING_H
#define NTRACE_MISSING_H

#include <stdbool.h>
#include <stdint.h>

#include "session/array.h"

struct missing_region {
	uint64_t	first, last;	/* lowest and highest address of the gaps */
	uint64_t	times;
};

struct missing {
	NS_ARRAY(struct missing_region) regions;	/* sorted by address */
	uint64_t	others;
};

/* Count @addr. Return true if it is the first in its region, so that it should be reported. */
bool missing_add(struct missing *missing, uint64_t addr);

/* Print a line to the standard error for each region that was counted more than once, and free all. */
void missing_report(struct missing *missing);

#endif /* NTRACE_MISSING_H */
