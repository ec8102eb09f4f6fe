/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NTRACE_TOOL_PRINT_STATS_H
#define NTRACE_TOOL_PRINT_STATS_H

#include <stdio.h>

#include "message-stats.h"

/* What is printed of a stream, or of all of them together */
struct stats_view {
	const struct message_stats *stats;
	const struct source_stats *sources;	/* NULL: they are not listed */
	unsigned int	nr_sources;
	unsigned int	dialect;
	uint64_t	insns;		/* 0: not counted */
	bool		is_recording;
};

void print_stats_text(const struct stats_view *view);
/* Members of an object of JSON, without the braces around them */
void print_stats_json(const struct stats_view *view);

#endif /* NTRACE_TOOL_PRINT_STATS_H */
