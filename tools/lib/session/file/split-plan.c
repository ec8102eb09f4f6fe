// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Choose the cuts of a recording so that its shards have about the same number of bytes of trace.
 */
#include <stdlib.h>

#include "split-priv.h"

#define SMALL	16	/* a stretch of less than a 16th of a shard stays whole */

struct planning {
	struct nt_session *session;
	struct split_cut *cuts;
	uint64_t	*targets;	/* offsets in the current stretch */
	unsigned int	shards, next;	/* number of shards, and index of the next cut */
	uint64_t	all, done;	/* bytes of all stretches, and of earlier stretches */
};

static uint64_t bytes_of(const struct ns_stretch *s)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < s->pieces.nr; i++)
		bytes += s->pieces.at[i].size;
	return bytes;
}

/* Return the bytes of the shards before @nth, if all shards had the same size. */
static uint64_t share(const struct planning *p, unsigned int nth)
{
	return (uint64_t)((unsigned __int128)p->all * nth / p->shards);
}

static void cut_before(struct planning *p, const struct ns_stretch *s, const struct ns_stretch *before)
{
	p->cuts[p->next++] = (struct split_cut){
		.queue = s->queue, .offset = s->offset, .before = before,
	};
}

/* Make the cuts inside a stretch. Cuts without a position in it are made after it. */
static int cut_inside(struct planning *p, const struct ns_stretch *s, const struct ns_stretch *before,
		      uint64_t bytes)
{
	struct split_cut *cuts = &p->cuts[p->next];
	unsigned int nr = 0, i;

	while (p->next + nr < p->shards && share(p, p->next + nr) < p->done + bytes) {
		p->targets[nr] = s->offset + (share(p, p->next + nr) - p->done);
		nr++;
	}
	if (bytes < p->all / p->shards / SMALL || !nr)
		return 0;
	if (split_inside(p->session, s, p->targets, cuts, nr))
		return ns_fail(p->session, "out of memory");
	for (i = 0; i < nr && cuts[i].shared; i++) {
		cuts[i].queue = s->queue;
		cuts[i].before = before;
		p->next++;
	}
	return 0;
}

int split_plan(struct nt_session *session, struct split_cut *cuts, unsigned int shards)
{
	const struct ns_stretch *s = session->trace.stretches.at, *before = NULL;
	const struct ns_stretch *end = s + session->trace.stretches.nr;
	struct planning p = { .session = session, .cuts = cuts, .shards = shards, .next = 1 };
	uint64_t bytes;
	int err = 0;

	for (; s < end; s++)
		p.all += bytes_of(s);
	p.targets = calloc(shards, sizeof(*p.targets));
	if (!p.targets)
		return ns_fail(session, "out of memory");
	cuts[0] = (struct split_cut){ 0 };
	for (s = session->trace.stretches.at; s < end && !err; before = s++) {
		if (before && before->queue != s->queue)
			before = NULL;
		bytes = bytes_of(s);
		while (p.next < shards && share(&p, p.next) <= p.done)
			cut_before(&p, s, before);
		err = cut_inside(&p, s, before, bytes);
		p.done += bytes;
	}
	for (; p.next <= shards; p.next++)
		cuts[p.next] = (struct split_cut){ .queue = UINT32_MAX };
	free(p.targets);
	return err;
}
