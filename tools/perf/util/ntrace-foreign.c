// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recordings of other drivers. ntrace-decoder/foreign.h describes them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kernel.h>

#include "data.h"
#include "debug.h"
#include "evlist.h"
#include "evsel.h"
#include "ntrace-decoder/foreign.h"
#include "ntrace-priv.h"
#include "sample.h"
#include "session.h"

static int ntrace_foreign_parse(struct ntrace *nt)
{
	const uint64_t *words;
	size_t nr;

	words = nt_foreign_words(nt->foreign, &nr);
	ntrace_info_exit(&nt->info);
	return ntrace_info_words(&nt->info, (const __u64 *)words, nr);
}

int ntrace_foreign_begin(struct ntrace *nt, const struct perf_record_auxtrace_info *event)
{
	const char *error;

	if (event->header.size < sizeof(*event))
		return -EINVAL;
	nt->foreign = nt_foreign_new((const uint64_t *)event->priv,
				     (event->header.size - sizeof(*event)) / sizeof(u64), &error);
	if (!nt->foreign) {
		pr_err("N-Trace: %s\n", error);
		return -EINVAL;
	}
	nt->foreign_open = true;
	return ntrace_foreign_parse(nt);
}

u64 ntrace_aux_flags(struct ntrace *nt, const union perf_event *event)
{
	return nt->foreign ? nt_foreign_flags(nt->foreign, event->aux.flags) : event->aux.flags;
}

void ntrace_set_cpu(struct ntrace *nt, struct perf_sample *sample)
{
	struct perf_sample_id *sid = NULL;

	if (sample->cpu == (u32)-1 && sample->id)
		sid = evlist__id2sid(nt->session->evlist, sample->id);
	if (sid && !sample->machine_pid)
		sample->cpu = sid->cpu.cpu;
}

static void ntrace_foreign_learn(struct ntrace *nt, struct auxtrace_buffer *buffer)
{
	u64 size = ntrace_buffer_size(nt, buffer);
	void *data = NULL;

	if (size)
		data = auxtrace_buffer__get_data(buffer, perf_data__fd(nt->session->data));
	if (data)
		nt_foreign_learn(nt->foreign, data, size);
	if (data)
		auxtrace_buffer__put_data(buffer);
}

int ntrace_foreign_settle(struct ntrace *nt)
{
	const struct perf_record_time_conv *conv = &nt->session->time_conv;
	const struct nt_foreign_clock clock = { conv->time_shift, conv->time_mult, conv->time_zero };
	struct auxtrace_buffer *buffer;
	const char *error;
	unsigned int i;
	int err;

	if (!nt->foreign_open)
		return 0;
	nt->foreign_open = false;
	for (i = 0; i < nt->queues.nr_queues; i++) {
		list_for_each_entry(buffer, &nt->queues.queue_array[i].head, list)
			ntrace_foreign_learn(nt, buffer);
	}
	error = nt_foreign_settle(nt->foreign, max(nt->session->header.env.nr_cpus_avail, 0), &clock);
	if (error) {
		pr_err("N-Trace: %s\n", error);
		return -EINVAL;
	}
	pr_debug("N-Trace: this recording was made by %s\n", nt_foreign_name(nt->foreign));
	err = ntrace_foreign_parse(nt);
	if (!err)
		ntrace_setup_info(nt);
	return err;
}

/* --------------------------------------------------- rings that wrapped around */

/* Remove @nr bytes at the start of piece @first, and of the pieces after it if @first is shorter */
static void ntrace_pieces_skip(struct ntrace_queue *q, unsigned int first, u64 nr)
{
	unsigned int end = first;

	for (; nr >= q->pieces[end].size; end++)
		nr -= q->pieces[end].size;
	q->nr_pieces -= end - first;
	memmove(&q->pieces[first], &q->pieces[end], (q->nr_pieces - first) * sizeof(*q->pieces));
	q->pieces[first].offset += nr;
	q->pieces[first].size -= nr;
	q->pieces[first].start = true;
}

/*
 * Divide a piece into two before the byte that is @nr bytes after the start of piece @first. This byte may be in a
 * later piece. Return false if out of memory.
 */
static bool ntrace_pieces_divide(struct ntrace_queue *q, unsigned int first, u64 nr)
{
	struct ntrace_piece *piece, *all;

	for (; nr >= q->pieces[first].size; first++)
		nr -= q->pieces[first].size;
	q->pieces[first].start |= !nr;
	q->pieces[first].lost = !nr;
	if (!nr)
		return true;
	all = realloc(q->pieces, (q->nr_pieces + 1) * sizeof(*all));
	if (!all)
		return false;
	q->pieces = all;
	q->max_pieces = q->nr_pieces + 1;
	memmove(&all[first + 1], &all[first], (q->nr_pieces++ - first) * sizeof(*all));
	all[first].size = nr;
	piece = &all[first + 1];
	piece->offset += nr;
	piece->size -= nr;
	piece->start = piece->lost = true;
	return true;
}

/*
 * Pieces @first to @end - 1 are one record of trace. Remove the bytes that earlier sessions left in it, and divide it
 * where bytes are missing. See nt_foreign_ring() for @position. Return 0 or -ENOMEM.
 */
static int ntrace_ring_cut(struct ntrace_queue *q, unsigned int first, unsigned int end, u64 position)
{
	const struct ntrace_cpu *cpu = ntrace_info_cpu(&q->nt->info, q->pieces[first].stretch->cpu);
	struct nt_foreign_bytes *bytes = calloc(end - first, sizeof(*bytes));
	struct nt_foreign_ring ring;
	struct nt_config config;
	bool ok = bytes;
	unsigned int i;

	for (i = first; ok && i < end; i++) {
		bytes[i - first].data = ntrace_piece_data(q, &q->pieces[i]);
		bytes[i - first].size = q->pieces[i].size;
		ok = bytes[i - first].data;
	}
	if (!ok || !cpu || !ntrace_cpu_config(cpu, &config)) {
		free(bytes);
		return ok ? 0 : -ENOMEM;
	}
	nt_foreign_ring(&config, bytes, end - first, position, &ring);
	free(bytes);
	if (q->src < 0)
		pr_warning("N-Trace: the sink overwrote its oldest trace in a record of CPU %d, and the driver did not report it. Some trace of this session is missing, and %" PRIu64 " bytes that earlier sessions left in the buffer are not decoded\n",
			   cpu->cpu, ring.old);
	/*
	 * Divide the record where trace is missing (ring.seam). Do this before the bytes of earlier sessions (ring.old)
	 * are removed, because ring.seam counts from the first byte of the record with these bytes.
	 */
	if (ring.seam)
		ok = ntrace_pieces_divide(q, first, ring.seam);
	if (ring.old)
		ntrace_pieces_skip(q, first, ring.old);
	q->pieces[first].whole = ring.old;
	q->pieces[first].lost |= !ring.seam;
	return ok ? 0 : -ENOMEM;
}

int ntrace_foreign_rings(struct ntrace_queue *q)
{
	const struct ntrace_stretch *stretch;
	unsigned int i, end;
	u64 since = 0, size;
	int err = 0;

	for (i = 0; q->nt->foreign && !err && i < q->nr_pieces; i++) {
		stretch = q->pieces[i].stretch;
		if (!stretch || !q->pieces[i].start || !nt_foreign_wrapped(q->nt->foreign, stretch->size) ||
		    q->pieces[i].offset != stretch->offset)
			continue;
		for (size = 0, end = i; end < q->nr_pieces && q->pieces[end].stretch == stretch; end++)
			size += q->pieces[end].size;
		if (size == stretch->size)
			err = ntrace_ring_cut(q, i, end, stretch->offset - since);
		since = stretch->offset + stretch->size;
		while (i + 1 < q->nr_pieces && q->pieces[i + 1].stretch == stretch)
			i++;
	}
	return err;
}
