/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Functions that write the state of a call of the fast path (struct run in fast-run.h) back to the
 * flow, when the call ends.
 */
#ifndef NTRACE_FAST_LEAVE_H
#define NTRACE_FAST_LEAVE_H

#include "fast-run.h"
#include "../plain.h"

static inline void fast_add_counts(struct nt_flow *flow, uint64_t counts)
{
	struct nt_stats *stats = &flow->stats;
	static const uint8_t tcodes[] = {
		NT_TCODE_DIRECT_BRANCH, NT_TCODE_INDIRECT_BRANCH,
		NT_TCODE_INDIRECT_BRANCH_HIST, NT_TCODE_RESOURCE_FULL,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(tcodes); i++) {
		uint64_t n = counts >> (16 * i) & 0xffff;

		stats->by_tcode[tcodes[i]] += n;
		stats->messages += n;
	}
}

static __always_inline void fast_put_mark(const struct run *run, const struct nt_range *out)
{
	struct nt_flow *flow = run->flow;
	uint32_t nr = out - flow->ranges;

	if (flow->nr_marks && flow->marks[flow->nr_marks - 1].range == nr)
		return;
	nt_mark_put(flow, nr, flow->reader.offset + (run->last - flow->reader.data),
		    run->last[0] >> 2, run->tstamp, run->tstamp_kinds[run->has_tstamp]);
}

/* Keep the bytes of the last message, because RepeatBranch may repeat it later. */
static inline void fast_keep_last(struct run *run, const struct hot *hot)
{
	struct nt_source *src = run->src;

	src->has_last = false;
	src->raw_length = hot->p - run->last < WINDOW ? hot->p - run->last : WINDOW;
	memcpy(src->raw, run->last, sizeof(src->raw));
	src->last_dest = hot->ref;
}

/* Copy the state in @run and @hot to the flow and its source. @counts is true if ranges are counted. */
static inline void fast_leave(struct run *run, const struct hot *hot, bool counts)
{
	struct nt_flow *flow = run->flow;
	struct nt_source *src = run->src;
	struct nt_reader *reader = &flow->reader;

	if (!run->last)
		return;
	src->pc = flow->code.blocks[hot->block].range.start;
	src->ref = hot->ref;
	src->block = hot->block;
	src->walked = hot->walked;
	if (src->has_tstamp)
		src->tstamp = run->tstamp;
	if (!counts) {
		flow->nr_ranges = hot->out - flow->ranges;
		fast_put_mark(run, hot->out);
	}
	fast_keep_last(run, hot);
	fast_add_counts(flow, run->counts);
	run->memo->messages += fast_nr_counted(run->counts);
	flow->msg.offset = reader->offset + (run->last - reader->data);
	reader->offset += hot->p - reader->data;
	reader->data = hot->p;
}

/*
 * Return true if the processor has a fast pext instruction. The compiler cannot assume that every
 * processor has one. On the first two Zen generations, pext is slower than the code that it
 * replaces.
 */
static inline bool fast_has_pext(void)
{
#if defined(__x86_64__)
	return __builtin_cpu_supports("bmi2") && !__builtin_cpu_is("znver1") &&
		!__builtin_cpu_is("znver2");
#else
	return false;
#endif
}

#endif /* NTRACE_FAST_LEAVE_H */
