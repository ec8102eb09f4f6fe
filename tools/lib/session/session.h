/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Decode a whole recording, which perf record wrote, on all processors.
 *
 *	nt_session_open() -- nt_session_decode(consumer) -- nt_session_close()
 *
 * The library prints nothing and knows no output format. Times are in ns of the clock that perf
 * uses.
 */
#ifndef NTRACE_SESSION_SESSION_H
#define NTRACE_SESSION_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <ntrace/ntrace.h>

struct nt_session;
struct ns_stretch;

struct nt_session_options {
	size_t		size;		/* sizeof(struct nt_session_options) */
	const char	*symfs;		/* folder with the files of the machine that was recorded */
	const char	*cache;		/* build-id cache; NULL: ~/.debug */
	unsigned int	threads;	/* number of threads; 0: one for each processor */
	bool		keep_records;	/* keep the records that nt_session_record() returns */
	bool		keep_events;	/* keep tracepoint samples for nt_events_new(), 64 bytes of memory each */
	/*
	 * Called now and then while a recording is decoded, by one thread at a time, and once at
	 * the end with @done equal to @all. May be NULL
	 */
	void		(*progress)(void *ctx, uint64_t done, uint64_t all);
	void		*progress_ctx;
	const char	*kcore;		/* folder of a recording of that kernel, for nt_session_open_counts() */
	/*
	 * ELF file of the code of machine mode, or FILE@ADDRESS to add ADDRESS to the addresses of
	 * the file; NULL if that code is not known
	 */
	const char	*firmware;
	/* folder with the files of kernel modules, in it or in folders below it; NULL: none */
	const char	*modules;
	/* returns a C++ or Rust name for people, which free() frees, or NULL; NULL: names are not demangled */
	char		*(*demangle)(const char *name);
};

/*
 * nt_session_open() - open a recording, which is a file, a folder, or a pipe ("-")
 * @session: Set on success and on failure; NULL if out of memory
 *
 * Return: 0, or -1 after an error that nt_session_error() describes in a sentence.
 */
int nt_session_open(struct nt_session **session, const char *path,
		    const struct nt_session_options *options);

/* Bytes of trace that a probe or a program has saved, without a recording around them */
struct nt_bytes {
	uint8_t		*data;		/* from malloc() */
	size_t		size;
	unsigned int	stream;		/* number of the encoder, or of the buffer that encoders with SRC share */
	bool		middle;		/* the first byte may be inside a message */
};

struct nt_raw_options {
	size_t		size;		/* sizeof(struct nt_raw_options) */
	struct nt_config config;	/* configuration of all encoders */
	uint64_t	freq;		/* frequency of timestamps in Hz; 0: a tick counts as 1 ns */
	const char	**elfs;		/* "FILE", or "FILE@OFFSET" to add OFFSET to its addresses */
	size_t		nr_elfs;
	struct nt_bytes	*traces;	/* the bytes of each stream in their order */
	size_t		nr_traces;
};

/*
 * nt_session_open_raw() - open trace that belongs to one program, whose code is in ELF files
 *
 * The encoder of each SRC and of each stream is a CPU, and the code that it executed is a thread of
 * process 1. The session owns the data of @raw->traces from now on, and frees it. The other values are
 * those of nt_session_open().
 */
int nt_session_open_raw(struct nt_session **session, const struct nt_raw_options *raw,
			const struct nt_session_options *options);
const char *nt_session_error(const struct nt_session *session);
void nt_session_close(struct nt_session *session);

struct nt_session_info {
	size_t		size;
	uint64_t	trace_bytes;
	uint64_t	stretches;
	uint64_t	lost_records;	/* lost records of kernel events */
	unsigned int	cpus;
	unsigned int	buffers;
	bool		truncated;	/* the recording's file was cut short */
	bool		has_kcore;
	bool		has_time;
	/*
	 * SRC of messages that were left out because no encoder of the recording has it; -1: none
	 * so far
	 */
	int32_t		unknown_source;
	uint64_t	missing_bytes;	/* bytes of trace that the recording lists but does not contain */
	/* CPU whose timestamps were constant or decreased, so that the kernel's times were used; -1: none so far */
	int32_t		wrong_clock;
	/* name of the recorder, if another driver has made the recording; otherwise NULL */
	const char	*recorder;
	uint64_t	wrapped;	/* records of trace whose ring wrapped around without reporting it */
	uint64_t	old_bytes;	/* bytes of earlier sessions in these records, which are left out */
	const char	*host, *kernel;	/* name of the machine and release of its kernel; NULL: not known */
};
void nt_session_info(const struct nt_session *session, struct nt_session_info *info, size_t size);

/* nt_session_argument() - return the @nth word of the command that made the recording, or NULL */
const char *nt_session_argument(const struct nt_session *session, uint32_t nth);

/* Who executed the code. It is valid only during the call that receives it. */
struct nt_who {
	uint64_t	time;		/* time of this message, or of the last one before it that has a time */
	int32_t		cpu, pid, tid;	/* -1: not known; a stretch has one CPU */
	const char	*comm;
	uint64_t	space;		/* address space of the code, for nt_session_where() */
	uint64_t	user;		/* address space of the process, even while the kernel executes */
	uint32_t	image;		/* a number that changes at exec; 0: not known */
	uint32_t	buffer;		/* AUX buffer of the recording that contains the trace */
	bool		lost;		/* trace is missing before the first item of this stretch */
	bool		busy;		/* trace is missing after it because another program used the sink */
	const void	*priv;
};

/* nt_who_time() - convert a timestamp of a batch's mark, or of an item, to ns */
uint64_t nt_who_time(const struct nt_who *who, uint64_t tstamp, uint8_t kind);

/* Position in the times of a batch, which nt_range_time() sets */
struct nt_range_clock {
	const struct nt_mark *mark;
	uint64_t	time;
};

/* nt_range_time() - return the time of range @nth of a batch, for each range in its order */
static inline uint64_t nt_range_time(struct nt_range_clock *clock, const struct nt_who *who,
				     const struct nt_batch *batch, size_t nth)
{
	const struct nt_mark *end = batch->marks + batch->nr_marks;

	if (!nth) {
		clock->mark = batch->marks;
		clock->time = nt_who_time(who, batch->tstamp, batch->tstamp_kind);
	}
	while (clock->mark < end && clock->mark->range <= nth)
		clock->mark++;
	/* a message's time is that of the last range that it reports */
	if (clock->mark < end && clock->mark->range == nth + 1)
		clock->time = nt_who_time(who, clock->mark->tstamp, clock->mark->tstamp_kind);
	return clock->time;
}

/* nt_who_space() - return the address space of an address, for nt_session_where() */
uint64_t nt_who_space(const struct nt_who *who, uint64_t addr);

/*
 * nt_who_read() - copy the code that was at an address at that time
 *
 * Return the number of bytes copied.
 */
size_t nt_who_read(const struct nt_who *who, uint64_t addr, void *buf, size_t size);

/* A range of times of a recording in ns, which includes both ends */
struct nt_window {
	uint64_t	from, to;
};

/* The part of a recording to select. All conditions must hold. */
struct nt_filter {
	struct nt_window time;		/* both members 0: any time */
	int32_t		cpu, tid;	/* -1: any */
	unsigned long	pid;		/* 0: any */
	const char	*comm;		/* name of the thread at that time, or a pattern for fnmatch(); NULL: any */
	const struct nt_session *session;	/* needed for @pid and @comm */
};

/* nt_filter_is_set() - return true if the filter has a condition */
static inline bool nt_filter_is_set(const struct nt_filter *filter)
{
	return filter->time.to || filter->cpu >= 0 || filter->tid >= 0 || filter->pid || filter->comm;
}

/* nt_filter_has_thread() - return true if the process and the name of a thread pass the filter */
bool nt_filter_has_thread(const struct nt_filter *filter, uint64_t time, int32_t tid);

/* Return true if an event of that time, CPU and thread passes the filter. */
static inline bool nt_filter_passes(const struct nt_filter *filter, uint64_t time, int32_t cpu,
				    int32_t tid)
{
	if (filter->time.to && (time < filter->time.from || time > filter->time.to))
		return false;
	if ((filter->cpu >= 0 && filter->cpu != cpu) || (filter->tid >= 0 && filter->tid != tid))
		return false;
	return (!filter->pid && !filter->comm) || nt_filter_has_thread(filter, time, tid);
}

/*
 * Functions of a program that receive the decoded flow. A stretch is the trace of one CPU between
 * two stops of the encoder; if encoders share a buffer, each of them has its own stretches. Several
 * threads decode stretches at once, in no particular order, and each stretch has its own part.
 */
struct nt_consumer {
	size_t	size;
	/*
	 * Called when a stretch begins, for one stretch at a time, in the order of end(). The other
	 * functions receive the returned part. Return NULL if out of memory.
	 */
	void	*(*begin)(void *ctx, uint64_t stretch);
	/*
	 * Called with ranges that were executed one after the other. Return 0, or another value to
	 * stop decoding.
	 */
	int	(*ranges)(void *part, const struct nt_who *who, const struct nt_batch *batch);
	/*
	 * Used instead of ranges(), which must be NULL: called once with the counts of the stretch,
	 * which nt_counts_take() fetches. Counting is faster, but has no times, threads or order.
	 */
	int	(*counts)(void *part, const struct nt_who *who, struct nt_flow *flow);
	/*
	 * Called with every other item, such as a sync, a stop, a loss, a context or an error. May
	 * be NULL
	 */
	int	(*item)(void *part, const struct nt_who *who, const struct nt_item *item);
	/*
	 * Called when the stretch is over, by one thread at a time, in the order of time, and by
	 * offset within each buffer. From then, the consumer owns the part.
	 */
	int	(*end)(void *ctx, void *part, const struct nt_who *who, bool lost);
	/* If there are windows, stretches that are known to touch none of them are left out. */
	const struct nt_window *windows;
	size_t	nr_windows;
};

/* Return 0, -1 (see nt_session_error()), or the value that a function of the consumer returned. */
int nt_session_decode(struct nt_session *session, const struct nt_consumer *consumer, void *ctx);

/* Reasons for which trace is missing */
enum nt_lost {
	NT_LOST_SINK,		/* the sink's window was full */
	NT_LOST_BUFFER,		/* the AUX buffer was full because perf read it too slowly */
	NT_LOST_BUSY,		/* another program used the sink */
	NT_LOST_FILE,		/* the recording does not contain trace that its records list */
	NT_LOST_ENCODER,	/* the encoder's queue was full, which an Error message reports */
	NT_LOST_ERROR,		/* the trace could not be decoded */
	NT_LOST_CODE,		/* the code is not in the recording */
	NT_LOST_NR,
};

struct nt_lost_sum {
	uint64_t	times, ns;
};

/*
 * Missing trace of one CPU. The time of a loss is from the last trace before it to the first trace
 * after it. Instructions and bytes are estimates, which assume that the CPU executed as many
 * instructions per time as in the rest of the recording, and that an instruction needs as many
 * bytes as on average.
 */
struct nt_missing {
	int32_t		cpu;
	uint64_t	all_ns;		/* time from the first to the last trace of any CPU */
	uint64_t	traced_insns;	/* instructions that were decoded */
	uint64_t	ns, insns, bytes;
	struct nt_lost_sum why[NT_LOST_NR];	/* the sum of their times is @ns */
};

/*
 * nt_session_lost() - get the missing trace of each CPU that has trace, from @nth = 0
 *
 * The last nt_session_decode() has found it, in the windows of its consumer. A consumer with counts()
 * does not change the result of another one. It finds only the times of messages with SYNC, and the
 * numbers of instructions are then numbers of bytes of trace. Return false after the last CPU.
 */
bool nt_session_lost(const struct nt_session *session, size_t nth, struct nt_missing *missing);

/* The symbol at an address */
struct nt_place {
	const char	*object;	/* path, "[kernel.kallsyms]", "[NAME]" of a module, or NULL */
	const char	*symbol;	/* name for people, perhaps demangled or FILE+0xADDRESS; NULL: none */
	const char	*linkage;	/* name in the file; @symbol if it has none */
	uint64_t	offset;		/* offset from the start of the symbol */
	uint64_t	start, end;	/* range of the symbol in addresses of the process */
	/* address in the file; for the kernel and its modules, the address in memory */
	uint64_t	address;
};
void nt_session_where(struct nt_session *session, uint64_t space, uint64_t addr,
		      struct nt_place *place);

/*
 * nt_session_is() - return true if a name of the function matches a pattern
 * @object, @address: Object and address of an instruction of the function, as in struct nt_place
 * @pattern: One of its names, with or without parameters, or a pattern for fnmatch()
 */
bool nt_session_is(struct nt_session *session, const char *object, uint64_t address, const char *pattern);

/* nt_name_matches() - return true if @name matches @pattern, which is like that of nt_session_is() */
bool nt_name_matches(const char *name, const char *pattern);

/*
 * nt_session_file() - return the file in which an object of struct nt_place was found; NULL: none
 */
const char *nt_session_file(struct nt_session *session, const char *object);

/*
 * nt_session_build_id() - return the build id of the file of an object, and its size in *@size
 *
 * *@size is 0 if the object has no file here, or the file has no build id.
 */
const uint8_t *nt_session_build_id(struct nt_session *session, const char *object, size_t *size);

/*
 * nt_session_thread() - find the process and the name of a thread at a time; -1 and "" if not known
 */
void nt_session_thread(const struct nt_session *session, int32_t tid, uint64_t time, int32_t *pid,
		       const char **comm);

/*
 * nt_session_program() - return the file of a process with the lowest address at a time, which is its program
 *
 * Return NULL if none is known. The file need not exist here.
 */
const char *nt_session_program(const struct nt_session *session, int32_t pid, uint64_t time);

/* Copy the code that was there at that time. Return the number of bytes copied. */
size_t nt_session_read(struct nt_session *session, uint64_t space, uint64_t addr, void *buf,
		       size_t size);

/* nt_code_length() - return the size in bytes of an instruction with 16 or 32 bits, whose first byte is given */
static inline unsigned int nt_code_length(uint8_t first)
{
	return (first & 3) == 3 ? 4 : 2;
}

/* nt_base_name() - return the part of @path after its last slash, or @path if it has none or is NULL */
static inline const char *nt_base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

/* A kernel event of the recording that is not trace, in the format of the recording */
struct nt_record {
	const void	*data;		/* struct perf_event_header and the members after it */
	size_t		size;		/* size without the sample_id_all fields that perf appends to each record */
	uint64_t	time;
	int32_t		pid, tid, cpu;	/* thread and CPU that caused it; -1: not known */
};

/*
 * nt_session_record() - get a record of programs and their code, by time, from @nth = 0
 *
 * Return false after the last record.
 */
bool nt_session_record(const struct nt_session *session, size_t nth, struct nt_record *record);

/*
 * nt_session_feature() - get a section of the recording's header
 *
 * Return false if the recording does not have it.
 */
bool nt_session_feature(const struct nt_session *session, unsigned int nth, const void **data,
			size_t *size);

/*
 * nt_session_folder() - return the folder of a recording that has a copy of the kernel; NULL if it
 * is a file
 */
const char *nt_session_folder(const struct nt_session *session);

/* One part of a recording that split.h cut into parts */
struct nt_shard {
	uint64_t	id;		/* number that all parts of one cut share */
	uint32_t	nth, of;	/* number of this part, from 1 on, and number of parts */
	const char	*name;		/* name of the recording; the session owns it */
};

/* nt_session_shard() - get shard @nth, from 0, of the shards from which the recording or its counts were made */
bool nt_session_shard(const struct nt_session *session, size_t nth, struct nt_shard *shard);

/* Raw trace that is contiguous in the buffer */
struct nt_trace_piece {
	const uint8_t	*data;
	size_t		size;
	bool		begins;		/* a stretch begins here; the one before may have ended inside a message */
};

/*
 * nt_session_trace() - get the trace of one CPU piece by piece, from @nth = 0
 *
 * Return false after the last piece.
 */
bool nt_session_trace(struct nt_session *session, int cpu, size_t nth,
		      struct nt_trace_piece *piece);

/* A part of the raw trace of a stretch. It is valid only during the call that receives it. */
struct nt_raw {
	const uint8_t	*data;
	size_t		size;		/* 0: the trace of the stretch is missing */
	int		cpu;		/* CPU of the stretch; encoders may share a buffer, see SRC */
	bool		begins, ends;	/* the stretch begins or ends with this part */
	bool		middle;		/* its first byte may be in the middle of a message */
	bool		lost;		/* trace is missing after the stretch */
	const struct nt_config *config;	/* configuration of the CPU's encoder */
	const void	*priv;
};

/*
 * nt_session_raw() - pass the trace of all CPUs to @take without decoding it
 *
 * Buffers follow one another, and the trace of each is in the order of time. CoreSight frames are
 * unpacked. A stretch of a CPU that the recording does not describe is left out.
 *
 * Return: 0, -1 (see nt_session_error()), or the value that @take returned to stop.
 */
int nt_session_raw(struct nt_session *session, int (*take)(void *ctx, const struct nt_raw *raw),
		   void *ctx);

/*
 * nt_raw_time() - convert a timestamp of that stretch to ns; 0 if the recording has no clock for it
 */
uint64_t nt_raw_time(const struct nt_raw *raw, uint64_t ticks);

/*
 * nt_session_cpu() - get the CPUs that have trace, from @nth = 0 on, and the configuration of their
 * encoders
 */
bool nt_session_cpu(struct nt_session *session, size_t nth, int *cpu,
		    struct nt_config *config);

/* Get a file whose code could not be read, from @nth = 0. Return false after the last one. */
bool nt_session_missing(const struct nt_session *session, size_t nth, const char **path,
			const char **why);

#endif /* NTRACE_SESSION_SESSION_H */
