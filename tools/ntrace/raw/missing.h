/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Count the addresses at which code is missing. The first address in each region is reported at
 * once, and further addresses are counted.
 */
#ifndef NTRACE_MISSING_H
#define NTRACE_MISSING_H

#include <stdbool.h>
#include <stdint.h>

#include "session/array.h"

struct missing_region {
	uint64_t	first, last;	/* lowest and highest address in the region at which code is missing */
	uint64_t	times;
};

struct missing {
	NS_ARRAY(struct missing_region) regions;	/* regions, sorted by address */
	uint64_t	others;
};

/* Count the address @addr. Return true if it is the first address in its region, so that the caller reports it. */
bool missing_add(struct missing *missing, uint64_t addr);

/*
 * Print a line to the standard error for each region in which code was missing more than once. Then
 * free all regions.
 */
void missing_report(struct missing *missing);

#endif /* NTRACE_MISSING_H */
