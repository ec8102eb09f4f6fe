// SPDX-License-Identifier: GPL-2.0-only
/* Functions that all kinds of `ntrace report` use. */
#include <inttypes.h>
#include <stdio.h>

#include "ntrace.h"
#include "report.h"

void report_missing(uint64_t losses, uint64_t errors, uint64_t gaps)
{
	if (losses)
		printf("; trace was lost %s", COUNTED(losses, "time"));
	if (errors)
		printf("; %s could not be decoded", COUNTED(errors, "place"));
	if (gaps)
		printf("; code was missing %s", COUNTED(gaps, "time"));
	printf("\n\n");
}

void report_json(uint64_t insns, uint64_t losses, uint64_t errors, uint64_t gaps)
{
	printf("{\"instructions\": %" PRIu64 ", \"losses\": %" PRIu64 ", \"errors\": %" PRIu64 ", \"gaps\": %" PRIu64 "}\n",
	       insns, losses, errors, gaps);
}

void report_totals(const struct nt_calls_totals *t)
{
	printf("%s, %s, %s of %s", COUNTED(t->insns, "instruction"), COUNTED(t->branches, "branch"), COUNTED(t->calls, "call"),
	       COUNTED(t->functions, "function"));
	if (t->open)
		printf(", and %" PRIu64 " whose begin or end was not recorded", t->open);
	report_missing(t->losses, t->errors, t->gaps);
}
