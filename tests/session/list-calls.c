// SPDX-License-Identifier: GPL-2.0-only
/*
 * List the calls of a recording for judge-calls. Each line has one call, with its thread, start, end, self
 * instructions, 1 + start of its caller, and "ended", "open" or "outer" (its start was not traced). Positions count
 * instructions of the thread. "missing FROM TO" is a page whose code the recording lacks.
 *
 *	list-calls RECORDING SYMFS CACHE
 *
 * The calls of a thread on one stack are nested intervals. A call that starts at the end of another call of the same
 * caller is a tail call, and is listed as a part of the earlier call. This does not apply to traps and signal handlers,
 * because the kernel starts several handlers one after the other.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "session/array.h"
#include "session/calls/calls.h"
#include "session/flow/branch.h"
#include "session/session.h"

struct listed {
	struct nt_call	call;
	uint32_t	thread;
	uint64_t	begin, end, children, ended;	/* @ended is the number of calls listed before this call */
	int64_t		parent, head;	/* indices of the caller, and of the call that this tail call continues */
};

static NS_ARRAY(struct listed) all;

static int take_call(void *ctx, const struct nt_call *call)
{
	return ns_array_add(&all, ((struct listed){ .call = *call, .ended = all.nr })) ? 0 : -1;
}

/* ---- Pages whose code the recording lacks ---- */

static void *begin(void *ctx, uint64_t stretch)
{
	(void)stretch;
	return ctx;
}

static int branch(void *part, const struct nt_who *who, const struct nt_branch *branch)
{
	(void)part, (void)who, (void)branch;
	return 0;
}

static int error(void *part, const struct nt_who *who, const struct nt_item *item)
{
	(void)part, (void)who;
	if (item->type == NT_ITEM_GAP && item->gap.code == NT_E_NO_CODE)
		printf("missing 0x%" PRIx64 " 0x%" PRIx64 "\n", item->gap.addr & -4096, (item->gap.addr | 4095) + 1);
	return 0;
}

static int end(void *ctx, void *part, const struct nt_who *who, bool lost)
{
	(void)ctx, (void)part, (void)who, (void)lost;
	return 0;
}

/* ---- Callers and tail calls ---- */

static int listed_cmp(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? 1 : -1;
	return x->ended < y->ended ? 1 : -1;
}

/* Find the caller of each call, and find the call that each tail call continues. */
static void nest(void)
{
	struct listed *c, *last;
	int64_t i, up, ended;

	for (i = 0; i < (int64_t)all.nr; i++) {
		c = &all.at[i];
		c->head = i;
		c->parent = -1;
		ended = -1;
		for (up = i - 1; up >= 0 && all.at[up].thread == c->thread; up = all.at[up].parent) {
			if (all.at[up].end >= c->end && (all.at[up].end > c->begin)) {
				c->parent = up;
				all.at[up].children += c->end - c->begin;
				break;
			}
			ended = up;
		}
		last = ended >= 0 ? &all.at[ended] : NULL;
		if (last && last->end == c->begin && last->call.begin + last->call.ns == c->call.begin && !last->call.open &&
		    c->call.kind == last->call.kind && c->call.kind != NT_BRANCH_NONE && c->call.kind < NT_BRANCH_SYSCALL)
			c->head = last->head;
	}
}

/* Return the position in the whole thread, counted from the first instruction of the thread. */
static uint64_t place(const struct nt_calls *calls, uint32_t thread, uint64_t at)
{
	const struct nt_slice *s, *best = NULL;
	size_t i;

	for (i = 0; (s = nt_calls_slice(calls, i)); i++) {
		if (s->thread == thread && s->at <= at && (!best || s->at > best->at ||
							   (s->at == best->at && s->before >= best->before)))
			best = s;
	}
	return best ? best->before + at - best->at : at;
}

static void print(const struct nt_calls *calls)
{
	struct listed *c, *end = all.at + all.nr;
	uint64_t parent;

	for (c = end; c-- > all.at;) {
		if (c->head == c - all.at)
			continue;
		/* a tail call is a part of the call that it continues, so add its end and its callees to that call */
		all.at[c->head].end = c->end > all.at[c->head].end ? c->end : all.at[c->head].end;
		all.at[c->head].children += c->children;
		all.at[c->head].call.open |= c->call.open;
	}
	for (c = all.at; c < end; c++) {
		if (c->head != c - all.at || c->begin == c->end)
			continue;
		parent = c->parent < 0 || all.at[c->parent].call.kind == NT_BRANCH_NONE ? 0 :
			 place(calls, c->thread, all.at[all.at[c->parent].head].begin) + 1;
		printf("%d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n", c->call.tid,
		       place(calls, c->thread, c->begin), place(calls, c->thread, c->end),
		       c->end - c->begin - c->children, parent,
		       c->call.kind == NT_BRANCH_NONE ? "outer" : c->call.open ? "open" : "ended");
	}
}

int main(int argc, char **argv)
{
	const struct nt_branch_sink sink = {
		.size = sizeof(sink), .begin = begin, .branch = branch, .error = error, .end = end,
	};
	struct nt_session_options options = { .size = sizeof(options) };
	struct nt_session *session;
	struct nt_calls *calls;
	struct listed *c;
	int err;

	if (argc < 4)
		return 2;
	options.symfs = argv[2];
	options.cache = argv[3];
	if (nt_session_open(&session, argv[1], &options)) {
		fprintf(stderr, "%s\n", nt_session_error(session));
		return 2;
	}
	calls = nt_calls_new(session);
	if (!calls)
		return 2;
	nt_calls_each(calls, take_call, NULL);
	nt_calls_open(calls);
	err = nt_session_branches(session, &sink, session) | nt_calls_run(calls);
	for (c = all.at; c < all.at + all.nr; c++) {
		c->thread = nt_calls_slice(calls, c->call.slice)->thread;
		c->begin = nt_calls_slice(calls, c->call.slice)->at + c->call.at;
		c->end = c->begin + c->call.insns;
	}
	if (all.nr)
		qsort(all.at, all.nr, sizeof(*all.at), listed_cmp);
	nest();
	print(calls);
	return !!err;
}
