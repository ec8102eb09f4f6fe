/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Declarations that only the files of the replay share. The glossary explains lanes, segments and
 * runs.
 */
#ifndef NTRACE_SESSION_REPLAY_PRIV_H
#define NTRACE_SESSION_REPLAY_PRIV_H

#include "replay.h"
#include "session/calls/calls-priv.h"
#include "session/flow/decode.h"
#include "session/session-priv.h"

#define NS_CODE		65536	/* number of bits of ns_chunk::code, a power of two */
#define NS_CACHE	8	/* number of decoded segments in nt_replay::cache */

/* A run is a range of instructions that nt_replay_options::pid and nt_replay_options::kernel select to be shown. */
struct ns_run {
	uint64_t	start, time;
	uint64_t	space;
	uint64_t	before;		/* number of instructions of the segment before the run */
	int32_t		tid, pid;
	uint16_t	halfwords, insns;
	bool		gap;		/* trace is missing before the run */
	uint8_t		how;		/* enum nt_end; NT_END_LINEAR if the PC continues after the run */
	uint8_t		last_len;	/* length of the last instruction of the run, half-words */
	bool		trap;		/* code that is not shown, such as the kernel, may have run before this run */
};

/* A branch that the model of calls needs, in a compact form of struct ns_event */
struct ns_call_event {
	uint64_t	from, to, time;
	uint64_t	from_space, to_space;
	uint32_t	image;
	int32_t		tid;
	/*
	 * for an event in ns_decoded::events, the number of runs of the segment before the event; for an event in
	 * ns_chunk::events, its index in ns_decoded::events of the same segment
	 */
	uint32_t	run;
	uint8_t		kind, flags, length;
	/* first event after the CPU executed another thread, or after trace was lost */
	bool		slice;
};

/* A segment is the trace from one SYNC to another SYNC of the same part. The replay decodes it separately. */
struct ns_chunk {
	uint64_t	part, from, to;	/* arguments of ns_decoder_run() */
	uint64_t	floor;		/* earliest time that an instruction of the segment can have, ns */
	uint64_t	first, last;	/* times of the first and the last run of the segment, ns */
	uint64_t	before;		/* number of instructions in all earlier segments of the lane (ns_lane) */
	uint64_t	insns;
	uint64_t	threads;	/* ns_thread_bit() of the threads that the segment contains */
	uint32_t	runs;
	bool		middle;		/* the segment does not begin at the start of its part */
	bool		restart;	/* trace starts or restarts at the start of the segment */
	bool		gap;		/* trace is missing before the first instruction of the segment */
	/* the thread executed code that is not shown, such as the kernel, before the segment's first instruction */
	bool		trap;
	bool		has_gap;	/* ns_run::gap is set in a run of the segment */
	bool		has_events;	/* @events has all events that later code needs, see pairs.c */
	bool		one_stack;	/* @events is only correct if the thread does not switch stacks */
	uint64_t	end;		/* time of the last event or run of the segment, ns */
	struct ns_call_event *events;
	size_t		nr_events;
	uint64_t	code[NS_CODE / 64];	/* Bloom filter of the half-words that executed, see ns_code_bits() */
};

/* A lane consists of all segments of one CPU, or of the segments of one CPU in the buffer of one thread. */
struct ns_lane {
	uint32_t	buffer;
	int32_t		cpu;
	NS_ARRAY(struct ns_chunk) segments;
	uint64_t	insns;
	uint64_t	last;		/* time of the last instruction, ns */
	bool		lost;		/* trace is missing after the last segment */
};

struct ns_decoded {
	NS_ARRAY(struct ns_run) runs;
	NS_ARRAY(struct ns_call_event) events;
	const struct ns_chunk *segment;	/* segment that was decoded; NULL: none */
	uint64_t	used;
};

/*
 * Position of a run in a lane (struct ns_lane). @segment is an index into the segments of the lane, and @run is an
 * index into the runs of this segment.
 */
struct ns_spot {
	uint32_t	segment, run;
};

/* Events of one thread that are applied to the model of calls, to find the callers at a position. See callers.c. */
struct ns_walk;

/* Files of an address space, see objects.c */
struct ns_files {
	NS_ARRAY(struct nt_replay_object) all;
};

struct nt_replay {
	struct nt_session *session;
	struct nt_replay_options options;
	uint64_t	kernel_start;
	NS_ARRAY(struct ns_lane) lanes;
	NS_ARRAY(int32_t) tids;		/* ids of all threads, sorted */
	NS_ARRAY(uint64_t) spaces;	/* address spaces of processes, sorted */
	NS_ARRAY(struct ns_files) files;
	NS_ARRAY(int) lists;		/* result of nt_replay_files() for each of @spaces; -2: not yet known */
	struct ns_files	kernel;
	bool		has_kernel;	/* the list @kernel was already made */
	uint64_t	insns;
	struct ns_all_gaps gaps;
	struct ns_decoder *decoder;
	struct ns_decoded cache[NS_CACHE];
	uint64_t	uses;
	size_t		events;		/* number of events in ns_chunk::events of all segments */
	size_t		decoded;	/* number of times that a segment was decoded */
	/* The position of the replay. @next has the next run of each lane, and @lane is the lane of the current run. */
	struct ns_spot	*next;
	uint32_t	lane;
	uint32_t	insn;		/* number of instructions of the current run before the position */
	struct ns_target *targets;	/* cache for ns_stack::targets */
	NS_ARRAY(struct ns_walk *) walks;
};

static inline uint64_t ns_thread_bit(int32_t tid)
{
	return 1ULL << ((uint32_t)tid * 0x9e3779b1U >> 26);
}

/* Return in @bits the numbers of the two bits of ns_chunk::code that belong to a half-word. */
static inline void ns_code_bits(uint64_t addr, uint32_t bits[2])
{
	uint64_t hash = addr / 2 * 0x9e3779b97f4a7c15ULL;

	bits[0] = hash >> 32 & (NS_CODE - 1);
	bits[1] = hash >> 48 & (NS_CODE - 1);
}

/* Return true if the segment may contain the instruction. */
static inline bool ns_chunk_may_have(const struct ns_chunk *s, uint64_t addr)
{
	uint32_t bits[2];

	ns_code_bits(addr, bits);
	return s->code[bits[0] / 64] >> (bits[0] % 64) & s->code[bits[1] / 64] >> (bits[1] % 64) & 1;
}

#define NS_ANY_THREAD	INT32_MIN

/* Return true if @thread executed the run. If nt_replay_options::cpus is set, @thread is the number of a CPU. */
static inline bool ns_run_is_of(const struct nt_replay *replay, uint32_t lane, const struct ns_run *run, int32_t thread)
{
	return thread == NS_ANY_THREAD || (replay->options.cpus ? replay->lanes.at[lane].cpu : run->tid) == thread;
}

/* Return true if the segment may contain runs of the thread. */
static inline bool ns_chunk_may_be_of(const struct nt_replay *replay, uint32_t lane, const struct ns_chunk *s, int32_t thread)
{
	return replay->options.cpus ? replay->lanes.at[lane].cpu == thread : s->threads & ns_thread_bit(thread);
}

/*
 * ns_replay_decode() - decode a segment, or return it from the cache of up to NS_CACHE segments
 *
 * If the cache is full, the function replaces the segment that was used longest ago. The result is valid until a segment
 * of each lane was decoded.
 */
const struct ns_decoded *ns_replay_decode(struct nt_replay *replay, uint32_t lane, uint32_t segment);

/* ns_replay_segment() - decode a segment to *out. Return 0, or -1 after an error. */
int ns_replay_segment(struct nt_replay *replay, const struct ns_chunk *s, struct ns_decoded *out);

/* ns_replay_run() - return a run, or NULL after an error */
const struct ns_run *ns_replay_run(struct nt_replay *replay, uint32_t lane, struct ns_spot spot);

/*
 * ns_replay_lane_run() - find the next run of a thread on a lane, or the previous run if @back is set
 * @spot: Position at which the search starts; set to the run. A search forwards includes the run at this position.
 *
 * Return 1, 0 if no further run is found, or -1 after an error.
 */
int ns_replay_lane_run(struct nt_replay *replay, uint32_t lane, int32_t tid, bool back, struct ns_spot *spot);

/*
 * ns_replay_thread_spot() - find the next instruction of a thread, or its last instruction if none follows
 *
 * Return 1, 0 if the thread has no instructions, or -1 after an error.
 */
int ns_replay_thread_spot(struct nt_replay *replay, int32_t tid, uint32_t *lane, struct ns_spot *spot, uint32_t *insn);

/* ns_replay_set() - move to an instruction. Return false after an error. */
bool ns_replay_set(struct nt_replay *replay, uint32_t lane, struct ns_spot spot, uint32_t insn);

/* ns_run_addrs() - get the address of each instruction. Return false if the code cannot be read. */
bool ns_run_addrs(struct nt_replay *replay, const struct ns_run *run, uint64_t addrs[NT_RANGE_HALFWORDS]);

void ns_walk_free(struct ns_walk *walk);

/* ns_files_free() - free the lists of files of a replay */
void ns_files_free(struct nt_replay *replay);

/* ns_kernel_files() - list the kernel and its modules. Return false if out of memory. */
bool ns_kernel_files(struct nt_session *session, struct ns_files *files);
void ns_kernel_files_free(struct ns_files *files);

#endif /* NTRACE_SESSION_REPLAY_PRIV_H */
