/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Find times in which a thread may have executed without being traced although no trace was lost.
 * The context switches of the thread show such times. There are two reasons:
 *
 *   - the CPU on which the thread executed is not traced;
 *   - perf has disabled an event because the AUX buffer was full. Linux may swap the events of two
 *     threads of one program when it switches between these threads. Therefore, any thread of the
 *     program may have the disabled event later, and is then not traced.
 */
#ifndef NTRACE_SESSION_VISITS_H
#define NTRACE_SESSION_VISITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/array.h"
#include "session/file/perfdata.h"
#include "setup.h"
#include "session/flow/trace.h"

enum ns_visit_kind { NS_VISIT_IN, NS_VISIT_OUT, NS_VISIT_UNTRACED };

struct ns_visit {
	uint64_t	time;
	int32_t		tid, cpu;
	enum ns_visit_kind kind;
};

struct ns_visits {
	NS_ARRAY(struct ns_visit) all;	/* context switches, sorted by thread, then time */
};

/*
 * ns_visits_build() - list the context switches that show when a thread may have executed without
 * trace. Call it after ns_trace_cut(). Return: 0, or -1 if out of memory.
 */
int ns_visits_build(struct ns_visits *visits, struct ns_trace *trace,
		    const struct ns_setup *setup, const struct pd_record *records, size_t nr);
void ns_visits_free(struct ns_visits *visits);

/*
 * ns_visits_unseen() - return true if the thread has executed without trace between two times
 * @from: Time of the thread's last branch in the trace
 * @to: Time of the thread's next branch in the trace
 */
bool ns_visits_unseen(const struct ns_visits *visits, int32_t tid, uint64_t from, uint64_t to);

#endif /* NTRACE_SESSION_VISITS_H */
