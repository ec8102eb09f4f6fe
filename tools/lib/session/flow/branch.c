// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Convert the decoded ranges of a stretch to branches (branch.h). */
#include <stdlib.h>

#include "branch.h"
#include "session/session-priv.h"
#include "sources.h"
#include "worker.h"

/* The state of one stretch, which is the trace from a start of the encoder to its stop (see trace.h) */
struct branches {
	struct nt_session *session;
	const struct nt_branch_sink *sink;
	void		*part;		/* return value of @sink->begin() */
	/* the next branch to report is the start of the trace at @begin_addr (NT_BRANCH_BEGIN) */
	bool		begin;
	bool		resume;		/* the flow was lost, and no message with SYNC was decoded since the loss */
	bool		ended;		/* the last branch that was reported has NT_BRANCH_END */
	uint8_t		gap;		/* flags to add to the next NT_BRANCH_BEGIN if it is in thread @gap_tid */
	uint8_t		missing;	/* flags of a NT_BRANCH_BEGIN that follows missing code */
	int32_t		gap_tid;
	uint64_t	begin_addr, begin_time;
	uint64_t	time;
	uint64_t	insns;
};

static void set_time(struct branches *s, const struct nt_who *who, uint64_t tstamp, uint8_t kind)
{
	uint64_t time = nt_who_time(who, tstamp, kind);

	if (time > s->time)
		s->time = time;
}

static int give(struct branches *s, const struct nt_who *who, struct nt_branch *branch)
{
	branch->time = s->time;
	branch->insns = s->insns;
	s->insns = 0;
	s->ended = branch->flags & NT_BRANCH_END;
	return s->sink->branch(s->part, who, branch);
}

/* ---- Begin ---- */

static void begin_at(struct branches *s, uint64_t addr)
{
	s->resume = false;
	s->begin = true;
	s->begin_addr = addr;
	s->begin_time = s->time;
}

/*
 * Report the start of the trace. The caller delays this until an Ownership message has identified
 * the thread (chapter 7.1).
 */
static int give_begin(struct branches *s, const struct nt_who *who)
{
	struct nt_branch branch = {
		.to = s->begin_addr, .kind = NT_BRANCH_NONE,
		.flags = NT_BRANCH_BEGIN | (who->tid == s->gap_tid ? s->gap : 0),
	};
	uint64_t now = s->time;
	int err;

	if (!s->begin)
		return 0;
	s->begin = false;
	s->gap = 0;
	s->time = s->begin_time;
	err = give(s, who, &branch);
	s->time = now;
	return err;
}

/* ---- Ranges ---- */

static const uint8_t kinds[] = {
	[NT_END_BRANCH]		= NT_BRANCH_CONDITIONAL,
	[NT_END_JUMP]		= NT_BRANCH_JUMP,
	[NT_END_CALL]		= NT_BRANCH_CALL,
	[NT_END_INDIRECT_JUMP]	= NT_BRANCH_JUMP,
	[NT_END_INDIRECT_CALL]	= NT_BRANCH_CALL,
	[NT_END_RETURN]		= NT_BRANCH_RETURN,
	[NT_END_SWAP]		= NT_BRANCH_CALL,
	[NT_END_TRAP_RETURN]	= NT_BRANCH_TRAP_RETURN,
};

/* Return the kind of a trap. An exception at the instruction ecall is a system call. */
static uint8_t trap_kind(const struct nt_who *who, uint64_t addr, uint8_t end)
{
	if (end == NT_END_INTERRUPT)
		return NT_BRANCH_INTERRUPT;
	return ns_is_ecall(who, addr) ? NT_BRANCH_SYSCALL : NT_BRANCH_EXCEPTION;
}

/*
 * Return true if a jalr between two link registers is both a return and a call (a swap), so that the call depth does
 * not change. A swap goes to the middle of a function. Programs of Go call functions with the same instruction.
 */
static bool keeps_depth(const struct branches *s, const struct nt_who *who, uint64_t to)
{
	struct nt_place place;

	nt_session_where(s->session, nt_who_space(who, to), to, &place);
	return place.symbol && place.offset;
}

static bool is_branch(const struct nt_range *range)
{
	return range->how != NT_END_LINEAR &&
		(range->how != NT_END_BRANCH || range->flags & NT_RANGE_TAKEN);
}

static int give_range(struct branches *s, const struct nt_who *who, const struct nt_range *range,
		      uint64_t to, bool has_to)
{
	uint64_t end = range->start + 2 * range->halfwords;
	struct nt_branch branch = {
		.to = has_to ? to : 0, .flags = has_to ? 0 : NT_BRANCH_END,
	};

	s->insns += range->insns;
	if (!is_branch(range))
		return 0;
	if (range->how >= NT_END_TRAP) {
		branch.from = end;
		branch.kind = trap_kind(who, end, range->how);
	} else {
		branch.length = 2 * range->last_len;
		branch.from = end - branch.length;
		branch.kind = range->how < sizeof(kinds) ? kinds[range->how] : NT_BRANCH_JUMP;
		if (range->how == NT_END_SWAP && has_to && keeps_depth(s, who, to))
			branch.kind = NT_BRANCH_JUMP;
	}
	return give(s, who, &branch);
}

static int take_ranges(void *part, const struct nt_who *who, const struct nt_batch *batch)
{
	const struct nt_mark *mark = batch->marks, *marks = mark + batch->nr_marks;
	struct branches *s = part;
	size_t i;
	int err;

	set_time(s, who, batch->tstamp, batch->tstamp_kind);
	if (s->resume)
		begin_at(s, batch->ranges[0].start);
	err = give_begin(s, who);
	for (i = 0; !err && i < batch->nr; i++) {
		bool last = i + 1 == batch->nr;

		for (; mark < marks && mark->range <= i; mark++)
			;
		/* the time of a message is that of the last range that the message reports */
		if (mark < marks && mark->range == i + 1)
			set_time(s, who, mark->tstamp, mark->tstamp_kind);
		err = give_range(s, who, &batch->ranges[i],
				 last ? batch->dest : batch->ranges[i + 1].start,
				 !last || batch->has_dest);
	}
	return err;
}

/* ---- Report stops and errors ---- */

static int give_stop(struct branches *s, const struct nt_who *who, const struct nt_item *item)
{
	struct nt_branch branch = {
		.from = item->stop.addr, .kind = NT_BRANCH_NONE, .flags = NT_BRANCH_END,
	};

	return s->ended || !item->stop.has_addr || !branch.from ? 0 :
		give(s, who, &branch);
}

static int give_error(struct branches *s, const struct nt_who *who, const struct nt_item *item)
{
	struct nt_who then = *who;

	s->ended = true;
	s->resume |= item->type == NT_ITEM_ERROR || item->type == NT_ITEM_GAP;
	s->gap = item->type == NT_ITEM_GAP ? s->missing : 0;
	s->gap_tid = who->tid;
	then.time = s->time;
	return s->sink->error ? s->sink->error(s->part, &then, item) : 0;
}

static int take_item(void *part, const struct nt_who *who, const struct nt_item *item)
{
	struct branches *s = part;
	int err = 0;

	if (item->type != NT_ITEM_CONTEXT)
		err = give_begin(s, who);
	set_time(s, who, item->tstamp, item->tstamp_kind);
	if (err)
		return err;
	switch (item->type) {
	case NT_ITEM_SYNC:
		s->ended = false;
		if (item->sync.restart)
			begin_at(s, item->sync.addr);
		return 0;
	case NT_ITEM_STOP:
		return give_stop(s, who, item);
	case NT_ITEM_LOST:
	case NT_ITEM_ERROR:
	case NT_ITEM_GAP:
		return give_error(s, who, item);
	}
	return 0;
}

/* ---- All stretches ---- */

static void *begin_stretch(void *ctx, uint64_t stretch)
{
	struct branches *branches = calloc(1, sizeof(*branches));
	struct ns_branch_job *job = ctx;
	const struct ns_cpu *cpu = ns_part_cpu(job->session, stretch);

	if (!branches)
		return NULL;
	branches->missing = NT_BRANCH_MISSING | (cpu && cpu->nt.return_depth ? NT_BRANCH_HIDDEN : 0);
	branches->session = job->session;
	branches->sink = job->sink;
	branches->part = job->sink->begin(job->ctx, stretch);
	if (branches->part)
		return branches;
	free(branches);
	return NULL;
}

static int end_stretch(void *ctx, void *part, const struct nt_who *who, bool lost)
{
	struct branches *branches = part;
	struct ns_branch_job *job = ctx;
	int err = job->sink->end(job->ctx, branches->part, who, lost);

	free(branches);
	return err;
}

struct nt_consumer ns_branch_consumer(const struct nt_branch_sink *sink)
{
	return (struct nt_consumer){
		.size = sizeof(struct nt_consumer), .begin = begin_stretch, .ranges = take_ranges,
		.item = take_item, .end = end_stretch, .windows = sink->windows,
		.nr_windows = sink->nr_windows,
	};
}

int nt_session_branches(struct nt_session *session, const struct nt_branch_sink *sink, void *ctx)
{
	const struct nt_consumer consumer = ns_branch_consumer(sink);
	struct ns_branch_job job = { .session = session, .sink = sink, .ctx = ctx };

	return nt_session_decode(session, &consumer, &job);
}
