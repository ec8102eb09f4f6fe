// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Find the open calls at each branch of a recording (chains.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calls-priv.h"
#include "chains-priv.h"
#include "session/hash.h"
#include "session/session-priv.h"

#define BLOCK	64	/* frames of a block; all blocks of a stack but the last one are full */

/* Position of a block of BLOCK frames. If two blocks have the same @hash, they are assumed to have the same frames. */
struct block {
	uint64_t	hash[2];
	uint64_t	first;		/* index in nt_chains::file of the block's first frame */
};

/*
 * The calls that are open at the start of a slice, or after a switch to another stack. nt_chains::file contains the
 * frames of these calls, in blocks. nt_chains::places has the position in the file of each block, and @places is the
 * index in nt_chains::places of the position of the first block.
 */
struct start {
	uint64_t	stretch, nth;
	/* number of events that could switch stacks, from the slice's start to this switch; 0: start of the slice */
	uint32_t	switches;
	uint64_t	places;
	uint64_t	insns, ran;	/* earlier instructions of the thread, and time that the thread had run, ns */
	uint64_t	away;		/* time of the thread on other stacks, ns */
	uint32_t	nr, outermost;
	uint32_t	thread;		/* number of the stack, as nt_chain::thread */
	uint32_t	ends;		/* number of calls that the switch ends; these are the newest calls */
};

struct nt_chains {
	struct nt_session *session;
	struct nt_calls	*calls;		/* owner of the function numbers in ns_frame::function */
	NS_ARRAY(struct start) starts;	/* sorted by stretch, then nth */
	const char	*watched;	/* symbol, or NULL */
	FILE		*file;
	uint64_t	nr_frames;
	NS_ARRAY(struct block) blocks;	/* full blocks in @file; several elements of @starts can use the same block */
	struct ns_hash	hash;		/* hash table of @blocks */
	/* for each element of @starts and each of its blocks, the index in @file of the first frame of the block */
	NS_ARRAY(uint64_t) places;
	ns_chains_drop_fn drop;
	void		*drop_ctx;
};

/* ---- Store the open calls at the start of each slice ---- */

static int write_failed(struct nt_chains *chains)
{
	return ns_fail(chains->session, "writing a temporary file in /tmp failed: %s", strerror(errno));
}

static void hash_block(struct block *block, const struct ns_frame *frames)
{
	const char *at = (const char *)frames, *end = at + BLOCK * sizeof(*frames);
	uint64_t word;

	for (; at < end; at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		block->hash[0] = (block->hash[0] ^ word) * 0x9e3779b97f4a7c15ULL;
		block->hash[0] ^= block->hash[0] >> 32;
		block->hash[1] = (block->hash[1] ^ word) * 0xbf58476d1ce4e5b9ULL;
		block->hash[1] ^= block->hash[1] >> 29;
	}
}

/*
 * Find a full block in the file. If the file does not have the block, the caller must write it next. Return the index of
 * its first frame, or -1 if out of memory.
 */
static int64_t find_block(struct nt_chains *chains, const struct ns_frame *frames)
{
	struct block block = { .first = chains->nr_frames };
	struct ns_hash_slot *slot;

	hash_block(&block, frames);
	slot = ns_hash_find(&chains->hash, ns_hash_mix(block.hash[0]),
			    !memcmp(chains->blocks.at[i].hash, block.hash, sizeof(block.hash)));
	if (slot && slot->index)
		return chains->blocks.at[slot->index - 1].first;
	if (!slot || !ns_array_add(&chains->blocks, block))
		return -1;
	ns_hash_set(&chains->hash, slot, chains->blocks.nr - 1);
	return block.first;
}

/* Store a block. Equal full blocks are written once, because a deep recursion is open in many slices. */
static int keep_block(struct nt_chains *chains, const struct ns_frame *frames, size_t nr)
{
	int64_t first = nr == BLOCK ? find_block(chains, frames) : (int64_t)chains->nr_frames;

	if (first < 0 || !ns_array_add(&chains->places, first))
		return -1;
	if (first < (int64_t)chains->nr_frames)
		return 0;
	chains->nr_frames += nr;
	return fwrite(frames, sizeof(*frames), nr, chains->file) == nr ? 0 : write_failed(chains);
}

static int keep_start(void *ctx, const struct ns_thread_calls *thread, size_t nth, uint64_t insns, uint64_t ran)
{
	const struct ns_stack *stack = &thread->stack;
	const size_t nr = stack->cur.open.nr;
	struct nt_chains *chains = ctx;
	const struct start start = {
		.stretch = thread->slice->stretch, .nth = thread->slice->fresh, .switches = stack->switches,
		.places = chains->places.nr, .insns = insns, .ran = ran, .away = stack->cur.away.time, .nr = nr,
		.outermost = ns_own(thread)->outermost, .thread = ns_own(thread)->nth, .ends = nr - nth,
	};
	int ret = ns_array_add(&chains->starts, start) ? 0 : -1;
	size_t i;

	for (i = 0; !ret && i < nr; i += BLOCK)
		ret = keep_block(chains, stack->cur.open.at + i, nr - i < BLOCK ? nr - i : BLOCK);
	return ret;
}

static int start_cmp(const void *a, const void *b)
{
	const struct start *x = a, *y = b;

	return ns_order(x->stretch, y->stretch) ?: ns_order(x->nth, y->nth) ?:
	       ns_order(x->switches, y->switches);
}

static int end_starts(struct nt_chains *chains)
{
	ns_array_sort(&chains->starts, start_cmp);
	return fflush(chains->file) ? write_failed(chains) : 0;
}

static bool give_dropped(void *ctx, const struct ns_thread_calls *thread, const struct ns_event *event)
{
	struct nt_chains *chains = ctx;

	return chains->drop(chains->drop_ctx, chains, thread, event);
}

struct nt_chains *ns_chains_new(struct nt_session *session, const struct nt_filter *filter, const char *symbol,
				ns_chains_drop_fn drop, void *drop_ctx)
{
	struct nt_chains *chains = calloc(1, sizeof(*chains));

	if (!chains)
		return NULL;
	chains->session = session;
	chains->calls = nt_calls_new(session);
	chains->file = tmpfile();
	if (chains->calls && chains->file) {
		if (filter)
			nt_calls_filter(chains->calls, filter);
		nt_calls_watch(chains->calls, symbol);
		chains->drop = drop;
		chains->drop_ctx = drop_ctx;
		ns_calls_each_slice(chains->calls, keep_start, drop ? give_dropped : NULL, chains);
		if (!nt_calls_run(chains->calls) && !end_starts(chains))
			return chains;
	}
	nt_chains_free(chains);
	return NULL;
}

struct nt_chains *nt_chains_new(struct nt_session *session)
{
	return ns_chains_new(session, NULL, NULL, NULL, NULL);
}

struct nt_chains *nt_chains_of(struct nt_session *session, const struct nt_filter *filter, const char *symbol)
{
	return ns_chains_new(session, filter, symbol, NULL, NULL);
}

const struct nt_calls *nt_chains_calls(const struct nt_chains *chains)
{
	return chains->calls;
}

void nt_chains_watch(struct nt_chains *chains, const char *symbol)
{
	chains->watched = symbol;
}

void nt_chains_free(struct nt_chains *chains)
{
	if (!chains)
		return;
	if (chains->file)
		fclose(chains->file);
	nt_calls_free(chains->calls);
	free(chains->starts.at);
	free(chains->blocks.at);
	free(chains->hash.slots);
	free(chains->places.at);
	free(chains);
}

/* ---- A stretch ---- */

/* ---- Watched functions. ns_frame::function is not 0 if a call of a watched function is open. ---- */

static bool is_inside(const struct ns_stack *stack, size_t nr)
{
	while (nr && stack->cur.open.at[nr - 1].unseen)
		nr--;
	return nr && stack->cur.open.at[nr - 1].function;
}

static bool is_watched(const struct nt_chains *chains, const char *object, uint64_t address)
{
	return nt_session_is(chains->session, object, address, chains->watched);
}

static bool watch_enter(struct ns_stack *stack, struct ns_frame *frame, const struct ns_event *e)
{
	const struct nt_chain *chain = stack->ctx;
	struct nt_place place;

	frame->function = is_inside(stack, stack->cur.open.nr - 1);
	if (frame->function || frame->outer)
		return true;
	nt_session_where(stack->session, e->to_space, e->to, &place);
	frame->function = is_watched(chain->chains, place.object, place.address);
	return true;
}

static bool watch_begun(struct ns_stack *stack)
{
	const struct nt_chain *chain = stack->ctx;
	const struct nt_function *function;
	struct ns_frame *frame;
	size_t i;

	for (i = 0; i < stack->cur.open.nr; i++) {
		frame = &stack->cur.open.at[i];
		function = frame->unseen ? NULL : nt_calls_function(chain->chains->calls,
								    frame->function);
		frame->function = is_inside(stack, i) ||
				  (function && !frame->outer &&
				   is_watched(chain->chains, function->object, function->address));
	}
	return true;
}

static const struct ns_stack_ops watch_ops = { .enter = watch_enter, .replay = ns_chain_replay };
static const struct ns_stack_ops chain_ops = { .replay = ns_chain_replay };

struct nt_chain *nt_chain_new(const struct nt_chains *chains, uint64_t stretch)
{
	struct nt_chain *chain = calloc(1, sizeof(*chain));

	if (!chain)
		return NULL;
	chain->chains = chains;
	chain->stretch = stretch;
	chain->stack.session = chain->running.session = chains->session;
	ns_running_stop(&chain->running);
	chain->stack.ops = &chain_ops;
	chain->stack.follows = true;
	chain->stack.ctx = chain;
	chain->stack.targets = calloc(NS_TARGETS, sizeof(*chain->stack.targets));
	if (!chain->stack.targets) {
		free(chain);
		return NULL;
	}
	if (!chains->watched)
		return chain;
	chain->stack.ops = &watch_ops;
	chain->begun = watch_begun;
	return chain;
}

void nt_chain_free(struct nt_chain *chain)
{
	if (!chain)
		return;
	free(chain->stack.targets);
	ns_stack_free(&chain->stack);
	free(chain);
}

static const struct start *find_start(const struct nt_chains *chains, uint64_t stretch, uint64_t nth,
				      uint32_t switches)
{
	const struct start key = { .stretch = stretch, .nth = nth, .switches = switches };

	return chains->starts.nr ? bsearch(&key, chains->starts.at, chains->starts.nr,
					   sizeof(key), start_cmp) : NULL;
}

/*
 * Add the frames of a slice. The file is read and not mapped, because mapped frames would count as
 * memory of the process.
 */
static int add_frames(struct nt_chain *chain, const struct start *start)
{
	const uint64_t *places = chain->chains->places.at + start->places;
	const size_t each = sizeof(struct ns_frame);
	struct ns_frame frames[BLOCK];
	uint32_t done, n, i;

	for (done = 0; done < start->nr; done += n) {
		n = start->nr - done < BLOCK ? start->nr - done : BLOCK;
		if (pread(fileno(chain->chains->file), frames, n * each, places[done / BLOCK] * each) !=
		    (ssize_t)(n * each))
			return -1;
		for (i = 0; i < n; i++) {
			if (!ns_stack_add(&chain->stack, &frames[i]))
				return -1;
		}
	}
	return 0;
}

static int take_start(struct nt_chain *chain, const struct start *start)
{
	chain->insns = start ? start->insns : 0;
	chain->ran = start ? start->ran : 0;
	chain->outermost = start ? start->outermost : 0;
	chain->thread = start ? start->thread : UINT32_MAX;
	chain->stack.cur.away.time = start ? start->away : 0;
	ns_stack_forget(&chain->stack);
	/* give the stack another number, so that ns_stack_take() notices that the stack was replaced */
	chain->stack.cur.number = chain->stack.switches;
	if (start && add_frames(chain, start))
		return -1;
	ns_stack_restore(&chain->stack);
	return !chain->begun || chain->begun(&chain->stack) ? 0 : -1;
}

static int begin_slice(struct nt_chain *chain, const struct nt_who *who)
{
	uint64_t last = chain->inside ? chain->running.last_insns : 0;

	chain->inside = true;
	chain->tid = who->tid;
	chain->cpu = who->cpu;
	chain->stack.switches = 0;
	ns_running_begin(&chain->running);
	if (take_start(chain, find_start(chain->chains, chain->stretch, chain->nth++, 0)))
		return -1;
	chain->insns -= last;
	return 0;
}

int ns_chain_replay(struct ns_stack *stack, const struct ns_event *e)
{
	struct nt_chain *chain = (struct nt_chain *)((char *)stack - offsetof(struct nt_chain, stack));
	const struct start *start = find_start(chain->chains, chain->stretch, chain->nth - 1, stack->switches);
	struct ns_event event = *e;

	if (!start)
		return 0;
	/* the time of the slice up to this switch belongs to the previous stack */
	ns_running_begin(&chain->running);
	if (take_start(chain, start))
		return -1;
	event.insns = start->insns;
	event.ran = start->ran;
	return ns_stack_cut(stack, stack->cur.open.nr - start->ends, &event);
}

static int take_branch(struct nt_chain *chain, const struct nt_who *who,
		       const struct nt_branch *branch)
{
	struct ns_event event;
	uint64_t ran = ns_running_take(&chain->running, who, branch);

	chain->insns += branch->insns;
	if (!ns_branch_matters(branch))
		return 0;
	ns_event_init(&event, who, branch, chain->insns, chain->ran + ran);
	event.time = chain->running.last;
	return ns_stack_take(&chain->stack, &event) < 0 ? -1 : 0;
}

static noinline const struct nt_who *find_slice(struct nt_chain *chain, const struct nt_who *who,
						const struct nt_branch *branch)
{
	who = ns_running_who(&chain->running, who, branch);
	if (chain->inside && chain->tid == who->tid && chain->cpu == who->cpu)
		return who;
	return begin_slice(chain, who) ? NULL : who;
}

/*
 * Return the thread that executed the branch, and start another slice if the thread or the CPU has changed. Return NULL
 * if out of memory.
 */
static const struct nt_who *follow_slice(struct nt_chain *chain, const struct nt_who *who,
					 const struct nt_branch *branch)
{
	return ns_running_is(&chain->running, who) && chain->cpu == who->cpu ? who : find_slice(chain, who, branch);
}

int nt_chain_branch(struct nt_chain *chain, const struct nt_who *who,
		    const struct nt_branch *branch)
{
	who = follow_slice(chain, who, branch);
	return who ? take_branch(chain, who, branch) : -1;
}

int nt_chain_inside(struct nt_chain *chain, const struct nt_who *who,
		    const struct nt_branch *branch, bool *before, bool *after)
{
	int err;

	who = follow_slice(chain, who, branch);
	*before = who && is_inside(&chain->stack, chain->stack.cur.open.nr);
	err = who ? take_branch(chain, who, branch) : -1;
	*after = !err && is_inside(&chain->stack, chain->stack.cur.open.nr);
	return err;
}

int nt_chain_audit(struct nt_chain *chain, const struct nt_who *who, const struct nt_branch *branch,
		   struct nt_audit *audit)
{
	struct ns_event event;

	who = follow_slice(chain, who, branch);
	if (!who)
		return -1;
	*audit = (struct nt_audit){ .tid = who->tid, .cpu = who->cpu };
	if (ns_branch_matters(branch)) {
		ns_event_init(&event, who, branch, 0, 0);
		ns_audit(&chain->stack, &event, audit);
	}
	return take_branch(chain, who, branch);
}

void nt_chain_error(struct nt_chain *chain, const struct nt_item *item)
{
	if (item->type == NT_ITEM_GAP)
		return;
	chain->inside = false;
	ns_running_stop(&chain->running);
}

size_t nt_chain_get(const struct nt_chain *chain, uint64_t *returns, size_t max)
{
	size_t i, n = 0;

	for (i = chain->inside ? chain->stack.cur.open.nr : 0; i-- > 0 && n < max;) {
		if (!chain->stack.cur.open.at[i].outer)
			returns[n++] = chain->stack.cur.open.at[i].ret;
	}
	return n;
}
