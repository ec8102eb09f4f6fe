// SPDX-License-Identifier: GPL-2.0-only
/* Synthesis of samples from ranges of executed code, and of error events. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kernel.h>
#include <linux/zalloc.h>

#include "callchain.h"
#include "branch.h"
#include "debug.h"
#include "evlist.h"
#include "evsel.h"
#include "machine.h"
#include "map.h"
#include "ntrace-compat.h"
#include "ntrace-priv.h"
#include "session.h"
#include "sort.h"
#include "symbol.h"
#include "thread-stack.h"
#include "thread.h"

/* ------------------------------------------------------------------ samples */

static bool ntrace_skip_event(struct ntrace *nt)
{
	return nt->synth_opts.initial_skip && nt->num_events++ < nt->synth_opts.initial_skip;
}

/*
 * Return the time of a sample, which is not earlier than that of any delivered sample. A branch
 * executed between its last and its next message, so it can have any time between the times of these
 * messages. The buffer whose next message is the earliest is decoded first, so the time of the last
 * delivered sample is such a time.
 */
static u64 ntrace_sample_time(struct ntrace_queue *q)
{
	struct ntrace *nt = q->nt;

	nt->last_time = max(nt->last_time, q->time);
	return nt->last_time;
}

/* Replace the host thread of a sample by the thread that executes in the guest, if it is known */
static void ntrace_prep_guest(struct ntrace_queue *q, struct perf_sample *sample)
{
	struct ntrace_guest guest;

	ntrace_find_guest_task(q, &q->context, &guest);
	if (!guest.pid)
		return;
	sample->machine_pid = guest.machine;
	sample->vcpu = guest.vcpu;
	sample->pid = guest.pid;
	sample->tid = guest.tid;
}

static void ntrace_prep_sample(struct ntrace_queue *q, struct perf_sample *sample, u64 ip,
			       u64 addr, u32 flags, unsigned int insn_len)
{
	ntrace_sample_init(sample);
	sample->ip = ip;
	sample->addr = addr;
	sample->pid = q->pid;
	/* A guest must not have the process -1, because perf would interpret it as the host */
	if (ntrace_is_guest(&q->context) && q->pid < 0)
		sample->pid = DEFAULT_GUEST_KERNEL_ID;
	sample->tid = q->tid;
	if (ntrace_is_guest(&q->context))
		ntrace_prep_guest(q, sample);
	sample->cpu = q->cpu;
	sample->flags = flags;
	sample->period = 1;
	sample->cpumode = ntrace_sample_cpumode(q, ip, addr);
	/* perf script -F misc prints the privilege mode, and host or guest, from this member */
	sample->misc = sample->cpumode;
	if (!q->nt->synth_opts.timeless_decoding)
		sample->time = ntrace_sample_time(q);
	if (ip && insn_len && insn_len <= sizeof(sample->insn))
		sample->insn_len = ntrace_code_read(q, ip, sample->insn, insn_len);
}

static int ntrace_deliver(struct ntrace_queue *q, struct perf_sample *sample, u64 id, u64 type)
{
	union perf_event *event = q->event_buf;
	struct ntrace *nt = q->nt;
	u64 branch_type = type & PERF_SAMPLE_BRANCH_STACK ? PERF_SAMPLE_BRANCH_HW_INDEX : 0;
	size_t size;
	int err = 0;

	sample->id = id;
	sample->stream_id = id;
	event->header.type = PERF_RECORD_SAMPLE;
	event->header.misc = sample->cpumode;
	event->header.size = sizeof(event->header);
	if (nt->synth_opts.inject) {
		size = ntrace_sample_size(sample, type, branch_type);
		if (size >= PERF_SAMPLE_MAX_SIZE)
			return -EFAULT;
		event->header.size = size;
		err = ntrace_sample_write(event, sample, type, branch_type);
	}
	if (!err)
		err = perf_session__deliver_synth_event(nt->session, event, sample);
	if (err)
		pr_err("N-Trace: failed to deliver a sample, error %d\n", err);
	return err;
}

static int ntrace_branch_sample(struct ntrace_queue *q, u64 from, u64 to, u32 flags,
				unsigned int insn_len)
{
	struct ntrace *nt = q->nt;
	struct perf_sample sample;
	struct {
		u64			nr;
		u64			hw_idx;
		struct branch_entry	entry;
	} dummy;
	int err;

	if (!nt->sample_branches)
		return 0;
	if (nt->branches_filter && !(nt->branches_filter & flags))
		return 0;
	/* Leave out branches of an unknown guest, because perf would resolve them with symbols of another guest */
	if (ntrace_is_other_guest(q))
		return 0;
	if (ntrace_skip_event(nt))
		return 0;
	ntrace_prep_sample(q, &sample, from, to, flags, insn_len);
	/* perf report -b accepts only samples with a branch stack */
	if (nt->synth_opts.last_branch && sort__mode == SORT_MODE__BRANCH) {
		memset(&dummy, 0, sizeof(dummy));
		dummy.nr = 1;
		dummy.hw_idx = -1ULL;
		dummy.entry.from = from;
		dummy.entry.to = to;
		sample.branch_stack = (struct branch_stack *)&dummy;
	}
	err = ntrace_deliver(q, &sample, nt->branches_id, nt->branches_sample_type);
	/* Remove the branch stack, which the sample does not own, before ntrace_sample_exit() */
	sample.branch_stack = NULL;
	ntrace_sample_exit(&sample);
	return err;
}

/* Give a guest's sample a call chain of one address, because the guest's stack is not known */
static void ntrace_guest_stack(struct ntrace_queue *q, struct perf_sample *sample)
{
	if (q->chain) {
		q->chain->nr = 2;
		q->chain->ips[0] = sample->ip >= q->nt->kernel_start ? PERF_CONTEXT_KERNEL :
								       PERF_CONTEXT_USER;
		q->chain->ips[1] = sample->ip;
		sample->callchain = q->chain;
	}
	if (q->last_branch) {
		q->last_branch->nr = 0;
		sample->branch_stack = q->last_branch;
	}
}

static void ntrace_thread_stack(struct ntrace_queue *q, struct perf_sample *sample)
{
	struct ntrace *nt = q->nt;

	if (q->chain) {
		thread_stack__sample(q->thread, q->cpu, q->chain, nt->synth_opts.callchain_sz + 1,
				     sample->ip, nt->kernel_start);
		sample->callchain = q->chain;
	}
	if (q->last_branch) {
		thread_stack__br_sample(q->thread, q->cpu, q->last_branch, nt->br_stack_sz);
		sample->branch_stack = q->last_branch;
	}
}

static int ntrace_instruction_sample(struct ntrace_queue *q, u64 ip, unsigned int insn_len,
				     u64 insns)
{
	struct ntrace *nt = q->nt;
	struct perf_sample sample;
	int err;

	q->last_time = q->time;
	if (ntrace_skip_event(nt)) {
		q->last_insns = insns;
		return 0;
	}
	ntrace_prep_sample(q, &sample, ip, 0, 0, insn_len);
	sample.period = insns - q->last_insns;
	q->last_insns = insns;
	if (ntrace_is_guest(&q->context))
		ntrace_guest_stack(q, &sample);
	else if (q->thread)
		ntrace_thread_stack(q, &sample);
	err = ntrace_deliver(q, &sample, nt->instructions_id, nt->instructions_sample_type);
	sample.callchain = NULL;
	sample.branch_stack = NULL;
	ntrace_sample_exit(&sample);
	return err;
}

int ntrace_synth_address(struct ntrace_queue *q, u64 addr)
{
	q->insns++;
	q->nt->decoded = true;
	if (!q->nt->sample_instructions || ntrace_is_other_guest(q))
		return 0;
	return ntrace_instruction_sample(q, addr, 0, q->insns);
}

/* ------------------------------------------------------------------- ranges */

static u32 ntrace_trap_flags(struct ntrace_queue *q, u64 addr, u8 how)
{
	if (how == NT_END_INTERRUPT)
		return PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_CALL | PERF_IP_FLAG_ASYNC |
		       PERF_IP_FLAG_INTERRUPT;
	if (ntrace_is_ecall(q, addr))
		return PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_CALL | PERF_IP_FLAG_SYSCALLRET;
	return PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_CALL | PERF_IP_FLAG_INTERRUPT;
}

static const u32 ntrace_flags[] = {
	[NT_END_BRANCH]		= PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_CONDITIONAL,
	[NT_END_JUMP]		= PERF_IP_FLAG_BRANCH,
	[NT_END_CALL]		= PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_CALL,
	[NT_END_INDIRECT_JUMP]	= PERF_IP_FLAG_BRANCH,
	[NT_END_INDIRECT_CALL]	= PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_CALL,
	[NT_END_RETURN]		= PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_RETURN,
	/* A coroutine swap (jalr x1, x5 or jalr x5, x1) is a return and a call, so the call depth stays the same */
	[NT_END_SWAP]		= PERF_IP_FLAG_BRANCH,
	[NT_END_TRAP_RETURN]	= PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_RETURN |
				  PERF_IP_FLAG_INTERRUPT,
};

static void ntrace_range_branch(struct ntrace_queue *q, const struct nt_range *range,
				struct ntrace_branch *branch)
{
	u64 end = range->start + 2 * range->halfwords;

	if (range->how >= NT_END_TRAP) {
		branch->from = end;
		branch->flags = ntrace_trap_flags(q, end, range->how);
		/*
		 * A system call returns to the instruction after ecall, any other trap returns to
		 * the instruction that trapped
		 */
		branch->insn_len = branch->flags & PERF_IP_FLAG_SYSCALLRET ? 4 : 0;
		return;
	}
	branch->from = end - 2 * range->last_len;
	branch->insn_len = 2 * range->last_len;
	branch->flags = range->how < ARRAY_SIZE(ntrace_flags) ? ntrace_flags[range->how] :
								PERF_IP_FLAG_BRANCH;
}

static int ntrace_branch(struct ntrace_queue *q, const struct ntrace_branch *branch)
{
	int err;

	if (q->nt->use_thread_stack && q->thread && !ntrace_is_guest(&q->context)) {
		err = ntrace_stack(q, branch);
		if (err)
			return err;
	}
	q->ended = branch->flags & PERF_IP_FLAG_TRACE_END;
	return ntrace_branch_sample(q, branch->from, branch->to, branch->flags, branch->insn_len);
}

/* Instruction @nr of a range, with the code that follows it */
struct ntrace_insn {
	u64		addr;
	unsigned int	nr, len;
	unsigned int	pos, size;	/* position and size in @code, which may start with an earlier instruction */
	u8		code[64];
};

#define NTRACE_INSN_MAX	22	/* length of the longest instruction, in bytes */

static void ntrace_insn_decode(struct ntrace_queue *q, struct ntrace_insn *at, u64 end)
{
	struct nt_insn insn;
	int len;

	if (at->size - at->pos < NTRACE_INSN_MAX && at->addr + at->size - at->pos < end) {
		at->pos = 0;
		at->size = ntrace_code_read(q, at->addr, at->code,
					    min_t(u64, sizeof(at->code), end - at->addr));
	}
	len = nt_insn_decode(&q->config, at->code + at->pos, at->size - at->pos, &insn);
	at->len = len > 0 ? len : 0;
}

/* Advance @at to instruction @nr, so that the code of a range is decoded only once for any number of samples */
static void ntrace_insn_seek(struct ntrace_queue *q, struct ntrace_insn *at,
			     const struct nt_range *range, unsigned int nr)
{
	u64 end = range->start + 2 * range->halfwords;

	if (!at->addr) {
		at->addr = range->start;
		ntrace_insn_decode(q, at, end);
	}
	while (at->nr < nr && at->len && at->addr + at->len < end) {
		at->addr += at->len;
		at->pos += at->len;
		at->nr++;
		ntrace_insn_decode(q, at, end);
	}
}

/*
 * Choose the next instruction to sample if the sampling period is over. The time advances only at
 * the end of a message, and a loop may end each message at the same instruction. So choose at
 * random one of the next @nr instructions, where @nr is the number that the message has reported.
 */
static void ntrace_choose_insn(struct ntrace_queue *q)
{
	u64 nr = q->insns - q->message_insns;

	if (q->time == q->message_time)
		return;
	q->message_time = q->time;
	q->message_insns = q->insns;
	if (q->sample_at || q->time - q->last_time < q->nt->synth_opts.period)
		return;
	q->random = q->random * 1664525 + 1013904223;
	q->sample_end = q->insns;
	q->sample_at = q->insns + 1 + (nr * (q->random >> 16) >> 16);
}

static int ntrace_range_insns(struct ntrace_queue *q, const struct nt_range *range)
{
	struct itrace_synth_opts *opts = &q->nt->synth_opts;
	struct ntrace_insn at = { .addr = 0 };
	u64 before = q->insns, next;
	int err;

	q->insns += range->insns;
	if (!q->nt->sample_instructions || !range->insns)
		return 0;
	if (opts->period_type != PERF_ITRACE_PERIOD_INSTRUCTIONS) {
		if (!q->last_time)
			q->sample_end = q->sample_at = before + 1;
		next = q->sample_at;
		if (!next || next > q->insns) {
			ntrace_choose_insn(q);
			return 0;
		}
		q->sample_at = 0;
		ntrace_insn_seek(q, &at, range, next - before - 1);
		err = ntrace_instruction_sample(q, at.addr, at.len, q->sample_end);
		ntrace_choose_insn(q);
		return err;
	}
	while ((next = q->last_insns + opts->period) <= q->insns) {
		ntrace_insn_seek(q, &at, range, next > before ? next - before - 1 : 0);
		err = ntrace_instruction_sample(q, at.addr, at.len, next);
		if (err)
			return err;
	}
	return 0;
}

static int ntrace_range(struct ntrace_queue *q, const struct nt_range *range, u64 dest,
			bool has_dest)
{
	struct ntrace_branch branch;
	int err;

	ntrace_log(q->nt, "range cpu %d 0x%" PRIx64 " 0x%" PRIx64 " %u\n", q->cpu,
		   (u64)range->start, (u64)range->start + 2 * range->halfwords, range->insns);
	err = ntrace_range_insns(q, range);
	if (err)
		return err;
	if (range->how == NT_END_LINEAR ||
	    (range->how == NT_END_BRANCH && !(range->flags & NT_RANGE_TAKEN)))
		return 0;
	ntrace_range_branch(q, range, &branch);
	branch.to = has_dest ? dest : 0;
	if (!has_dest)
		branch.flags |= PERF_IP_FLAG_TRACE_END;
	return ntrace_branch(q, &branch);
}

static void ntrace_set_context(struct ntrace_queue *q, const struct nt_context *context)
{
	q->context = *context;
	ntrace_queue_set_thread(q, context);
}

/* Deliver the branch sample "tr strt", which was held until the thread was known. Return 0 or an error. */
static int ntrace_begin(struct ntrace_queue *q)
{
	struct ntrace_branch branch = {
		.to = q->begin_addr,
		.flags = PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_TRACE_BEGIN,
	};
	u64 time = q->time;
	int err;

	if (!q->begin)
		return 0;
	q->begin = false;
	ntrace_gap_close(q);
	q->time = q->begin_time;
	err = ntrace_branch(q, &branch);
	q->time = time;
	return err;
}

/* Record that trace starts at @addr, and that earlier code is unknown */
static void ntrace_begin_at(struct ntrace_queue *q, u64 addr)
{
	q->resume = false;
	q->begin = true;
	q->begin_addr = addr;
	q->begin_time = q->time;
}

int ntrace_synth_batch(struct ntrace_queue *q, const struct nt_batch *batch)
{
	const struct nt_mark *mark = batch->marks, *end = mark + batch->nr_marks;
	size_t i;
	int err;

	q->nt->decoded = true;
	/* Set the current thread, to which a later context switch is compared */
	ntrace_set_context(q, &batch->context);
	if (!q->nt->want_ranges) {
		q->resume = false;
		return 0;
	}
	/* After a gap, the flow continues without a SYNC item, so deliver "tr strt" at the first range */
	if (q->resume)
		ntrace_begin_at(q, batch->ranges[0].start);
	err = ntrace_begin(q);
	if (err)
		return err;
	for (i = 0; i < batch->nr; i++) {
		bool last = i + 1 == batch->nr;

		while (mark < end && mark->range <= i)
			mark++;
		/* Use the time of the message that reports the last range */
		if (mark < end && mark->range == i + 1)
			ntrace_queue_time(q, mark->tstamp, mark->tstamp_kind);
		err = ntrace_range(q, &batch->ranges[i],
				   last ? batch->dest : batch->ranges[i + 1].start,
				   last ? batch->has_dest : true);
		if (err)
			return err;
	}
	return 0;
}

/* -------------------------------------------- handling items of the decoder */

void ntrace_synth_lost(struct ntrace_queue *q)
{
	q->ended = true;
	ntrace_gap_open(q);
}

/*
 * Report unknown machine-mode code as an error only once. All gaps because of this code are counted,
 * and their number is printed at the end.
 */
static int ntrace_no_firmware(struct ntrace_queue *q, u64 ip)
{
	if (q->nt->firmware_warned)
		return 0;
	q->nt->firmware_warned = true;
	pr_warning("N-Trace: code of the firmware is left out. To decode it, set its ELF file by: perf config ntrace.firmware=FILE\n");
	return ntrace_queue_error(q, NTRACE_ERROR_FIRMWARE, ip,
				  "no [firmware] code: perf config ntrace.firmware=FILE");
}

/* Return true if the gap is unknown machine-mode code, or an implicit return after it */
static bool ntrace_is_firmware_gap(struct ntrace_queue *q, const struct nt_item *item)
{
	bool inside = q->resume && q->behind_firmware;

	if (item->gap.code == NT_E_GAP_RETURN) {
		q->nt->firmware_returns += q->behind_firmware;
		return q->behind_firmware;
	}
	if (item->context.has_priv)
		q->behind_firmware = item->context.priv == NT_PRIV_M;
	else
		q->behind_firmware = item->gap.code == NT_E_NO_CODE && item->gap.has_addr &&
				     ntrace_may_be_firmware(q, item->gap.addr);
	q->nt->firmware_gaps += q->behind_firmware && !inside;
	return q->behind_firmware;
}

static int ntrace_item_gap(struct ntrace_queue *q, const struct nt_item *item)
{
	u64 ip = item->gap.has_addr ? item->gap.addr : 0;
	bool is_code = item->gap.code == NT_E_NO_CODE;
	bool is_firmware = ntrace_is_firmware_gap(q, item);
	char text[MAX_AUXTRACE_ERROR_MSG];

	ntrace_synth_lost(q);
	q->resume = true;
	if (is_firmware)
		return ntrace_no_firmware(q, ip);
	if (is_code && (q->cpumode == PERF_RECORD_MISC_GUEST_KERNEL ||
			q->cpumode == PERF_RECORD_MISC_GUEST_USER))
		snprintf(text, sizeof(text), "code of a%s guest is missing, at %#" PRIx64,
			 q->pid > 0 && ntrace_is_other_guest(q) ? "nother" : "",
			 (u64)item->offset);
	else if (is_code && q->pid == -1 && ntrace_has_scontext(q, &item->context))
		snprintf(text, sizeof(text),
			 "scontext %#" PRIx64 " is an unknown thread, at %#" PRIx64,
			 (u64)item->context.scontext, (u64)item->offset);
	else
		snprintf(text, sizeof(text), "%s, at %#" PRIx64, nt_error_text(item->gap.code),
			 (u64)item->offset);
	return ntrace_queue_error(q, -item->gap.code, ip, text);
}

static int ntrace_item_error(struct ntrace_queue *q, const struct nt_item *item)
{
	const struct ntrace_stretch *stretch = q->pieces[q->flow_piece].stretch;
	u64 ip = item->error.has_addr ? item->error.addr : 0;
	char text[MAX_AUXTRACE_ERROR_MSG];

	ntrace_synth_lost(q);
	q->resume = true;
	/* The AUX record already reports the truncation, so do not report it twice */
	if (item->error.code == NT_E_TRUNCATED && stretch &&
	    stretch->flags & (PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL))
		return 0;
	snprintf(text, sizeof(text), "%s, at %#" PRIx64, nt_error_text(item->error.code),
		 (u64)item->offset);
	return ntrace_queue_error(q, -item->error.code, ip, text);
}

static int ntrace_item_lost(struct ntrace_queue *q, const struct nt_item *item)
{
	char text[MAX_AUXTRACE_ERROR_MSG];

	ntrace_synth_lost(q);
	snprintf(text, sizeof(text), "%s, at %#" PRIx64, nt_etype_name(item->lost.etype),
		 (u64)item->offset);
	return ntrace_queue_error(q, NTRACE_ERROR_OVERFLOW, 0, text);
}

/*
 * Handle a synchronising message. If trace starts with it, hold the sample "tr strt" until the next Ownership
 * message reports the thread (chapter 7.1).
 */
static void ntrace_item_begin(struct ntrace_queue *q, const struct nt_item *item)
{
	q->ended = false;
	if (item->sync.restart)
		ntrace_begin_at(q, item->sync.addr);
}

static int ntrace_item_stop(struct ntrace_queue *q, const struct nt_item *item)
{
	struct ntrace_branch branch = {
		.from = item->stop.has_addr ? item->stop.addr : 0,
		.flags = PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_TRACE_END,
	};

	return q->ended || !branch.from ? 0 : ntrace_branch(q, &branch);
}

int ntrace_synth_end(struct ntrace_queue *q)
{
	return ntrace_begin(q);
}

int ntrace_synth_item(struct ntrace_queue *q, const struct nt_item *item)
{
	char text[256];
	int err;

	if (q->nt->log && item->type != NT_ITEM_RANGE) {
		nt_item_desc(item, text, sizeof(text));
		fprintf(q->nt->log, "cpu %d: %s\n", q->cpu, text);
	}
	ntrace_set_context(q, &item->context);
	if (item->type != NT_ITEM_CONTEXT) {
		err = ntrace_begin(q);
		if (err)
			return err;
	}
	ntrace_queue_time(q, item->tstamp, item->tstamp_kind);
	switch (item->type) {
	case NT_ITEM_SYNC:
		ntrace_item_begin(q, item);
		return 0;
	case NT_ITEM_STOP:
		return ntrace_item_stop(q, item);
	case NT_ITEM_LOST:
		return ntrace_item_lost(q, item);
	case NT_ITEM_ERROR:
		return ntrace_item_error(q, item);
	case NT_ITEM_GAP:
		return ntrace_item_gap(q, item);
	default:
		return 0;
	}
}
