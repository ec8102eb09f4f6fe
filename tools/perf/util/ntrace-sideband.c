// SPDX-License-Identifier: GPL-2.0-only
/* Sideband events, which report context switches, mappings and lost trace. */
#include <string.h>

#include "debug.h"
#include "evlist.h"
#include "evsel.h"
#include "machine.h"
#include "ntrace-compat.h"
#include "ntrace-priv.h"
#include "session.h"
#include "thread-stack.h"
#include "thread.h"
#include "trace-event.h"

static int ntrace_set_current(struct ntrace *nt, int cpu, pid_t pid, pid_t tid)
{
	unsigned int i;

	if (cpu < 0 || tid == -1)
		return 0;
	/*
	 * If Ownership messages do not report the thread, this event changes the thread, and
	 * therefore the address space
	 */
	for (i = 0; i < nt->nr_streams; i++) {
		struct ntrace_queue *q = nt->streams[i];

		if (q->cpu == cpu && !ntrace_has_scontext(q, &q->context) && q->tid != tid)
			nt_image_remap(q->image);
	}
	ntrace_gap_switch(nt, tid, cpu);
	return machine__set_current_tid(nt->machine, cpu, pid, tid);
}

static int ntrace_process_switch(struct ntrace *nt, union perf_event *event,
				 struct perf_sample *sample)
{
	if (!(event->header.misc & PERF_RECORD_MISC_SWITCH_OUT))
		return ntrace_set_current(nt, sample->cpu, sample->pid, sample->tid);
	ntrace_gap_switch_out(nt, sample->tid, sample->cpu);
	if (event->header.type != PERF_RECORD_SWITCH_CPU_WIDE)
		return 0;
	return ntrace_set_current(nt, sample->cpu, event->context_switch.next_prev_pid,
				  event->context_switch.next_prev_tid);
}

#ifdef HAVE_LIBTRACEEVENT
static int ntrace_process_sched_switch(struct ntrace *nt, struct perf_sample *sample)
{
	struct evsel *evsel = evlist__id2evsel(nt->session->evlist, sample->id);

	if (!evsel || evsel != nt->switch_evsel)
		return 0;
	return ntrace_set_current(nt, sample->cpu, -1,
				  ntrace_sample_intval(evsel, sample, "next_pid"));
}
#endif

static void ntrace_forget_thread(struct ntrace *nt, pid_t tid)
{
	unsigned int i;

	for (i = 0; i < nt->nr_streams; i++) {
		struct ntrace_queue *q = nt->streams[i];

		if (q->tid == tid)
			thread__zput(q->thread);
	}
}

/* Handle an event that reports new or changed code */
static void ntrace_process_mapping(struct ntrace *nt, union perf_event *event)
{
	switch (event->header.type) {
	case PERF_RECORD_MMAP:
		if (!(event->header.misc & PERF_RECORD_MISC_MMAP_DATA))
			ntrace_code_changed(nt, event->mmap.pid);
		break;
	case PERF_RECORD_MMAP2:
		if (!(event->header.misc & PERF_RECORD_MISC_MMAP_DATA))
			ntrace_code_changed(nt, event->mmap2.pid);
		break;
	case PERF_RECORD_COMM:
		if (event->header.misc & PERF_RECORD_MISC_COMM_EXEC)
			ntrace_code_exec(nt, event->comm.pid);
		break;
	case PERF_RECORD_FORK:
		/* The kernel may reuse the ID of a thread that has exited */
		ntrace_forget_thread(nt, event->fork.tid);
		if (event->fork.pid == event->fork.tid)
			ntrace_code_changed(nt, event->fork.pid);
		break;
	case PERF_RECORD_KSYMBOL:
	case PERF_RECORD_TEXT_POKE:
		ntrace_code_changed(nt, -1);
		break;
	default:
		break;
	}
}

/* Add a call chain or branch stack to a sample of another event (options G and L) */
static void ntrace_add_to_sample(struct ntrace *nt, struct perf_sample *sample)
{
	struct thread *thread = machine__findnew_thread(nt->machine, sample->pid, sample->tid);

	if (!thread)
		return;
	if (nt->synth_opts.add_callchain && !sample->callchain) {
		ntrace_gap_sample(nt, thread, sample->cpu);
		thread_stack__sample_late(thread, sample->cpu, nt->chain,
					  nt->synth_opts.callchain_sz + 1, sample->ip,
					  nt->kernel_start);
		sample->callchain = nt->chain;
	}
	if (nt->synth_opts.add_last_branch && !sample->branch_stack) {
		thread_stack__br_sample_late(thread, sample->cpu, nt->br_stack, nt->br_stack_sz,
					     sample->ip, nt->kernel_start);
		sample->branch_stack = nt->br_stack;
	}
	thread__put(thread);
}

/* Return an error code and set *text if trace is missing, otherwise return 0 */
static int ntrace_why_lost(u64 flags, u64 size, const char **text)
{
	if (flags & PERF_AUX_FLAG_TRUNCATED) {
		*text = "AUX buffer full: trace was lost (try perf record -m,SIZE)";
		return NTRACE_ERROR_LOST;
	}
	if (ntrace_frames_lost(flags, size))
		return 0;
	if (flags & PERF_AUX_FLAG_COLLISION) {
		*text = "another program used the sink: trace is missing";
		return NTRACE_ERROR_BUSY;
	}
	*text = "sink full: trace was lost (try perf record -m,SIZE)";
	return flags & PERF_AUX_FLAG_PARTIAL ? NTRACE_ERROR_LOST : 0;
}

/*
 * Return true if the record is the same as the last one. perf_mmap__push() of perf record reads the
 * end of the ring buffer twice. If the kernel writes a record between these two reads, perf record
 * saves that record twice.
 */
static bool ntrace_is_repeated(struct ntrace *nt, const union perf_event *event,
			       const struct perf_sample *sample)
{
	const struct ntrace_last_aux aux = {
		.time = sample->time, .offset = event->aux.aux_offset, .size = event->aux.aux_size,
		.cpu = sample->cpu, .tid = sample->tid,
	};
	bool same = aux.size && !memcmp(&aux, &nt->last_aux, sizeof(aux));

	nt->last_aux = aux;
	return same;
}

static int ntrace_process_aux(struct ntrace *nt, union perf_event *event,
			      struct perf_sample *sample)
{
	u32 lost = PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL;
	const char *text;
	int code;

	u64 flags = ntrace_aux_flags(nt, event);

	if (ntrace_is_repeated(nt, event, sample))
		return 0;
	if (!event->aux.aux_size && flags & lost)
		ntrace_gap_refused(nt, sample->cpu, sample->tid);
	nt->event_disabled |= flags & PERF_AUX_FLAG_TRUNCATED;
	code = ntrace_why_lost(flags, event->aux.aux_size, &text);
	if (!code)
		return 0;
	return ntrace_synth_error(nt, code, sample->cpu, sample->pid, sample->tid, 0, sample->time,
				  text);
}

/* Handle an event that was recorded in a guest, and not on the host (perf inject --guest-data) */
static int ntrace_process_guest(struct ntrace *nt, union perf_event *event,
				struct perf_sample *sample)
{
	struct machine *machine = machines__find(&nt->session->machines, sample->machine_pid);
	bool out = event->header.misc & PERF_RECORD_MISC_SWITCH_OUT;
	pid_t pid = sample->pid, tid = sample->tid;

	nt->have_guest = true;
	switch (event->header.type) {
	case PERF_RECORD_SWITCH_CPU_WIDE:
		if (out) {
			pid = event->context_switch.next_prev_pid;
			tid = event->context_switch.next_prev_tid;
		}
		break;
	case PERF_RECORD_SWITCH:
		if (!out)
			break;
		return 0;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_KSYMBOL:
	case PERF_RECORD_TEXT_POKE:
		ntrace_guest_changed(nt, sample->machine_pid, true);
		return 0;
	default:
		return 0;
	}
	ntrace_guest_changed(nt, sample->machine_pid, false);
	if (!machine || tid == -1)
		return 0;
	return machine__set_current_tid(machine, sample->vcpu, pid, tid);
}

int ntrace_process_sideband(struct ntrace *nt, union perf_event *event,
			    struct perf_sample *sample)
{
	if (sample->machine_pid)
		return ntrace_process_guest(nt, event, sample);
	switch (event->header.type) {
	case PERF_RECORD_SAMPLE:
		ntrace_add_to_sample(nt, sample);
#ifdef HAVE_LIBTRACEEVENT
		if (nt->switch_evsel)
			return ntrace_process_sched_switch(nt, sample);
#endif
		return 0;
	case PERF_RECORD_AUX:
		return ntrace_process_aux(nt, event, sample);
	case PERF_RECORD_ITRACE_START:
		return ntrace_set_current(nt, sample->cpu, event->itrace_start.pid,
					  event->itrace_start.tid);
	case PERF_RECORD_LOST:
		ntrace_gap_unknown(nt);
		return 0;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return ntrace_process_switch(nt, event, sample);
	default:
		ntrace_process_mapping(nt, event);
		return 0;
	}
}
