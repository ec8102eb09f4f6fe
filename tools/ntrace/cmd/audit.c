// SPDX-License-Identifier: GPL-2.0-only
/* ntrace audit - print returns, calls and jumps that violate the rules of calls. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/nothing.h"
#include "cli/options.h"
#include "cli/recording.h"
#include "ntrace.h"
#include "session/array.h"
#include "session/calls/chains.h"

#define NO_PAD		(NT_ALARM_JUMP + 1)	/* kind of a finding about a target without lpad */
#define TARGETS		1024		/* number of entries of the cache of targets, a power of two */

static const char usage[] =
	"usage: ntrace audit [OPTIONS]\n\n"
	"Print the returns, indirect calls and indirect jumps in a recording of perf that went where they\n"
	"must not go. Exits 0 if there are none, and 1 if there are some.\n";

struct find {
	unsigned int	kind;
	uint64_t	time, times;
	int32_t		tid;
	struct nt_place	from, to, expected;
};

struct counts {
	uint64_t	branches, returns, indirect;
};

struct audit {
	struct recording_options recording;
	bool		pads;		/* check that indirect calls and jumps go to lpad (--landing-pads) */
	struct nt_session *session;
	struct nt_chains *chains;
	NS_ARRAY(struct find) finds;
	struct counts	counts;
};

/* Findings of one stretch */
struct part {
	struct audit	*audit;
	struct nt_chain	*chain;
	NS_ARRAY(struct find) finds;
	struct counts	counts;
	/* cache of targets of jumps that need no new check, because they have an lpad or are already in @finds */
	struct { uint64_t space, addr; } targets[TARGETS];
};

/* ---- Finding ---- */

static int place_cmp(const struct nt_place *x, const struct nt_place *y)
{
	return strcmp(x->object ?: "", y->object ?: "") ?: ns_order(x->address, y->address);
}

/* Compare findings. All jumps to one target without lpad are one finding, so their sources are not compared. */
static int find_cmp(const struct find *x, const struct find *y)
{
	return ns_order(x->kind, y->kind) ?: (x->kind == NO_PAD ? 0 : place_cmp(&x->from, &y->from)) ?:
	       place_cmp(&x->to, &y->to);
}

static int by_place(const void *a, const void *b)
{
	const struct find *x = a, *y = b;

	return find_cmp(x, y) ?: ns_order(x->time, y->time);
}

static int by_time(const void *a, const void *b)
{
	const struct find *x = a, *y = b;

	return ns_order(x->kind == NO_PAD, y->kind == NO_PAD) ?: ns_order(x->time, y->time) ?: by_place(x, y);
}

static bool add_find(struct part *p, unsigned int kind, const struct nt_branch *branch, const struct nt_audit *judged)
{
	struct nt_session *session = p->audit->session;
	struct find find = { .kind = kind, .time = branch->time, .times = 1, .tid = judged->tid };

	nt_session_where(session, judged->from_space, branch->from, &find.from);
	nt_session_where(session, judged->to_space, branch->to, &find.to);
	nt_session_where(session, judged->expected_space, judged->expected, &find.expected);
	return ns_array_add(&p->finds, find);
}

/*
 * Check the target of an indirect branch, and add a finding if the target does not begin with an lpad. An lpad is an
 * auipc of x0 whose address is a multiple of 4.
 */
static bool check_pad(struct part *p, const struct nt_branch *b, const struct nt_audit *judged)
{
	size_t slot = (b->to >> 1 ^ b->to >> 11) & (TARGETS - 1);
	uint32_t insn = 0;

	if (p->targets[slot].addr == b->to && p->targets[slot].space == judged->to_space)
		return true;
	p->targets[slot].addr = b->to;
	p->targets[slot].space = judged->to_space;
	if (nt_session_read(p->audit->session, judged->to_space, b->to, &insn, sizeof(insn)) != sizeof(insn) ||
	    ((insn & 0xfff) == 0x017 && !(b->to & 3)))
		return true;
	return add_find(p, NO_PAD, b, judged);
}

static int take_branch(void *part, const struct nt_who *who, const struct nt_branch *b)
{
	struct part *p = part;
	struct nt_audit judged;

	if (nt_chain_audit(p->chain, who, b, &judged))
		return -1;
	if (!nt_filter_passes(&p->audit->recording.filter, b->time, judged.cpu, judged.tid) ||
	    !nt_filter_has_code(&p->audit->recording.filter, nt_who_space(who, b->from), b->from))
		return 0;
	p->counts.branches++;
	p->counts.returns += b->kind == NT_BRANCH_RETURN;
	p->counts.indirect += judged.needs_pad;
	if (judged.alarm && !add_find(p, judged.alarm, b, &judged))
		return -1;
	return !p->audit->pads || !judged.needs_pad || check_pad(p, b, &judged) ? 0 : -1;
}

static int take_error(void *part, const struct nt_who *who, const struct nt_item *item)
{
	struct part *p = part;

	nt_chain_error(p->chain, item);
	return 0;
}

static void *begin(void *ctx, uint64_t stretch)
{
	struct part *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->audit = ctx;
	p->chain = nt_chain_new(p->audit->chains, stretch);
	if (p->chain)
		return p;
	free(p);
	return NULL;
}

static int end(void *ctx, void *part, const struct nt_who *who, bool lost)
{
	struct audit *audit = ctx;
	struct part *p = part;
	bool ok = true;
	size_t i;

	for (i = 0; ok && i < p->finds.nr; i++)
		ok = ns_array_add(&audit->finds, p->finds.at[i]);
	audit->counts.branches += p->counts.branches;
	audit->counts.returns += p->counts.returns;
	audit->counts.indirect += p->counts.indirect;
	nt_chain_free(p->chain);
	free(p->finds.at);
	free(p);
	return ok ? 0 : -1;
}

/* Join equal findings of all stretches, and sort the findings by time. */
static void settle(struct audit *audit)
{
	ns_array_sort(&audit->finds, by_place);
	ns_array_join_sorted(&audit->finds, find_cmp(a, b), a->times += b->times);
	ns_array_sort(&audit->finds, by_time);
}

/* ---- Printing ---- */

static void print_place(const char *before, const struct nt_place *place)
{
	printf("%s%s+0x%" PRIx64 " (%s)", before, place->symbol ?: "[unknown]", place->offset, place->object ?: "[unknown]");
}

static void print_find(const struct audit *a, const struct find *f)
{
	static const char *const kinds[] = {
		[NT_ALARM_RETURN] = "return from ", [NT_ALARM_CALL] = "indirect call into the middle of a function, from ",
		[NT_ALARM_JUMP] = "indirect jump into the middle of another function, from ",
		[NO_PAD] = "no lpad at a target of an indirect call or jump from ",
	};
	const char *comm;
	int32_t pid;

	nt_session_thread(a->session, f->tid, f->time, &pid, &comm);
	printf("%s %d/%d " TIME_FORMAT ": ", comm, pid, f->tid, TIME_ARGS(f->time));
	print_place(kinds[f->kind], &f->from);
	print_place(" to ", &f->to);
	if (f->kind == NT_ALARM_RETURN)
		print_place(", but its call was made right before ", &f->expected);
	if (f->times > 1 && f->kind != NO_PAD)
		printf(", %s", COUNTED(f->times, "time"));
	putchar('\n');
}

static int print_finds(struct audit *a)
{
	size_t i, alarms = 0;

	settle(a);
	for (i = 0; i < a->finds.nr; i++) {
		print_find(a, &a->finds.at[i]);
		alarms += a->finds.at[i].kind != NO_PAD;
	}
	printf("%s and %" PRIu64 " indirect calls and jumps were checked: ", COUNTED(a->counts.returns, "return"), a->counts.indirect);
	puts(alarms ? COUNTED(alarms, "violation") : "all went to allowed targets");
	if (a->pads)
		printf("%s of indirect calls and jumps without lpad\n", COUNTED(a->finds.nr - alarms, "target"));
	return a->finds.nr ? EXIT_TRACE : EXIT_CLEAN;
}

/* ---- Command ---- */

static int run(void *ctx, struct nt_session *session)
{
	struct audit *a = ctx;
	const struct nt_branch_sink sink = {
		.size = sizeof(sink), .begin = begin, .branch = take_branch, .error = take_error, .end = end,
	};
	int status;

	a->session = session;
	a->chains = nt_chains_new(a->session);
	if (!a->chains || nt_session_branches(a->session, &sink, a))
		status = recording_failed(a->session);
	else if (!a->counts.branches)
		status = nothing_matched(&a->recording, a->session, NULL);
	else
		status = print_finds(a);
	nt_chains_free(a->chains);
	free(a->finds.at);
	return status;
}

int cmd_audit(int argc, char **argv)
{
	struct audit a = { 0 };
	const struct option_entry options[] = {
		RECORDING_OPTIONS(&a.recording),
		FILTER_OPTIONS(&a.recording),
		OPTION_FLAG(0, "landing-pads", &a.pads, "also print the targets of indirect calls and jumps that lack lpad"),
		{ 0 }
	};

	return recording_run(argc, argv, usage, options, &a, NULL, run);
}
