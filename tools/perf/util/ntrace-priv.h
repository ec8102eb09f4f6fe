/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * N-Trace in perf, between its own files:
 *
 *   ntrace.c        the session: queues, sideband events, time
 *   ntrace-hold.c   events of a recording that cannot be read twice
 *   ntrace-info.c   metadata (PERF_RECORD_AUXTRACE_INFO)
 *   ntrace-queue.c  one source of one AUX buffer, decoded in step with other events
 *   ntrace-pieces.c one AUX buffer, cut into pieces
 *   ntrace-frames.c frames of a CoreSight ETR, taken apart
 *   ntrace-time.c   timestamps to perf's time
 *   ntrace-thread.c the thread that executes
 *   ntrace-quick.c  what messages alone report (--itrace=q)
 *   ntrace-code.c   what code was at an address: maps and objects
 *   ntrace-synth.c  samples
 *   ntrace-stack.c  call chains and branch stacks
 *   ntrace-gap.c    gaps, and whose calls are not known after them
 *   ntrace-error.c  errors
 *   ntrace-dump.c   perf script -D
 *
 * Bytes are decoded by libntrace (<ntrace/ntrace.h>), which knows no perf.
 */
#ifndef INCLUDE__PERF_NTRACE_PRIV_H__
#define INCLUDE__PERF_NTRACE_PRIV_H__

#include <stdbool.h>
#include <stdio.h>

#include <linux/bits.h>
#include <linux/ntrace.h>
#include <linux/types.h>

#include <ntrace/ntrace.h>

#include "auxtrace.h"
#include "event.h"
#include "ordered-events.h"
#include "tsc.h"

struct branch_stack;
struct hashmap;
struct ip_callchain;
struct machine;
struct nt_sinks;
struct ntrace;
struct thread;

/* ----------------------------------------------------------------- metadata */

struct ntrace_cpu {
	int	cpu;
	u32	impl;
	u32	config;		/* NTRACE_CONFIG_* */
	u32	src_bits;
	u32	src_id;
	u32	ts_width;
	u64	ts_freq;
	u32	ir_mode;
	u32	xlen;
	u32	trace_id;	/* 0: its trace is not in frames */
	u32	dialect;	/* NTRACE_DIALECT_* */
	u32	addr_bits;	/* 0: addresses have all their bits */
	u32	sink;		/* number of the sink; 0: not known */
	u64	ts_base;	/* the counter when the time CSR was this, 0: it counts like that */
	u64	ts_base_time;
};

struct ntrace_info {
	u32			pmu_type;
	u64			flags;	/* NTRACE_INFO_FLAG_* */
	u64			time_shift, time_mult, time_zero;
	unsigned int		nr_cpus;
	struct ntrace_cpu	*cpus;
};

int ntrace_info_parse(struct ntrace_info *info, const struct perf_record_auxtrace_info *event);
void ntrace_info_print(const struct ntrace_info *info, FILE *fp);
void ntrace_info_exit(struct ntrace_info *info);
const struct ntrace_cpu *ntrace_info_cpu(const struct ntrace_info *info, int cpu);
/* false: there is no SRC in what this encoder sends */
bool ntrace_cpu_has_src(const struct ntrace_cpu *cpu);
/* The first with that SRC that may write to the sink of @own, or NULL; @own may be NULL */
const struct ntrace_cpu *ntrace_info_source(const struct ntrace_info *info,
					    const struct ntrace_cpu *own, int src);
/* false: the library would not take it */
bool ntrace_cpu_config(const struct ntrace_cpu *cpu, struct nt_config *config);

/* @addr with the upper bits that its message may not have */
static inline u64 ntrace_whole_addr(const struct ntrace_cpu *cpu, u64 addr)
{
	unsigned int above = cpu->addr_bits ? 64 - cpu->addr_bits : 0;

	return (u64)((s64)(addr << above) >> above);
}

/* --------------------------------------------------------------------- code */

/* Address spaces that are given to the library; those of processes come after */
enum ntrace_space {
	NTRACE_SPACE_NONE	= 0,
	NTRACE_SPACE_KERNEL	= 1,
	NTRACE_SPACE_FIRMWARE	= 2,
	NTRACE_SPACE_UNKNOWN	= 3,	/* a process, and it is not known which */
	NTRACE_SPACE_NO_GUEST	= 5,	/* a guest, and it is not known which */
	NTRACE_SPACE_PROCESS	= 16,
};

/* A guest's, with the process that runs it */
#define NTRACE_SPACE_GUEST	BIT_ULL(63)

#define NTRACE_PAGE		4096
#define NTRACE_NR_PAGES		64

struct ntrace_page {
	u64	space;		/* NTRACE_SPACE_NONE: nothing here */
	u64	addr;
	u32	size;		/* bytes from the start of the page that there are */
	u8	data[NTRACE_PAGE];
};

struct ntrace_firmware {
	void			*file;
	size_t			file_size;
	struct ntrace_segment {
		u64	addr, size;
		void	*data;
	} *segments;
	unsigned int		nr;
};

int ntrace_firmware_load(struct ntrace_firmware *fw, const char *path);
void ntrace_firmware_free(struct ntrace_firmware *fw);

struct ntrace_queue;
int ntrace_code_init(struct ntrace_queue *q);
/* No message says so, but the code is of no process */
bool ntrace_may_be_firmware(struct ntrace_queue *q, u64 addr);
void ntrace_code_exit(struct ntrace_queue *q);
/* What was decoded or read of this process (-1: of all, and of the kernel) is out of date */
void ntrace_code_changed(struct ntrace *nt, pid_t pid);
/* The process executes another program from now on */
void ntrace_code_exec(struct ntrace *nt, pid_t pid);
/* A guest that this process runs has switched to another process, or (@code) has other code */
void ntrace_guest_changed(struct ntrace *nt, pid_t pid, bool code);
/* Has that happened since the last call? */
bool ntrace_code_executed(struct ntrace *nt, pid_t pid);
/* An exception by ecall is a system call */
bool ntrace_is_ecall(struct ntrace_queue *q, u64 addr);
size_t ntrace_code_read(struct ntrace_queue *q, u64 addr, void *buf, size_t size);
/* V bit */
bool ntrace_is_guest(const struct nt_context *context);
/* A guest, if perf may have the code of another one */
bool ntrace_is_other_guest(struct ntrace_queue *q);

/* -------------------------------------------------------------------- queue */

/*
 * What one PERF_RECORD_AUX says: the encoder started before its first byte, and
 * was stopped and flushed after its last.
 */
struct ntrace_stretch {
	u64	offset, size;	/* in the AUX buffer */
	u64	flags;		/* PERF_AUX_FLAG_* */
	u64	time;		/* when it stopped; 0 if not known */
	int	cpu;
	pid_t	pid, tid;
	bool	cut;		/* begins anywhere: its first bytes are not there any more */
};

/*
 * Bytes that are in one struct auxtrace_buffer and in one stretch. Of frames it is a whole
 * stretch that begins in @buffer; @data has the bytes of the queue's encoder, then idle ones
 * up to @size.
 */
struct ntrace_piece {
	struct auxtrace_buffer		*buffer;
	const struct ntrace_stretch	*stretch;	/* NULL: no record tells of it */
	u64				offset, size;
	bool				start;		/* does not go on from the piece before */
	u8				*data;	/* NULL: those of @buffer, or not converted */
};

struct ntrace_position {
	unsigned int		piece;
	u64			offset;
};

/* Trace that no range of --time asks for */
struct ntrace_skip {
	bool			on;
	bool			begun;		/* the flow was fed up to @from */
	struct ntrace_position	from;
	bool			has_sync;	/* @sync: the last place where decoding can start */
	struct ntrace_position	sync;
	u64			until;		/* ns */
};

/* The time of one source, in ticks of its counter */
struct ntrace_clock {
	u64	ticks;
	bool	valid;
	bool	stale;		/* of another stretch: the next synchronising message sets it */
};

/*
 * One source of one AUX buffer. Encoders that share a sink write to the same buffer, and SRC
 * tells them apart (chapter 7.2 of the Trace Control Interface). Each of them has a time, a
 * thread and a flow of its own, so each is read and decoded as if the others were not there.
 */
struct ntrace_queue {
	struct ntrace		*nt;
	unsigned int		queue_nr;	/* of perf's queue */
	unsigned int		nr;		/* in ntrace::streams */
	int			src;		/* SRC, or -1: messages have none */
	unsigned long		*sources;	/* of -1: those that have messages in the buffer */
	bool			on_heap;
	bool			done;

	struct ntrace_piece	*pieces;
	unsigned int		nr_pieces, max_pieces;

	/* reading ahead, message by message, to know how far time allows to decode */
	struct nt_reader	*reader;
	unsigned int		read_piece;
	struct ntrace_clock	clock;
	struct ntrace_position	pending;	/* up to here ... */
	u64			pending_time;	/* ... nothing is later than this */
	bool			pending_end;	/* the stretch ends there */
	bool			lost_before;	/* trace is missing before it, which is to be reported */
	u64			first_time;	/* of the stretch; 0 until it is read */
	struct ntrace_skip	skip;

	/* decoding */
	const struct ntrace_cpu	*info;
	struct nt_config	config;
	struct nt_image		*image;
	struct nt_flow		*flow;
	struct ntrace_quick	*quick;		/* NULL: the flow is decoded */
	unsigned int		flow_piece;
	u64			flow_offset;
	bool			timeless;
	u64			stretch_time;

	/* who executes */
	int			cpu;
	pid_t			pid, tid;
	struct thread		*thread;
	struct nt_context	context;
	u8			cpumode;
	struct machine		*guest;		/* V bit: the machine that the thread runs ... */
	struct thread		*guest_thread;	/* ... with its maps */

	u64			trace_nr;	/* what is known of the thread's calls */
	bool			gap;		/* nothing is traced at this time */

	struct ntrace_page	*code;		/* NTRACE_NR_PAGES */

	/* samples */
	u64			time;		/* ns, of perf's clock */
	u64			insns;		/* since the start */
	u64			last_insns;	/* at the last sample */
	u64			last_time;
	u32			flags;
	bool			ended;		/* the last sample was "tr end" */
	bool			resume;		/* the next range comes after a gap */
	bool			behind_firmware; /* ... of code of machine mode */
	bool			begin;		/* "tr strt" is to come */
	u64			begin_addr;
	u64			begin_time;
	union perf_event	*event_buf;
	struct ip_callchain	*chain;
	struct branch_stack	*last_branch;
};

/*
 * Find the sources of all perf queues that are new, then make their streams: a full sink may have
 * lost all that a source sent to one of its buffers
 */
int ntrace_queues_setup(struct ntrace *nt);
/* A message of another source, in the same buffer */
static inline bool ntrace_queue_is_other(const struct ntrace_queue *q, const struct nt_message *msg)
{
	return q->src >= 0 && msg->src != q->src;
}

void ntrace_queue_free(struct ntrace_queue *q);
/* 1: no more data; 0: *timestamp is when it goes on; negative error */
int ntrace_queue_run(struct ntrace_queue *q, u64 *timestamp);

/* ------------------------------------------------------------------- pieces */

/* Bytes of the buffer that are in the file, which may have been cut short */
u64 ntrace_buffer_size(struct ntrace *nt, const struct auxtrace_buffer *buffer);
void ntrace_sort_stretches(struct ntrace *nt, bool by_tid);
int ntrace_queue_pieces(struct ntrace_queue *q, struct auxtrace_queue *queue);
/* NULL: the file cannot be read */
bool ntrace_stretch_has_frames(const struct ntrace_stretch *stretch);
bool ntrace_frames_lost(u64 flags, u64 size);
/* Warn of trace IDs that no encoder of the recording has, in the first stretch of frames */
void ntrace_frames_check_ids(struct ntrace_queue *q, struct ntrace_piece *piece);
const u8 *ntrace_frames_data(struct ntrace_queue *q, struct ntrace_piece *piece);
const u8 *ntrace_piece_data(struct ntrace_queue *q, struct ntrace_piece *piece);
bool ntrace_piece_is_middle(struct ntrace_queue *q, struct ntrace_piece *piece);

/* --------------------------------------------------------------------- time */

/* Do timestamps of this encoder count what perf's clock counts? */
bool ntrace_cpu_has_time(struct ntrace *nt, const struct ntrace_cpu *cpu);
u64 ntrace_next_tstamp(const struct ntrace_cpu *cpu, u64 last, u64 tstamp);
u64 ntrace_ticks_to_time(struct ntrace_queue *q, u64 ticks);
/* Called for each message that is read ahead; true if it has a time */
bool ntrace_clock_advance(struct ntrace_queue *q, const struct nt_message *msg);
/* Time of an item of the flow, in ns of perf's clock */
u64 ntrace_queue_time(struct ntrace_queue *q, u64 tstamp, u8 kind);

/* ------------------------------------------------------------------ threads */

/* What events of a guest say about who executes in it; pid 0: nothing */
struct ntrace_guest {
	pid_t	machine;	/* the process that runs the guest */
	int	vcpu;
	pid_t	pid, tid;
};

void ntrace_find_guest_task(struct ntrace_queue *q, const struct nt_context *context,
			    struct ntrace_guest *guest);
/* ntrace_has_scontext() - does an Ownership message tell the thread? */
bool ntrace_has_scontext(const struct ntrace_queue *q, const struct nt_context *context);
/* The process that @context is of; -1: not known */
pid_t ntrace_context_pid(struct ntrace_queue *q, const struct nt_context *context);
void ntrace_queue_set_thread(struct ntrace_queue *q, const struct nt_context *context);
/* PERF_RECORD_MISC_*: who executes at @ip or, if that is 0, at @addr */
u8 ntrace_sample_cpumode(struct ntrace_queue *q, u64 ip, u64 addr);

/* -------------------------------------------------------------- quick modes */

/* NULL in ntrace_queue::quick, where no quick mode is asked for */
int ntrace_quick_init(struct ntrace_queue *q);
void ntrace_quick_exit(struct ntrace_queue *q);
void ntrace_quick_restart(struct ntrace_queue *q, u64 offset, bool middle);
int ntrace_quick_feed(struct ntrace_queue *q, const u8 *data, size_t size);
int ntrace_quick_end(struct ntrace_queue *q);

/* ------------------------------------------------------------------ session */

/* Codes of itrace errors, above all of libntrace's */
#define NTRACE_NR_ERRORS	64

struct ntrace {
	struct auxtrace		auxtrace;
	struct auxtrace_queues	queues;
	struct auxtrace_heap	heap;
	struct ntrace_queue	**streams;
	unsigned int		nr_streams;
	struct perf_session	*session;
	struct machine		*machine;
	struct ntrace_info	info;
	struct perf_tsc_conversion tc;
	bool			have_time;
	bool			data_queued;
	u64			kernel_start;
	bool			kernel_loaded;
	void			*vdso;
	size_t			vdso_size;
	bool			vdso_tried;
	struct evsel		*switch_evsel;

	struct ntrace_stretch	*stretches;
	size_t			nr_stretches;
	struct nt_sinks		*sinks;		/* by ntrace_info::cpus */
	unsigned long		*senders;	/* bits: those of ntrace_info::cpus that have messages */

	/* events that wait for the end, and who gets them; NULL: none has to wait */
	struct list_head	held;
	ordered_events__deliver_t deliver;

	/* AUX sampling: the last sample of each queue, for what the next repeats of it */
	bool			sampling;
	u64			sampled;	/* bytes of all samples */
	struct ntrace_last {
		u8	*data;
		size_t	size;
	} *last;
	unsigned int		nr_last;

	bool			have_guest;	/* there are events of a guest */
	struct ntrace_firmware	firmware;
	char			*firmware_path;
	bool			firmware_warned;
	u64			firmware_gaps;	/* stretches of it */
	u64			firmware_returns; /* after those; where to is not reported */
	bool			damaged;	/* there was an error other than lost trace */
	bool			have_trace;
	bool			decoded;	/* an instruction, or its address */
	u64			kernel_errors;	/* code of the kernel that is not what ran */
	u64			nr_errors[NTRACE_NR_ERRORS]; /* that were reported, by code */
	bool			has_sources;	/* an encoder sends SRC */
	bool			source_warned;
	bool			frames_checked;
	bool			time_warned;
	bool			size_warned;

	/* gaps: see ntrace-gap.c */
	struct hashmap		*tids;
	u64			epoch;
	u64			last_trace_nr;
	unsigned int		nr_gaps;	/* queues that are in one */
	bool			event_disabled;	/* by perf, for want of room */
	bool			have_switches;

	/* processes whose code has changed get another address space */
	struct ntrace_process {
		pid_t	pid;
		u32	space;
		bool	executed;	/* another program, whose first code is to come */
		bool	has_guest;	/* the first that it ran, with this hcontext if any */
		bool	has_hcontext;
		u64	hcontext;
	} *processes;
	unsigned int		nr_processes;
	u32			last_space;

	struct itrace_synth_opts synth_opts;
	struct itrace_synth_opts own_opts;	/* of a command that has no --itrace */
	bool			want_ranges;
	bool			use_thread_stack;
	bool			callstack;
	unsigned int		br_stack_sz;
	u32			branches_filter;
	bool			sample_branches;
	u64			branches_sample_type;
	u64			branches_id;
	bool			sample_instructions;
	u64			instructions_sample_type;
	u64			instructions_id;
	u64			num_events;
	u64			last_time;	/* of a sample */
	struct ip_callchain	*chain;
	struct branch_stack	*br_stack;
	FILE			*log;

	struct ntrace_dump	*dump;
	unsigned int		nr_dump;
};

/* Use what an event says about trace, possibly before it is the event's turn */
int ntrace_collect_event(struct ntrace *nt, union perf_event *event);
int ntrace_collect_sample(struct ntrace *nt, union perf_event *event);

/* ---------------------------------------------------- events that are held back */

void ntrace_hold_begin(struct ntrace *nt);
int ntrace_hold_end(struct ntrace *nt);
void ntrace_hold_free(struct ntrace *nt);

/* ------------------------------------------------------------------ samples */

int ntrace_synth_setup(struct ntrace *nt);
int ntrace_synth_batch(struct ntrace_queue *q, const struct nt_batch *batch);
int ntrace_synth_item(struct ntrace_queue *q, const struct nt_item *item);
/* An address that was executed; what was executed since the last one is unknown */
int ntrace_synth_address(struct ntrace_queue *q, u64 addr);
/* It is unknown where the flow continues */
void ntrace_synth_lost(struct ntrace_queue *q);
/* The stretch ends: a sample that waits for its thread does not wait any longer */
int ntrace_synth_end(struct ntrace_queue *q);
int ntrace_synth_queue_init(struct ntrace_queue *q);
void ntrace_synth_queue_exit(struct ntrace_queue *q);

/* -------------------------------------------------------------------- stack */

struct ntrace_branch {
	u64		from, to;
	u32		flags;
	unsigned int	insn_len;
};

int ntrace_stack(struct ntrace_queue *q, const struct ntrace_branch *branch);

/* --------------------------------------------------------------------- gaps */

int ntrace_gap_init(struct ntrace *nt);
void ntrace_gap_exit(struct ntrace *nt);
/* The queue's trace ends, and continues later: in between, nothing is known of its threads */
void ntrace_gap_open(struct ntrace_queue *q);
void ntrace_gap_close(struct ntrace_queue *q);
/* The queue's thread is another one, or its trace begins */
void ntrace_gap_enter(struct ntrace_queue *q);
void ntrace_gap_switch(struct ntrace *nt, pid_t tid, int cpu);
void ntrace_gap_switch_out(struct ntrace *nt, pid_t tid, int cpu);
void ntrace_gap_refused(struct ntrace *nt, int cpu, pid_t tid);
void ntrace_gap_unknown(struct ntrace *nt);
void ntrace_gap_sample(struct ntrace *nt, struct thread *thread, int cpu);

/* ------------------------------------------------------------------- errors */

/* Codes of itrace errors that are not of libntrace; those are its own, negated */
enum ntrace_error {
	NTRACE_ERROR_LOST	= 1,
	NTRACE_ERROR_OVERFLOW	= 2,
	NTRACE_ERROR_CONFIG	= 3,
	NTRACE_ERROR_FIRMWARE	= 4,
	NTRACE_ERROR_BUSY	= 5,
};

int ntrace_synth_error(struct ntrace *nt, int code, int cpu, pid_t pid, pid_t tid, u64 ip,
		       u64 time, const char *text);
/* Everything is delivered: how many errors of what kind there were */
void ntrace_synth_summary(struct ntrace *nt);
int ntrace_queue_error(struct ntrace_queue *q, int code, u64 ip, const char *text);

/* --------------------------------------------------------------------- dump */

int ntrace_dump_buffer(struct ntrace *nt, union perf_event *event, const u8 *data, size_t size);
void ntrace_dump_exit(struct ntrace *nt);

#define ntrace_log(nt, ...) do {				\
	if ((nt)->log)						\
		fprintf((nt)->log, __VA_ARGS__);		\
} while (0)

#endif
