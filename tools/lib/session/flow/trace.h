/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The trace of a recording, cut into stretches: what one PERF_RECORD_AUX says is trace from
 * a start of the encoder to its stop. Stretches do not depend on each other.
 */
#ifndef NTRACE_SESSION_TRACE_H
#define NTRACE_SESSION_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "session/array.h"
#include "session/file/perfdata.h"
#include "session/world/setup.h"

/* The byte that may stand between messages: MDO 63 and MSEO 3 (N-Trace, "MSEO Sequences") */
#define NS_IDLE		0xff

/* Bytes of a stretch that stand together in the file */
struct ns_piece {
	const uint8_t	*data;
	size_t		size;
};

struct ns_stretch {
	uint64_t	offset, size;	/* in the AUX buffer */
	uint64_t	flags;		/* PERF_AUX_FLAG_* */
	uint64_t	start, end;	/* ns: not before, not after; 0: not known */
	int32_t		cpu, pid, tid;	/* -1: not known */
	uint32_t	queue;		/* of which buffer: one of a CPU or of a thread */
	bool		middle;		/* begins anywhere in a message */
	bool		lost;		/* trace is missing after it */
	bool		follows;	/* the stretch before it in its queue ended where it begins */
	NS_ARRAY(struct ns_piece) pieces;
	/* of ns_setup::cpus, see sources.h: the first @nr_seen have messages in it, the others lost all of theirs */
	NS_ARRAY(uint32_t) cpus;
	size_t		nr_seen;
};

struct ns_buffer {
	uint64_t	offset;		/* in the AUX buffer */
	const uint8_t	*data;
	size_t		size;
};

struct ns_queue {
	int32_t		cpu, tid;	/* tid only if cpu is -1 */
	NS_ARRAY(struct ns_buffer) buffers;
};

struct ns_trace {
	NS_ARRAY(struct ns_queue) queues;
	NS_ARRAY(struct ns_stretch) stretches;	/* by queue, then offset; later by end */
	uint64_t	bytes;
	uint64_t	missing;	/* bytes that PERF_RECORD_AUX names and no buffer has */
};

/* ns_trace_add_data() - PERF_RECORD_AUXTRACE; ns_trace_add_aux() - PERF_RECORD_AUX. -1: no memory */
int ns_trace_add_data(struct ns_trace *trace, const struct pd_record *record);
int ns_trace_add_aux(struct ns_trace *trace, const struct pd_record *record);

/*
 * ns_trace_cut() - all records are there: give each stretch its bytes, and each byte that no
 * record speaks of a stretch
 *
 * Return: 0; -1: out of memory.
 */
int ns_trace_cut(struct ns_trace *trace, const struct ns_setup *setup, const struct perfdata *pd);

/* ns_stretch_is_full() - Return: true if it is a window of a sink that was full, so that its end is missing */
bool ns_stretch_is_full(const struct ns_stretch *stretch);

/* ns_trace_queue() - index of the queue of a CPU, or of a thread; -1: there is none */
int64_t ns_trace_queue(const struct ns_trace *trace, int32_t cpu, int32_t tid);

/* ns_trace_find_middle() - does the stretch begin inside a message? Sets @stretch->middle. */
void ns_trace_find_middle(struct ns_stretch *stretch, const struct ns_setup *setup);
void ns_trace_free(struct ns_trace *trace);

#endif /* NTRACE_SESSION_TRACE_H */
