// SPDX-License-Identifier: GPL-2.0-only
/*
 * RISC-V N-Trace session. It is set up by PERF_RECORD_AUXTRACE_INFO, and decodes the trace in step
 * with the other events.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <linux/bitmap.h>
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/zalloc.h>

#include "config.h"
#include "data.h"
#include "debug.h"
#include "evlist.h"
#include "evsel.h"
#include "machine.h"
#include "ntrace.h"
#include "ntrace-compat.h"
#include "ntrace-decoder/foreign.h"
#include "ntrace-decoder/sinks.h"
#include "ntrace-priv.h"
#include "session.h"
#include "symbol_conf.h"
#include "thread-stack.h"
#include "thread.h"
#include "tool.h"
#include "trace-event.h"

#define NTRACE_LOG_NAME		"ntrace.log"

/* Start of the kernel's addresses, for Sv39 and wider on RV64 and for Sv32 on RV32 */
#define NTRACE_KERNEL_START_64	BIT_ULL(63)
#define NTRACE_KERNEL_START_32	0xc0000000ULL

/* ------------------------------------------------------------------- queues */

static bool ntrace_has_thread_buffers(struct ntrace *nt)
{
	unsigned int i;

	for (i = 0; i < nt->queues.nr_queues; i++) {
		if (nt->queues.queue_array[i].set)
			return nt->queues.queue_array[i].cpu == -1;
	}
	return false;
}

static int ntrace_update_queues(struct ntrace *nt)
{
	int err;

	if (!nt->queues.new_data)
		return 0;
	nt->queues.new_data = false;
	err = ntrace_foreign_settle(nt);
	if (err)
		return err;
	ntrace_sort_stretches(nt, ntrace_has_thread_buffers(nt));
	return ntrace_queues_setup(nt);
}

/* Decode all trace that is older than @timestamp, the oldest first */
static int ntrace_process_queues(struct ntrace *nt, u64 timestamp)
{
	struct ntrace_queue *q;
	unsigned int nr;
	u64 ts;
	int ret;

	while (nt->heap.heap_cnt && nt->heap.heap_array[0].ordinal < timestamp) {
		nr = nt->heap.heap_array[0].queue_nr;
		q = nt->streams[nr];
		auxtrace_heap__pop(&nt->heap);

		/* Samples of all CPUs must be in the order of time, but errors need not be */
		ts = timestamp;
		if (nt->want_ranges && nt->heap.heap_cnt && nt->heap.heap_array[0].ordinal + 1 < ts)
			ts = nt->heap.heap_array[0].ordinal + 1;
		ret = ntrace_queue_run(q, &ts);
		if (ret < 0)
			return ret;
		q->on_heap = !ret;
		if (!ret)
			ret = auxtrace_heap__add(&nt->heap, nr, ts);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* ------------------------------------------------------------------- events */

static int ntrace_process_event(struct perf_session *session, union perf_event *event,
				struct perf_sample *sample, const struct perf_tool *tool)
{
	struct ntrace *nt = to_ntrace(session);
	u32 cpu;
	int err;

	if (dump_trace)
		return 0;
	if (!tool->ordered_events) {
		pr_err("N-Trace requires ordered events\n");
		return -EINVAL;
	}
	if (sample->time && sample->time != (u64)-1) {
		err = ntrace_update_queues(nt);
		if (!err)
			err = ntrace_process_queues(nt, sample->time);
		if (err)
			return err;
	}
	cpu = sample->cpu;
	ntrace_set_cpu(nt, sample);
	err = ntrace_process_sideband(nt, event, sample);
	sample->cpu = cpu;
	return err;
}

static int ntrace_flush_stack(struct thread *thread, void *unused __maybe_unused)
{
	return thread_stack__flush(thread);
}

/*
 * Return 1 to make perf script exit with 1 after everything was delivered, if option e of --itrace
 * asks for errors and there are some. Return 0 in other commands, which would print no output if it were 1.
 */
static int ntrace_status(struct ntrace *nt)
{
	const struct itrace_synth_opts *opts = nt->session->itrace_synth_opts;
	int err;

	if (!nt->damaged || !nt->synth_opts.errors || !opts->default_no_sample || opts->inject)
		return 0;
	/*
	 * Output the calls that have not returned. perf does this at the end, but only if this function returns 0.
	 */
	err = machines__for_each_thread(&nt->session->machines, ntrace_flush_stack, NULL);
	return err ? : 1;
}

static int ntrace_flush(struct perf_session *session, const struct perf_tool *tool)
{
	struct ntrace *nt = to_ntrace(session);
	int err;

	if (dump_trace)
		return 0;
	if (!tool->ordered_events)
		return -EINVAL;
	err = ntrace_hold_end(nt);
	if (!err)
		err = ntrace_update_queues(nt);
	if (!err)
		err = ntrace_process_queues(nt, ~0ULL);
	ntrace_synth_summary(nt);
	return err ? : ntrace_status(nt);
}

/* ------------------------------------------------------ freeing the decoder */

static void ntrace_free_events(struct perf_session *session)
{
	struct ntrace *nt = to_ntrace(session);
	unsigned int i;

	for (i = 0; i < nt->nr_streams; i++)
		ntrace_queue_free(nt->streams[i]);
	zfree(&nt->streams);
	nt->nr_streams = 0;
	auxtrace_queues__free(&nt->queues);
	ntrace_dump_exit(nt);
	if (nt->log && nt->log != stdout)
		fclose(nt->log);
	nt->log = NULL;
}

static void ntrace_free_session(struct ntrace *nt)
{
	unsigned int i;

	ntrace_hold_free(nt);
	ntrace_gap_exit(nt);
	ntrace_firmware_free(&nt->firmware);
	ntrace_info_exit(&nt->info);
	nt_foreign_free(nt->foreign);
	zfree(&nt->firmware_path);
	for (i = 0; i < nt->nr_last; i++)
		free(nt->last[i].data);
	zfree(&nt->last);
	zfree(&nt->stretches);
	zfree(&nt->senders);
	nt_sinks_free(nt->sinks);
	zfree(&nt->vdso);
	zfree(&nt->processes);
	zfree(&nt->chain);
	zfree(&nt->br_stack);
	free(nt);
}

static void ntrace_free(struct perf_session *session)
{
	struct ntrace *nt = to_ntrace(session);

	auxtrace_heap__free(&nt->heap);
	ntrace_free_events(session);
	if (session->itrace_synth_opts == &nt->own_opts)
		session->itrace_synth_opts = NULL;
	session->auxtrace = NULL;
	ntrace_free_session(nt);
}

static bool ntrace_evsel_is_auxtrace(struct perf_session *session, struct evsel *evsel)
{
	return evsel->core.attr.type == to_ntrace(session)->info.pmu_type;
}

/* ----------------------------------------------------- creating the decoder */

static int ntrace_perf_config(const char *var, const char *value, void *data)
{
	struct ntrace *nt = data;

	if (strcmp(var, "ntrace.firmware") || !value)
		return 0;
	zfree(&nt->firmware_path);
	nt->firmware_path = strdup(value);
	return nt->firmware_path ? 0 : -ENOMEM;
}

static void ntrace_setup_options(struct ntrace *nt)
{
	struct itrace_synth_opts *opts = nt->session->itrace_synth_opts;

	if (opts->set) {
		nt->synth_opts = *opts;
		return;
	}
	itrace_synth_opts__set_default(&nt->synth_opts, opts->default_no_sample);
	if (!opts->default_no_sample && !opts->inject) {
		nt->synth_opts.branches = false;
		nt->synth_opts.callchain = true;
		nt->synth_opts.add_callchain = true;
	}
	nt->synth_opts.thread_stack = opts->thread_stack;
}

static void ntrace_setup_time(struct ntrace *nt)
{
	const struct perf_record_time_conv *conv = &nt->session->time_conv;

	if (!(nt->info.flags & NTRACE_INFO_FLAG_TIME_CONV))
		return;
	nt->tc.time_shift = nt->info.time_shift;
	nt->tc.time_mult = nt->info.time_mult;
	nt->tc.time_zero = nt->info.time_zero;
	/*
	 * If the recording has PERF_RECORD_TIME_CONV, use it instead of ntrace::info, because it also has the fields
	 * for a kernel clock that is narrower than 64 bits
	 */
	if (conv->time_mult && event_contains(*conv, time_cycles)) {
		nt->tc.time_shift = conv->time_shift;
		nt->tc.time_mult = conv->time_mult;
		nt->tc.time_zero = conv->time_zero;
		nt->tc.time_cycles = conv->time_cycles;
		nt->tc.time_mask = conv->time_mask;
		nt->tc.cap_user_time_zero = conv->cap_user_time_zero;
		nt->tc.cap_user_time_short = conv->cap_user_time_short;
	}
	nt->have_time = nt->tc.time_mult && nt->tc.time_shift < 64;
}

void ntrace_setup_info(struct ntrace *nt)
{
	unsigned int i;

	ntrace_setup_time(nt);
	for (i = 0; i < nt->info.nr_cpus; i++)
		nt->has_sources |= ntrace_cpu_has_src(&nt->info.cpus[i]);
}

static int ntrace_setup_log(struct ntrace *nt)
{
	if (!nt->synth_opts.log)
		return 0;
	if (nt->synth_opts.log_plus_flags & AUXTRACE_LOG_FLG_USE_STDOUT)
		nt->log = stdout;
	else
		nt->log = fopen(NTRACE_LOG_NAME, "w");
	if (!nt->log) {
		pr_err("N-Trace: cannot write %s: %m\n", NTRACE_LOG_NAME);
		return -errno;
	}
	return 0;
}

#ifdef HAVE_LIBTRACEEVENT
static void ntrace_find_sched_switch(struct ntrace *nt)
{
	struct evsel *evsel;

	evlist__for_each_entry(nt->session->evlist, evsel) {
		if (!strcmp(evsel__name(evsel), "sched:sched_switch"))
			nt->switch_evsel = evsel;
	}
}
#else
static void ntrace_find_sched_switch(struct ntrace *nt __maybe_unused)
{
}
#endif

static bool ntrace_has_compressed(struct perf_session *session)
{
	return session->header.env.comp_type != PERF_COMP_NONE;
}

static int ntrace_collect_stretches(struct ntrace *nt)
{
	struct perf_session *session = nt->session;
	int err;

	if (perf_data__is_pipe(session->data) || ntrace_has_compressed(session))
		ntrace_hold_begin(nt);
	/*
	 * Do not read the file in advance for PERF_RECORD_AUX if trace is in samples, which do not need this record,
	 * or if the file is a pipe, which cannot be read twice
	 */
	if (nt->sampling || perf_data__is_pipe(session->data))
		return 0;
	err = perf_session__peek_events(session, session->header.data_offset,
					session->header.data_size, ntrace_peek, NULL);
	/* perf does not print a message for this error */
	if (err == -1)
		pr_err("N-Trace: the file is damaged: one of its records is followed by invalid data\n");
	return err;
}

/* Return true if the positions in the index of trace are valid, because perf reads trace at them */
static bool ntrace_index_is_valid(struct perf_session *session)
{
	/* perf record -z of Linux 6.12 does not pad compressed data, so trace may be at any position */
	u64 align = ntrace_has_compressed(session) ? 1 : PERF_AUXTRACE_RECORD_ALIGNMENT;
	u64 size = session->data->file.size;
	struct auxtrace_index *index;
	size_t i;

	list_for_each_entry(index, &session->auxtrace_index, list) {
		for (i = 0; i < index->nr; i++) {
			u64 at = index->entries[i].file_offset;

			if (at % align || (size && at >= size))
				return false;
		}
	}
	return true;
}

static int ntrace_queue_all(struct ntrace *nt)
{
	struct perf_session *session = nt->session;
	int err;

	/* If AUX samples are held with the other events, ntrace_hold() queues each of them */
	if (nt->sampling && nt->deliver)
		return 0;
	if (nt->sampling || list_empty(&session->auxtrace_index)) {
		err = auxtrace_queue_data(session, true, true);
	} else if (ntrace_index_is_valid(session)) {
		err = auxtrace_queues__process_index(&nt->queues, session);
	} else {
		pr_err("N-Trace: the file is damaged: its index of trace has impossible offsets\n");
		return -EINVAL;
	}
	if (nt->queues.populated)
		nt->data_queued = true;
	return err;
}

/*
 * Clear feature bits that this perf does not know. perf inject writes all features again, and
 * assumes that it knows each bit.
 */
static void ntrace_forget_features(struct perf_session *session)
{
	bitmap_clear(session->header.adds_features, HEADER_LAST_FEATURE,
		     HEADER_FEAT_BITS - HEADER_LAST_FEATURE);
}

static bool ntrace_has_samples(struct evlist *evlist)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (evsel->core.attr.aux_sample_size)
			return true;
	}
	return false;
}

static int ntrace_setup(struct ntrace *nt)
{
	struct perf_session *session = nt->session;
	int err;

	ntrace_forget_features(session);
	ntrace_setup_options(nt);
	ntrace_setup_info(nt);
	ntrace_find_sched_switch(nt);
	nt->kernel_start = nt->info.cpus[0].xlen == 32 ? NTRACE_KERNEL_START_32 :
							 NTRACE_KERNEL_START_64;
	/* Keep exited threads, because a thread executes in the kernel for a while after PERF_RECORD_EXIT */
	symbol_conf.keep_exited_threads = true;
	/* Let perf treat modules as code of the kernel, although they are at lower addresses than the kernel itself */
	nt->machine->kernel_start = nt->kernel_start;
	if (nt->firmware_path && ntrace_firmware_load(&nt->firmware, nt->firmware_path))
		return -EINVAL;
	nt->sampling = ntrace_has_samples(session->evlist);
	err = ntrace_setup_log(nt);
	if (!err)
		err = ntrace_gap_init(nt);
	if (!err)
		err = ntrace_synth_setup(nt);
	if (!err)
		err = ntrace_collect_stretches(nt);
	return err ? : ntrace_queue_all(nt);
}

static void ntrace_set_callbacks(struct ntrace *nt)
{
	nt->auxtrace.process_event = ntrace_process_event;
	nt->auxtrace.process_auxtrace_event = ntrace_process_auxtrace_event;
	nt->auxtrace.queue_data = ntrace_queue_data;
	nt->auxtrace.flush_events = ntrace_flush;
	nt->auxtrace.free_events = ntrace_free_events;
	nt->auxtrace.free = ntrace_free;
	nt->auxtrace.evsel_is_auxtrace = ntrace_evsel_is_auxtrace;
	nt->session->auxtrace = &nt->auxtrace;
}

int ntrace_process_auxtrace_info(union perf_event *event, struct perf_session *session)
{
	struct ntrace *nt = zalloc(sizeof(*nt));
	int err;

	if (!nt)
		return -ENOMEM;
	nt->session = session;
	nt->machine = &session->machines.host;
	INIT_LIST_HEAD(&nt->held);
	/* perf data convert does not set options of --itrace, so use the defaults */
	if (!session->itrace_synth_opts) {
		itrace_synth_opts__set_default(&nt->own_opts, false);
		session->itrace_synth_opts = &nt->own_opts;
	}
	nt->last_space = NTRACE_SPACE_PROCESS;
	err = event->auxtrace_info.type == NT_FOREIGN_TYPE ? ntrace_foreign_begin(nt, &event->auxtrace_info) :
							     ntrace_info_parse(&nt->info, &event->auxtrace_info);
	if (!err)
		err = perf_config(ntrace_perf_config, nt);
	if (!err)
		err = auxtrace_queues__init(&nt->queues);
	if (err) {
		if (session->itrace_synth_opts == &nt->own_opts)
			session->itrace_synth_opts = NULL;
		ntrace_free_session(nt);
		return err;
	}
	ntrace_set_callbacks(nt);
	if (dump_trace) {
		ntrace_info_print(&nt->info, stdout);
		return 0;
	}
	err = ntrace_setup(nt);
	if (err)
		ntrace_free(session);
	return err;
}
