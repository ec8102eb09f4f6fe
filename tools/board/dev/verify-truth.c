// SPDX-License-Identifier: GPL-2.0-only
/*
 * Comparison of a decoder's result with the truth of one hart, see verify.h.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verify.h"

#define CONTEXT_BLOCKS	128

static struct block *block_at(const struct ring *r, size_t i)
{
	return &r->block[(r->first + i) & (r->size - 1)];
}

static bool ring_push(struct ring *r, const struct block *b)
{
	if (r->n == r->size) {
		size_t size = r->size ? 2 * r->size : 1024, i;
		struct block *grown = malloc(size * sizeof(*grown));

		if (!grown)
			return false;
		for (i = 0; i < r->n; i++)
			grown[i] = *block_at(r, i);
		free(r->block);
		r->block = grown;
		r->first = 0;
		r->size = size;
	}
	*block_at(r, r->n++) = *b;
	return true;
}

/*
 * Handle trap @blk. The board records a trap as a separate block, which has the address of the trap and no
 * instructions. If the block before it ends at this address as linear code, store the itype of the trap in that block.
 */
static void note_trap(struct hart *h, const struct nb_ingress *blk)
{
	struct block *last = h->ring.n ? block_at(&h->ring, h->ring.n - 1) : NULL;

	if (last && !h->pending_start && last->itype == NB_ITYPE_NONE &&
	    last->iaddr + 2ULL * last->iretire == blk->iaddr)
		last->itype = blk->itype;
}

/* Read the next traced block of the truth to h->held. Return false at the end of the truth. */
static bool fetch_block(struct hart *h)
{
	struct nb_truth_event ev;
	bool losing;

	while (!h->ended && nb_truth_next(h->reader, &ev) > 0) {
		switch (ev.kind) {
		case NB_TRUTH_START:
			h->pending_start = true;
			h->pending_empty += h->pending_session;
			h->pending_session = true;
			break;
		case NB_TRUTH_SYNC:
			h->pending_sync = true;
			/* After a reset, the program continues at another address, and the flow restarts */
			h->pending_start |= ev.sync == NB_SYNC_EXIT_RESET;
			break;
		case NB_TRUTH_STOP:
			h->lost |= ev.evcode == NB_ENDED_LOST;
			h->losing = ev.evcode == NB_ENDED_LOST && !h->pending_start;
			h->silent |= ev.evcode == NB_ENDED_SILENT;
			break;
		case NB_TRUTH_CONTEXT:
			if (h->scontext != ev.scontext)
				h->scontext_before = h->scontext;
			h->scontext = ev.scontext;
			break;
		case NB_TRUTH_TIME:
			h->time = ev.time;
			break;
		case NB_TRUTH_BLOCK:
			if (ev.traced && !ev.blk.ninsn)
				note_trap(h, &ev.blk);
			/*
			 * One block can fill both HIST and I-CNT, and then causes two messages. If only
			 * the second message, with I-CNT, was lost, the truth marks the block as not
			 * traced, although the first message reports it. So compare it nevertheless.
			 */
			losing = h->losing;
			h->losing = false;
			if ((!ev.traced && !losing) || !ev.blk.ninsn)
				break;
			h->held = (struct block){
				.iaddr = ev.blk.iaddr, .iretire = ev.blk.iretire,
				.ninsn = ev.blk.ninsn, .priv = ev.blk.priv,
				.itype = ev.blk.itype, .scontext = h->scontext,
				.scontext_before = h->scontext_before, .time = h->time, .wide = ev.blk.wide, .code = ev.blk.code,
				.start = h->pending_start, .empty = h->pending_empty,
				.sync = h->pending_start || h->pending_sync,
				.lost_before = h->pending_start && h->lost,
				.silent_before = h->pending_start && h->silent,
			};
			h->lost &= !h->pending_start;
			h->silent &= !h->pending_start;
			h->pending_start = false;
			h->pending_sync = false;
			h->pending_session = false;
			h->pending_empty = 0;
			h->holds = true;
			return true;
		default:
			break;
		}
	}
	h->ended = true;
	return false;
}

/* Add the next block to the ring. Return false at the end of the truth, or if hart::learn refuses the block. */
static bool read_block(struct hart *h, bool force)
{
	if (!h->holds && !fetch_block(h))
		return false;
	if (h->learn && !h->learn(h->learn_ctx, &h->held, h->behind + h->ring.n, force))
		return false;
	h->holds = false;
	return ring_push(&h->ring, &h->held);
}

void hart_read_ahead(struct hart *h, size_t n)
{
	while (h->ring.n < h->at.index + n && read_block(h, false))
		;
}

uint64_t hart_index(const struct hart *h)
{
	return h->behind + h->at.index;
}

/* Read blocks until the block of @p is in the ring. Return false if the list of executed code ends before @p. */
static bool have(struct hart *h, const struct place *p)
{
	while (p->index >= h->ring.n)
		if (!read_block(h, true))
			return false;
	return true;
}

static struct block *block_of(struct hart *h, const struct place *p)
{
	return block_at(&h->ring, p->index);
}

/*
 * Return true if the truth has a restart at @p that was not compared yet. The caller has read the block of @p. If
 * the decoder's result is a text (hart::strict is false), a restart may be compared again, because several lines
 * may report the same loss.
 */
static bool restarts(struct hart *h, const struct place *p)
{
	const struct block *b = block_of(h, p);

	return !p->insn && b->start &&
	       (!h->strict || h->used_of != h->behind + p->index || h->used <= b->empty);
}

static uint64_t pc_of(struct hart *h, const struct place *p)
{
	return p->insn ? p->pc : block_of(h, p)->iaddr;
}

/* Return the size in half-words of instruction @i of a block, or 0 if the truth does not contain the size. */
static unsigned int insn_size(const struct block *b, uint32_t i)
{
	if (b->wide)
		return 1 + (b->wide[i / 64] >> i % 64 & 1);
	if (b->iretire == b->ninsn)
		return 1;
	return b->iretire == 2 * b->ninsn ? 2 : 0;
}

static bool step_insn(struct hart *h, struct place *p)
{
	struct block *b = block_of(h, p);
	unsigned int size = insn_size(b, p->insn);

	if (!size)
		return false;
	p->pc = pc_of(h, p) + 2 * size;
	if (++p->insn == b->ninsn)
		*p = (struct place){ .index = p->index + 1 };
	return true;
}

/*
 * Drop the blocks before the current position. Keep them while the position after a gap is not certain, because the
 * comparison may return to them.
 */
static void drop_behind(struct hart *h)
{
	struct ring *r = &h->ring;

	if (h->after_gap.placed)
		return;
	r->first = (r->first + h->at.index) & (r->size ? r->size - 1 : 0);
	r->n -= h->at.index;
	h->behind += h->at.index;
	h->at.index = 0;
}

/* ---- Comparison of an item with the truth at one position ---- */

static bool match_range(struct hart *h, struct place *p, const struct item *it)
{
	uint64_t pc = it->start, left = it->ninsn;

	while (pc != it->end || left) {
		struct block *b;

		if (!left || !have(h, p) || pc_of(h, p) != pc)
			return false;
		b = block_of(h, p);
		if (!p->insn && left >= b->ninsn && it->end - pc >= 2ULL * b->iretire) {
			pc += 2ULL * b->iretire;
			left -= b->ninsn;
			*p = (struct place){ .index = p->index + 1 };
			continue;
		}
		if (!insn_size(b, p->insn))
			return false;
		pc += 2 * insn_size(b, p->insn);
		left--;
		step_insn(h, p);
	}
	return true;
}

/* If the truth at @p matches @it, move @p to the end of @it, and return true. */
static bool match(struct hart *h, struct place *p, const struct item *it)
{
	if (it->kind == ITEM_RANGE)
		return match_range(h, p, it);
	if (it->kind == ITEM_START)
		return have(h, p) && restarts(h, p);
	if (!have(h, p) || pc_of(h, p) != it->start)
		return false;
	if (block_of(h, p)->ninsn > 1)
		return step_insn(h, p);
	*p = (struct place){ .index = p->index + 1 };
	return true;
}

/* ---- Details of a range, which are its end, privilege mode, context and time ---- */

static bool ends_as(uint8_t itype, const struct item *it)
{
	static const uint8_t ends[16] = {
		[NB_ITYPE_NONE] = NT_END_LINEAR, [NB_ITYPE_TRAP_RETURN] = NT_END_TRAP_RETURN,
		[NB_ITYPE_NOT_TAKEN] = NT_END_BRANCH, [NB_ITYPE_TAKEN] = NT_END_BRANCH,
		[NB_ITYPE_INDIRECT_CALL] = NT_END_INDIRECT_CALL, [NB_ITYPE_DIRECT_CALL] = NT_END_CALL,
		[NB_ITYPE_INDIRECT_JUMP] = NT_END_INDIRECT_JUMP, [NB_ITYPE_DIRECT_JUMP] = NT_END_JUMP,
		[NB_ITYPE_SWAP] = NT_END_SWAP, [NB_ITYPE_RETURN] = NT_END_RETURN,
		[NB_ITYPE_OTHER_INDIRECT] = NT_END_INDIRECT_JUMP, [NB_ITYPE_OTHER_DIRECT] = NT_END_JUMP,
	};

	/* If a synchronising message was sent between the last instruction and its trap, it->how is NT_END_LINEAR */
	if (itype == NB_ITYPE_EXCEPTION)
		return it->how == NT_END_TRAP || it->how == NT_END_EXCEPTION || it->how == NT_END_LINEAR;
	if (itype == NB_ITYPE_INTERRUPT)
		return it->how == NT_END_TRAP || it->how == NT_END_INTERRUPT || it->how == NT_END_LINEAR;
	/* BTM does not report whether a branch to the next instruction was taken */
	return it->how == ends[itype & 15] &&
	       (it->how != NT_END_BRANCH || it->to_next || it->taken == (itype == NB_ITYPE_TAKEN));
}

/*
 * Return true if range @it ends with another type of instruction, or another trap, than the code in the truth. @p is
 * the position after the range. If the range ends within a block of the truth, it must end as linear code.
 */
static bool end_differs(struct hart *h, const struct place *p, const struct item *it)
{
	struct place next = *p;
	uint8_t itype;
	bool goes_on;

	if (p->insn)
		return it->how != NT_END_LINEAR;
	if (!p->index)
		return false;
	/* Read the next block, because note_trap() then adds a trap to the block before it */
	goes_on = have(h, &next) && !block_of(h, &next)->start;
	itype = block_at(&h->ring, p->index - 1)->itype;
	/*
	 * In the last range before a stop of the trace, the trap that ends the block may be missing. If the block
	 * ends with a jump or branch, the range must end with the same jump or branch.
	 */
	if (!goes_on && it->how == NT_END_LINEAR)
		return itype != NB_ITYPE_NONE && itype != NB_ITYPE_EXCEPTION &&
		       itype != NB_ITYPE_INTERRUPT;
	return !goes_on ? false : !ends_as(itype, it);
}

/*
 * Return true if the program sets scontext to @scontext soon after @p. An Ownership message has no I-CNT, so its
 * position in the trace is not exact, and the hart may have executed blocks before it wrote scontext that only the
 * next message reports. These may be some tens of blocks, because the next message may have a HIST.
 */
static bool context_comes(struct hart *h, const struct place *p, uint64_t scontext)
{
	struct place next = { .index = p->index };
	unsigned int n;

	for (n = 0; n < CONTEXT_BLOCKS && have(h, &next) && (!n || !block_of(h, &next)->start); n++, next.index++)
		if (scontext == (uint32_t)block_of(h, &next)->scontext)
			return true;
	return false;
}

/*
 * Return a text that describes the first detail of range @it that differs from the truth, or NULL if all details are
 * equal. @p is the position after @it, and @first is the block at the start of @it.
 */
static const char *detail_differs(struct hart *h, const struct place *p, const struct block *first,
				  const struct item *it)
{
	if (end_differs(h, p, it))
		return "it ended with another type";
	if (it->has_priv && it->priv != first->priv)
		return "its privilege mode was different";
	if (it->has_scontext && it->scontext != (uint32_t)first->scontext &&
	    it->scontext != (uint32_t)first->scontext_before && !context_comes(h, p, it->scontext))
		return "its context was different";
	if (it->has_time && (it->time < first->time || it->time < h->last_time))
		return "it ran later than its timestamp says";
	return NULL;
}

static uint64_t insns_left_in_block(struct hart *h)
{
	return block_of(h, &h->at)->ninsn - h->at.insn;
}

/* Skip the rest of the current block. Return the number of skipped instructions. */
static uint64_t skip_block(struct hart *h)
{
	uint64_t n = insns_left_in_block(h);

	h->at = (struct place){ .index = h->at.index + 1 };
	drop_behind(h);
	return n;
}

static void differ(struct hart *h, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (h->differs)
		return;
	h->differs = true;
	n = snprintf(h->difference, sizeof(h->difference), "%s %llu, after %llu instructions: ",
		     h->unit, (unsigned long long)h->where, (unsigned long long)h->compared);
	va_start(ap, fmt);
	vsnprintf(h->difference + n, sizeof(h->difference) - n, fmt, ap);
	va_end(ap);
}

static bool truth_is_bad(const struct hart *h)
{
	return nb_truth_error(h->reader);
}

static void differ_at(struct hart *h, const struct item *it)
{
	if (!have(h, &h->at) && truth_is_bad(h))
		differ(h, "truth file %s %s", h->path, nb_truth_error(h->reader));
	else if (!have(h, &h->at))
		differ(h, "decoded 0x%llx after the end of the trace",
		       (unsigned long long)it->start);
	else if (it->kind == ITEM_RANGE)
		differ(h, "decoded 0x%llx..0x%llx (%llu instructions), but at 0x%llx other code ran",
		       (unsigned long long)it->start, (unsigned long long)it->end,
		       (unsigned long long)it->ninsn, (unsigned long long)pc_of(h, &h->at));
	else
		differ(h, "decoded 0x%llx, but 0x%llx ran", (unsigned long long)it->start,
		       (unsigned long long)pc_of(h, &h->at));
}

/*
 * Move to the next restart in the truth, or to the end of the truth. If the encoder lost trace, the decoder stops
 * early, and must continue exactly at the first instruction after the restart of the encoder. @n receives the number
 * of skipped instructions. Return true if the trace lacks these instructions because of a reported loss, or because
 * the encoder stopped without a message.
 */
static bool skip_lost_session(struct hart *h, uint64_t *n)
{
	bool declared = !h->strict || h->told;

	*n = 0;
	while (have(h, &h->at)) {
		if (restarts(h, &h->at))
			return (block_of(h, &h->at)->lost_before && declared) ||
			       block_of(h, &h->at)->silent_before;
		*n += skip_block(h);
	}
	return (h->lost && declared) || h->silent;
}

static uint64_t item_insns(const struct item *it)
{
	return it->kind == ITEM_RANGE ? it->ninsn : it->kind == ITEM_PC;
}

/* Count the restart at the current position as compared, so that the next restart is compared with a later one. */
static void use_restart(struct hart *h)
{
	uint64_t block = hart_index(h);

	h->told = false;
	h->used = h->used_of == block ? h->used + 1 : 1;
	h->used_of = block;
}

/* Count the instructions of @it as compared. The current position is already at the end of @it. */
static void accept(struct hart *h, const struct item *it)
{
	h->compared += item_insns(it);
	if (it->kind == ITEM_START)
		use_restart(h);
	drop_behind(h);
}

static void judge_details(struct hart *h, const struct block *first, const struct item *it)
{
	const char *why = it->detailed && first->ninsn ? detail_differs(h, &h->at, first, it) : NULL;

	if (it->has_time)
		h->last_time = it->time;
	if (why)
		differ(h, "decoded 0x%llx..0x%llx (%s, privilege %u, scontext 0x%llx), which ran, but %s (itype %u, privilege %u, scontext 0x%llx)",
		       (unsigned long long)it->start, (unsigned long long)it->end, nt_end_name(it->how),
		       it->priv, (unsigned long long)it->scontext, why,
		       h->at.index ? block_at(&h->ring, h->at.index - 1)->itype : 0, first->priv,
		       (unsigned long long)first->scontext);
}

/*
 * If the truth at the current position matches @it, move to the end of @it, and return true. Set
 * hart::differs if only a detail differs.
 */
static bool match_here(struct hart *h, const struct item *it)
{
	struct block first = { 0 };

	if (it->detailed && have(h, &h->at))
		first = *block_of(h, &h->at);
	if (!match(h, &h->at, it))
		return false;
	judge_details(h, &first, it);
	return true;
}

static void compare(struct hart *h, const struct item *it)
{
	struct place before = h->at;
	uint64_t n;

	if (match_here(h, it)) {
		accept(h, it);
		return;
	}
	h->at = before;
	/*
	 * Ignore a restart after the end of the truth. If the Ownership message after the last restart was lost,
	 * the truth does not contain this restart. This hides no fault, because code that the decoder reports after
	 * the restart is not in the truth, and is reported as a difference.
	 */
	if (it->kind == ITEM_START && !have(h, &h->at) && !truth_is_bad(h))
		return;
	differ_at(h, it);	/* sets h->differs, which the code below clears if trace was lost before @it */
	if (!skip_lost_session(h, &n)) {
		h->missing += n;
		return;
	}
	before = h->at;
	if (!match(h, &h->at, it)) {
		h->at = before;
		return;
	}
	h->differs = false;
	h->gaps += !h->told;
	h->told = false;
	h->lost_declared += n;
	accept(h, it);
}

/*
 * ---- Gaps that the decoder reports ----
 *
 * After a gap, decoding continues at a synchronising message whose position in the truth is not known.
 * In a loop, the code after a gap matches many positions, and only much later code shows which position
 * is right. So the comparison continues at the first position that matches. If a later item does not
 * match, the comparison goes back and tries the positions after the first one.
 */

/*
 * Compare @it with the truth at the current position, while the position after the gap is not certain. Return
 * false if @it or one of its details differs, so that the caller tries another position.
 */
static bool step(struct hart *h, const struct item *it)
{
	if (!match_here(h, it))
		return false;
	if (h->differs) {
		h->differs = false;
		h->after_gap.why = true;
		return false;
	}
	accept(h, it);
	return true;
}

static struct tried tried_here(const struct hart *h)
{
	return (struct tried){
		.at = h->at, .compared = h->compared, .last_time = h->last_time, .used_of = h->used_of,
		.used = h->used, .skipped = h->after_gap.skipped,
	};
}

static void go_back(struct hart *h, const struct tried *t)
{
	h->at = t->at;
	h->compared = t->compared;
	h->last_time = t->last_time;
	h->used_of = t->used_of;
	h->used = t->used;
	h->after_gap.skipped = t->skipped;
}

/* If all items since the gap match the truth at the current position, move to their end, and return true. */
static bool fits(struct hart *h)
{
	struct after_gap *g = &h->after_gap;
	bool placed = g->placed;
	size_t i;

	g->here = tried_here(h);
	g->placed = true;
	for (i = 0; i < g->n; i++) {
		if (step(h, &g->item[i]))
			continue;
		go_back(h, &g->here);
		g->placed = placed;
		return false;
	}
	return true;
}

/* Find the first position, starting at the current one, at which all items since the gap match. */
static bool find_place(struct hart *h)
{
	struct after_gap *g = &h->after_gap;

	while ((!g->placed || h->at.index < g->first.at.index + SEARCH) && have(h, &h->at)) {
		bool here = !h->at.insn && block_of(h, &h->at)->sync;

		/* If no instructions are missing in the gap, decoding continues at the position at which it stopped */
		if ((here || !g->skipped) && fits(h))
			return true;
		g->skipped += skip_block(h);
	}
	return false;
}

/* Accept the current position as the position after the gap. */
static void leave_gap(struct hart *h)
{
	struct after_gap *g = &h->after_gap;

	h->gaps += g->skipped || !g->may_be_none;
	h->lost_declared += g->skipped;
	h->gap = false;
	g->may_be_none = false;
	g->n = 0;
	g->skipped = 0;
	g->placed = false;
	g->why = false;
	drop_behind(h);
}

static void place_first(struct hart *h)
{
	struct after_gap *g = &h->after_gap;

	h->told = false;
	if (find_place(h)) {
		g->first = g->here;
		return;
	}
	if (g->why)
		h->differs = true;	/* find_place() has already set the message hart::difference */
	else
		differ(h, "decoded 0x%llx after a gap, but the truth has no synchronising message there",
		       (unsigned long long)g->item[0].start);
	leave_gap(h);
}

/*
 * Search for another position after the gap, because the last item does not match. If no other position matches,
 * return to the first position, and report the item that does not match there.
 */
static void place_next(struct hart *h)
{
	struct after_gap *g = &h->after_gap;
	size_t i, n = g->n;

	go_back(h, &g->here);
	g->skipped += skip_block(h);
	if (find_place(h))
		return;
	go_back(h, &g->first);
	leave_gap(h);
	for (i = 0; i < n; i++) {
		h->where = g->item[i].where;
		compare(h, &g->item[i]);
	}
}

/* Accept a position at which all items since the gap match, because no more items of this session follow. */
static void settle(struct hart *h)
{
	if (h->after_gap.n && !h->after_gap.placed)
		place_first(h);
	if (h->after_gap.placed)
		leave_gap(h);
}

static void take_after_gap(struct hart *h, const struct item *it)
{
	struct after_gap *g = &h->after_gap;
	struct item *grown;

	if (g->n == g->size) {
		grown = realloc(g->item, (2 * g->size + AHEAD) * sizeof(*grown));
		if (!grown) {
			settle(h);
			compare(h, it);
			return;
		}
		g->item = grown;
		g->size = 2 * g->size + AHEAD;
	}
	g->item[g->n] = *it;
	g->item[g->n++].where = h->where;
	if (g->placed) {
		if (!step(h, it))
			place_next(h);
	} else if (g->n == AHEAD) {
		place_first(h);
	}
	if (g->placed && g->n >= SURE)
		leave_gap(h);
}

bool hart_ends_silently(struct hart *h)
{
	struct place p;

	settle(h);
	for (p = h->at; have(h, &p); p = (struct place){ .index = p.index + 1 }) {
		if (restarts(h, &p))
			return block_of(h, &p)->silent_before;
	}
	return h->silent;
}

/*
 * If the recording reports a loss before restart @it, the decoder's result may lack whole sessions, so search for
 * @it in the truth as after a gap.
 */
static void may_skip_sessions(struct hart *h, const struct item *it)
{
	if (it->kind != ITEM_START && it->kind != ITEM_GAP)
		return;
	if (h->may_skip && it->kind == ITEM_START) {
		/* The position after an earlier gap may not be certain */
		settle(h);
		h->after_gap.may_be_none = !h->gap;
		h->gap = true;
	}
	h->may_skip = false;
}

void hart_take(struct hart *h, const struct item *it)
{
	if (h->differs)
		return;
	may_skip_sessions(h, it);
	if (it->kind == ITEM_GAP) {
		settle(h);
		h->gap = true;
	} else if (it->kind == ITEM_LOST) {
		/*
		 * If the position after an earlier gap is not certain yet, choose it now, because only the items before
		 * this loss help to find it. The items after the loss need not follow them in the truth.
		 */
		settle(h);
		h->gaps += !h->told;
		h->told = true;
	} else if (h->gap) {
		take_after_gap(h, it);
	} else {
		compare(h, it);
	}
}

/*
 * Finish the comparison if the decoder has reported no items after a gap. The gap then contains the rest of the
 * truth. "Error Message will be the last message in trace stream" (chapter "Error Message").
 */
static void end_in_gap(struct hart *h)
{
	uint64_t skipped = 0;

	h->gap = false;
	while (have(h, &h->at))
		skipped += skip_block(h);
	h->gaps += skipped || !h->after_gap.may_be_none;
	h->lost_declared += skipped;
}

void hart_finish(struct hart *h)
{
	uint64_t left = 0, n;
	bool declared;

	settle(h);
	if (h->may_skip && !h->gap)
		h->gap = h->after_gap.may_be_none = true;
	if (h->gap)
		end_in_gap(h);
	while (have(h, &h->at)) {
		declared = skip_lost_session(h, &n);
		/* A reported loss without a restart after it explains the rest of the truth */
		declared |= h->told && !have(h, &h->at);
		if (declared && n)
			h->gaps += !h->told;
		h->told = false;
		if (declared)
			h->lost_declared += n;
		else
			left += n;
		if (have(h, &h->at))
			left += skip_block(h);
	}
	h->missing += left;
	if (truth_is_bad(h))
		differ(h, "truth file %s %s", h->path, nb_truth_error(h->reader));
}

struct hart *hart_open(const char *path, unsigned int *number)
{
	struct hart *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->path = path;
	h->unit = "line";
	h->reader = nb_truth_open(path, number);
	if (h->reader)
		return h;
	fprintf(stderr, "ntrace verify: '%s': %s\n", path,
		errno == EINVAL ? "not a truth file" : strerror(errno));
	free(h);
	return NULL;
}

void hart_close(struct hart *h)
{
	if (!h)
		return;
	nb_truth_reader_close(h->reader);
	free(h->ring.block);
	free(h->after_gap.item);
	free(h);
}
