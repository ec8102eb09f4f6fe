// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Find positions inside a stretch at which a new decoder produces the same results as a decoder
 * that has read the stretch from its start.
 *
 * SYNC resets the state of messages (chapter 8.4), but not the context. Ownership must therefore
 * follow before the next branch, as is usual after SYNC (chapter 7.1). The trace mode must be clear
 * from the next branch message. If a stretch has messages of two modes, or of several sources, it
 * cannot be cut inside.
 */
#include <string.h>

#include <linux/ntrace.h>

#include "session/flow/frames.h"
#include "split-priv.h"

#define CHUNK	(1 << 20)	/* bytes that are read before their memory is released */

#define BRANCHES	(1ULL << NT_TCODE_DIRECT_BRANCH | 1ULL << NT_TCODE_INDIRECT_BRANCH |	\
			 1ULL << NT_TCODE_RESOURCE_FULL | 1ULL << NT_TCODE_INDIRECT_BRANCH_HIST | \
			 1ULL << NT_TCODE_REPEAT_BRANCH | 1ULL << NT_TCODE_PROG_TRACE_CORRELATION)

/* Context that Ownership messages contain */
enum { KNOWS_SCONTEXT = 1, KNOWS_HCONTEXT = 2, KNOWS_PRIV = 4 };

struct search {
	const struct ns_cpu *cpu;
	const uint64_t	*targets;
	struct split_cut *cuts;
	unsigned int	nr, next;	/* number of targets, and index of the current one */
	/* offset of the last SYNC, at which the stretch may be divided */
	uint64_t	offset;
	uint32_t	length;		/* its length in bytes; 0: not a place to divide */
	unsigned int	known, again;	/* KNOWS_* before the SYNC, and after it */
	unsigned int	modes;		/* bit mask of enum nt_mode */
	int32_t		src;		/* source of the messages; -1: no message so far */
	bool		never;		/* the stretch cannot be cut inside */
};

static unsigned int mode_of(const struct nt_message *msg)
{
	if (msg->tcode == NT_TCODE_DIRECT_BRANCH || msg->tcode == NT_TCODE_DIRECT_BRANCH_SYNC)
		return NT_MODE_BTM;
	if (msg->fields & NT_FIELD_HIST ||
	    (msg->tcode == NT_TCODE_PROG_TRACE_CORRELATION && msg->cdf))
		return NT_MODE_HTM;
	return NT_MODE_AUTO;
}

static void take_owner(struct search *s, const struct nt_message *msg)
{
	s->again |= KNOWS_PRIV;
	if (msg->format == NT_FORMAT_SCONTEXT)
		s->again |= KNOWS_SCONTEXT;
	else if (msg->format == NT_FORMAT_HCONTEXT)
		s->again |= KNOWS_HCONTEXT;
	s->known |= s->again;
}

static void take_sync(struct search *s, const struct nt_message *msg)
{
	bool timed = msg->fields & NT_FIELD_TSTAMP || !s->cpu->nt.timestamp;

	s->offset = msg->offset;
	s->length = timed && msg->offset >= s->targets[s->next] ? msg->length : 0;
	s->again = 0;
}

/* Cut at the SYNC if the context and the mode are known at the first branch after it. */
static void take_branch(struct search *s, const struct nt_message *msg)
{
	if (s->length && !(s->known & ~s->again) && mode_of(msg)) {
		s->cuts[s->next].offset = s->offset;
		s->cuts[s->next++].shared = s->length;
	}
	s->length = 0;
}

static void take_message(struct search *s, const struct nt_message *msg)
{
	s->modes |= 1U << mode_of(msg);
	s->never |= (s->src >= 0 && s->src != msg->src) || msg->fields & NT_FIELD_CKSRC ||
		    ((s->modes >> NT_MODE_BTM & 1) && (s->modes >> NT_MODE_HTM & 1));
	s->src = msg->src;
	if (s->next == s->nr)
		return;
	if (nt_message_is_sync(msg))
		take_sync(s, msg);
	else if (msg->tcode == NT_TCODE_OWNERSHIP)
		take_owner(s, msg);
	else if (msg->tcode == NT_TCODE_ERROR)
		s->length = 0;
	else if (msg->tcode < 64 && BRANCHES >> msg->tcode & 1)
		take_branch(s, msg);
}

static void search_chunk(struct search *s, struct nt_reader *reader)
{
	struct nt_message msg;
	int ret;

	while (!s->never && (ret = nt_reader_next(reader, &msg))) {
		if (ret > 0)
			take_message(s, &msg);
		else
			s->length = 0;
	}
}

static void search_pieces(struct nt_session *session, const struct ns_stretch *stretch,
			  struct search *s, struct nt_reader *reader)
{
	const struct ns_piece *piece = stretch->pieces.at, *end = piece + stretch->pieces.nr;
	size_t at, n;

	nt_reader_seek(reader, stretch->offset, stretch->middle);
	for (; piece < end && !s->never; piece++) {
		for (at = 0; at < piece->size && !s->never; at += n) {
			n = piece->size - at < CHUNK ? piece->size - at : CHUNK;
			nt_reader_feed(reader, piece->data + at, n);
			search_chunk(s, reader);
			pd_forget(&session->pd, piece->data + at, n);
		}
	}
}

int split_inside(struct nt_session *session, const struct ns_stretch *stretch,
		 const uint64_t *targets, struct split_cut *cuts, unsigned int nr)
{
	const uint64_t never = PERF_AUX_FLAG_OVERWRITE | PERF_AUX_FLAG_PARTIAL;
	struct search s = {
		.cpu = ns_setup_cpu(&session->setup, stretch->cpu), .targets = targets,
		.cuts = cuts, .nr = nr, .src = -1,
	};
	struct nt_reader *reader;
	unsigned int i;

	for (i = 0; i < nr; i++)
		cuts[i].shared = 0;
	if (!s.cpu || !s.cpu->valid || stretch->flags & never || !stretch->end ||
	    ns_frames_has(stretch))
		return 0;
	reader = nt_reader_new(&s.cpu->nt);
	if (!reader)
		return -1;
	search_pieces(session, stretch, &s, reader);
	nt_reader_free(reader);
	for (i = s.never ? 0 : s.next; i < nr; i++)
		cuts[i].shared = 0;
	return 0;
}
