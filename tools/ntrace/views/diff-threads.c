// SPDX-License-Identifier: GPL-2.0-only
/* Pair the threads of two recordings, and print the place at which each pair of threads first differs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/perf_event.h>

#include "diff.h"
#include "disasm.h"
#include "ntrace.h"
#include "session/array.h"
#include "session/code/lines.h"
#include "session/replay/diff.h"

#define CALLERS	16	/* maximum number of callers that are printed */

struct thread {
	int32_t		tid, creator;	/* id of the thread, and of the thread that created it; -1: not known */
	uint64_t	born;		/* time at which the thread was created, ns; 0: before the recording */
	const char	*comm;
	struct thread	*parent;	/* the thread with the id @creator; NULL: not in the recording */
	struct thread	*pair;		/* thread of the other recording to compare with this thread; NULL: none */
};

struct recording {
	struct nt_session *session;
	struct nt_replay *replay;
	struct nt_lines	*lines;
	struct nt_filter filter;
	NS_ARRAY(struct thread) threads;	/* threads, in the order in which they were created */
};

/* ---- Find the threads to compare with each other ---- */

static int thread_cmp(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	return ns_order(x->born, y->born) ?: ns_order(x->tid, y->tid);
}

/* Find the thread that created each thread. The kernel records a fork before the new thread executes code. */
static void find_parents(struct recording *r)
{
	struct nt_record record;
	struct thread *t;
	uint32_t ids[4];	/* pid, ppid, tid and ptid of the record of a fork */
	size_t i;

	for (i = 0; nt_session_record(r->session, i, &record); i++) {
		const struct perf_event_header *header = record.data;

		if (record.size < sizeof(*header) + sizeof(ids) || header->type != PERF_RECORD_FORK)
			continue;
		memcpy(ids, header + 1, sizeof(ids));
		for (t = r->threads.at; t < r->threads.at + r->threads.nr; t++) {
			if (t->tid != (int32_t)ids[2] || t->born)
				continue;
			t->creator = ids[3];
			t->born = record.time ?: 1;
		}
	}
}

static bool find_threads(struct recording *r)
{
	struct thread t = { .creator = -1 }, *child, *parent;
	int32_t pid;
	size_t i;

	for (i = 0; nt_replay_thread(r->replay, i, &t.tid); i++) {
		nt_session_thread(r->session, t.tid, UINT64_MAX, &pid, &t.comm);
		if (nt_filter_passes(&r->filter, UINT64_MAX, -1, t.tid) && !ns_array_add(&r->threads, t))
			return false;
	}
	find_parents(r);
	ns_array_sort(&r->threads, thread_cmp);
	for (child = r->threads.at; child < r->threads.at + r->threads.nr; child++) {
		for (parent = r->threads.at; parent < child; parent++) {
			if (parent->tid == child->creator)
				child->parent = parent;
		}
	}
	return true;
}

/*
 * Pair threads that have the same name, and whose creators were paired with each other. Take the
 * threads in the order in which they were created.
 */
static void pair_threads(struct recording r[2])
{
	struct thread *a, *b;

	for (a = r[0].threads.at; a < r[0].threads.at + r[0].threads.nr; a++) {
		for (b = r[1].threads.at; b < r[1].threads.at + r[1].threads.nr; b++) {
			if (b->pair || strcmp(a->comm, b->comm) || (a->parent ? a->parent->pair : NULL) != b->parent)
				continue;
			a->pair = b;
			b->pair = a;
			break;
		}
	}
}

/* ---- Places ---- */

static void print_place(const struct recording *r, uint64_t space, uint64_t addr)
{
	struct nt_frame frame = { 0 };
	struct nt_place place;

	nt_session_where(r->session, space, addr, &place);
	printf("%s+0x%" PRIx64 " [%s]", place.symbol ? place.symbol : "", place.symbol ? place.offset : place.address,
	       nt_base_name(place.object) ?: "unknown");
	nt_lines_at(r->lines, place.object, place.address, &frame, 1);
	if (frame.file && frame.line)
		printf(" %s:%d", nt_base_name(frame.file), frame.line);
}

static void print_insn(const struct recording *r, const struct nt_diff_side *side)
{
	uint8_t code[4];
	char text[80];
	size_t size = nt_session_read(r->session, side->space, side->at, code, sizeof(code));

	if (size >= 2 && disasm(side->at, code, size, text, sizeof(text)))
		printf(": %s", text);
}

static void print_time(uint64_t ns)
{
	if (ns)
		printf(", at " TIME_FORMAT " s", TIME_ARGS(ns));
}

static void print_way(const struct recording *r, const struct nt_diff_side *side, char name)
{
	printf("    %c ", name);
	if (side->ended) {
		printf("ends there");
	} else if (side->gap) {
		printf("has no trace after it");
	} else {
		printf("goes to ");
		print_place(r, side->space, side->to);
	}
	printf(", after %s", COUNTED(side->insns, "instruction"));
	print_time(side->time);
	putchar('\n');
}

static void print_counts(const struct nt_diff_side sides[2])
{
	bool same = sides[0].executed == sides[1].executed && sides[0].called == sides[1].called;
	unsigned int i;

	for (i = 0; i < (same ? 1 : 2); i++)
		printf("    before the difference, this instruction was executed %s%s, and its function was called %s\n",
		       COUNTED(sides[i].executed, "time"), same ? "" : i ? " in B" : " in A", COUNTED(sides[i].called, "time"));
}

static void print_callers(const struct recording *r, const struct nt_diff *diff, uint64_t space)
{
	uint64_t callers[CALLERS];
	size_t i, nr = nt_diff_callers(diff, 0, callers, CALLERS);

	for (i = 0; i < nr && i < CALLERS; i++) {
		printf("    called from ");
		print_place(r, space, callers[i]);
		putchar('\n');
	}
	if (nr > CALLERS)
		printf("    ... and %zu more callers\n", nr - CALLERS);
}

static void print_thread(const struct thread *a)
{
	printf("Thread %d (%s) in A, %d in B", a->tid, a->comm, a->pair->tid);
}

/* Print a place after which two threads differ, or after which trace is missing. Return false after an error. */
static bool print_difference(const struct recording r[2], const struct thread *a, struct nt_diff *diff,
			     struct nt_diff_side sides[2])
{
	unsigned int i;

	if (!nt_diff_count(diff, sides))
		return false;
	print_thread(a);
	printf(sides[0].gap || sides[1].gap ? ": trace is missing after\n    " : " first differ after\n    ");
	print_place(&r[0], sides[0].space, sides[0].at);
	print_insn(&r[0], &sides[0]);
	putchar('\n');
	for (i = 0; i < 2; i++)
		print_way(&r[i], &sides[i], 'A' + i);
	print_counts(sides);
	print_callers(&r[0], diff, sides[0].space);
	return true;
}

/* ---- Comparison ---- */

/* Compare two threads. Return false after an error. */
static bool compare(const struct recording r[2], const struct thread *a, struct diff_result *result)
{
	const struct nt_diff_thread threads[2] = {
		{ r[0].session, r[0].replay, a->tid }, { r[1].session, r[1].replay, a->pair->tid },
	};
	struct nt_diff *diff = nt_diff_new(threads);
	uint64_t nr = 0, gaps = 0;
	struct nt_diff_side sides[2];
	int kind;

	do {
		kind = diff ? nt_diff_next(diff, sides) : -1;
		if (kind <= NT_DIFF_EQUAL || kind == NT_DIFF_LOST)
			break;
		if (!(*(kind == NT_DIFF_GAP ? &gaps : &nr))++ && !print_difference(r, a, diff, sides))
			kind = -1;
	} while (kind == NT_DIFF_JUMP || kind == NT_DIFF_GAP);
	if (nr > 1)
		printf("    %" PRIu64 " more differences follow\n", nr - 1);
	if (gaps > 1)
		printf("    trace is missing in %" PRIu64 " more places\n", gaps - 1);
	if (kind == NT_DIFF_LOST) {
		print_thread(a);
		printf(": what follows %" PRIu64 " instructions of A and %" PRIu64 " of B is not compared, because no %d equal calls follow in the next %d\n",
		       sides[0].insns, sides[1].insns, NT_DIFF_CALLS, NT_DIFF_AHEAD);
		result->lost = true;
	}
	result->threads++;
	result->differences += nr;
	result->gaps += gaps;
	nt_diff_free(diff);
	return kind >= 0;
}

static void print_alone(const struct recording *r, char name, struct diff_result *result)
{
	const struct thread *t;

	for (t = r->threads.at; t < r->threads.at + r->threads.nr; t++) {
		if (t->pair)
			continue;
		printf("Thread %d (%s) is only in %c\n", t->tid, t->comm, name);
		result->differences++;
	}
}

static bool compare_all(struct recording r[2], struct diff_result *result)
{
	const struct thread *a;

	if (!find_threads(&r[0]) || !find_threads(&r[1]))
		return false;
	pair_threads(r);
	for (a = r[0].threads.at; a < r[0].threads.at + r[0].threads.nr; a++) {
		if (a->pair && !compare(r, a, result))
			return false;
	}
	print_alone(&r[0], 'A', result);
	print_alone(&r[1], 'B', result);
	result->insns = nt_replay_insns(r[0].replay);
	return true;
}

bool diff_threads(const struct diff_options *options, struct nt_session *sessions[2], struct diff_result *result)
{
	const struct nt_replay_options replay = {
		.size = sizeof(replay), .pid = -1, .kernel = options->kernel, .paths = true,
	};
	struct recording r[2] = { 0 };
	bool ok = true;
	unsigned int i;

	for (i = 0; ok && i < 2; i++) {
		r[i].session = sessions[i];
		r[i].filter = options->recording.filter;
		r[i].filter.session = sessions[i];
		r[i].replay = nt_replay_new(sessions[i], &replay);
		r[i].lines = nt_lines_new(sessions[i]);
		ok = r[i].replay && r[i].lines;
		if (!ok)
			recording_failed(sessions[i]);
	}
	if (ok && !compare_all(r, result)) {
		recording_failed(sessions[0]);
		ok = false;
	}
	for (i = 0; i < 2; i++) {
		nt_lines_free(r[i].lines);
		nt_replay_free(r[i].replay);
		free(r[i].threads.at);
	}
	return ok;
}
