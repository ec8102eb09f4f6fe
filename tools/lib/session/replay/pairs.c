// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Select the events of a segment that are needed to find the callers of code after the segment. If a
 * call returns in the same segment, this call and the calls that it made have no further effect on the model of calls
 * (callstack.h). Their events are left out, so that few events are needed to find the callers at a
 * late position.
 */
#include <stdlib.h>
#include <string.h>

#include "part.h"

#define EVENTS_MAX	(1 << 20)	/* maximum number of events in the index of all segments */

/* A call whose return is expected */
struct open_call {
	uint64_t	ret;
	uint64_t	resume;		/* address to which longjmp() may jump; 0: none */
	size_t		event;		/* index of the call in struct ns_pairs::events */
	bool		saves;		/* code that made a tail call to the function had saved the stack pointer */
};

struct ns_pairs {
	struct nt_replay *replay;
	/* ns_code_before() uses the session and the cache of this stack, which has no calls */
	struct ns_stack	stack;
	NS_ARRAY(struct ns_call_event) events;
	NS_ARRAY(struct open_call) open;
	struct ns_call_event last;	/* time and thread of the last event, if it is not in @events */
	bool		left_out;
	bool		too_many;	/* the segment has too many events for the index, so that some were dropped */
	bool		one_stack;	/* see struct ns_chunk */
	uint32_t	seen;		/* number of events of this segment */
};

struct ns_pairs *ns_pairs_new(struct nt_replay *replay)
{
	struct ns_pairs *pairs = calloc(1, sizeof(*pairs));

	if (!pairs)
		return NULL;
	pairs->replay = replay;
	pairs->stack.session = replay->session;
	pairs->stack.targets = calloc(NS_TARGETS, sizeof(*pairs->stack.targets));
	if (pairs->stack.targets)
		return pairs;
	free(pairs);
	return NULL;
}

void ns_pairs_free(struct ns_pairs *pairs)
{
	if (!pairs)
		return;
	free(pairs->stack.targets);
	free(pairs->events.at);
	free(pairs->open.at);
	free(pairs);
}

/* ---- Events ---- */

static bool keep(struct ns_pairs *pairs, const struct ns_call_event *event)
{
	if (pairs->events.nr == EVENTS_MAX) {
		pairs->too_many = true;
		pairs->events.nr = pairs->open.nr = 0;
	}
	pairs->left_out = false;
	return ns_array_add(&pairs->events, *event);
}

/*
 * Leave out an event, but note its time and thread. The time shows that the thread was traced up to the event, so that
 * a gap before it does not end the calls of the thread.
 */
static void leave_out(struct ns_pairs *pairs, const struct ns_call_event *e)
{
	pairs->left_out = true;
	pairs->last = *e;
}

static bool keep_last(struct ns_pairs *pairs)
{
	pairs->last.kind = NT_BRANCH_CONDITIONAL;
	return !pairs->left_out || keep(pairs, &pairs->last);
}

bool ns_pairs_add(struct ns_pairs *pairs, const struct ns_call_event *event)
{
	struct ns_call_event e = *event;

	e.run = pairs->seen++;
	pairs->open.nr = 0;
	return (!e.slice || keep_last(pairs)) && keep(pairs, &e);
}

bool ns_pairs_end(struct ns_pairs *pairs, struct ns_chunk *s)
{
	struct nt_replay *replay = pairs->replay;
	bool ok = keep_last(pairs);
	size_t size;

	size = pairs->events.nr * sizeof(*pairs->events.at);
	s->has_events = !pairs->too_many &&
			__atomic_add_fetch(&replay->events, pairs->events.nr, __ATOMIC_RELAXED) <= EVENTS_MAX;
	if (s->has_events && size) {
		s->events = malloc(size);
		ok = ok && s->events;
		if (s->events)
			memcpy(s->events, pairs->events.at, size);
		s->nr_events = pairs->events.nr;
	}
	pairs->events.nr = pairs->open.nr = 0;
	s->one_stack = pairs->one_stack;
	pairs->left_out = pairs->too_many = pairs->one_stack = false;
	pairs->seen = 0;
	return ok;
}

/* ---- Branches ---- */

static const struct ns_target *code_before(const struct ns_pairs *pairs, const struct ns_call_event *e)
{
	return ns_code_before(&pairs->stack, &(struct ns_event){ .from = e->from, .from_space = e->from_space });
}

static bool take_call(struct ns_pairs *pairs, const struct ns_call_event *e)
{
	const struct open_call call = { .ret = e->from + e->length, .event = pairs->events.nr };

	/* a call to the next instruction only reads the program counter */
	if (call.ret == e->to) {
		leave_out(pairs, e);
		return true;
	}
	return keep(pairs, e) && ns_array_add(&pairs->open, call);
}

/* End the call with index @nth and all newer calls, and leave out their events. */
static void cut(struct ns_pairs *pairs, size_t nth, const struct ns_call_event *e)
{
	if (nth < pairs->open.nr)
		pairs->events.nr = pairs->open.at[nth].event;
	pairs->open.nr = nth;
	leave_out(pairs, e);
}

/*
 * Return the index of the call that ends with a return or longjmp() to @to, and set *saves to its open_call::saves.
 * Return -1 if there is none.
 */
static int64_t find_call(const struct ns_pairs *pairs, uint64_t to, bool *saves)
{
	int64_t i;

	for (i = (int64_t)pairs->open.nr - 1; i >= 0; i--) {
		*saves = pairs->open.at[i].saves;
		if (pairs->open.at[i].ret == to)
			return i;
	}
	*saves = false;
	for (i = (int64_t)pairs->open.nr - 1; i >= 0; i--) {
		if (pairs->open.at[i].resume == to)
			return i + 1;
	}
	return -1;
}

/* Apply a return by the rules of callstack.c:return_to(). Return the same values as ns_pairs_take(). */
static int take_return(struct ns_pairs *pairs, const struct ns_call_event *e)
{
	const struct ns_target *code = code_before(pairs, e);
	bool saves;
	int64_t nth = find_call(pairs, e->to, &saves);

	if (nth < 0)
		return 0;
	/*
	 * if the thread has several stacks, this return may continue on another stack, which makes the events of this
	 * segment wrong
	 */
	pairs->one_stack |= code->loads;
	if (!saves && !code->saves) {
		cut(pairs, nth, e);
		return 1;
	}
	if ((size_t)nth + 1 != pairs->open.nr)
		return 0;
	/*
	 * the returning function, such as setjmp(), has saved the stack pointer, and longjmp() may later return to @to
	 */
	pairs->open.nr--;
	if (nth)
		pairs->open.at[nth - 1].resume = e->to;
	return keep(pairs, e) ? 1 : -1;
}

/*
 * Return true if a jump may end a call, because its target has a symbol or follows a call. An entry of a PLT often has
 * no symbol, and does not follow a call.
 */
static bool may_end_call(const struct ns_pairs *pairs, const struct ns_call_event *e)
{
	uint8_t code[4];
	struct nt_place place;
	struct nt_insn insn;
	size_t size;

	nt_session_where(pairs->replay->session, e->to_space, e->to, &place);
	if (place.symbol || nt_session_read(pairs->replay->session, e->to_space, e->to - 4, code, 4) != 4)
		return true;
	for (size = 2; size <= 4; size += 2) {
		if (nt_insn_decode(NULL, code + 4 - size, size, &insn) == (int)size &&
		    (insn.klass == NT_CLASS_CALL || insn.klass == NT_CLASS_INDIRECT_CALL || insn.klass == NT_CLASS_SWAP))
			return true;
	}
	return false;
}

static int take_jump(struct ns_pairs *pairs, const struct ns_call_event *e)
{
	const struct ns_event event = {
		.from = e->from, .to = e->to, .from_space = e->from_space, .to_space = e->to_space, .length = e->length,
	};
	enum ns_jump jump = ns_jump_to(&pairs->stack, &event);
	const struct ns_target *code;

	if (jump <= NS_JUMP_SWITCH) {
		/* as in take_return(), the jump continues on another stack only if the thread has several */
		pairs->one_stack |= jump == NS_JUMP_SWITCH;
		leave_out(pairs, e);
		return 1;
	}
	code = ns_code_before(&pairs->stack, &event);
	if (jump == NS_JUMP_MIDDLE && !code->loads && !may_end_call(pairs, e)) {
		leave_out(pairs, e);
		return 1;
	}
	if (jump == NS_JUMP_MIDDLE || code->loads)
		return take_return(pairs, e);
	if (code->saves && pairs->open.nr)
		pairs->open.at[pairs->open.nr - 1].saves = true;
	return keep(pairs, e) ? 1 : -1;
}

int ns_pairs_take(struct ns_pairs *pairs, const struct nt_who *who, const struct nt_range *range, uint64_t to, uint64_t time)
{
	struct ns_call_event e = {
		.from = range->start + 2 * (range->halfwords - range->last_len), .to = to, .time = time, .image = who->image,
		.tid = who->tid, .run = pairs->seen, .length = 2 * range->last_len,
	};
	int ret = 0;

	e.from_space = nt_who_space(who, e.from);
	e.to_space = nt_who_space(who, to);
	switch (range->how) {
	case NT_END_CALL:
	case NT_END_INDIRECT_CALL:
		e.kind = NT_BRANCH_CALL;
		ret = take_call(pairs, &e) ? 1 : -1;
		break;
	case NT_END_RETURN:
		e.kind = NT_BRANCH_RETURN;
		ret = take_return(pairs, &e);
		break;
	case NT_END_JUMP:
	case NT_END_INDIRECT_JUMP:
		e.kind = NT_BRANCH_JUMP;
		ret = take_jump(pairs, &e);
		break;
	}
	pairs->seen += ret > 0;
	return ret;
}
