/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Decode a whole recording that perf record wrote, with one thread for each processor of this machine.
 *
 *	nt_session_open() -- nt_session_decode(consumer) -- nt_session_close()
 *
 * The library prints nothing and does not format output. Times are in ns of the clock that perf
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
	/* folder that contains the files of the machine that was recorded; NULL: none */
	const char	*symfs;
	const char	*cache;		/* folder of the build-id cache; NULL: ~/.debug */
	unsigned int	threads;	/* number of threads; 0: one for each processor */
	bool		keep_records;	/* store the records of all kernel events for nt_session_record() */
	/* store samples of tracepoints for nt_events_new(), which needs 64 bytes of memory for each */
	bool		keep_events;
	/*
	 * Function that one thread at a time calls at intervals while a recording is decoded. @done
	 * of @all bytes of trace have been decoded, and the last call has @done equal to @all. NULL: none
	 */
	void		(*progress)(void *ctx, uint64_t done, uint64_t all);
	void		*progress_ctx;
	/* folder of a recording with a copy of the kernel, for nt_session_open_counts(); NULL: none */
	const char	*kcore;
	/*
	 * ELF file with the code of machine mode, or FILE@ADDRESS to add ADDRESS to the addresses
	 * in the file; NULL: that code is not known
	 */
	const char	*firmware;
	/* folder that contains the files of kernel modules, perhaps in its subfolders; NULL: none */
	const char	*modules;
	/*
	 * Function that returns a demangled C++ or Rust name, which the library frees with free(),
	 * or NULL if it cannot demangle the name. NULL: names are not demangled
	 */
	char		*(*demangle)(const char *name);
};

/*
 * nt_session_open() - open a recording, which is a file, a folder, or a pipe ("-")
 * @session: Set to the session, even if the function fails; set to NULL if out of memory
 *
 * Return: 0, or -1 after an error that nt_session_error() describes in a sentence.
 */
int nt_session_open(struct nt_session **session, const char *path,
		    const struct nt_session_options *options);

/* Raw trace that a debug probe or a program has saved, without a recording */
struct nt_bytes {
	uint8_t		*data;		/* bytes of trace, from malloc() */
	size_t		size;
	/* number of the encoder, or number of the buffer if several encoders with SRC share it */
	unsigned int	stream;
	bool		middle;		/* the first byte may be inside a message */
};

struct nt_raw_options {
	size_t		size;		/* sizeof(struct nt_raw_options) */
	struct nt_config config;	/* configuration of all encoders */
	uint64_t	freq;		/* frequency of timestamps in Hz; 0: one tick is taken as 1 ns */
	/* ELF files with the code: "FILE", or "FILE@OFFSET" to add OFFSET to the addresses in the file */
	const char	**elfs;
	size_t		nr_elfs;
	struct nt_bytes	*traces;	/* traces of all streams; those of one stream are in the order of time */
	size_t		nr_traces;
};

/*
 * nt_session_open_raw() - open raw trace of one program, whose code is in ELF files
 *
 * The session has a CPU for each encoder, which is identified by its stream and SRC. The code that
 * this CPU executed is reported as a thread of process 1. The session owns the data of
 * @raw->traces, and frees it. @session, @options and the return value are those of
 * nt_session_open().
 */
int nt_session_open_raw(struct nt_session **session, const struct nt_raw_options *raw,
			const struct nt_session_options *options);
const char *nt_session_error(const struct nt_session *session);
void nt_session_close(struct nt_session *session);

struct nt_session_info {
	size_t		size;
	uint64_t	trace_bytes;
	uint64_t	stretches;
	uint64_t	lost_records;	/* number of kernel event records that perf has lost */
	unsigned int	cpus;
	unsigned int	buffers;
	bool		truncated;	/* the end of the recording's file is missing */
	bool		has_kcore;
	bool		has_time;
	/* SRC of messages that were not decoded because no encoder of the recording has this SRC; -1: none so far */
	int32_t		unknown_source;
	uint64_t	missing_bytes;	/* number of bytes of trace that the recording lists but does not contain */
	/*
	 * CPU whose timestamps were constant or decreased, so that they were corrected with the
	 * kernel's times; -1: none so far
	 */
	int32_t		wrong_clock;
	/* name of the recorder if another driver has made the recording, otherwise NULL */
	const char	*recorder;
	/* number of trace records of another driver whose ring buffer has overwritten its oldest trace */
	uint64_t	wrapped;
	/* number of bytes in these records that earlier sessions left in the ring buffer; they are not decoded */
	uint64_t	old_bytes;
	const char	*host, *kernel;	/* name of the machine and release of its kernel; NULL: not known */
};
void nt_session_info(const struct nt_session *session, struct nt_session_info *info, size_t size);

/* nt_session_argument() - return the @nth word of the command that made the recording, or NULL */
const char *nt_session_argument(const struct nt_session *session, uint32_t nth);

/* The thread and CPU that executed decoded code. The structure is valid only during the call that receives it. */
struct nt_who {
	/* time in ns of the message, or of the last message before it that has a time */
	uint64_t	time;
	/* CPU, process and thread; -1: not known. All code of a stretch has the same CPU */
	int32_t		cpu, pid, tid;
	const char	*comm;
	uint64_t	space;		/* address space of the code, for nt_session_where() */
	uint64_t	user;		/* address space of the process, even while the kernel executes */
	/* number of the program that the process executes, which changes at exec; 0: not known */
	uint32_t	image;
	uint32_t	buffer;		/* index of the AUX buffer that contains the trace */
	bool		lost;		/* trace is missing before the first item of this stretch */
	bool		busy;		/* trace is missing after this stretch because another program used the sink */
	const void	*priv;
};

/* nt_who_time() - convert the timestamp of a batch, of one of its marks, or of an item to ns */
uint64_t nt_who_time(const struct nt_who *who, uint64_t tstamp, uint8_t kind);

/* State of nt_range_time(), which sets all members when @nth is 0 */
struct nt_range_clock {
	const struct nt_mark *mark;
	uint64_t	time;
};

/* nt_range_time() - return the time of range @nth of a batch in ns. Call it for all ranges in their order, from 0. */
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
	/* an encoder sends a message when the last range in the message ends, so this range has the message's time */
	if (clock->mark < end && clock->mark->range == nth + 1)
		clock->time = nt_who_time(who, clock->mark->tstamp, clock->mark->tstamp_kind);
	return clock->time;
}

/* nt_who_space() - return the address space that contains an address, for nt_session_where() */
uint64_t nt_who_space(const struct nt_who *who, uint64_t addr);

/*
 * nt_who_read() - copy the code that was at an address at the time of @who
 *
 * Return the number of bytes copied.
 */
size_t nt_who_read(const struct nt_who *who, uint64_t addr, void *buf, size_t size);

/* A period of a recording in ns, which includes @from and @to */
struct nt_window {
	uint64_t	from, to;
};

/* Conditions that select a part of a recording. An event is selected if it meets all of them. */
struct nt_filter {
	struct nt_window time;		/* period to select; 0 in both members for any time */
	int32_t		cpu, tid;	/* CPU and thread to select; -1: any */
	unsigned long	pid;		/* process to select; 0: any */
	/* name of the thread at the time of the event, or a pattern for fnmatch(); NULL: any */
	const char	*comm;
	/* file of the code to select, by its path, the last parts of its path, or a pattern for fnmatch(); NULL: any */
	const char	*object;
	/* session in which @pid, @comm and addresses are looked up; NULL if @pid, @comm and @object are not set */
	const struct nt_session *session;
};

/* nt_filter_is_set() - return true if the filter has a condition other than the object of the code */
static inline bool nt_filter_is_set(const struct nt_filter *filter)
{
	return filter->time.to || filter->cpu >= 0 || filter->tid >= 0 || filter->pid || filter->comm;
}

/* nt_filter_has_thread() - return true if the process and the name of thread @tid at @time pass the filter */
bool nt_filter_has_thread(const struct nt_filter *filter, uint64_t time, int32_t tid);

/* nt_filter_has_object() - return true if the filter selects the file @object, which may be NULL */
bool nt_filter_has_object(const struct nt_filter *filter, const char *object);

/* nt_filter_has_code() - return true if the filter selects the file of the code at an address */
bool nt_filter_has_code(const struct nt_filter *filter, uint64_t space, uint64_t addr);

/* Return true if an event with the given time, CPU and thread passes the filter. */
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
 * Functions of a program that receive the decoded flow. A stretch is the trace of one CPU from a
 * start of its encoder to the next stop. Encoders that share a buffer have separate stretches. Several
 * threads decode stretches at the same time. @part is the pointer to the program's data about the
 * stretch, which begin() returns.
 */
struct nt_consumer {
	size_t	size;
	/*
	 * Called before a stretch is decoded, for one stretch at a time, in the same order as
	 * end(). Return a pointer to the program's data about this stretch, which the other
	 * functions receive as @part, or NULL if out of memory.
	 */
	void	*(*begin)(void *ctx, uint64_t stretch);
	/* Called with ranges, in the order in which they were executed. Return 0, or another value to stop decoding. */
	int	(*ranges)(void *part, const struct nt_who *who, const struct nt_batch *batch);
	/*
	 * Set this function instead of ranges() to count how often code was executed. The function
	 * is called once for each stretch, and gets the counts with nt_counts_take(). Counting is
	 * faster than ranges(), but counts have no times, threads or order.
	 */
	int	(*counts)(void *part, const struct nt_who *who, struct nt_flow *flow);
	/*
	 * Called with each item that is not a range, such as a sync, a stop, a loss, a context or
	 * an error. NULL: none
	 */
	int	(*item)(void *part, const struct nt_who *who, const struct nt_item *item);
	/*
	 * Called after a stretch was decoded, by one thread at a time. The stretches of one buffer
	 * have the order of their offsets, and those of different buffers the order of their times.
	 * @lost is true if trace is missing after the stretch. The library does not use @part after
	 * this call.
	 */
	int	(*end)(void *ctx, void *part, const struct nt_who *who, bool lost);
	/*
	 * Periods to decode. If @nr_windows is not 0, a stretch with known times that overlaps none
	 * of the periods is not decoded.
	 */
	const struct nt_window *windows;
	size_t	nr_windows;
};

/*
 * Decode the recording. Return 0, -1 (see nt_session_error()), or the value with which a function
 * of the consumer stopped decoding.
 */
int nt_session_decode(struct nt_session *session, const struct nt_consumer *consumer, void *ctx);

/* Reasons for which trace is missing */
enum nt_lost {
	NT_LOST_SINK,		/* the sink's window was full */
	NT_LOST_BUFFER,		/* the AUX buffer was full because perf read it too slowly */
	NT_LOST_BUSY,		/* another program used the sink */
	NT_LOST_FILE,		/* the recording's records list trace that the file lacks */
	NT_LOST_ENCODER,	/* the encoder's queue was full, which an Error message reports */
	NT_LOST_ERROR,		/* the trace could not be decoded */
	NT_LOST_CODE,		/* the code is not in the recording */
	NT_LOST_NR,
};

struct nt_lost_sum {
	uint64_t	times, ns;
};

/*
 * Missing trace of one CPU. The time of a loss is from the last trace before the loss to the first
 * trace after it. The numbers of instructions and bytes are estimates. They assume that the CPU
 * executed as many instructions per time as in the rest of the recording, and that the trace of an
 * instruction has as many bytes as on average.
 */
struct nt_missing {
	int32_t		cpu;
	uint64_t	all_ns;		/* time from the first to the last trace of any CPU */
	uint64_t	traced_insns;	/* number of instructions that were decoded */
	uint64_t	ns, insns, bytes;
	/* number and time of the losses for each reason; @ns is the sum of their times */
	struct nt_lost_sum why[NT_LOST_NR];
};

/*
 * nt_session_lost() - get the amount of missing trace of the CPU with index @nth, from 0, of the
 * CPUs that have trace
 *
 * nt_session_decode() calculates the amount. If it is called more than once, calls whose consumer has
 * counts() or selects periods of time do not replace the amount that an earlier call has calculated. If
 * the amount was calculated with a consumer with counts(), only messages with SYNC have times, and the
 * members that are numbers of instructions are numbers of bytes of trace. Return false after the last CPU.
 */
bool nt_session_lost(const struct nt_session *session, size_t nth, struct nt_missing *missing);

/* The symbol and the object at an address */
struct nt_place {
	/* path of the file, "[kernel.kallsyms]", "[NAME]" of a kernel module, or NULL: not known */
	const char	*object;
	const char	*symbol;	/* name to display, which may be demangled, or FILE+0xADDRESS; NULL: none */
	const char	*linkage;	/* name in the file's symbol table; @symbol if that table has no name */
	uint64_t	offset;		/* offset from the start of the symbol */
	uint64_t	start, end;	/* first address of the symbol, and first address after it, in memory */
	/* address in the file; for the kernel and its modules, the address in memory */
	uint64_t	address;
};
void nt_session_where(struct nt_session *session, uint64_t space, uint64_t addr,
		      struct nt_place *place);

/* Return true if address filters limited the trace. The recording does not list the filtered addresses. */
bool nt_session_is_filtered(const struct nt_session *session);

/*
 * nt_session_is() - return true if a name of a function matches a pattern
 * @object, @address: Object and address of an instruction of the function in the form of struct
 *	nt_place
 * @pattern: A name of the function, with or without parameters, or a pattern for fnmatch()
 */
bool nt_session_is(struct nt_session *session, const char *object, uint64_t address, const char *pattern);

/* nt_name_matches() - return true if @name matches @pattern, which has the form of nt_session_is() */
bool nt_name_matches(const char *name, const char *pattern);

/*
 * nt_session_file() - return the path at which the file of nt_place::object was found; NULL: none
 * @debug: Set to the path of the separate debug file that contains the object's symbols; NULL: none
 */
const char *nt_session_file(struct nt_session *session, const char *object, const char **debug);

/*
 * nt_session_build_id() - return the build id of the file of an object, and set *@size to its size
 * in bytes
 *
 * *@size is set to 0 if the file of the object was not found, or if the file has no build id.
 */
const uint8_t *nt_session_build_id(struct nt_session *session, const char *object, size_t *size);

/* nt_session_thread() - find the process and the name of a thread at a time; set -1 and "" if they are not known */
void nt_session_thread(const struct nt_session *session, int32_t tid, uint64_t time, int32_t *pid,
		       const char **comm);

/*
 * nt_session_program() - return the path of the program that a process executes at @time, which is
 * the mapped file with the lowest address
 *
 * Return NULL if no file is known. The file need not exist on this machine.
 */
const char *nt_session_program(const struct nt_session *session, int32_t pid, uint64_t time);

/* Copy the code at an address of an address space, such as nt_who::space. Return the number of bytes copied. */
size_t nt_session_read(struct nt_session *session, uint64_t space, uint64_t addr, void *buf,
		       size_t size);

/*
 * nt_code_length() - return the size in bytes of an instruction with up to 64 bits, whose first byte is @first, see
 *	RISC-V unprivileged ISA, "Base Instruction-Length Encoding"
 */
static inline unsigned int nt_code_length(uint8_t first)
{
	return (first & 3) != 3 ? 2 : (first & 0x1f) != 0x1f ? 4 : (first & 0x3f) == 0x1f ? 6 : 8;
}

/* nt_base_name() - return the part of @path after its last slash, or @path if it has no slash or is NULL */
static inline const char *nt_base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

/* A record of a kernel event, which is not trace, in the format of the recording */
struct nt_record {
	const void	*data;		/* struct perf_event_header and the members after it */
	size_t		size;		/* size without the sample_id_all fields that perf appends to each record */
	uint64_t	time;
	int32_t		pid, tid, cpu;	/* process, thread and CPU that caused the event; -1: not known */
};

/*
 * nt_session_record() - get the record with index @nth, from 0, in the order of time
 *
 * The session has records only if nt_session_options::keep_records is set. Return false after the
 * last record.
 */
bool nt_session_record(const struct nt_session *session, size_t nth, struct nt_record *record);

/*
 * nt_session_feature() - get feature @nth of the recording's header (HEADER_* in perf), which the
 * session owns
 *
 * Return false if the recording does not have this feature.
 */
bool nt_session_feature(const struct nt_session *session, unsigned int nth, const void **data,
			size_t *size);

/*
 * nt_session_folder() - return the folder of a recording that has a copy of the kernel; NULL if the
 * recording is a file
 */
const char *nt_session_folder(const struct nt_session *session);

/* A shard, which is one of the parts into which `ntrace split` divides a recording (see split.h) */
struct nt_shard {
	uint64_t	id;		/* number that is the same in all shards of one recording */
	uint32_t	nth, of;	/* number of this shard, from 1, and number of all shards */
	const char	*name;		/* name of the recording; the session owns it */
};

/*
 * nt_session_shard() - get the shard with index @nth, from 0, of the shards from which the recording or
 * its counts were made; return false after the last
 */
bool nt_session_shard(const struct nt_session *session, size_t nth, struct nt_shard *shard);

/* Bytes of raw trace that are contiguous in the recording's file */
struct nt_trace_piece {
	const uint8_t	*data;
	size_t		size;
	/* this piece is the first of a stretch; the previous stretch may have ended inside a message */
	bool		begins;
};

/*
 * nt_session_trace() - get piece @nth, from 0, of the raw trace of one CPU
 *
 * Return false after the last piece.
 */
bool nt_session_trace(struct nt_session *session, int cpu, size_t nth,
		      struct nt_trace_piece *piece);

/* Some bytes of the raw trace of a stretch. The structure is valid only during the call that receives it. */
struct nt_raw {
	const uint8_t	*data;
	size_t		size;		/* number of bytes; 0: all trace of the stretch is missing */
	/* CPU of the stretch; if encoders share a buffer, the SRC of each message identifies its encoder */
	int		cpu;
	bool		begins, ends;	/* these bytes are the first or the last of the stretch */
	bool		middle;		/* the first byte may be inside a message */
	bool		lost;		/* trace is missing after the stretch */
	const struct nt_config *config;	/* configuration of the CPU's encoder */
	const void	*priv;
};

/*
 * nt_session_raw() - pass the trace of all CPUs to @take without decoding it
 *
 * The function passes the buffers one after the other, and the trace of a buffer in the order of
 * time. It unpacks CoreSight frames. It skips a stretch if the recording does not describe the
 * encoder of the stretch's CPU.
 *
 * Return: 0, -1 (see nt_session_error()), or the value that @take returned to stop.
 */
int nt_session_raw(struct nt_session *session, int (*take)(void *ctx, const struct nt_raw *raw),
		   void *ctx);

/* nt_raw_time() - convert a timestamp of the stretch to ns; return 0 if the recording does not describe the clock */
uint64_t nt_raw_time(const struct nt_raw *raw, uint64_t ticks);

/*
 * nt_session_cpu() - get the CPU with index @nth, from 0, of the CPUs that have trace, and the
 * configuration of its encoder; return false after the last
 */
bool nt_session_cpu(struct nt_session *session, size_t nth, int *cpu,
		    struct nt_config *config);

/*
 * Get the path of the file with index @nth, from 0, of the files whose code could not be read, and
 * the reason. Return false after the last file.
 */
bool nt_session_missing(const struct nt_session *session, size_t nth, const char **path,
			const char **why);

#endif /* NTRACE_SESSION_SESSION_H */
