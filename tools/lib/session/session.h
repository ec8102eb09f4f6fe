/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A recording as a whole: what perf record wrote, decoded by all processors.
 *
 *	nt_session_open() -- nt_session_decode(consumer) -- nt_session_close()
 *
 * The library prints nothing and knows no output format. Times are ns of perf's clock.
 */
#ifndef NTRACE_SESSION_SESSION_H
#define NTRACE_SESSION_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ntrace/ntrace.h>

struct nt_session;
struct ns_stretch;

struct nt_session_options {
	size_t		size;		/* sizeof(struct nt_session_options) */
	const char	*symfs;		/* folder with the files of the recording's machine */
	const char	*cache;		/* build-id cache; NULL: ~/.debug */
	unsigned int	threads;	/* 0: one for each processor */
	bool		keep_records;	/* for nt_session_record() */
	bool		keep_events;	/* for nt_events_new(): 64 bytes of memory for each tracepoint */
	/*
	 * Called now and then while a recording is decoded, by one thread at a time, and in the
	 * end with @done the same as @all. May be NULL
	 */
	void		(*progress)(void *ctx, uint64_t done, uint64_t all);
	void		*progress_ctx;
	const char	*kcore;		/* nt_session_open_counts(): folder of a recording of that kernel */
	/*
	 * ELF file of the code of machine mode, or FILE@ADDRESS, which is added to the addresses of the
	 * file; NULL: that code is not known
	 */
	const char	*firmware;
	const char	*modules;	/* folder with files of the kernel's modules, and folders of it; NULL: none */
};

/*
 * nt_session_open() - open what perf record wrote: a file, a folder, "-" for a pipe
 * @session: set in both cases, unless there is no memory for it (NULL)
 *
 * Return: 0; -1: nt_session_error() says why in a sentence.
 */
int nt_session_open(struct nt_session **session, const char *path,
		    const struct nt_session_options *options);
const char *nt_session_error(const struct nt_session *session);
void nt_session_close(struct nt_session *session);

struct nt_session_info {
	size_t		size;
	uint64_t	trace_bytes;
	uint64_t	stretches;
	uint64_t	lost_records;	/* of the kernel's own events */
	unsigned int	cpus;
	unsigned int	buffers;
	bool		truncated;	/* the file was cut short */
	bool		has_kcore;
	bool		has_time;
	/* SRC of messages of no encoder of the recording, which were left out; -1: none so far */
	int32_t		unknown_source;
	uint64_t	missing_bytes;	/* of trace that the recording names and does not have */
};
void nt_session_info(const struct nt_session *session, struct nt_session_info *info, size_t size);

/* Who executed: valid during the call it is given to */
struct nt_who {
	uint64_t	time;		/* of the last message before, or of this one */
	int32_t		cpu, pid, tid;	/* -1: not known; all of a stretch is of one CPU */
	const char	*comm;
	uint64_t	space;		/* whose code it is, for nt_session_where() */
	uint64_t	user;		/* the same of the process, while the kernel executes */
	uint32_t	image;		/* another number after exec; 0: not known */
	uint32_t	buffer;		/* AUX buffer of the recording that the trace is from */
	bool		lost;		/* trace is missing before the first item of this stretch */
	bool		busy;		/* what is missing after it is so as another program had the sink */
	const void	*priv;
};

/* nt_who_time() - ns, of a timestamp of a batch's mark or of an item */
uint64_t nt_who_time(const struct nt_who *who, uint64_t tstamp, uint8_t kind);

/* nt_who_space() - whose code an address is, for nt_session_where() */
uint64_t nt_who_space(const struct nt_who *who, uint64_t addr);

/* nt_who_read() - code at an address, as it was then: bytes copied */
size_t nt_who_read(const struct nt_who *who, uint64_t addr, void *buf, size_t size);

/* Times of a recording, ns: both belong to it */
struct nt_window {
	uint64_t	from, to;
};

/* Which part of a recording is wanted: all conditions must hold */
struct nt_filter {
	struct nt_window time;		/* both 0: any */
	int32_t		cpu, tid;	/* -1: any */
};

/* Does an event of that time, CPU and thread pass the filter? */
static inline bool nt_filter_passes(const struct nt_filter *filter, uint64_t time, int32_t cpu,
				    int32_t tid)
{
	if (filter->time.to && (time < filter->time.from || time > filter->time.to))
		return false;
	return (filter->cpu < 0 || filter->cpu == cpu) && (filter->tid < 0 || filter->tid == tid);
}

/*
 * Functions of a program that get the flow. A stretch is trace of one CPU without a stop of the
 * encoder; if encoders share a buffer, each of them has stretches of its own. Several threads
 * decode stretches at once, in no order, and each stretch has a part of its own.
 */
struct nt_consumer {
	size_t	size;
	/*
	 * A stretch begins, one after the other in the order of end(). The part is given to the other
	 * calls; NULL: out of memory
	 */
	void	*(*begin)(void *ctx, uint64_t stretch);
	/* Ranges that were executed one after the other. 0, or a value that stops it all */
	int	(*ranges)(void *part, const struct nt_who *who, const struct nt_batch *batch);
	/*
	 * Instead of ranges(), which is NULL then: what was counted of the stretch, to be taken by
	 * nt_counts_take(). Counting is faster, and knows no times, threads and order.
	 */
	int	(*counts)(void *part, const struct nt_who *who, struct nt_flow *flow);
	/* Anything else: a sync, a stop, a loss, a context, an error. May be NULL */
	int	(*item)(void *part, const struct nt_who *who, const struct nt_item *item);
	/*
	 * The stretch is over. Called by one thread at a time, in the order of time, and of each
	 * buffer by offset; the part is the consumer's again.
	 */
	int	(*end)(void *ctx, void *part, const struct nt_who *who, bool lost);
	/* If there are any, a stretch that is known to touch none of them is left out */
	const struct nt_window *windows;
	size_t	nr_windows;
};

/* Return: 0, -1 (nt_session_error()), or what a call of the consumer returned. */
int nt_session_decode(struct nt_session *session, const struct nt_consumer *consumer, void *ctx);

/* The symbol at an address */
struct nt_place {
	const char	*object;	/* path, "[kernel.kallsyms]", "[NAME]" of a module, or NULL */
	const char	*symbol;	/* NULL: none */
	uint64_t	offset;		/* from the begin of the symbol */
	uint64_t	start, end;	/* of the symbol, as addresses of the process */
	uint64_t	address;	/* as the file has it; of the kernel and its modules, as it is */
};
void nt_session_where(struct nt_session *session, uint64_t space, uint64_t addr,
		      struct nt_place *place);

/* nt_session_file() - the file that an object of struct nt_place was found in; NULL: none */
const char *nt_session_file(struct nt_session *session, const char *object);

/* nt_session_thread() - what a thread was at a time; -1 and "": not known */
void nt_session_thread(const struct nt_session *session, int32_t tid, uint64_t time, int32_t *pid,
		       const char **comm);

/* Code as it was: bytes copied */
size_t nt_session_read(struct nt_session *session, uint64_t space, uint64_t addr, void *buf,
		       size_t size);

/* An event of the kernel beside the trace, as it stands in the recording */
struct nt_record {
	const void	*data;		/* struct perf_event_header and what belongs to it */
	size_t		size;		/* without what perf adds to each record (sample_id_all) */
	uint64_t	time;
	int32_t		pid, tid, cpu;	/* of who caused it; -1: not known */
};

/* nt_session_record() - those of programs and their code, by time, from @nth = 0; false: no more */
bool nt_session_record(const struct nt_session *session, size_t nth, struct nt_record *record);

/* nt_session_feature() - a section of the recording's header; false: it has none */
bool nt_session_feature(const struct nt_session *session, unsigned int nth, const void **data,
			size_t *size);

/* nt_session_folder() - of a recording with a copy of the kernel; NULL: it is a file */
const char *nt_session_folder(const struct nt_session *session);

/* A part of a recording that was cut, see split.h */
struct nt_shard {
	uint64_t	id;		/* of the cut */
	uint32_t	nth, of;	/* from 1 on */
	const char	*name;		/* of the recording; it belongs to the session */
};

/* nt_session_shard() - which shards the recording, or its counts, is of, from @nth = 0 */
bool nt_session_shard(const struct nt_session *session, size_t nth, struct nt_shard *shard);

/* Raw trace: bytes that were one after the other in the buffer */
struct nt_trace_piece {
	const uint8_t	*data;
	size_t		size;
	bool		begins;		/* a stretch: the one before may have ended inside a message */
};

/* nt_session_trace() - what one CPU sent, piece by piece from @nth = 0; false: no more */
bool nt_session_trace(struct nt_session *session, int cpu, size_t nth,
		      struct nt_trace_piece *piece);

/* Raw trace of a stretch, a part at a time: valid during the call it is given to */
struct nt_raw {
	const uint8_t	*data;
	size_t		size;		/* 0: nothing of the stretch is there */
	int		cpu;		/* whose stretch it is; encoders may share a buffer: see SRC */
	bool		begins, ends;	/* the stretch */
	bool		middle;		/* its first byte may be in the middle of a message */
	bool		lost;		/* trace is missing after the stretch */
	const struct nt_config *config;	/* of the CPU's encoder */
	const void	*priv;
};

/*
 * nt_session_raw() - give the trace of all CPUs to @take, without decoding it: buffer by buffer, each in
 * the order of time. CoreSight frames are taken apart. A stretch of a CPU that the recording says
 * nothing about is left out.
 *
 * Return: 0, -1 (nt_session_error()), or what @take returned to stop it.
 */
int nt_session_raw(struct nt_session *session, int (*take)(void *ctx, const struct nt_raw *raw),
		   void *ctx);

/* nt_raw_time() - ns, of a timestamp of that stretch; 0: the recording has no clock for it */
uint64_t nt_raw_time(const struct nt_raw *raw, uint64_t ticks);

/* nt_session_cpu() - CPUs that have trace, from @nth = 0, and how their encoders were set up */
bool nt_session_cpu(struct nt_session *session, size_t nth, int *cpu,
		    struct nt_config *config);

/* Files whose code could not be read, one after the other from @nth = 0; false: no more */
bool nt_session_missing(const struct nt_session *session, size_t nth, const char **path,
			const char **why);

#endif /* NTRACE_SESSION_SESSION_H */
