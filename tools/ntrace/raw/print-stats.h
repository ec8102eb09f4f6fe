/* SPDX-License-Identifier: GPL-2.0-only */
/* Print the statistics of `ntrace stat`. */
#ifndef NTRACE_TOOL_PRINT_STATS_H
#define NTRACE_TOOL_PRINT_STATS_H

#include <stdio.h>

#include "message-stats.h"

/* Statistics to print for a stream, or for all streams together */
struct stats_view {
	const struct message_stats *stats;
	const struct source_stats *sources;	/* statistics of each source; NULL: sources are not listed */
	unsigned int	nr_sources;
	unsigned int	dialect;
	bool		is_recording;
};

void print_stats_text(const struct stats_view *view);
/* Print the statistics as members of a JSON object, without the braces around these members. */
void print_stats_json(const struct stats_view *view);

#endif /* NTRACE_TOOL_PRINT_STATS_H */
