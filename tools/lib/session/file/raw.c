// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Pass the raw trace of a recording to programs that read its messages without the code. */
#include "session/flow/frames.h"
#include "session/session-priv.h"

#define PART	(256 << 10)	/* maximum number of bytes that are passed at once */

struct place_of_raw {
	const struct ns_setup	*setup;
	const struct ns_cpu	*cpu;
	uint64_t		end;	/* time of the end of the stretch, ns; 0: not known */
};

uint64_t nt_raw_time(const struct nt_raw *raw, uint64_t ticks)
{
	const struct place_of_raw *p = raw->priv;
	uint64_t time;

	if (!p->cpu->has_time)
		return 0;
	time = ns_setup_time(p->setup, p->cpu, ns_setup_widen(p->setup, p->cpu, ticks, p->end));
	return p->end && time > p->end ? p->end : time;
}

static int give_piece(struct nt_session *session, const struct ns_piece *piece, bool is_last,
		      struct nt_raw *raw, int (*take)(void *ctx, const struct nt_raw *raw), void *ctx)
{
	size_t at, n;
	int err = 0;

	for (at = 0; !err && at < piece->size; at += n) {
		n = piece->size - at < PART ? piece->size - at : PART;
		raw->data = piece->data + at;
		raw->size = n;
		raw->ends = is_last && at + n == piece->size;
		err = take(ctx, raw);
		raw->begins = false;
		pd_forget(&session->pd, raw->data, n);
	}
	return err;
}

static int give_pieces(struct nt_session *session, const struct ns_stretch *s, struct nt_raw *raw,
		       int (*take)(void *ctx, const struct nt_raw *raw), void *ctx)
{
	size_t i;
	int err = 0;

	raw->begins = true;
	raw->middle = s->middle;
	raw->lost = s->lost;
	if (!s->pieces.nr) {
		raw->ends = true;
		return take(ctx, raw);
	}
	for (i = 0; !err && i < s->pieces.nr; i++)
		err = give_piece(session, &s->pieces.at[i], i + 1 == s->pieces.nr, raw, take, ctx);
	return err;
}

static int give_frames(struct nt_session *session, const struct ns_stretch *s, struct nt_raw *raw,
		       int (*take)(void *ctx, const struct nt_raw *raw), void *ctx)
{
	struct ns_stretch joined = { 0 };
	int err;

	if (ns_frames_join(s, &session->setup, NULL, &joined))
		return ns_fail(session, "out of memory");
	ns_trace_find_middle(&joined, &session->setup);
	err = give_pieces(session, &joined, raw, take, ctx);
	ns_frames_free(&joined);
	return err;
}

int nt_session_raw(struct nt_session *session, int (*take)(void *ctx, const struct nt_raw *raw),
		   void *ctx)
{
	const struct ns_setup *setup = &session->setup;
	const struct ns_stretch *s = session->trace.stretches.at;
	struct place_of_raw place = { .setup = setup };
	size_t i;
	int err = 0;

	for (i = 0; !err && i < session->trace.stretches.nr; i++, s++) {
		struct nt_raw raw = { .priv = &place };

		place.cpu = s->cpu >= 0 ? ns_setup_cpu(setup, s->cpu) : &setup->cpus[0];
		place.end = s->end;
		if (!place.cpu || !place.cpu->valid)
			continue;
		raw.cpu = place.cpu->cpu;
		raw.config = &place.cpu->nt;
		err = ns_frames_has(s) && s->pieces.nr ?
		      give_frames(session, s, &raw, take, ctx) :
		      give_pieces(session, s, &raw, take, ctx);
	}
	return err;
}
