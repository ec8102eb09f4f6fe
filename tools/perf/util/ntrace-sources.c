// SPDX-License-Identifier: GPL-2.0-only
/* Find the sources of the messages in each AUX buffer, and set up a queue for each source. */
#include <errno.h>
#include <stdlib.h>

#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>

#include "debug.h"
#include "ntrace-decoder/sinks.h"
#include "ntrace-priv.h"
#include "session.h"
#include "thread.h"

#define NTRACE_NR_SOURCES	BIT(NT_SRC_BITS_MAX)

static void ntrace_source_unknown(struct ntrace *nt, unsigned int src)
{
	if (!nt->source_warned)
		pr_warning("N-Trace: skipping the messages of SRC %u, which no encoder of this recording has\n",
			   src);
	nt->source_warned = true;
}

/*
 * Warn if a message in frames has a SRC that no encoder has. ntrace_find_sources() finds the encoders of frames
 * by trace ID and not by SRC, so it has not checked this.
 */
void ntrace_check_other(struct ntrace_queue *q, const struct nt_message *msg)
{
	if (ntrace_stretch_has_frames(q->pieces[q->read_piece].stretch) &&
	    !ntrace_info_source(&q->nt->info, NULL, msg->src))
		ntrace_source_unknown(q->nt, msg->src);
}

/* Read the messages that @reader was fed, from a stretch of CPU @own, and add their sources to @seen */
static void ntrace_read_sources(struct ntrace *nt, const struct ntrace_cpu *own,
				struct nt_reader *reader, unsigned long *seen)
{
	const struct ntrace_cpu *cpu;
	struct nt_message msg;
	int ret;

	while ((ret = nt_reader_next(reader, &msg))) {
		if (ret < 0 || msg.src >= NTRACE_NR_SOURCES || test_bit(msg.src, seen))
			continue;
		cpu = own->src_id == msg.src ? own : ntrace_info_source(&nt->info, own, msg.src);
		if (!cpu) {
			ntrace_source_unknown(nt, msg.src);
			continue;
		}
		__set_bit(msg.src, seen);
		__set_bit(cpu - nt->info.cpus, nt->senders);
		nt_sinks_join(nt->sinks, own - nt->info.cpus, cpu - nt->info.cpus);
	}
}

/* Add all encoders with a trace ID, because each of them may have bytes in the frames */
static void ntrace_frames_sources(const struct ntrace_info *info, unsigned long *sources)
{
	unsigned int i;

	for (i = 0; i < info->nr_cpus; i++) {
		const struct ntrace_cpu *cpu = &info->cpus[i];

		if (cpu->trace_id && ntrace_cpu_has_src(cpu) && cpu->src_id < NTRACE_NR_SOURCES)
			__set_bit(cpu->src_id, sources);
	}
}

/* Set the bits in @sources of all sources that may have trace in the buffer */
static void ntrace_find_sources(struct ntrace_queue *q, unsigned long *sources)
{
	int own = q->nt->queues.queue_array[q->queue_nr].cpu;
	struct nt_reader *reader = NULL;
	const struct ntrace_cpu *cpu = NULL, *last = NULL;
	/* bit map of the values of SRC that were found so far in pieces whose CPU is @last */
	DECLARE_BITMAP(seen, NTRACE_NR_SOURCES);
	unsigned int i;
	const u8 *data;

	for (i = 0; i < q->nr_pieces; i++) {
		struct ntrace_piece *piece = &q->pieces[i];

		cpu = ntrace_info_cpu(&q->nt->info, piece->stretch ? piece->stretch->cpu : own);
		if (!cpu || !ntrace_cpu_has_src(cpu))
			continue;
		if (ntrace_stretch_has_frames(piece->stretch)) {
			ntrace_frames_find(q, piece, cpu);
			ntrace_frames_sources(&q->nt->info, sources);
			continue;
		}
		if (cpu != last) {
			nt_reader_free(reader);
			reader = NULL;
			if (ntrace_cpu_config(cpu, &q->config))
				reader = nt_reader_new(&q->config);
			bitmap_zero(seen, NTRACE_NR_SOURCES);
			last = cpu;
		}
		data = ntrace_piece_data(q, piece);
		if (!reader || !data)
			break;
		if (piece->start)
			nt_reader_seek(reader, piece->offset, ntrace_piece_is_middle(q, piece));
		nt_reader_feed(reader, data, piece->size);
		ntrace_read_sources(q->nt, cpu, reader, seen);
		bitmap_or(sources, sources, seen, NTRACE_NR_SOURCES);
	}
	nt_reader_free(reader);
	/* If the metadata is not valid, add the CPU's own source, so that there is a stream that reports the error */
	if (i < q->nr_pieces && cpu)
		__set_bit(cpu->src_id % NTRACE_NR_SOURCES, sources);
}

/* --------------------------------------------- creating and freeing streams */

void ntrace_queue_free(struct ntrace_queue *q)
{
	if (!q)
		return;
	ntrace_queue_free_decoder(q);
	ntrace_code_exit(q);
	ntrace_synth_queue_exit(q);
	thread__zput(q->thread);
	while (q->nr_pieces)
		free(q->pieces[--q->nr_pieces].data);
	zfree(&q->pieces);
	free(q->sources);
	free(q);
}

static struct ntrace_queue *ntrace_queue_new(struct ntrace *nt, unsigned int queue_nr, int src)
{
	struct ntrace_queue **streams, *q;

	streams = realloc(nt->streams, (nt->nr_streams + 1) * sizeof(*streams));
	if (!streams)
		return NULL;
	nt->streams = streams;
	q = zalloc(sizeof(*q));
	if (!q)
		return NULL;
	q->nt = nt;
	q->queue_nr = queue_nr;
	q->src = src;
	q->tid = -1;
	q->pid = -1;
	q->nr = nt->nr_streams;
	streams[nt->nr_streams++] = q;
	return q;
}

static int ntrace_queue_begin(struct ntrace_queue *q)
{
	int err = ntrace_queue_next_stretch(q, 0);

	if (err)
		return err < 0 ? err : 0;
	q->on_heap = true;
	return auxtrace_heap__add(&q->nt->heap, q->nr, q->pending_time);
}

static struct ntrace_queue *ntrace_queue_setup_source(struct ntrace *nt, unsigned int queue_nr,
						      int src)
{
	struct ntrace_queue *q = ntrace_queue_new(nt, queue_nr, src);

	if (!q || ntrace_code_init(q) || ntrace_synth_queue_init(q) ||
	    ntrace_queue_pieces(q, &nt->queues.queue_array[queue_nr]))
		return NULL;
	return q;
}

/*
 * Create the stream for trace without SRC, and record in its member sources which sources have messages in the
 * buffer. Return 0 or an error.
 */
static int ntrace_queue_setup(struct ntrace *nt, unsigned int queue_nr)
{
	struct auxtrace_queue *queue = &nt->queues.queue_array[queue_nr];
	struct ntrace_queue *q;

	if (list_empty(&queue->head) || queue->priv)
		return 0;
	queue->priv = nt;
	q = ntrace_queue_setup_source(nt, queue_nr, -1);
	if (!q)
		return -ENOMEM;
	q->sources = bitmap_zalloc(NTRACE_NR_SOURCES);
	if (!q->sources)
		return -ENOMEM;
	if (nt->has_sources)
		ntrace_find_sources(q, q->sources);
	return 0;
}

/*
 * Add to q->sources all sources that share the sink of @stretch. The sink was full, and may have lost all messages of
 * a source, so that the trace of the stretch does not show the source.
 */
static void ntrace_lost_sources(struct ntrace_queue *q, const struct ntrace_stretch *stretch)
{
	const struct ntrace_info *info = &q->nt->info;
	const struct ntrace_cpu *own = ntrace_info_cpu(info, stretch->cpu);
	unsigned int i;

	for (i = 0; own && i < info->nr_cpus; i++) {
		const struct ntrace_cpu *cpu = &info->cpus[i];

		if (ntrace_cpu_has_src(cpu) && test_bit(i, q->nt->senders) &&
		    cpu->src_id < NTRACE_NR_SOURCES &&
		    nt_sinks_share(q->nt->sinks, own - info->cpus, i))
			__set_bit(cpu->src_id, q->sources);
	}
}

/* Create a stream for each source of the buffer */
static int ntrace_queue_begin_sources(struct ntrace *nt, struct ntrace_queue *q)
{
	unsigned long src;
	unsigned int i;
	int err;

	for (i = 0; nt->has_sources && i < q->nr_pieces; i++) {
		if (ntrace_stretch_is_full(q->pieces[i].stretch))
			ntrace_lost_sources(q, q->pieces[i].stretch);
	}
	err = ntrace_queue_begin(q);
	for_each_set_bit(src, q->sources, NTRACE_NR_SOURCES) {
		struct ntrace_queue *stream;

		if (err)
			break;
		stream = ntrace_queue_setup_source(nt, q->queue_nr, src);
		err = stream ? ntrace_queue_begin(stream) : -ENOMEM;
	}
	zfree(&q->sources);
	return err;
}

static int ntrace_sinks_setup(struct ntrace *nt)
{
	unsigned int i;
	size_t n;

	nt_sinks_free(nt->sinks);
	nt->sinks = nt_sinks_new(nt->info.nr_cpus);
	if (!nt->senders)
		nt->senders = bitmap_zalloc(nt->info.nr_cpus);
	if (!nt->sinks || !nt->senders)
		return -ENOMEM;
	for (i = 0; i < nt->info.nr_cpus; i++) {
		if (ntrace_cpu_has_src(&nt->info.cpus[i]))
			nt_sinks_set_cpu(nt->sinks, i, nt->info.cpus[i].sink);
	}
	for (n = 0; n < nt->nr_stretches; n++) {
		const struct ntrace_stretch *stretch = &nt->stretches[n];
		const struct ntrace_cpu *cpu = ntrace_info_cpu(&nt->info, stretch->cpu);

		if (cpu && !nt_sinks_add_window(nt->sinks, cpu - nt->info.cpus, stretch->time))
			return -ENOMEM;
	}
	nt_sinks_settle(nt->sinks);
	return 0;
}

int ntrace_queues_setup(struct ntrace *nt)
{
	unsigned int i, nr = nt->nr_streams, end;
	int err = ntrace_sinks_setup(nt);

	for (i = 0; !err && i < nt->queues.nr_queues; i++)
		err = ntrace_queue_setup(nt, i);
	for (end = nt->nr_streams; !err && nr < end; nr++)
		err = ntrace_queue_begin_sources(nt, nt->streams[nr]);
	return err;
}
