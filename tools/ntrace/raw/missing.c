// SPDX-License-Identifier: GPL-2.0-only
/*
 * Count the addresses at which code is missing.
 *
 * The trace of a boot has millions of gaps in a few megabytes of code if the ELF file of the kernel
 * is missing. Addresses are therefore counted by region. A region is as large as a small library.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "missing.h"

#define REGION_BITS	20
#define MAX_REGIONS	4096	/* maximum number of regions; addresses in further regions are only counted together */

bool missing_add(struct missing *missing, uint64_t addr)
{
	struct missing_region *regions = missing->regions.at, new = { addr, addr, 1 };
	size_t nr = missing->regions.nr;
	size_t at = ns_lower_bound(nr, regions[i].first >> REGION_BITS < addr >> REGION_BITS);

	if (at < nr && regions[at].first >> REGION_BITS == addr >> REGION_BITS) {
		if (addr < regions[at].first)
			regions[at].first = addr;
		if (addr > regions[at].last)
			regions[at].last = addr;
		regions[at].times++;
		return false;
	}
	if (nr == MAX_REGIONS || !ns_array_add(&missing->regions, new)) {
		missing->others++;
		return false;
	}
	regions = missing->regions.at + at;
	memmove(regions + 1, regions, (nr - at) * sizeof(*regions));
	*regions = new;
	return true;
}

void missing_report(struct missing *missing)
{
	const struct missing_region *region = missing->regions.at;

	for (; region < missing->regions.at + missing->regions.nr; region++) {
		if (region->times > 1)
			fprintf(stderr, "ntrace: no code at 0x%" PRIx64 " to 0x%" PRIx64 ": %" PRIu64 " times\n",
				region->first, region->last, region->times);
	}
	if (missing->others)
		fprintf(stderr, "ntrace: no code at other addresses: %" PRIu64 " times\n",
			missing->others);
	free(missing->regions.at);
}
