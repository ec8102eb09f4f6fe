/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * N-Trace in perf, between its own files:
 *
 *   ntrace.c        the session: queues, sideband events, time
 *   ntrace-info.c   metadata (PERF_RECORD_AUXTRACE_INFO)
 *   ntrace-queue.c  one AUX buffer: its pieces, times, flow
 *   ntrace-quick.c  what messages alone tell (--itrace=q)
 *   ntrace-code.c   what code was at an address: maps and objects
 *   ntrace-synth.c  samples and errors
 *   ntrace-dump.c   perf script -D
 *
 * Bytes are decoded by libntrace (<ntrace/ntrace.h>), which knows no perf.
 */
#ifndef INCLUDE__PERF_NTRACE_PRIV_H__
#define INCLUDE__PERF_NTRACE_PRIV_H__

#include <stdbool.h>
#include <stdio.h>

#include <linux/ntrace.h>
#include <linux/types.h>

#include <ntrace/ntrace.h>

#include "auxtrace.h"
#include "event.h"
#include "tsc.h"

struct branch_stack;
struct ip_callchain;
struct machine;
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
/* false: the library would not take it */
bool ntrace_cpu_config(const struct ntrace_cpu *cpu, struct nt_config *config);

/* --------------------------------------------------------------------- code */

/* Address spaces that are given to the library; those of processes come after */
enum ntrace_space {
	NTRACE_SPACE_NONE	= 0,
	NTRACE_SPACE_KERNEL	= 1,
	NTRACE_SPACE_FIRMWARE	= 2,
	NTRACE_SPACE_UNKNOWN	= 3,	/* a process, and it is not known which */
	NTRACE_SPACE_GUEST	= 4,	/* and above it, whose */
	NTRACE_SPACE_NO_GUEST	= 5,	/* a guest, and it is not known which */
	NTRACE_SPACE_PROCESS	= 16,
};

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
void ntrace_code_exit(struct ntrace_queue *q);
/* What was decoded, or read, of this process (-1: of all, and the kernel) is not true any more */
void ntrace_code_changed(struct ntrace *nt, pid_t pid);
/* The process executes another program from now on */
void ntrace_code_exec(struct ntrace *nt, pid_t pid);
/* Has it done so since this was asked the last time? */
bool ntrace_code_executed(struct ntrace *nt, pid_t pid);
size_t ntrace_code_read(struct ntrace_queue *q, u64 addr, void *buf, size_t size);
/* V bit */
bool ntrace_is_guest(const struct nt_context *context);
/* A guest, and what perf knows may be of another one */
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

/* Bytes that are in one struct auxtrace_buffer and in one stretch */
struct ntrace_piece {
	struct auxtrace_buffer		*buffer;
	const struct ntrace_stretch	*stretch;	/* NULL: no record tells of it */
	u64				offset, size;
	bool				start;		/* does not go on from the piece before */
};

struct ntrace_position {
	unsigned int		piece;
	u64			offset;
};

/* Trace that no range of --time asks for */
struct ntrace_skip {
	bool			on;
	bool			mixed;		/* the stream has several encoders */
	bool			has_sync;	/* @sync: the last place where decoding can start */
	struct ntrace_position	sync;
	u64			until;		/* ns */
};

/* The time of one source, in ticks of its counter */
struct ntrace_clock {
	u64	ticks;
	bool	valid;
};

struct ntrace_queue {
	struct ntrace		*nt;
	unsigned int		queue_nr;
	bool			on_heap;
	bool			done;

	struct ntrace_piece	*pieces;
	unsigned int		nr_pieces, max_pieces;

	/* reading ahead, message by message, to know how far time allows to decode */
	struct nt_reader	*reader;
	unsigned int		read_piece;
	struct ntrace_clock	*clocks;	/* 1 << src_bits */
	struct ntrace_position	pending;	/* up to here ... */
	u64			pending_time;	/* ... nothing is later than this */
	bool			pending_end;	/* the stretch ends there */
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

	struct ntrace_page	*code;		/* NTRACE_NR_PAGES */

	/* samples */
	u64			time;		/* ns, of perf's clock */
	u64			insns;		/* since the start */
	u64			last_insns;	/* at the last sample */
	u64			last_time;
	u32			flags;
	bool			ended;		/* the last sample was "tr end" */
	bool			resume;		/* the next range is behind a gap */
	bool			behind_firmware; /* ... of code of machine mode */
	bool			begin;		/* "tr strt" is to come */
	u64			begin_addr;
	u64			begin_time;
	union perf_event	*event_buf;
	struct ip_callchain	*chain;
	struct branch_stack	*last_branch;
};

/* Bytes of the buffer that are in the file, which may have been cut short */
u64 ntrace_buffer_size(struct ntrace *nt, const struct auxtrace_buffer *buffer);
int ntrace_queue_setup(struct ntrace *nt, unsigned int queue_nr);
void ntrace_queue_free(struct ntrace_queue *q);
/* 1: no more data; 0: *timestamp is when it goes on; negative error */
int ntrace_queue_run(struct ntrace_queue *q, u64 *timestamp);
void ntrace_queue_set_thread(struct ntrace_queue *q, const struct nt_context *context);

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

	/* AUX sampling: the last sample of each queue, for what the next repeats of it */
	bool			sampling;
	u64			sampled;	/* bytes of all samples */
	struct ntrace_last {
		u8	*data;
		size_t	size;
	} *last;
	unsigned int		nr_last;

	struct ntrace_firmware	firmware;
	char			*firmware_path;
	bool			firmware_warned;
	u64			firmware_gaps;	/* stretches of it */
	u64			firmware_returns; /* behind those, to where is not told */
	bool			damaged;	/* an error other than lost trace was reported */
	u64			nr_errors[NTRACE_NR_ERRORS]; /* that were reported, by code */
	bool			time_warned;
	bool			size_warned;

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

/* ------------------------------------------------------------------ samples */

/* Codes of itrace errors that are not of libntrace; those are its own, negated */
enum ntrace_error {
	NTRACE_ERROR_LOST	= 1,	/* PERF_AUX_FLAG_TRUNCATED */
	NTRACE_ERROR_OVERFLOW	= 2,	/* Error message: FIFO overrun */
	NTRACE_ERROR_CONFIG	= 3,
	NTRACE_ERROR_FIRMWARE	= 4,
};

int ntrace_synth_setup(struct ntrace *nt);
int ntrace_synth_batch(struct ntrace_queue *q, const struct nt_batch *batch);
int ntrace_synth_item(struct ntrace_queue *q, const struct nt_item *item);
/* An address that was executed, and nothing is known of what was in between */
int ntrace_synth_address(struct ntrace_queue *q, u64 addr);
/* Nobody knows how the flow goes on */
void ntrace_synth_lost(struct ntrace_queue *q);
int ntrace_synth_error(struct ntrace *nt, int code, int cpu, pid_t pid, pid_t tid, u64 ip,
		       u64 time, const char *text);
/* Everything is delivered: how many errors of what kind there were */
void ntrace_synth_summary(struct ntrace *nt);
int ntrace_synth_queue_init(struct ntrace_queue *q);
void ntrace_synth_queue_exit(struct ntrace_queue *q);
/* Time of an item of the flow, in ns of perf's clock */
u64 ntrace_queue_time(struct ntrace_queue *q, u16 src, u64 tstamp, u8 kind);

/* --------------------------------------------------------------------- dump */

int ntrace_dump_buffer(struct ntrace *nt, union perf_event *event, const u8 *data, size_t size);
void ntrace_dump_exit(struct ntrace *nt);

#define ntrace_log(nt, ...) do {				\
	if ((nt)->log)						\
		fprintf((nt)->log, __VA_ARGS__);		\
} while (0)

#endif
