// SPDX-License-Identifier: GPL-2.0-only
/*
 * RISC-V N-Trace session. It is set up by PERF_RECORD_AUXTRACE_INFO, and processes the sideband
 * events, which report context switches, mappings and lost trace.
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

static struct ntrace *to_ntrace(struct perf_session *session)
{
	return container_of(session->auxtrace, struct ntrace, auxtrace);
}

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

/* ----------------------------------------------------------------- sideband */

static int ntrace_set_current(struct ntrace *nt, int cpu, pid_t pid, pid_t tid)
{
	unsigned int i;

	if (cpu < 0 || tid == -1)
		return 0;
	/*
	 * If no Ownership message reports the thread, this event does, so the address space changes
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

/* An event reports new or changed code */
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
		/* The kernel may reuse IDs */
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

static int ntrace_process_aux(struct ntrace *nt, union perf_event *event,
			      struct perf_sample *sample)
{
	u32 lost = PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL;
	const char *text;
	int code;

	u64 flags = ntrace_aux_flags(nt, event);

	if (!event->aux.aux_size && flags & lost)
		ntrace_gap_refused(nt, sample->cpu, sample->tid);
	nt->event_disabled |= flags & PERF_AUX_FLAG_TRUNCATED;
	code = ntrace_why_lost(flags, event->aux.aux_size, &text);
	if (!code)
		return 0;
	return ntrace_synth_error(nt, code, sample->cpu, sample->pid, sample->tid, 0, sample->time,
				  text);
}

/* Events of a guest (perf inject --guest-data) do not concern the threads and maps of the host */
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

static int ntrace_process_sideband(struct ntrace *nt, union perf_event *event,
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

/* -------------------------------------------------------------------- trace */

/*
 * Limit of buffer numbers. Each CPU or thread has one buffer, and perf allocates a queue for each
 * lower number.
 */
#define NTRACE_MAX_BUFFERS	BIT(22)

/*
 * Reject a size that perf would treat as negative. perf would skip backwards in the file and read
 * this record forever. All valid trace is padded.
 */
static int ntrace_check_buffer(const union perf_event *event)
{
	if ((s64)event->auxtrace.size < 0 || event->auxtrace.size % PERF_AUXTRACE_RECORD_ALIGNMENT) {
		pr_err("N-Trace: the file is damaged: a record claims %#" PRIx64 " bytes of trace\n",
		       (u64)event->auxtrace.size);
		return -EINVAL;
	}
	if (event->auxtrace.offset + event->auxtrace.size < event->auxtrace.offset) {
		pr_err("N-Trace: the file is damaged: a record claims trace at %#" PRIx64 " of its buffer\n",
		       (u64)event->auxtrace.offset);
		return -EINVAL;
	}
	if (event->auxtrace.idx >= NTRACE_MAX_BUFFERS) {
		pr_err("N-Trace: the file is damaged: a record claims trace buffer %u\n",
		       event->auxtrace.idx);
		return -EINVAL;
	}
	return 0;
}

static int ntrace_process_auxtrace_event(struct perf_session *session, union perf_event *event,
					 const struct perf_tool *tool __maybe_unused)
{
	struct ntrace *nt = to_ntrace(session);
	int fd = perf_data__fd(session->data), err;
	struct auxtrace_buffer *buffer = NULL;
	off_t offset = 0;
	void *data;

	nt->have_trace = true;
	err = ntrace_check_buffer(event);
	if (err || nt->data_queued)
		return err;
	if (!perf_data__is_pipe(session->data)) {
		offset = lseek(fd, 0, SEEK_CUR);
		if (offset == -1)
			return -errno;
	}
	err = auxtrace_queues__add_event(&nt->queues, session, event, offset, &buffer);
	if (err || !buffer || !dump_trace)
		return err;
	if (ntrace_buffer_size(nt, buffer) < buffer->size)
		return -EINVAL;
	err = ntrace_foreign_settle(nt);
	if (err)
		return err;
	data = auxtrace_buffer__get_data(buffer, fd);
	if (!data)
		return 0;
	err = ntrace_dump_buffer(nt, event, data, buffer->size);
	auxtrace_buffer__put_data(buffer);
	return err;
}

static u64 ntrace_time_or_0(const struct perf_sample *sample)
{
	return sample->time == (u64)-1 ? 0 : sample->time;
}

static int ntrace_add_stretch(struct ntrace *nt, const struct ntrace_stretch *stretch)
{
	struct ntrace_stretch *all;

	if (!(nt->nr_stretches & (nt->nr_stretches - 1))) {
		all = realloc(nt->stretches, (2 * nt->nr_stretches + 1) * sizeof(*all));
		if (!all)
			return -ENOMEM;
		nt->stretches = all;
	}
	nt->stretches[nt->nr_stretches++] = *stretch;
	return 0;
}

/* --------------------------------------------------------------- AUX samples */

/* Return the number of bytes at the start of @data that repeat the end of the previous sample */
static size_t ntrace_sample_overlap(const struct ntrace_last *last, const u8 *data, size_t size)
{
	size_t n;

	for (n = min(last->size, size); n; n--) {
		if (!memcmp(last->data + last->size - n, data, n))
			return n;
	}
	return 0;
}

static struct ntrace_last *ntrace_last_sample(struct ntrace *nt, unsigned int queue)
{
	struct ntrace_last *last;

	if (queue >= nt->nr_last) {
		last = realloc(nt->last, (queue + 1) * sizeof(*last));
		if (!last)
			return NULL;
		memset(last + nt->nr_last, 0, (queue + 1 - nt->nr_last) * sizeof(*last));
		nt->last = last;
		nt->nr_last = queue + 1;
	}
	return &nt->last[queue];
}

static int ntrace_keep_sample(struct ntrace_last *last, const struct aux_sample *aux)
{
	u8 *data = realloc(last->data, aux->size);

	if (!data)
		return -ENOMEM;
	memcpy(data, aux->data, aux->size);
	last->data = data;
	last->size = aux->size;
	return 0;
}

/* MSEO 11 (chapter "Transmission") marks the last byte of a message, or an idle byte */
static bool ntrace_ends_message(u8 byte)
{
	return (byte & 3) == 3;
}

static void ntrace_buffer_skip(struct auxtrace_buffer *buffer, size_t n)
{
	buffer->data_offset += n;
	buffer->size -= n;
	/* The data of a pipe is a copy, which must be freed by its address */
	if (buffer->data_needs_freeing)
		memmove(buffer->data, buffer->data + n, buffer->size);
	else if (buffer->data)
		buffer->data += n;
}

/* Return true if the sinks of the recording write CoreSight frames */
static bool ntrace_samples_frames(const struct ntrace *nt)
{
	return nt->info.nr_cpus && nt->info.cpus[0].trace_id;
}

/*
 * A sample contains the newest trace, which may repeat trace of the previous sample. Give each
 * sample an offset as if all samples were in one AUX buffer, and make it a stretch. The stretch may
 * start inside a message, unless the trace before it was in the previous sample and ended with a
 * complete message.
 */
static int ntrace_place_sample(struct ntrace *nt, struct auxtrace_queue *queue,
			       struct perf_sample *sample)
{
	struct ntrace_last *last = ntrace_last_sample(nt, queue - nt->queues.queue_array);
	bool frames = ntrace_samples_frames(nt);
	struct auxtrace_buffer *buffer;
	struct ntrace_stretch stretch;
	size_t known;

	if (!last)
		return -ENOMEM;
	buffer = list_last_entry(&queue->head, struct auxtrace_buffer, list);
	known = ntrace_sample_overlap(last, sample->aux_sample.data, sample->aux_sample.size);
	/* A sample ends with a complete frame */
	if (frames)
		known += (sample->aux_sample.size - known) % NT_FRAME_SIZE;
	ntrace_buffer_skip(buffer, known);
	buffer->offset = nt->sampled;
	stretch = (struct ntrace_stretch) {
		.offset = buffer->offset, .size = buffer->size,
		.flags = PERF_AUX_FLAG_OVERWRITE | (frames ? NTRACE_AUX_FORMAT_FRAMES : 0),
		.time = ntrace_time_or_0(sample),
		.cpu = sample->cpu, .pid = sample->pid, .tid = sample->tid,
		.cut = frames || !known ||
		       !ntrace_ends_message(((u8 *)sample->aux_sample.data)[known - 1]),
	};
	/* The samples of the sampled event may lack TID or CPU */
	if (queue->cpu == -1)
		stretch.tid = queue->tid;
	else
		stretch.cpu = queue->cpu;
	nt->sampled += buffer->size;
	return ntrace_keep_sample(last, &sample->aux_sample) ? :
	       buffer->size ? ntrace_add_stretch(nt, &stretch) : 0;
}

/* Copy the data, because the file does not contain that of a held event */
static int ntrace_copy_sample(struct auxtrace_buffer *buffer, const struct aux_sample *aux)
{
	void *data = malloc(aux->size);

	if (!data)
		return -ENOMEM;
	memcpy(data, aux->data, aux->size);
	if (buffer->data_needs_freeing)
		free(buffer->data);
	buffer->data = data;
	buffer->size = aux->size;
	buffer->data_needs_freeing = true;
	return 0;
}

static int ntrace_queue_sample(struct ntrace *nt, struct perf_sample *sample, u64 data_offset)
{
	unsigned int nr = nt->queues.next_buffer_nr;
	struct aux_sample aux = sample->aux_sample;
	struct auxtrace_buffer *buffer;
	struct auxtrace_queue *queue;
	int err;

	/* A held event is not in the file, so perf must not read its data from there */
	if (nt->deliver)
		sample->aux_sample.size = 0;
	err = auxtrace_queues__add_sample(&nt->queues, nt->session, sample, data_offset, 0);
	sample->aux_sample = aux;
	/* Option -C skips samples of other CPUs */
	if (err || nt->queues.next_buffer_nr == nr)
		return err;
	queue = auxtrace_queues__sample_queue(&nt->queues, sample, nt->session);
	if (!queue)
		return -EINVAL;
	buffer = list_last_entry(&queue->head, struct auxtrace_buffer, list);
	err = nt->deliver ? ntrace_copy_sample(buffer, &aux) : 0;
	return err ? : ntrace_place_sample(nt, queue, sample);
}

static int ntrace_queue_data(struct perf_session *session, struct perf_sample *sample,
			     union perf_event *event, u64 data_offset)
{
	struct ntrace *nt = to_ntrace(session);

	nt->have_trace = true;
	if (event)
		return auxtrace_queues__add_event(&nt->queues, session, event, data_offset, NULL);
	return ntrace_queue_sample(nt, sample, data_offset);
}

static int ntrace_collect_aux(struct ntrace *nt, union perf_event *event,
			      struct perf_sample *sample)
{
	struct ntrace_stretch stretch = {
		.offset = event->aux.aux_offset, .size = event->aux.aux_size,
		.flags = ntrace_aux_flags(nt, event), .time = ntrace_time_or_0(sample),
		.cpu = sample->cpu, .pid = sample->pid, .tid = sample->tid,
	};

	/*
	 * In snapshot mode, the kernel reports the end of the trace, and a size up to the whole
	 * buffer
	 */
	if (stretch.flags & PERF_AUX_FLAG_OVERWRITE) {
		stretch.offset -= min(stretch.offset, stretch.size);
		stretch.cut = stretch.size >= NTRACE_PAGE && is_power_of_2(stretch.size);
	}
	if (stretch.size > ~0ULL - stretch.offset)
		stretch.size = ~0ULL - stretch.offset;
	return ntrace_add_stretch(nt, &stretch);
}

/* Collect PERF_RECORD_AUX before any trace is decoded, because the records divide it into pieces */
int ntrace_collect_event(struct ntrace *nt, union perf_event *event)
{
	struct perf_sample sample;
	struct evsel *evsel;
	int err;

	bool is_id = nt->foreign && event->header.type == PERF_RECORD_AUX_OUTPUT_HW_ID &&
		     event->header.size >= sizeof(event->aux_output_hw_id);

	if (!is_id && (event->header.type != PERF_RECORD_AUX || !event->aux.aux_size))
		return 0;
	evsel = evlist__event2evsel(nt->session->evlist, event);
	if (!evsel)
		return 0;
	ntrace_sample_init(&sample);
	err = evsel__parse_sample(evsel, event, &sample);
	if (!err)
		ntrace_set_cpu(nt, &sample);
	if (!err && is_id)
		nt_foreign_add_id(nt->foreign, (int)sample.cpu, event->aux_output_hw_id.hw_id);
	else if (!err)
		err = ntrace_collect_aux(nt, event, &sample);
	ntrace_sample_exit(&sample);
	return err;
}

/* Queue the trace of a sample that is held */
int ntrace_collect_sample(struct ntrace *nt, union perf_event *event)
{
	struct perf_sample sample;
	struct evsel *evsel;
	int err;

	if (!nt->sampling || event->header.type != PERF_RECORD_SAMPLE)
		return 0;
	evsel = evlist__event2evsel(nt->session->evlist, event);
	if (!evsel)
		return 0;
	ntrace_sample_init(&sample);
	err = evsel__parse_sample(evsel, event, &sample);
	if (!err && sample.aux_sample.size) {
		nt->have_trace = true;
		err = ntrace_queue_sample(nt, &sample, 0);
	}
	ntrace_sample_exit(&sample);
	return err;
}

static bool ntrace_is_compressed(const union perf_event *event)
{
	/*
	 * The size of PERF_RECORD_COMPRESSED2, which Linux 6.12 does not know, is a multiple of 8
	 */
	return event->header.type == PERF_RECORD_COMPRESSED;
}

/* Check a record and collect PERF_RECORD_AUX while the file is read in advance */
static int ntrace_peek(struct perf_session *session, union perf_event *event,
		       u64 offset __maybe_unused, void *data __maybe_unused)
{
	struct ntrace *nt = to_ntrace(session);

	/*
	 * The end of a truncated file reads as zeros, and perf would read the same record forever
	 */
	if (event->header.size < sizeof(event->header)) {
		pr_err("N-Trace: the file is damaged: a record has no size. Was it cut short?\n");
		return -EINVAL;
	}
	if (event->header.size % sizeof(u64) && !ntrace_is_compressed(event)) {
		pr_err("N-Trace: the file is damaged: a record has %u bytes, which is not a multiple of 8\n",
		       event->header.size);
		return -EINVAL;
	}
	if (event->header.type == PERF_RECORD_AUXTRACE) {
		nt->have_trace = true;
		return ntrace_check_buffer(event);
	}
	return nt->deliver ? 0 : ntrace_collect_event(nt, event);
}

static int ntrace_flush_stack(struct thread *thread, void *unused __maybe_unused)
{
	return thread_stack__flush(thread);
}

/*
 * Make perf script exit with 1 after everything was delivered, if option e of --itrace asks for
 * errors and there are some. Other commands would show nothing if this call failed.
 */
static int ntrace_status(struct ntrace *nt)
{
	const struct itrace_synth_opts *opts = nt->session->itrace_synth_opts;
	int err;

	if (!nt->damaged || !nt->synth_opts.errors || !opts->default_no_sample || opts->inject)
		return 0;
	/* If this call succeeds, perf flushes the stacks; if it fails, flush them here */
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

/* --------------------------------------------------------------------- ends */

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

/* -------------------------------------------------------------------- begin */

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
	 * PERF_RECORD_TIME_CONV has more fields, for a kernel clock that is narrower than 64 bits
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
	/* Each sample is a stretch, and the file has no AUX buffers */
	if (nt->sampling || perf_data__is_pipe(session->data))
		return 0;
	err = perf_session__peek_events(session, session->header.data_offset,
					session->header.data_size, ntrace_peek, NULL);
	/* perf does not print a message for this error */
	if (err == -1)
		pr_err("N-Trace: the file is damaged: one of its records is followed by invalid data\n");
	return err;
}

/* Check the index, because perf reads trace at the positions in it */
static bool ntrace_index_is_valid(struct perf_session *session)
{
	/* perf record -z of Linux 6.12 does not pad compressed data */
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

	/* The samples are among the held events */
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
	/* a thread executes in the kernel for a while after PERF_RECORD_EXIT */
	symbol_conf.keep_exited_threads = true;
	/* Modules are below the kernel, and perf would treat them as user code */
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
	/* perf data convert sets no options */
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
