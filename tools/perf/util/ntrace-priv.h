/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Declarations that the files of N-Trace in perf share:
 *
 *   ntrace.c        session, which decodes trace in step with other events
 *   ntrace-sideband.c  context switches, mappings and lost trace
 *   ntrace-collect.c  records of the trace, and AUX samples
 *   ntrace-hold.c   events of a recording that cannot be read twice
 *   ntrace-info.c   metadata (PERF_RECORD_AUXTRACE_INFO)
 *   ntrace-foreign.c  recordings of other drivers
 *   ntrace-queue.c  decoding of one source of one AUX buffer in step with other events
 *   ntrace-sources.c  which sources have trace in each AUX buffer
 *   ntrace-pieces.c division of one AUX buffer into pieces
 *   ntrace-frames.c extraction of trace from frames of a CoreSight ETR
 *   ntrace-time.c   conversion of timestamps to perf time
 *   ntrace-thread.c the thread and the privilege mode that a CPU executes
 *   ntrace-quick.c  samples from the messages alone (--itrace=q)
 *   ntrace-code.c   code at an address, from maps and DSOs
 *   ntrace-files.c  code of the firmware and the vDSO
 *   ntrace-events.c  events that samples are synthesised for
 *   ntrace-synth.c  samples of executed code
 *   ntrace-stack.c  call chains and branch stacks
 *   ntrace-gap.c    gaps in the trace, after which call stacks are invalid
 *   ntrace-error.c  errors, as events and as a summary
 *   ntrace-dump.c   list of messages for perf script -D
 *
 * Bytes are decoded by libntrace (<ntrace/ntrace.h>), which does not depend on perf.
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
struct nt_foreign;
struct nt_sinks;
struct ntrace;
struct ntrace_queue;
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
	u32	trace_id;	/* CoreSight trace ID; 0: the trace is not in frames */
	u32	dialect;	/* NTRACE_DIALECT_* */
	u32	addr_bits;	/* number of address bits in messages; 0: XLEN */
	u32	sink;		/* number that identifies the sink of the encoder; 0: unknown */
	u64	ts_base;	/* value of the timestamp counter, without prescaler, at @ts_base_time */
	u64	ts_base_time;	/* value of the time CSR at @ts_base; 0: the counter is the time CSR */
};

struct ntrace_info {
	u32			pmu_type;
	u64			flags;	/* NTRACE_INFO_FLAG_* */
	u64			time_shift, time_mult, time_zero;
	unsigned int		nr_cpus;
	struct ntrace_cpu	*cpus;
};

int ntrace_info_parse(struct ntrace_info *info, const struct perf_record_auxtrace_info *event);
int ntrace_info_words(struct ntrace_info *info, const __u64 *word, u64 nr);
void ntrace_info_print(const struct ntrace_info *info, FILE *fp);
void ntrace_info_exit(struct ntrace_info *info);
const struct ntrace_cpu *ntrace_info_cpu(const struct ntrace_info *info, int cpu);
/* Return true if the messages of this encoder contain SRC */
bool ntrace_cpu_has_src(const struct ntrace_cpu *cpu);
/*
 * Return the first encoder with this SRC that may write to the sink of encoder @own, or NULL if there is
 * none. If @own is NULL, the encoder may write to any sink.
 */
const struct ntrace_cpu *ntrace_info_source(const struct ntrace_info *info,
					    const struct ntrace_cpu *own, int src);
/* Convert the metadata of an encoder to @config. Return false if libntrace rejects @config. */
bool ntrace_cpu_config(const struct ntrace_cpu *cpu, struct nt_config *config);

/* Return @addr, sign-extended to 64 bits if messages contain only its lower cpu->addr_bits bits */
static inline u64 ntrace_whole_addr(const struct ntrace_cpu *cpu, u64 addr)
{
	unsigned int above = cpu->addr_bits ? 64 - cpu->addr_bits : 0;

	return (u64)((s64)(addr << above) >> above);
}

/* Set the members of @nt that are computed from nt->info */
void ntrace_setup_info(struct ntrace *nt);

/* Begin to read a recording of another driver. Return 0 or an error. */
int ntrace_foreign_begin(struct ntrace *nt, const struct perf_record_auxtrace_info *event);
/* Complete nt->info after the trace was queued, if another driver made the recording. Return 0 or an error. */
int ntrace_foreign_settle(struct ntrace *nt);
/*
 * If the buffer of another driver has wrapped around, remove the bytes of earlier sessions from the pieces,
 * and divide the pieces where bytes are missing. Return 0 or an error.
 */
int ntrace_foreign_rings(struct ntrace_queue *q);
/* Return the flags of PERF_RECORD_AUX, translated to those of <linux/ntrace.h> */
u64 ntrace_aux_flags(struct ntrace *nt, const union perf_event *event);
/* If a sample contains no CPU, set it to the CPU of its event, if that event is of one CPU only */
void ntrace_set_cpu(struct ntrace *nt, struct perf_sample *sample);

/* --------------------------------------------------------------------- code */

/* Address spaces that are passed to libntrace; those of processes are NTRACE_SPACE_PROCESS and above */
enum ntrace_space {
	NTRACE_SPACE_NONE	= 0,
	NTRACE_SPACE_KERNEL	= 1,
	NTRACE_SPACE_FIRMWARE	= 2,
	NTRACE_SPACE_UNKNOWN	= 3,	/* an unknown process */
	NTRACE_SPACE_NO_GUEST	= 5,	/* an unknown guest */
	NTRACE_SPACE_PROCESS	= 16,
};

/* Flag of a guest's address space; the lower half of the number is the process that runs the guest */
#define NTRACE_SPACE_GUEST	BIT_ULL(63)

#define NTRACE_PAGE		4096
#define NTRACE_NR_PAGES		64

struct ntrace_page {
	u64	space;		/* address space of the code; NTRACE_SPACE_NONE: the entry is empty */
	u64	addr;
	u32	size;		/* number of valid bytes in data */
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
int ntrace_firmware_read(const struct ntrace_firmware *fw, u64 addr, u8 *buf, size_t size);
ssize_t ntrace_vdso_read(struct ntrace *nt, u64 offset, u8 *buf, size_t size);

struct ntrace_queue;
int ntrace_code_init(struct ntrace_queue *q);
/* Return true if @addr may be firmware code, although no message reports machine mode */
bool ntrace_may_be_firmware(struct ntrace_queue *q, u64 addr);
void ntrace_code_exit(struct ntrace_queue *q);
/* Stop the use of cached code of this process. If @pid is -1, drop the code of all processes and the kernel. */
void ntrace_code_changed(struct ntrace *nt, pid_t pid);
/* Record that the process has called exec */
void ntrace_code_exec(struct ntrace *nt, pid_t pid);
/* Handle a change of a guest of process @pid, which has changed code (@code), or has switched between its processes */
void ntrace_guest_changed(struct ntrace *nt, pid_t pid, bool code);
/* Return true if the process has called exec since the last call of this function */
bool ntrace_code_executed(struct ntrace *nt, pid_t pid);
/*
 * Return true if the instruction at @addr is ecall, which means that its exception is a system call
 */
bool ntrace_is_ecall(struct ntrace_queue *q, u64 addr);
size_t ntrace_code_read(struct ntrace_queue *q, u64 addr, void *buf, size_t size);
/* Return true if the V bit of @context is set, which means that a guest executes */
bool ntrace_is_guest(const struct nt_context *context);
/* Return true if a guest executes and its code may differ from the code that perf knows */
bool ntrace_is_other_guest(struct ntrace_queue *q);

/* --------------------------------------------- reading the trace of a queue */

/*
 * A stretch is the trace that one PERF_RECORD_AUX describes. The encoder started before the first
 * byte, and was stopped and flushed after the last byte.
 */
struct ntrace_stretch {
	u64	offset, size;	/* position in the AUX buffer, and length, in bytes */
	u64	flags;		/* PERF_AUX_FLAG_* */
	u64	time;		/* time of the end, in ns of the perf clock; 0: unknown */
	int	cpu;
	pid_t	pid, tid;
	bool	cut;		/* the first bytes are lost, so the trace may start inside a message */
};

/*
 * The bytes of one stretch that are in one struct auxtrace_buffer. If a CoreSight ETR wrote frames, a
 * piece is a whole stretch that begins in @buffer, and @data has the bytes of the queue's encoder, padded
 * with idle bytes up to @size.
 */
struct ntrace_piece {
	struct auxtrace_buffer		*buffer;
	const struct ntrace_stretch	*stretch;	/* NULL: no record describes the piece */
	u64				offset, size;
	bool				start;		/* the piece is not contiguous with the previous piece */
	bool				lost;		/* trace is missing before the piece, and no record reports this */
	bool				whole;		/* starts with a message; bytes of old sessions were removed */
	u8				*data;	/* bytes extracted from frames; NULL: not extracted, or no frames */
};

struct ntrace_position {
	unsigned int		piece;
	u64			offset;
};

/* Trace that is skipped because it is in no range of --time */
struct ntrace_skip {
	bool			on;
	bool			begun;		/* the decoder has got the trace up to @from, where skipping starts */
	struct ntrace_position	from;
	bool			has_sync;	/* @sync, the last message from which decoding can start, is valid */
	struct ntrace_position	sync;
	u64			until;		/* start of the next range of --time, ns */
};

/* Time of one source, in ticks of its timestamp counter */
struct ntrace_clock {
	u64	ticks;
	bool	valid;
	bool	stale;		/* @ticks comes from an earlier stretch; wrong until a synchronising message sets it */
};

/*
 * One source of one AUX buffer. Encoders that share a sink write to the same buffer, and the SRC
 * field distinguishes them (chapter 7.2 of the Trace Control Interface). Each source has its own
 * time, thread and decoder, so each is read and decoded as if the other sources did not exist.
 */
struct ntrace_queue {
	struct ntrace		*nt;
	unsigned int		queue_nr;	/* index in auxtrace_queues */
	unsigned int		nr;		/* index in ntrace::streams */
	int			src;		/* SRC, or -1 if messages have no SRC */
	unsigned long		*sources;	/* bit map of the sources in the buffer, only if @src is -1 */
	bool			on_heap;
	bool			done;

	struct ntrace_piece	*pieces;
	unsigned int		nr_pieces, max_pieces;

	/* @reader reads messages ahead of the decoder, to find how far the decoder may continue */
	struct nt_reader	*reader;
	unsigned int		read_piece;
	struct ntrace_clock	clock;
	struct ntrace_position	pending;	/* end of the trace that was read ahead */
	u64			pending_time;	/* upper limit of the times of messages before @pending, ns */
	bool			pending_end;	/* @pending is the end of the stretch */
	bool			lost_before;	/* trace before the stretch was lost, and this is not yet reported */
	u64			first_time;	/* first time in the stretch, ns; 0: not yet read */
	struct ntrace_skip	skip;

	/* decoding */
	const struct ntrace_cpu	*info;
	struct nt_config	config;
	struct nt_image		*image;
	struct nt_flow		*flow;
	struct ntrace_quick	*quick;		/* NULL: the flow is decoded completely */
	unsigned int		flow_piece;
	u64			flow_offset;
	bool			timeless;
	u64			stretch_time;
	u64			set_back;	/* time by which the timestamp counter was set back, ns */

	/* the CPU, and the thread that it executes */
	int			cpu;
	pid_t			pid, tid;
	struct thread		*thread;
	struct nt_context	context;
	u8			cpumode;
	struct machine		*guest;		/* machine of the guest that executed last; NULL: none */
	struct thread		*guest_thread;	/* thread of @guest, by whose maps its code is read */

	u64			trace_nr;	/* trace number of @thread, as ntrace-gap.c defines it */
	bool			gap;		/* the trace has a gap at the current time */

	struct ntrace_page	*code;		/* cache of NTRACE_NR_PAGES pages of code */

	/* samples */
	u64			time;		/* current time, in ns of the perf clock */
	u64			insns;		/* number of instructions that were decoded */
	u64			last_insns;	/* value of @insns at the last sample */
	u64			sample_at;	/* value of @insns at the next instruction to sample; 0: none chosen */
	u64			sample_end;	/* value of @insns at the end of the sample's period */
	u64			message_time;	/* time of the last message that advanced @time, ns */
	u64			message_insns;	/* value of @insns at the end of the message with @message_time */
	u32			random;
	u64			last_time;
	u32			flags;
	bool			ended;		/* the last branch sample was "tr end", or the flow was lost */
	bool			resume;		/* the last item was a gap, so the next range starts after it */
	bool			behind_firmware; /* the last gap was in machine-mode code that perf does not have */
	bool			begin;		/* a branch sample "tr strt" waits until its thread is known */
	u64			begin_addr;
	u64			begin_time;
	union perf_event	*event_buf;
	struct ip_callchain	*chain;
	struct branch_stack	*last_branch;
};

/*
 * Find the sources in all new queues of perf, then create a struct ntrace_queue ("stream") for each source.
 * All sources must be found first. A full sink may have lost all messages that a source sent to one buffer,
 * and only another buffer then shows that the source sends messages. Return 0 or an error.
 */
int ntrace_queues_setup(struct ntrace *nt);
/* Return true if the encoder that sent the message (SRC) is not the encoder of this queue */
static inline bool ntrace_queue_is_other(const struct ntrace_queue *q, const struct nt_message *msg)
{
	return q->src >= 0 && msg->src != q->src;
}

void ntrace_queue_free(struct ntrace_queue *q);
void ntrace_queue_free_decoder(struct ntrace_queue *q);
/* Start decoding the next stretch. Return 0, 1 if there is none, or a negative error. */
int ntrace_queue_next_stretch(struct ntrace_queue *q, u64 limit);
void ntrace_check_other(struct ntrace_queue *q, const struct nt_message *msg);
/* Return true if the end of the stretch is missing because the sink was full */
bool ntrace_stretch_is_full(const struct ntrace_stretch *stretch);
/*
 * Decode trace that is older than *timestamp. Return 0 and set *timestamp to the time of the next trace, or
 * return 1 at the end of the trace, or a negative error.
 */
int ntrace_queue_run(struct ntrace_queue *q, u64 *timestamp);

/* ------------------------------------------------------------------- pieces */

/* Return how many bytes of the buffer are in the file, which may have been cut short */
u64 ntrace_buffer_size(struct ntrace *nt, const struct auxtrace_buffer *buffer);
void ntrace_sort_stretches(struct ntrace *nt, bool by_tid);
int ntrace_queue_pieces(struct ntrace_queue *q, struct auxtrace_queue *queue);
/* Return true if a CoreSight ETR wrote the stretch in frames */
bool ntrace_stretch_has_frames(const struct ntrace_stretch *stretch);
bool ntrace_frames_lost(u64 flags, u64 size);
/*
 * Find the encoders whose trace IDs occur in a stretch of CPU @own, and set their bits in the bit map "senders" of
 * struct ntrace. Warn about IDs that belong to no encoder of the recording.
 */
void ntrace_frames_find(struct ntrace_queue *q, struct ntrace_piece *piece,
			const struct ntrace_cpu *own);
const u8 *ntrace_frames_data(struct ntrace_queue *q, struct ntrace_piece *piece);
const u8 *ntrace_piece_data(struct ntrace_queue *q, struct ntrace_piece *piece);
bool ntrace_piece_is_middle(struct ntrace_queue *q, struct ntrace_piece *piece);
/* Return true if the stretch ends with this piece */
bool ntrace_piece_is_last(struct ntrace_queue *q, unsigned int piece);

/* --------------------------------------------------------------------- time */

/* Return true if timestamps of this encoder can be converted to the time of the perf clock */
bool ntrace_cpu_has_time(struct ntrace *nt, const struct ntrace_cpu *cpu);
u64 ntrace_next_tstamp(const struct ntrace_cpu *cpu, u64 last, u64 tstamp);
u64 ntrace_ticks_to_time(struct ntrace_queue *q, u64 ticks);
/*
 * Update the clock from a message that is read ahead. Return true if the time of the message is
 * known.
 */
bool ntrace_clock_advance(struct ntrace_queue *q, const struct nt_message *msg);
/*
 * Compare the timestamps of the stretch that starts at q->flow_piece with the times at which the kernel read
 * this stretch and the previous one. Set q->set_back if the counter was set back, and q->timeless if the
 * counter is constant.
 */
void ntrace_clock_check(struct ntrace_queue *q);
/* Advance q->time to the timestamp of an item of the decoder. Return q->time, in ns of the perf clock. */
u64 ntrace_queue_time(struct ntrace_queue *q, u64 tstamp, u8 kind);

/* ------------------------------------------------------------------ threads */

/* The task that executes in a guest, by the events that were recorded in the guest; @pid is 0 if unknown */
struct ntrace_guest {
	pid_t	machine;	/* PID, on the host, of the process that runs the guest */
	int	vcpu;
	pid_t	pid, tid;
};

void ntrace_find_guest_task(struct ntrace_queue *q, const struct nt_context *context,
			    struct ntrace_guest *guest);
/* Return true if an Ownership message has reported the thread ID in scontext */
bool ntrace_has_scontext(const struct ntrace_queue *q, const struct nt_context *context);
/* Return the PID of the thread that executes in @context, or -1 if it is unknown */
pid_t ntrace_context_pid(struct ntrace_queue *q, const struct nt_context *context);
void ntrace_queue_set_thread(struct ntrace_queue *q, const struct nt_context *context);
/* Return the cpumode (PERF_RECORD_MISC_*) of the code at @ip or, if @ip is 0, at @addr */
u8 ntrace_sample_cpumode(struct ntrace_queue *q, u64 ip, u64 addr);

/* -------------------------------------------------------------- quick modes */

/* Allocate q->quick if --itrace asks for a quick mode, otherwise leave it NULL. Return 0 or an error. */
int ntrace_quick_init(struct ntrace_queue *q);
void ntrace_quick_exit(struct ntrace_queue *q);
void ntrace_quick_restart(struct ntrace_queue *q, u64 offset, bool middle);
int ntrace_quick_feed(struct ntrace_queue *q, const u8 *data, size_t size);
int ntrace_quick_end(struct ntrace_queue *q);

/* ------------------------------------------------------------------ session */

/* Number of possible codes of itrace errors. The error codes of libntrace are also less than this number. */
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
	struct nt_sinks		*sinks;		/* sinks of the encoders, by index in ntrace_info::cpus */
	struct nt_foreign	*foreign;	/* state of a recording of another driver; NULL: our driver made it */
	bool			foreign_open;	/* more metadata of @foreign has to be read */
	unsigned long		*senders;	/* bit map of encoders with messages, by index in ntrace_info::cpus */

	/* events that are held until the end, and perf's function that delivers them; NULL: none is held */
	struct list_head	held;
	ordered_events__deliver_t deliver;

	/* Last AUX sample of each queue, to find the overlap with the next sample */
	bool			sampling;
	u64			sampled;	/* total size of the AUX samples so far, in bytes */
	struct ntrace_last {
		u8	*data;
		size_t	size;
	} *last;
	unsigned int		nr_last;

	struct ntrace_last_aux {
		u64	time, offset, size;
		u32	cpu, tid;
	} last_aux;		/* the last PERF_RECORD_AUX */

	bool			have_guest;	/* the recording has events of a guest */
	struct ntrace_firmware	firmware;
	char			*firmware_path;
	bool			firmware_warned;
	u64			firmware_gaps;	/* number of gaps because of missing firmware code */
	u64			firmware_returns; /* number of returns with unknown targets after such gaps */
	bool			damaged;	/* there was an error other than lost trace and missing firmware code */
	bool			have_trace;
	bool			decoded;	/* an instruction or address was decoded */
	u64			kernel_errors;	/* number of errors in kernel code, which the kernel may have patched */
	u64			nr_errors[NTRACE_NR_ERRORS]; /* number of reports, by error code */
	bool			has_sources;	/* at least one encoder sends SRC */
	bool			source_warned;
	bool			frames_warned;
	bool			time_warned, clock_warned;
	bool			size_warned;

	/* Gaps of the trace, see ntrace-gap.c */
	struct hashmap		*tids;
	u64			epoch;
	u64			last_trace_nr;
	unsigned int		nr_gaps;	/* number of queues whose trace has a gap at the current time */
	bool			event_disabled;	/* the kernel has disabled an event because the AUX buffer was full */
	bool			have_switches;

	/* The address space of each process, sorted by @pid. It is replaced when the code changes. */
	struct ntrace_process {
		pid_t	pid;
		u32	space;
		bool	executed;	/* the process has called exec, but no code of the new program was decoded */
		bool	has_guest;	/* the process has run a guest; the next two members are of its first guest */
		bool	has_hcontext;
		u64	hcontext;
	} *processes;
	unsigned int		nr_processes;
	u32			last_space;

	struct itrace_synth_opts synth_opts;
	struct itrace_synth_opts own_opts;	/* default options of --itrace, for a perf command that sets none */
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
	u64			last_time;	/* time of the last sample, ns */
	struct ip_callchain	*chain;
	struct branch_stack	*br_stack;
	FILE			*log;

	struct ntrace_dump	*dump;
	unsigned int		nr_dump;
};

#define to_ntrace(session)	container_of((session)->auxtrace, struct ntrace, auxtrace)

/*
 * Collect the data about trace in an event, such as PERF_RECORD_AUX, which perf may deliver later.
 * Return 0 or an error.
 */
int ntrace_collect_event(struct ntrace *nt, union perf_event *event);
int ntrace_collect_sample(struct ntrace *nt, union perf_event *event);

/* Functions to which perf passes records. ntrace_peek() gets all of them before perf delivers any event. */
int ntrace_peek(struct perf_session *session, union perf_event *event, u64 offset, void *data);
int ntrace_process_auxtrace_event(struct perf_session *session, union perf_event *event,
				  const struct perf_tool *tool);
int ntrace_queue_data(struct perf_session *session, struct perf_sample *sample,
		      union perf_event *event, u64 data_offset);

int ntrace_process_sideband(struct ntrace *nt, union perf_event *event,
			    struct perf_sample *sample);

/* --------------------------------------------------------------- held events */

void ntrace_hold_begin(struct ntrace *nt);
int ntrace_hold_end(struct ntrace *nt);
void ntrace_hold_free(struct ntrace *nt);

/* ------------------------------------------------------------------ samples */

int ntrace_synth_setup(struct ntrace *nt);
int ntrace_synth_batch(struct ntrace_queue *q, const struct nt_batch *batch);
int ntrace_synth_item(struct ntrace_queue *q, const struct nt_item *item);
/*
 * Deliver a sample of the executed instruction at @addr. The code that was executed between the previous
 * address and this one is unknown. Return 0 or an error.
 */
int ntrace_synth_address(struct ntrace_queue *q, u64 addr);
/* Record that the decoder has lost the flow, so the next address is unknown */
void ntrace_synth_lost(struct ntrace_queue *q);
/* End the stretch. Deliver the sample "tr strt" if it still waits for the thread to be known. */
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
/*
 * Start and end a gap in the trace of the queue. What its threads call in the gap is unknown.
 */
void ntrace_gap_open(struct ntrace_queue *q);
void ntrace_gap_close(struct ntrace_queue *q);
/* Pass the trace number of q->thread to perf, after q->thread has changed or its trace has started */
void ntrace_gap_enter(struct ntrace_queue *q);
void ntrace_gap_switch(struct ntrace *nt, pid_t tid, int cpu);
void ntrace_gap_switch_out(struct ntrace *nt, pid_t tid, int cpu);
void ntrace_gap_refused(struct ntrace *nt, int cpu, pid_t tid);
void ntrace_gap_unknown(struct ntrace *nt);
void ntrace_gap_sample(struct ntrace *nt, struct thread *thread, int cpu);

/* ------------------------------------------------------------------- errors */

/* Codes of itrace errors that these files detect. Errors of libntrace have its codes (NT_E_*), negated. */
enum ntrace_error {
	NTRACE_ERROR_LOST	= 1,
	NTRACE_ERROR_OVERFLOW	= 2,
	NTRACE_ERROR_CONFIG	= 3,
	NTRACE_ERROR_FIRMWARE	= 4,
	NTRACE_ERROR_BUSY	= 5,
};

int ntrace_synth_error(struct ntrace *nt, int code, int cpu, pid_t pid, pid_t tid, u64 ip,
		       u64 time, const char *text);
/* Print how many errors of each code there were, after everything was delivered */
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
