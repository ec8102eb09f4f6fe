// SPDX-License-Identifier: GPL-2.0-only
/* Check and collect the records of the trace, and the trace in AUX samples. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/zalloc.h>

#include "data.h"
#include "debug.h"
#include "evlist.h"
#include "evsel.h"
#include "ntrace-compat.h"
#include "ntrace-decoder/foreign.h"
#include "ntrace-priv.h"
#include "session.h"
#include "tool.h"

/*
 * Limit of the numbers of buffers in a file, which may be damaged. Each CPU or thread has one buffer, and perf
 * allocates queues for all numbers up to the largest one.
 */
#define NTRACE_MAX_BUFFERS	BIT(22)

/*
 * Reject a size that perf would treat as negative, because perf would skip backwards in the file and read this
 * record forever. Also reject a size that is not a multiple of 8, to which perf pads all trace.
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

int ntrace_process_auxtrace_event(struct perf_session *session, union perf_event *event,
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

/* Return true if @byte has MSEO 11 (chapter "Transmission"), so it is the last byte of a message, or an idle byte */
static bool ntrace_ends_message(u8 byte)
{
	return (byte & 3) == 3;
}

static void ntrace_buffer_skip(struct auxtrace_buffer *buffer, size_t n)
{
	buffer->data_offset += n;
	buffer->size -= n;
	/* perf frees a copy of data from a pipe by its address, so move the bytes and not the pointer */
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
 * Make a stretch of the trace in an AUX sample, without the bytes that repeat trace of the previous sample. Set
 * its offset as if all samples were in one AUX buffer. The stretch may start inside a message, unless the
 * trace before it was in the previous sample and ended with a complete message. Return 0 or an error.
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
	/* A sample ends with a complete frame, so start at the first complete frame that is new */
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
	/* The sample may contain no TID or CPU, so use the TID or CPU of the buffer */
	if (queue->cpu == -1)
		stretch.tid = queue->tid;
	else
		stretch.cpu = queue->cpu;
	nt->sampled += buffer->size;
	return ntrace_keep_sample(last, &sample->aux_sample) ? :
	       buffer->size ? ntrace_add_stretch(nt, &stretch) : 0;
}

/* Copy the trace of a held event, because perf cannot read it from the file later */
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

	/* If events are held in memory, perf must not read their trace from the file, where its position is unknown */
	if (nt->deliver)
		sample->aux_sample.size = 0;
	err = auxtrace_queues__add_sample(&nt->queues, nt->session, sample, data_offset, 0);
	sample->aux_sample = aux;
	/* Ignore the sample if perf has not added its trace, because option -C of perf does not select its CPU */
	if (err || nt->queues.next_buffer_nr == nr)
		return err;
	queue = auxtrace_queues__sample_queue(&nt->queues, sample, nt->session);
	if (!queue)
		return -EINVAL;
	buffer = list_last_entry(&queue->head, struct auxtrace_buffer, list);
	err = nt->deliver ? ntrace_copy_sample(buffer, &aux) : 0;
	return err ? : ntrace_place_sample(nt, queue, sample);
}

int ntrace_queue_data(struct perf_session *session, struct perf_sample *sample,
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
	 * In snapshot mode, aux_offset is the end of the trace, and aux_size is at most the size of the
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

/* Collect PERF_RECORD_AUX before any trace is decoded, because these records divide the trace into stretches */
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

/* Queue the trace of an AUX sample that is held until the end. Return 0 or an error. */
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
	 * Only PERF_RECORD_COMPRESSED may have a size that is not a multiple of 8. PERF_RECORD_COMPRESSED2, which
	 * perf of Linux 6.12 does not define, is padded, and so does not need to be exempted from the check.
	 */
	return event->header.type == PERF_RECORD_COMPRESSED;
}

/* Check a record and collect PERF_RECORD_AUX while the file is read in advance */
int ntrace_peek(struct perf_session *session, union perf_event *event,
		u64 offset __maybe_unused, void *data __maybe_unused)
{
	struct ntrace *nt = to_ntrace(session);

	/*
	 * perf reads zeros after the end of a truncated file, and would read a record of size 0 forever
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
