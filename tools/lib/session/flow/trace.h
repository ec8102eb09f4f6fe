/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The trace of a recording, divided into stretches. A stretch is the trace that one PERF_RECORD_AUX
 * describes, from a start of the encoder to its stop. A stretch can be decoded without the other
 * stretches. A queue (struct ns_queue) is one AUX buffer, which belongs to a CPU or to a thread,
 * with the buffer's stretches in the order of their offsets. A piece is a sequence of bytes of a
 * stretch that are contiguous in the file.
 */
#ifndef NTRACE_SESSION_TRACE_H
#define NTRACE_SESSION_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "session/array.h"
#include "session/file/perfdata.h"
#include "session/hash.h"
#include "session/world/setup.h"

/*
 * The idle byte, which may be between messages. Its MDO bits are 63 and its MSEO bits are 3
 * (N-Trace, "MSEO Sequences").
 */
#define NS_IDLE		0xff

/* Bytes of a stretch that are contiguous in the file */
struct ns_piece {
	const uint8_t	*data;
	size_t		size;
};

struct ns_stretch {
	uint64_t	offset, size;	/* offset in the AUX buffer and size, bytes */
	uint64_t	flags;		/* PERF_AUX_FLAG_* */
	uint64_t	start, end;	/* times of the start and of the end, ns; 0: not known */
	int32_t		cpu, pid, tid;	/* CPU, process and thread; -1: not known */
	uint32_t	queue;		/* index in ns_trace::queues of the AUX buffer that contains the stretch */
	bool		middle;		/* the first byte may be inside a message */
	bool		lost;		/* trace is missing after the stretch */
	/*
	 * the previous stretch of the same AUX buffer ends at @offset, and no trace is missing
	 * between them
	 */
	bool		follows;
	NS_ARRAY(struct ns_piece) pieces;
	/*
	 * CPUs whose encoders share the buffer, as indices in ns_setup::cpus (see sources.h). The
	 * first @nr_seen of these CPUs have messages in the stretch. The messages of the other CPUs
	 * were lost.
	 */
	NS_ARRAY(uint32_t) cpus;
	size_t		nr_seen;
};

struct ns_buffer {
	uint64_t	offset;		/* offset in the AUX buffer */
	const uint8_t	*data;
	size_t		size;
};

struct ns_queue {
	int32_t		cpu, tid;	/* CPU of the buffer; -1: the buffer belongs to thread @tid */
	NS_ARRAY(struct ns_buffer) buffers;
};

struct ns_trace {
	NS_ARRAY(struct ns_queue) queues;
	struct ns_hash	owners;		/* hash table that finds an element of @queues by its CPU and thread */
	NS_ARRAY(struct ns_stretch) stretches;	/* sorted by AUX buffer, then by offset */
	uint64_t	bytes;
	uint64_t	missing;	/* number of bytes that PERF_RECORD_AUX lists but no buffer contains */
	struct nt_foreign *foreign;	/* metadata of a recording that another driver made, otherwise NULL */
	uint64_t	wrapped;	/* number of records of another driver whose ring has wrapped around */
	uint64_t	old;		/* number of bytes that earlier sessions left in the buffers of these records */
};

/*
 * ns_trace_add_data() - add the trace of a PERF_RECORD_AUXTRACE; ns_trace_add_aux() - add the
 * stretch of a PERF_RECORD_AUX
 *
 * Return -1 if out of memory.
 */
int ns_trace_add_data(struct ns_trace *trace, const struct pd_record *record);
int ns_trace_add_aux(struct ns_trace *trace, const struct pd_record *record);

/*
 * ns_trace_add_bytes() - append a stretch to the buffer of a CPU
 *
 * Trace is missing between the previous stretch of the CPU and the new one. Return -1 if out of
 * memory.
 */
int ns_trace_add_bytes(struct ns_trace *trace, int32_t cpu, const uint8_t *data, size_t size, bool middle);

/*
 * ns_trace_cut() - find the bytes of each stretch in the buffers, after all records were added
 *
 * Bytes that no record describes become stretches without times.
 *
 * Return: 0, or -1 if out of memory.
 */
int ns_trace_cut(struct ns_trace *trace, const struct ns_setup *setup, const struct perfdata *pd);

/*
 * ns_stretch_is_full() - return true if the sink's window was full
 *
 * Trace is then missing at the end of the stretch. If the stretch consists of frames, trace is instead
 * missing at its start, because the sink is an ETR, which overwrites its oldest trace when it is full.
 */
bool ns_stretch_is_full(const struct ns_stretch *stretch);

/*
 * ns_stretch_is_cut() - return true if trace is missing after the stretch. Return false if only an
 * ETR's window was full, because the ETR then overwrites the oldest trace of the stretch.
 */
bool ns_stretch_is_cut(const struct ns_stretch *stretch);

/*
 * ns_trace_queue() - return the index in ns_trace::queues of a CPU's AUX buffer. If that CPU has no
 * buffer, return the index of a thread's buffer, or -1.
 */
int64_t ns_trace_queue(struct ns_trace *trace, int32_t cpu, int32_t tid);

/* ns_trace_find_middle() - set @stretch->middle if the stretch may begin inside a message */
void ns_trace_find_middle(struct ns_stretch *stretch, const struct ns_setup *setup);
void ns_trace_free(struct ns_trace *trace);

#endif /* NTRACE_SESSION_TRACE_H */
