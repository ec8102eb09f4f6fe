// SPDX-License-Identifier: GPL-2.0-only
/* Print the output of `ntrace stat` as a table, or as members of a JSON object. */
#include <inttypes.h>

#include "ntrace.h"
#include "print-stats.h"

static double per(double value, uint64_t of)
{
	return of ? value / of : 0;
}

static uint64_t idle_bytes(const struct message_stats *s)
{
	return s->bytes - s->message_bytes - s->invalid_bytes - s->other_bytes;
}

static double seconds(uint64_t ns)
{
	return ns / 1e9;
}

/* ---- Text ---- */

static void print_kinds(const struct stats_view *v)
{
	const struct message_stats *s = v->stats;
	unsigned int i;

	printf("%-29s %12s %6s %14s %6s %6s\n", "messages by TCODE", "number", "%", "bytes", "%",
	       "each");
	for (i = 0; i < STATS_TCODES; i++) {
		if (!s->by_tcode[i])
			continue;
		printf("  %2u %-24s %12" PRIu64 " %6.2f %14" PRIu64 " %6.2f %6.2f\n", i,
		       nt_dialect_tcode_name(v->dialect, i), s->by_tcode[i],
		       percent(s->by_tcode[i], s->messages), s->bytes_by_tcode[i],
		       percent(s->bytes_by_tcode[i], s->bytes),
		       per(s->bytes_by_tcode[i], s->by_tcode[i]));
	}
	printf("  %-27s %12" PRIu64 " %6s %14" PRIu64 " %6.2f %6.2f\n", "all", s->messages, "",
	       s->message_bytes, percent(s->message_bytes, s->bytes),
	       per(s->message_bytes, s->messages));
}

static void print_codes(const struct message_stats *s)
{
	unsigned int i;

	printf("messages with SYNC            %12" PRIu64 "\n", s->syncs);
	for (i = 0; i < STATS_CODES; i++) {
		if (s->by_sync[i])
			printf("  %2u %-24s %12" PRIu64 "\n", i, nt_sync_name(i), s->by_sync[i]);
	}
	printf("Error messages                %12" PRIu64 "\n", s->errors);
	for (i = 0; i < STATS_CODES; i++) {
		if (s->by_etype[i])
			printf("  %2u %-24s %12" PRIu64 "\n", i, nt_etype_name(i), s->by_etype[i]);
	}
}

/* Print how many bits of trace each 16 bits of code need. Idle bytes are included. */
static void print_code(const struct message_stats *s)
{
	printf("I-CNT, in 16 bits of code     %12" PRIu64 "\n", s->halfwords);
	if (s->halfwords)
		printf("bits of trace/16 bits of code %12.3f\n", 8.0 * s->bytes / s->halfwords);
}

static void print_time(const struct stats_view *v)
{
	const struct message_stats *s = v->stats;

	printf("messages with TSTAMP          %12" PRIu64 "\n", s->tstamps);
	if (!s->tstamps)
		return;
	printf("  bytes of TSTAMP             %12" PRIu64 " %6.2f %% of the trace, %.2f bits each\n",
	       s->tstamp_bytes, percent(s->tstamp_bytes, s->bytes),
	       per(8.0 * s->tstamp_bytes, s->tstamps));
	printf("  ticks, first to last        %12" PRIu64 "\n", s->ticks);
	if (s->has_time)
		printf("time                      %.9f to %.9f: %.9f s\n", seconds(s->from),
		       seconds(s->to), seconds(s->to - s->from));
}

static void print_sources(const struct stats_view *v)
{
	unsigned int i;

	for (i = 0; v->sources && i < v->nr_sources; i++) {
		if (v->sources[i].messages)
			printf("source %-22u %12" PRIu64 " messages %14" PRIu64 " bytes\n", i,
			       v->sources[i].messages, v->sources[i].bytes);
	}
}

void print_stats_text(const struct stats_view *v)
{
	const struct message_stats *s = v->stats;

	printf("bytes                         %12" PRIu64 "\n", s->bytes);
	printf("  idle                        %12" PRIu64 "\n", idle_bytes(s));
	if (s->other_bytes)
		printf("  of other sources            %12" PRIu64 "\n", s->other_bytes);
	printf("  of messages that are not valid %9" PRIu64 " in %" PRIu64 " places\n",
	       s->invalid_bytes, s->invalid);
	print_kinds(v);
	print_sources(v);
	print_codes(s);
	if (v->is_recording)
		printf("stretches of trace            %12" PRIu64 ", after %" PRIu64
		       " of them trace was lost\n", s->stretches, s->losses);
	print_code(s);
	print_time(v);
}

/* ---- JSON ---- */

/* Print a JSON array of the codes that occurred in messages. */
static void json_codes(const char *name, const uint64_t *counts,
		       const char *(*name_of)(unsigned int code))
{
	const char *separator = "";
	unsigned int i;

	printf(", \"%s\": [", name);
	for (i = 0; i < STATS_CODES; i++) {
		if (!counts[i])
			continue;
		printf("%s{\"code\": %u, \"name\": \"%s\", \"messages\": %" PRIu64 "}", separator, i,
		       name_of(i), counts[i]);
		separator = ", ";
	}
	printf("]");
}

static void json_kinds(const struct stats_view *v)
{
	const struct message_stats *s = v->stats;
	const char *separator = "";
	unsigned int i;

	printf(", \"kinds\": [");
	for (i = 0; i < STATS_TCODES; i++) {
		if (!s->by_tcode[i])
			continue;
		printf("%s{\"tcode\": %u, \"name\": \"%s\", \"messages\": %" PRIu64 ", \"bytes\": %" PRIu64 "}",
		       separator, i, nt_dialect_tcode_name(v->dialect, i), s->by_tcode[i],
		       s->bytes_by_tcode[i]);
		separator = ", ";
	}
	printf("]");
}

static void json_sources(const struct stats_view *v)
{
	const char *separator = "";
	unsigned int i;

	printf(", \"sources\": [");
	for (i = 0; v->sources && i < v->nr_sources; i++) {
		if (!v->sources[i].messages)
			continue;
		printf("%s{\"src\": %u, \"messages\": %" PRIu64 ", \"bytes\": %" PRIu64 "}", separator,
		       i, v->sources[i].messages, v->sources[i].bytes);
		separator = ", ";
	}
	printf("]");
}

void print_stats_json(const struct stats_view *v)
{
	const struct message_stats *s = v->stats;

	printf("\"bytes\": %" PRIu64 ", \"idle_bytes\": %" PRIu64 ", \"other_bytes\": %" PRIu64
	       ", \"invalid\": %" PRIu64 ", \"invalid_bytes\": %" PRIu64 ", \"messages\": %" PRIu64
	       ", \"message_bytes\": %" PRIu64, s->bytes, idle_bytes(s), s->other_bytes,
	       s->invalid, s->invalid_bytes, s->messages, s->message_bytes);
	json_kinds(v);
	if (v->sources)
		json_sources(v);
	printf(", \"syncs\": %" PRIu64, s->syncs);
	json_codes("sync", s->by_sync, nt_sync_name);
	printf(", \"errors\": %" PRIu64, s->errors);
	json_codes("etype", s->by_etype, nt_etype_name);
	if (v->is_recording)
		printf(", \"stretches\": %" PRIu64 ", \"losses\": %" PRIu64, s->stretches, s->losses);
	printf(", \"halfwords\": %" PRIu64, s->halfwords);
	printf(", \"tstamps\": %" PRIu64 ", \"tstamp_bytes\": %" PRIu64 ", \"ticks\": %" PRIu64,
	       s->tstamps, s->tstamp_bytes, s->ticks);
	if (s->has_time)
		printf(", \"from\": %" PRIu64 ", \"to\": %" PRIu64, s->from, s->to);
}
