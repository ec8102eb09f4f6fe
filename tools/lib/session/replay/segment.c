// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Decode a segment to its runs and events. */
#include <stdlib.h>

#include "part.h"

#define SYNC_MAX	256		/* maximum length of a message with SYNC, bytes */
#define FORGET		256		/* number of segments after which the pages of the file are released */

/* Context of nt_consumer::begin() when a segment is decoded */
struct segment_job {
	struct nt_replay *replay;
	struct ns_decoded *out;
	const struct ns_chunk *segment;
};

static void *begin_decode(void *ctx, uint64_t number)
{
	struct segment_job *job = ctx;
	struct ns_replay_part *p = ns_replay_part_new(job->replay, number, !job->replay->options.paths);

	if (!p)
		return NULL;
	p->out = job->out;
	p->now.from = job->segment->from;
	p->now.to = job->segment->to;
	p->time = job->segment->floor;
	p->gap = job->segment->gap;
	p->trap = job->segment->trap;
	p->skip = job->segment->middle && !job->segment->restart;
	p->slice = !p->skip;
	return p;
}

static int end_decode(void *ctx, void *part, const struct nt_who *who, bool lost)
{
	ns_replay_part_free(part);
	return 0;
}

int ns_replay_segment(struct nt_replay *replay, const struct ns_chunk *s, struct ns_decoded *out)
{
	const struct nt_consumer consumer = {
		.size = sizeof(consumer), .begin = begin_decode, .ranges = ns_replay_part_ranges,
		.item = ns_replay_part_item, .end = end_decode,
	};
	struct segment_job job = { .replay = replay, .out = out, .segment = s };
	uint64_t to = s->to == UINT64_MAX ? s->to : s->to + SYNC_MAX;
	int err;

	out->segment = NULL;
	out->runs.nr = out->events.nr = 0;
	if (out->runs.room < s->runs) {
		free(out->runs.at);
		out->runs.at = malloc(s->runs * sizeof(*out->runs.at));
		out->runs.room = out->runs.at ? s->runs : 0;
	}
	/* the pages of earlier segments stay mapped, because segments are decoded in any order */
	if (++replay->decoded % FORGET == 0)
		pd_forget(&replay->session->pd, replay->session->pd.map, replay->session->pd.size);
	err = ns_decoder_run(replay->decoder, s->part, s->from, to, &consumer, &job);
	/* the file of the recording may have changed since the index was made */
	if (err < 0 || out->runs.nr != s->runs)
		return -1;
	out->segment = s;
	return 0;
}
