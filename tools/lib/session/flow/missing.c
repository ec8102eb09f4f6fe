// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Add up how much trace of each CPU was decoded, and how much is missing (missing.h). */

#include "missing.h"
#include "session/session-priv.h"

/*
 * State of a loop that adds up the missing trace of one CPU. The loop takes the CPU's parts in the order
 * of time (sources.h explains parts).
 */
struct walk {
	struct nt_missing *missing;
	/*
	 * time of the last item that was added so far, ns; at the start, time of the first item of
	 * all CPUs
	 */
	uint64_t	last;
	bool		is_lost;	/* trace is missing from the time @from on; @why is the reason */
	enum nt_lost	why;
	uint64_t	from;
};

void ns_traced_lose(struct ns_traced *t, enum nt_lost why)
{
	t->lost[why].times++;
	t->why = why;
	t->lost_after = true;
}

void ns_traced_count(struct ns_traced *t, const struct nt_batch *batch)
{
	size_t i;

	for (i = 0; i < batch->nr; i++)
		t->insns += batch->ranges[i].insns;
}

void ns_traced_add(struct ns_traced *t, const struct nt_batch *batch, uint64_t from, uint64_t to)
{
	/*
	 * add the time since the last item to the loss, which ends with the next range, or if trace is stopped; if ranges are
	 * only counted, it ends with the next message with SYNC
	 */
	bool again = batch->nr || batch->item.type == NT_ITEM_STOP || (t->counted && batch->item.type == NT_ITEM_SYNC);

	ns_traced_count(t, batch);
	if (!t->has_time)
		t->first = from;
	else if (t->lost_after && from > t->last)
		t->lost[t->why].ns += from - t->last;
	t->lost_after &= !again;
	t->has_time = true;
	t->last = to;
}

static int traced_cmp(const void *a, const void *b)
{
	const struct ns_traced *x = a, *y = b;

	return ns_order(x->cpu, y->cpu) ?: ns_order(x->last, y->last);
}

static uint64_t scale(uint64_t value, uint64_t part, uint64_t of)
{
	return of ? (unsigned __int128)value * part / of : 0;
}

static void lose(struct walk *w, enum nt_lost why, uint64_t from)
{
	if (!w->is_lost)
		*w = (struct walk){ w->missing, w->last, true, why, from };
}

/* Add the time of a loss, which ends at time @to, because trace begins again or the recording ends. */
static void find_again(struct walk *w, uint64_t to)
{
	if (w->is_lost && to > w->from)
		w->missing->why[w->why].ns += to - w->from;
	w->is_lost = false;
}

static void take_part(struct walk *w, const struct ns_traced *t)
{
	unsigned int i;

	if (t->lost_before) {
		w->missing->why[NT_LOST_SINK].times++;
		lose(w, NT_LOST_SINK, w->last);
	}
	if (t->has_time)
		find_again(w, t->first);
	for (i = 0; i < NT_LOST_NR; i++) {
		w->missing->why[i].times += t->lost[i].times;
		w->missing->why[i].ns += t->lost[i].ns;
	}
	w->missing->traced_insns += t->insns;
	if (t->lost_after)
		lose(w, t->why, t->last > w->last ? t->last : w->last);
	if (t->has_time)
		w->last = t->last;
}

static struct nt_window time_of_all(const struct nt_session *session)
{
	const struct ns_traced *t = session->traced.at, *end = t + session->traced.nr;
	struct nt_window time = { .from = UINT64_MAX };

	for (; t < end; t++) {
		/* If all trace of a part was lost, only the end of its stretch has a time. */
		uint64_t first = t->has_time ? t->first : t->lost_after ? t->end : UINT64_MAX;

		if (first < time.from)
			time.from = first;
		if (t->end > time.to)
			time.to = t->end;
	}
	return time;
}

/*
 * Estimate the lost instructions and bytes. The CPU is assumed to execute as many instructions per
 * time during the losses as in the rest of the recording.
 */
static void estimate(struct nt_missing *m, uint64_t bytes, uint64_t insns)
{
	unsigned int i;

	for (i = 0; i < NT_LOST_NR; i++)
		m->ns += m->why[i].ns;
	m->ns = m->ns < m->all_ns ? m->ns : m->all_ns;
	m->insns = scale(m->traced_insns, m->ns, m->all_ns - m->ns);
	m->bytes = scale(bytes, m->insns, insns);
}

bool ns_traced_settle(struct nt_session *session)
{
	const struct ns_traced *t = session->traced.at, *end = t + session->traced.nr;
	uint64_t insns = 0;
	struct nt_window time;
	struct walk walk;
	size_t i;

	ns_array_sort(&session->traced, traced_cmp);
	time = time_of_all(session);
	for (session->missing.nr = 0; t < end; insns += walk.missing->traced_insns) {
		struct nt_missing none = { .cpu = t->cpu, .all_ns = time.to > time.from ? time.to - time.from : 0 };

		if (!ns_array_add(&session->missing, none))
			return false;
		walk = (struct walk){ .missing = &session->missing.at[session->missing.nr - 1], .last = time.from };
		for (; t < end && t->cpu == none.cpu; t++)
			take_part(&walk, t);
		find_again(&walk, time.to);
	}
	for (i = 0; i < session->missing.nr; i++)
		estimate(&session->missing.at[i], session->trace.bytes, insns);
	return true;
}

bool nt_session_lost(const struct nt_session *session, size_t nth, struct nt_missing *missing)
{
	if (nth < session->missing.nr)
		*missing = session->missing.at[nth];
	return nth < session->missing.nr;
}
