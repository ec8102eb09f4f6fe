// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * One pass over the recording makes an index of segments. Each segment begins at a SYNC from which a
 * new decoder produces the same results as a decoder that has also read all earlier trace. A segment is
 * decoded when it is needed.
 *
 * A message with SYNC resets the state of messages (chapter 8.4), but not the context. An Ownership
 * message must therefore follow before the next range, as is usual (chapter 7.1), and the next message
 * must show the trace mode.
 */
#include <stdlib.h>
#include <string.h>

#include "part.h"
#include "session/flow/frames.h"
#include "session/flow/sources.h"

#define SEGMENT		(64 << 10)	/* default minimum number of bytes of trace in a segment */

/* ---- Make the index ---- */

/* Return true if SYNC removes the returns that the encoder expects, so that a new decoder can begin there. */
static bool resets_returns(const struct nt_config *nt)
{
	return !(nt->accept & NT_DEV_BIT(NT_DEV_STACK_OVER_SYNC)) &&
	       (nt->dialect == NT_DIALECT_RATIFIED || nt->dialect == NT_DIALECT_SPACEMIT_K3);
}

static void *begin_index(void *ctx, uint64_t number)
{
	struct nt_replay *replay = ctx;
	const struct ns_stretch *s = ns_part_stretch(replay->session, number);
	const struct ns_cpu *cpu = ns_part_cpu(replay->session, number);
	/*
	 * the events in the index leave out the calls that return in the same segment. A filter hides
	 * returns, so it is not known which calls these are, and the index then has no events
	 */
	bool has_events = !replay->options.paths && !nt_session_is_filtered(replay->session);
	struct ns_replay_part *p = ns_replay_part_new(replay, number, has_events);

	if (p && has_events) {
		p->pairs = ns_pairs_new(replay);
		if (!p->pairs) {
			ns_replay_part_free(p);
			p = NULL;
		}
	}
	if (!p)
		return NULL;
	p->now.from = s->offset;
	p->has_time = cpu && cpu->has_time;
	p->can_cut = cpu && !ns_frames_has(s) && (!cpu->nt.return_depth || resets_returns(&cpu->nt));
	if (s->middle || ns_frames_lost(s))
		ns_replay_part_lose(p);
	if (p->lost)
		p->lost = s->start ?: 1;
	return p;
}

static struct ns_lane *lane_of(struct nt_replay *replay, const struct nt_who *who)
{
	struct ns_lane *lane = replay->lanes.at, *end = lane + replay->lanes.nr;

	for (; lane < end; lane++) {
		if (lane->buffer == who->buffer && lane->cpu == who->cpu)
			return lane;
	}
	if (!ns_array_add(&replay->lanes, ((struct ns_lane){ .buffer = who->buffer, .cpu = who->cpu })))
		return NULL;
	return &replay->lanes.at[replay->lanes.nr - 1];
}

/* Append a segment to its lane. Correct the times of the segment, so that times in a lane never decrease. */
static bool add_segment(struct nt_replay *replay, struct ns_lane *lane, struct ns_chunk *s)
{
	bool ok;
	size_t i;

	if (!s->threads)
		return true;
	if (s->floor < lane->last)
		s->floor = lane->last;
	if (!s->runs || s->first < s->floor)
		s->first = s->floor;
	if (!s->runs || s->last < s->floor)
		s->last = s->floor;
	if (s->end < s->last)
		s->end = s->last;
	for (i = 0; i < s->nr_events && s->events[i].time < s->floor; i++)
		s->events[i].time = s->floor;
	lane->last = s->last;
	s->before = lane->insns;
	lane->insns += s->insns;
	replay->insns += s->insns;
	ok = ns_array_add(&lane->segments, *s);
	if (ok)
		s->events = NULL;
	return ok;
}

static bool add_part(struct nt_replay *replay, struct ns_replay_part *p, const struct nt_who *who, bool lost)
{
	const struct ns_stretch *s = ns_part_stretch(replay->session, p->number);
	struct ns_lane *lane = lane_of(replay, who);
	struct ns_chunk *first = p->segments.nr ? p->segments.at : &p->now;
	bool ok = lane;
	size_t i;

	if (lost || s->lost)
		ns_replay_part_lose(p);
	ok = ok && ns_replay_part_found(p, UINT64_MAX);
	p->now.end = p->time;
	ok = ok && (!p->pairs || ns_pairs_end(p->pairs, &p->now));
	if (ok && lane->lost)
		first->gap = first->has_gap = true;
	/* if a ring buffer has overwritten the start of the part, trace is missing between the last segment and it */
	first->gap |= (s->middle || ns_frames_lost(s)) && lane && lane->segments.nr;
	first->has_gap |= first->gap;
	for (i = 0; ok && i < p->segments.nr; i++)
		ok = add_segment(replay, lane, &p->segments.at[i]);
	ok = ok && add_segment(replay, lane, &p->now);
	if (lane)
		lane->lost = lost || s->lost;
	for (i = 0; ok && i < p->tids.nr; i++)
		ok = ns_array_add(&replay->tids, p->tids.at[i]);
	for (i = 0; ok && i < p->spaces.nr; i++)
		ok = ns_array_add(&replay->spaces, p->spaces.at[i]);
	for (i = 0; ok && i < p->gaps.nr; i++)
		ok = ns_gaps_add(&replay->gaps, who->buffer, who->cpu, &p->gaps.at[i]);
	return ok && (!p->has_first || ns_gaps_first(&replay->gaps, who->buffer, who->cpu, p->number, p->first));
}

static int tid_cmp(const void *a, const void *b)
{
	return ns_order(*(const int32_t *)a, *(const int32_t *)b);
}

static int space_cmp(const void *a, const void *b)
{
	return ns_order(*(const uint64_t *)a, *(const uint64_t *)b);
}

static int end_index(void *ctx, void *part, const struct nt_who *who, bool lost)
{
	struct nt_replay *replay = ctx;
	struct ns_replay_part *p = part;
	bool ok = add_part(replay, p, who, lost);

	if (replay->tids.nr > 65536)
		ns_array_join(&replay->tids, tid_cmp, (void)b);
	if (replay->spaces.nr > 65536)
		ns_array_join(&replay->spaces, space_cmp, (void)b);
	ns_replay_part_free(p);
	return ok ? 0 : -1;
}

static int make_index(struct nt_replay *replay)
{
	const struct nt_consumer consumer = {
		.size = sizeof(consumer), .begin = begin_index, .ranges = ns_replay_part_ranges,
		.item = ns_replay_part_item, .end = end_index,
	};
	int err = nt_session_decode(replay->session, &consumer, replay);

	ns_array_join(&replay->tids, tid_cmp, (void)b);
	ns_array_join(&replay->spaces, space_cmp, (void)b);
	ns_gaps_settle(&replay->gaps);
	/*
	 * do not report the progress when a segment is decoded, because this is fast and frequent
	 */
	replay->session->options.progress = NULL;
	return err;
}

/* ---- All ---- */

struct nt_replay *nt_replay_new(struct nt_session *session, const struct nt_replay_options *options)
{
	struct nt_replay *replay = calloc(1, sizeof(*replay));

	if (!replay)
		return NULL;
	replay->session = replay->gaps.session = session;
	replay->options.pid = -1;
	memcpy(&replay->options, options, options->size < sizeof(*options) ? options->size : sizeof(*options));
	if (!replay->options.segment)
		replay->options.segment = SEGMENT;
	replay->kernel_start = ns_kernel_start(session);
	if (!make_index(replay)) {
		replay->decoder = ns_decoder_new(session);
		replay->targets = calloc(NS_TARGETS, sizeof(*replay->targets));
		replay->next = calloc(replay->lanes.nr + 1, sizeof(*replay->next));
		if (replay->decoder && replay->targets && replay->next && nt_replay_seek(replay, 0) >= 0)
			return replay;
	}
	nt_replay_free(replay);
	return NULL;
}

void nt_replay_free(struct nt_replay *replay)
{
	size_t i, nth;

	if (!replay)
		return;
	for (i = 0; i < replay->walks.nr; i++)
		ns_walk_free(replay->walks.at[i]);
	for (i = 0; i < NS_CACHE; i++) {
		free(replay->cache[i].runs.at);
		free(replay->cache[i].events.at);
	}
	for (i = 0; i < replay->lanes.nr; i++) {
		for (nth = 0; nth < replay->lanes.at[i].segments.nr; nth++)
			free(replay->lanes.at[i].segments.at[nth].events);
		free(replay->lanes.at[i].segments.at);
	}
	ns_files_free(replay);
	ns_decoder_free(replay->decoder);
	ns_gaps_free(&replay->gaps);
	free(replay->walks.at);
	free(replay->lanes.at);
	free(replay->tids.at);
	free(replay->spaces.at);
	free(replay->next);
	free(replay->targets);
	free(replay);
}
