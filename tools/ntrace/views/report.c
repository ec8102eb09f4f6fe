// SPDX-License-Identifier: GPL-2.0-only
/* The kinds of `ntrace report` share these functions. */
#include <inttypes.h>
#include <stdio.h>

#include "ntrace.h"
#include "report.h"

void report_missing(uint64_t losses, uint64_t errors, uint64_t gaps)
{
	if (losses)
		printf("; trace was lost %" PRIu64 " times", losses);
	if (errors)
		printf("; %" PRIu64 " places could not be decoded", errors);
	if (gaps)
		printf("; code was missing %" PRIu64 " times", gaps);
	printf("\n\n");
}

void report_json(uint64_t insns, uint64_t losses, uint64_t errors, uint64_t gaps)
{
	printf("{\"instructions\": %" PRIu64 ", \"losses\": %" PRIu64 ", \"errors\": %" PRIu64 ", \"gaps\": %" PRIu64 "}\n",
	       insns, losses, errors, gaps);
}

void report_totals(const struct nt_calls_totals *t)
{
	printf("%" PRIu64 " instructions, %" PRIu64 " branches, %" PRIu64 " calls of %zu functions",
	       t->insns, t->branches, t->calls, t->functions);
	if (t->open)
		printf(", and %" PRIu64 " whose begin or end was not recorded", t->open);
	report_missing(t->losses, t->errors, t->gaps);
}
