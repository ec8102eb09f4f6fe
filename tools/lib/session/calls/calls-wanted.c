// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Select the calls of watched functions, or all calls, and pass them to the nt_call_fn of nt_calls_each() or store
 * them.
 */
#include "calls-priv.h"
#include "session/session-priv.h"

int64_t ns_calls_number(struct nt_calls *calls, const struct nt_place *place)
{
	int64_t number = ns_functions_number(&calls->functions, place);

	if (number >= 0)
		calls->functions.all.at[number].watched = calls->watch ?
			nt_session_is(calls->session, place->object, place->address, calls->watch) : calls->each != NULL;
	return number;
}

int ns_calls_give(struct nt_calls *calls, const struct nt_call *call)
{
	if (calls->each)
		return calls->each(calls->each_ctx, call);
	return ns_watched_add(&calls->watched, call) ? 0 : -1;
}

bool ns_filter_passes(const struct nt_filter *filter, const struct ns_frame *frame, const struct ns_event *event,
		      int32_t cpu, int32_t tid, const char *object)
{
	return nt_filter_passes(filter, event->time, cpu, tid) && (!filter->time.to || frame->begin >= filter->time.from) &&
		(!filter->object || nt_filter_has_object(filter, object));
}

struct nt_call ns_call_init(const struct ns_frame *frame, const struct ns_event *event, int32_t tid,
			    uint32_t slice, uint64_t at)
{
	return (struct nt_call){
		.begin = frame->begin, .ns = event->time - frame->begin, .at = frame->insns - at,
		.insns = event->insns - frame->insns, .ran = event->ran - frame->ran, .tid = tid, .function = frame->function,
		.slice = slice, .kind = frame->kind, .trap = frame->trap,
	};
}

void nt_calls_filter(struct nt_calls *calls, const struct nt_filter *filter)
{
	calls->filter = *filter;
	calls->filtered = nt_filter_is_set(filter) || filter->object;
}

void nt_calls_watch(struct nt_calls *calls, const char *symbol)
{
	calls->watch = symbol;
}

void nt_calls_each(struct nt_calls *calls, nt_call_fn fn, void *ctx)
{
	calls->each = fn;
	calls->each_ctx = ctx;
}

void nt_calls_open(struct nt_calls *calls)
{
	calls->open = true;
}

void ns_calls_each_slice(struct nt_calls *calls, ns_slice_fn fn, ns_drop_fn drop, void *ctx)
{
	calls->each_slice = fn;
	calls->each_drop = drop;
	calls->slice_ctx = ctx;
}

bool nt_calls_watched(const struct nt_calls *calls, uint64_t nth, struct nt_watched *found)
{
	return ns_watched_get(&calls->watched, nth, found);
}
