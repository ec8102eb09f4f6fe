// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Select the calls that the caller wants, and pass them to it. */
#include "calls-priv.h"
#include "session/session-priv.h"

bool ns_calls_is_watched(const struct nt_calls *calls, const struct nt_place *place)
{
	if (!calls->watch)
		return calls->each;
	return nt_session_is(calls->session, place->object, place->address, calls->watch);
}

int ns_calls_give(struct nt_calls *calls, const struct nt_call *call)
{
	if (calls->each)
		return calls->each(calls->each_ctx, call);
	return ns_watched_add(&calls->watched, call) ? 0 : -1;
}

bool ns_calls_passes(const struct nt_calls *calls, const struct nt_call *call, int32_t cpu)
{
	const struct nt_filter *filter = &calls->filter;

	return nt_filter_passes(filter, call->begin + call->ns, cpu, call->tid) &&
		(!filter->time.to || call->begin >= filter->time.from);
}

struct nt_call ns_call_init(const struct ns_frame *frame, const struct ns_event *event, int32_t tid,
			    uint32_t slice, uint64_t at)
{
	return (struct nt_call){
		.begin = frame->begin, .ns = event->time - frame->begin, .at = frame->insns - at,
		.insns = event->insns - frame->insns, .tid = tid, .function = frame->function,
		.slice = slice, .kind = frame->kind,
	};
}
