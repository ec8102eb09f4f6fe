// SPDX-License-Identifier: GPL-2.0-only
/* Pass calls to functions together with the calls that contain them (nested-calls.h). */

#include "nested-calls.h"

static int leave(struct nested_calls *nested)
{
	const struct nested_call top = nested->open.at[--nested->open.nr];
	struct nested_call *caller;

	if (nested->open.nr) {
		caller = &nested->open.at[nested->open.nr - 1];
		caller->child_ns += top.call.ns;
		caller->child_ran += top.call.ran;
		caller->child_insns += top.call.insns;
	}
	return nested->leave ? nested->leave(nested->ctx, &top) : 0;
}

/*
 * Return true if @call is inside @outer, which means that the instructions of @call are a part of those of
 * @outer. If
 * @call has no instructions and is at the end of @outer, compare the times of both calls.
 */
static bool is_inside(const struct nested_call *outer, uint32_t thread, const struct nt_call *call)
{
	const struct nt_call *o = &outer->call;
	uint64_t o_end = o->at + o->insns, time = o->begin + o->ns;

	if (outer->thread != thread || call->at + call->insns > o_end)
		return false;
	if (call->at < o_end)
		return true;
	return call->begin + call->ns <= time && (call->begin < time || o->open);
}

static int begin(void *ctx, const struct nt_calls *calls)
{
	struct nested_calls *nested = ctx;

	nested->calls = calls;
	return nested->begin ? nested->begin(nested->ctx, calls) : 0;
}

static int take(void *ctx, const struct nt_call *call, const struct nt_function *function)
{
	struct nested_calls *nested = ctx;
	struct nested_call new = {
		.call = *call, .function = function,
		.thread = nt_calls_slice(nested->calls, call->slice)->thread,
	};

	while (nested->open.nr &&
	       !is_inside(&nested->open.at[nested->open.nr - 1], new.thread, call)) {
		if (leave(nested))
			return -1;
	}
	new.depth = nested->open.nr;
	if (nested->enter && nested->enter(nested->ctx, &new))
		return -1;
	return ns_array_add(&nested->open, new) ? 0 : -1;
}

static int end(void *ctx)
{
	struct nested_calls *nested = ctx;
	int err = 0;

	while (!err && nested->open.nr)
		err = leave(nested);
	return err || !nested->end ? err : nested->end(nested->ctx);
}

int nested_calls_each(struct nested_calls *nested)
{
	struct sorted_calls sorted = {
		.session = nested->session, .filter = nested->filter, .by_thread = true,
		.open = true, .begin = begin, .take = take, .end = end, .ctx = nested, .output = nested->output,
	};
	int err = sorted_calls_each(&sorted);

	free(nested->open.at);
	return err;
}
