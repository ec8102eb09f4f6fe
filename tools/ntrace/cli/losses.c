// SPDX-License-Identifier: GPL-2.0-only
/* Report the missing trace of a recording (losses.h). */
#include <inttypes.h>
#include <stdio.h>

#include "ntrace.h"
#include "losses.h"
#include "recording.h"

#define MAX_REASONS	3

static const struct { const char *why, *cure; } reasons[NT_LOST_NR] = {
	[NT_LOST_SINK] = { "the sink was full",
		"record with larger buffers (-m 16M), less trace (ntrace//u, --filter, -C) or fewer SYNC messages (sync_max=15)" },
	[NT_LOST_BUFFER] = { "perf emptied its buffer too slowly", "record with a larger buffer (-m 16M), or trace less" },
	[NT_LOST_BUSY] = { "another program used the sink", "record alone" },
	[NT_LOST_FILE] = { "the recording was not completely written or copied", "copy it again, or record with enough space" },
	[NT_LOST_ENCODER] = { "the encoder's queue was full", "trace less, or stop the hart for it (stall=1)" },
	[NT_LOST_ERROR] = { "it could not be decoded", "ntrace script prints each error with its reason" },
	[NT_LOST_CODE] = { "code is missing", "copy it here (perf archive, --kcore, perf inject -j), or use --symfs" },
};

const char *losses_reason(enum nt_lost why)
{
	return reasons[why].why;
}

/* Return true if the lost instructions can be estimated from the instructions per ns of the decoded trace. */
static bool can_estimate(const struct nt_missing *m)
{
	return !m->ns || (m->ns < m->all_ns && m->traced_insns);
}

/* Return the number of places at which trace is missing, if the trace has no times; otherwise 0. */
static uint64_t places_without_time(const struct nt_missing *m)
{
	uint64_t places = 0;
	unsigned int i;

	for (i = 0; i < NT_LOST_NR && !m->all_ns; i++)
		places += m->why[i].times;
	return places;
}

bool losses_any(const struct nt_session *session)
{
	struct nt_missing m;
	size_t i;
	int why;

	for (i = 0; nt_session_lost(session, i, &m); i++) {
		for (why = 0; why < NT_LOST_NR; why++) {
			if (m.why[why].times)
				return true;
		}
	}
	return false;
}

bool losses_print(const struct nt_session *session)
{
	struct nt_missing m;
	bool any = false;
	uint64_t places;
	char t[16];
	size_t i;

	for (i = 0; nt_session_lost(session, i, &m); i++) {
		places = places_without_time(&m);
		any |= m.ns || places;
		if (places)
			printf("CPU %d: trace is missing in %s, whose times are not known\n", m.cpu, COUNTED(places, "place"));
		if (!m.ns)
			continue;
		printf("CPU %d: trace of %s is missing, %.1f %% of the time", m.cpu, duration(m.ns, t), percent(m.ns, m.all_ns));
		if (can_estimate(&m))
			printf(", and an estimated %" PRIu64 " instructions and %" PRIu64 " bytes, %.1f %% of each\n", m.insns,
			       m.bytes, percent(m.insns, m.insns + m.traced_insns));
		else
			printf(", too much to estimate the missing instructions\n");
	}
	return any;
}

bool losses_json(const struct nt_missing *m)
{
	const char *separator = "";
	unsigned int i;

	printf("{\"cpu\": %d, \"instructions\": %" PRIu64 ", \"ns\": %" PRIu64 ", \"missing_ns\": %" PRIu64 ", ", m->cpu,
	       m->traced_insns, m->all_ns, m->ns);
	if (m->ns && can_estimate(m))
		printf("\"missing_instructions\": %" PRIu64 ", \"missing_bytes\": %" PRIu64 ", ", m->insns, m->bytes);
	printf("\"reasons\": [");
	for (i = 0; i < NT_LOST_NR; i++) {
		if (!m->why[i].times)
			continue;
		printf("%s{\"why\": \"%s\", \"times\": %" PRIu64 ", \"ns\": %" PRIu64 "}", separator, reasons[i].why,
		       m->why[i].times, m->why[i].ns);
		separator = ", ";
	}
	puts("]}");
	return m->ns || places_without_time(m);
}

/* Add up the missing trace of all CPUs. Set *estimated to false if the missing instructions of a CPU are not known. */
static struct nt_missing missing_of_all(const struct nt_session *session, bool *estimated)
{
	struct nt_missing all = { .cpu = -1 }, one;
	size_t i, why;

	for (*estimated = true, i = 0; nt_session_lost(session, i, &one); i++) {
		*estimated &= can_estimate(&one);
		all.all_ns += one.all_ns;
		all.traced_insns += one.traced_insns;
		all.ns += one.ns;
		all.insns += one.insns;
		all.bytes += one.bytes;
		for (why = 0; why < NT_LOST_NR; why++) {
			all.why[why].times += one.why[why].times;
			all.why[why].ns += one.why[why].ns;
		}
	}
	return all;
}

/*
 * Print the reason for which most trace is missing, and clear its time, so that the next call
 * prints the next reason. Return false if no time is missing.
 */
static bool report_worst(struct nt_missing *all)
{
	unsigned int i, worst = 0;

	for (i = 1; i < NT_LOST_NR; i++)
		worst = all->why[i].ns > all->why[worst].ns ? i : worst;
	if (!all->why[worst].ns)
		return false;
	fprintf(stderr, "ntrace: trace of %.1f %% of the time is missing, because %s (%s): %s\n",
		percent(all->why[worst].ns, all->all_ns), reasons[worst].why, COUNTED(all->why[worst].times, "time"), reasons[worst].cure);
	all->why[worst].ns = 0;
	return true;
}

void losses_report(const struct nt_session *session, uint64_t trace_bytes)
{
	bool estimated;
	struct nt_missing all = missing_of_all(session, &estimated);
	unsigned int i;

	for (i = 0; i < NT_LOST_NR; i++) {
		if (all.why[i].times && !all.why[i].ns)
			fprintf(stderr, "ntrace: trace is missing %s, because %s: %s\n", COUNTED(all.why[i].times, "time"),
				reasons[i].why, reasons[i].cure);
	}
	if (!all.ns)
		return;
	fprintf(stderr, "ntrace: missing trace: %.1f %% of the time", percent(all.ns, all.all_ns));
	if (estimated)
		fprintf(stderr, ", an estimated %.1f %% of the instructions and %.1f %% of the bytes",
			percent(all.insns, all.insns + all.traced_insns), percent(all.bytes, all.bytes + trace_bytes));
	else
		fputs(", and an unknown part of the instructions and bytes, because no trace of a CPU was decoded", stderr);
	fputc('\n', stderr);
	for (i = 0; i < MAX_REASONS && report_worst(&all); i++)
		;
}
