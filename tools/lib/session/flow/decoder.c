// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Decode some bytes of one part, so that a program can show any position of the recording. */
#include <stdlib.h>
#include <string.h>

#include "decode.h"
#include "sources.h"
#include "worker.h"

struct ns_decoder {
	struct job	job;
	struct worker	worker;
	uint64_t	number;		/* number of the part whose clock was checked last; UINT64_MAX: none */
};

struct ns_decoder *ns_decoder_new(struct nt_session *session)
{
	struct ns_decoder *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->job.session = session;
	d->number = UINT64_MAX;
	pthread_mutex_init(&d->job.progress_lock, NULL);
	if (!ns_worker_init(&d->worker, &d->job))
		return d;
	ns_decoder_free(d);
	return NULL;
}

void ns_decoder_free(struct ns_decoder *d)
{
	if (!d)
		return;
	ns_worker_free(&d->worker);
	pthread_mutex_destroy(&d->job.progress_lock);
	free(d);
}

/* Set *cut to a stretch with the bytes in [@from, @to) of @s. Return false if out of memory. */
static bool cut_stretch(const struct ns_stretch *s, uint64_t from, uint64_t to, struct ns_stretch *cut)
{
	uint64_t at = s->offset, begin, end;
	size_t i;

	*cut = *s;
	memset(&cut->pieces, 0, sizeof(cut->pieces));
	cut->middle = s->middle && from == s->offset;
	cut->offset = from;
	for (i = 0; i < s->pieces.nr; at += s->pieces.at[i++].size) {
		begin = from > at ? from - at : 0;
		end = to - at < s->pieces.at[i].size ? to - at : s->pieces.at[i].size;
		if (at >= to || begin >= end)
			continue;
		if (!ns_array_add(&cut->pieces, ((struct ns_piece){ s->pieces.at[i].data + begin, end - begin })))
			return false;
	}
	return true;
}

/* Decode the bytes in *cut. They begin at the start of the part, or with a message with SYNC if @begins_inside. */
static int decode_cut(struct worker *w, struct ns_stretch *cut, bool begins_inside, bool ends_inside)
{
	struct scan scan;
	int err;

	w->stretch = cut;
	if (begins_inside && w->cpu->has_time) {
		/* begin at the time of the first message of *cut, so that earlier changes of the code are applied */
		ns_worker_scan(w, &scan);
		ns_worker_read_until(w, 0, &scan);
		if (scan.time != UINT64_MAX && scan.time > w->now)
			w->now = scan.time;
	}
	nt_image_remap(w->image);
	nt_flow_restart(w->flow, cut->offset, cut->middle);
	err = ns_worker_feed(w);
	if (err || ends_inside)
		return err;
	nt_flow_end(w->flow);
	return ns_worker_drain(w);
}

static int decode_between(struct ns_decoder *d, uint64_t number, uint64_t from, uint64_t to)
{
	struct worker *w = &d->worker;
	const struct ns_stretch *s = w->stretch;
	struct ns_stretch cut;
	int err;

	if (w->cpu != w->made_for && ns_worker_new_flow(w))
		return -1;
	if (w->cpu->has_time && d->number != number)
		ns_worker_check_clock(w);
	d->number = number;
	if (!cut_stretch(s, from, to, &cut))
		return ns_fail(w->session, "out of memory");
	err = decode_cut(w, &cut, from != s->offset, to != UINT64_MAX);
	free(cut.pieces.at);
	w->stretch = s;
	return err;
}

int ns_decoder_run(struct ns_decoder *d, uint64_t number, uint64_t from, uint64_t to,
		   const struct nt_consumer *consumer, void *ctx)
{
	const struct ns_stretch *s = ns_part_stretch(d->job.session, number);
	struct worker *w = &d->worker;
	int err;

	d->job.consumer = consumer;
	d->job.ctx = ctx;
	ns_worker_begin(w, number);
	if (from == s->offset && to == UINT64_MAX) {
		d->number = UINT64_MAX;
		err = ns_worker_decode(w);
	} else {
		err = w->part ? decode_between(d, number, from, to) : ns_fail(w->session, "out of memory");
	}
	return w->part ? consumer->end(ctx, w->part, &w->who, false) ?: err : err;
}
