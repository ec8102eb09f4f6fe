// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>

#include "losses.h"
#include "recording.h"

#define SHOWN 3

static const struct {
	const char *what, *cure;
} reasons[NT_LOST_NR] = {
	[NT_LOST_SINK] = { "the sink was full",
		"larger buffers (-m 16M), less trace (ntrace//u, --filter, -C) and fewer SYNC messages (sync_max=15)" },
	[NT_LOST_BUFFER] = { "the buffer was full", "larger buffers (-m 16M) and less trace (ntrace//u, --filter, -C)" },
	[NT_LOST_BUSY] = { "another program had the sink", "ending that program's trace" },
	[NT_LOST_FILE] = { "the recording lacks trace that its records list", "a disk with more space, and not cutting the file" },
	[NT_LOST_ENCODER] = { "the encoder's queue was full", "less trace (ntrace//u, --filter)" },
	[NT_LOST_ERROR] = { "the trace could not be decoded", "the right code (--symfs, --buildid-dir, perf record --kcore)" },
	[NT_LOST_CODE] = { "the code is unknown", "the code (--symfs, --buildid-dir, --firmware, perf record --kcore)" },
};

static double percent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * part / all : 0;
}

static void print_cpu(const struct nt_missing *m)
{
	char t[16];

	printf("CPU %d: trace of %s is missing, %.1f %% of the time, and an estimated %" PRIu64 " instructions and %"
	       PRIu64 " bytes, %.1f %% of each\n", m->cpu, duration(m->ns, t), percent(m->ns, m->all_ns), m->insns,
	       m->bytes, percent(m->insns, m->insns + m->traced_insns));
}

/* Print the reason for which most time is missing, and clear it. Return false if there is none. */
static bool print_worst(struct nt_lost_sum why[NT_LOST_NR])
{
	unsigned int i, worst = 0;
	char t[16];

	for (i = 1; i < NT_LOST_NR; i++) {
		if (why[i].ns > why[worst].ns || (why[i].ns == why[worst].ns && why[i].times > why[worst].times))
			worst = i;
	}
	if (!why[worst].times)
		return false;
	printf("%s %" PRIu64 " times, which cost %s: the cure is %s\n", reasons[worst].what, why[worst].times,
	       duration(why[worst].ns, t), reasons[worst].cure);
	why[worst] = (struct nt_lost_sum){ 0 };
	return true;
}

bool losses_print(const struct nt_session *session)
{
	struct nt_lost_sum why[NT_LOST_NR] = { 0 };
	struct nt_missing missing;
	unsigned int i, nth;

	for (nth = 0; nt_session_lost(session, nth, &missing); nth++) {
		if (missing.ns)
			print_cpu(&missing);
		for (i = 0; i < NT_LOST_NR; i++) {
			why[i].times += missing.why[i].times;
			why[i].ns += missing.why[i].ns;
		}
	}
	for (i = 0; i < SHOWN && print_worst(why); i++)
		;
	return i;
}
