/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The return stack (chapter 9.2), and the effect of a sequence of code on this stack.
 *
 * The stack is a ring. If it is full, a call overwrites the oldest entry or is ignored, which
 * depends on nt_config::return_full.
 */
#ifndef NTRACE_STACK_H
#define NTRACE_STACK_H

#include "flow.h"

/* Return the maximum number of entries of the stack of @src, or 0 if @src has no stack. */
static inline uint32_t nt_stack_max(const struct nt_flow *flow, const struct nt_source *src)
{
	return src->return_mode == NT_RETURNS_EXPLICIT ? 0 : flow->config.return_depth;
}

/* Return the block of the call on top of the stack, or 0 if the stack is empty or the call is not known. */
static __always_inline uint32_t nt_stack_top(const struct nt_source *src)
{
	return src->depth ? src->returns[src->top].call : 0;
}

/* Return the slot below @slot in a ring of @max slots. */
static __always_inline uint32_t nt_stack_below(uint32_t slot, uint32_t max)
{
	return slot ? slot - 1 : max - 1;
}

/* Drop the top of a stack that is not empty. */
static __always_inline void nt_stack_drop(struct nt_source *src, uint32_t max)
{
	src->top = nt_stack_below(src->top, max);
	src->depth--;
}

/* Add an entry, which becomes the top of the stack. Return the slot in which the caller must store it. */
static __always_inline uint32_t nt_stack_advance(struct nt_source *src, uint32_t max)
{
	src->top = src->top + 1 < max ? src->top + 1 : 0;
	if (src->depth < max)
		src->depth++;
	return src->top;
}

/* ---- effect of a sequence of code on the stack ---- */

#define NT_NET_POPS	6

/*
 * The effect of a sequence of code on the stack. All heights are relative to the height at the
 * start of the sequence, which is 0. The sequence has the same effect at another time only if the
 * stack then has the same entries from @low to 0, because the sequence pops these entries. The
 * sequence itself has pushed all entries that are above @low at its end.
 */
struct nt_net {
	int		now;			/* height of the stack after the sequence so far */
	int		low;			/* lowest value of @now in the sequence so far */
	int		peak;			/* highest value of @now after a push in the sequence */
	uint32_t	popped[NT_NET_POPS];	/* blocks of the popped calls, starting with the top */
};

/* Value of nt_net::peak before the first push */
#define NT_NET_NO_PEAK	(-1000)
/*
 * Value of nt_net::low if the sequence popped an empty stack. On a stack with entries, the sequence
 * would have another effect.
 */
#define NT_NET_EMPTY	(-1000)

static inline void nt_net_begin(struct nt_net *net)
{
	*net = (struct nt_net){ .peak = NT_NET_NO_PEAK };
}

static __always_inline void nt_net_pop(struct nt_net *net, uint32_t call)
{
	if (--net->now >= net->low)
		return;
	net->low = net->now;
	if (likely(net->now >= -NT_NET_POPS))
		net->popped[-1 - net->now] = call;
}

static __always_inline void nt_net_push(struct nt_net *net)
{
	if (++net->now > net->peak)
		net->peak = net->now;
}

/* Record that the stack was temporarily higher than now by @more entries. */
static __always_inline void nt_net_raise(struct nt_net *net, int more)
{
	if (net->now + more > net->peak)
		net->peak = net->now + more;
}

/*
 * Return how many entries fewer the stack has now than when it was highest in the sequence (@net->peak).
 * It had at most its maximum number of entries then, because a push on a full stack overwrites the oldest
 * entry. Therefore it now has at most this maximum minus the returned number.
 */
static inline unsigned int nt_net_lost(const struct nt_net *net)
{
	return net->peak > net->now ? net->peak - net->now : 0;
}

/* Return the number of entries that the sequence has pushed and not popped. */
static inline unsigned int nt_net_pushes(const struct nt_net *net)
{
	return net->now - net->low;
}

/* ---- undo ---- */

/* The value of a stack entry before a push has overwritten it */
struct nt_undo {
	uint32_t		slot;
	struct nt_return	value;
};

#define NT_MAX_UNDO	256

/* The undo log has the entries that pushes have overwritten since the log was emptied. */
struct nt_undo_log {
	uint32_t	nr;
	struct nt_undo	entries[NT_MAX_UNDO];
};

static __always_inline bool nt_undo_is_full(const struct nt_undo_log *log)
{
	return log->nr == NT_MAX_UNDO;
}

/* Log the entry at @slot before it is overwritten. */
static __always_inline void nt_undo_note(struct nt_undo_log *log, const struct nt_source *src,
				uint32_t slot)
{
	log->entries[log->nr].slot = slot;
	log->entries[log->nr++].value = src->returns[slot];
}

/*
 * Restore the stack from the log. Before the logged pushes, the stack had @depth entries, and its top was
 * at @top.
 */
static inline void nt_undo_all(struct nt_undo_log *log, struct nt_source *src, uint32_t top,
			       uint32_t depth)
{
	while (log->nr) {
		log->nr--;
		src->returns[log->entries[log->nr].slot] = log->entries[log->nr].value;
	}
	src->top = top;
	src->depth = depth;
}

#endif /* NTRACE_STACK_H */
