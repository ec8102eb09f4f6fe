// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Count how often the loops of functions iterate (loops.h). */
#include <stdlib.h>
#include <string.h>

#include "loops.h"
#include "session/array.h"
#include "session/session-priv.h"

#define CACHE	1024	/* number of addresses in the cache of each part */

struct function {
	const char	*object;
	uint64_t	start, end;	/* first address, and first address after the function (see struct nt_place) */
	size_t		first, nr;	/* first loop of the function in nt_loops::all, and number of its loops */
};

enum state {
	/*
	 * the thread was in the loop since the start of the part, so that it may have entered the loop in an earlier
	 * part
	 */
	UNKNOWN,
	OUTSIDE,
	INSIDE,
	BROKEN,		/* in the loop, but trace is missing since the loop was entered */
};

/* The state of one loop in one thread */
struct run {
	int32_t		tid;
	uint32_t	loop;
	enum state	state;
	uint64_t	iterations;	/* number of iterations since the thread entered the loop */
	/* number of iterations from the start of the part until the thread first leaves the loop */
	uint64_t	first;
	bool		first_lost;	/* trace is missing while the thread may have been in iterations of @first */
};

struct runs {
	struct run	*at;		/* elements of an array (array.h) */
	size_t		nr, room;
};

struct nt_loops {
	struct nt_session *session;
	struct nt_filter filter;
	NS_ARRAY(struct function) functions;
	NS_ARRAY(struct nt_loop) all;
	struct runs	runs;		/* states of all loops at the end of the parts that were decoded so far */
};

/* Cached function of the code at an address */
struct known {
	uint64_t	space, addr, address;
	uint32_t	function;	/* index + 1 in nt_loops::functions; 0: none */
};

struct part {
	struct nt_loops	*loops;
	struct runs	runs;
	struct nt_loop	*sums;		/* counts of this part, one element for each loop in nt_loops::all */
	/* for each loop in nt_loops::all, index + 1 in @runs of its state in thread @tid; 0: not yet searched */
	size_t		*current;
	int32_t		tid;
	struct known	known[CACHE];
};

/* ---- The loops of a function ---- */

struct nt_loops *nt_loops_new(struct nt_session *session, const struct nt_filter *filter)
{
	struct nt_loops *loops = calloc(1, sizeof(*loops));

	if (!loops)
		return NULL;
	loops->session = session;
	loops->filter = filter ? *filter : (struct nt_filter){ .cpu = -1, .tid = -1 };
	return loops;
}

void nt_loops_free(struct nt_loops *loops)
{
	if (!loops)
		return;
	free(loops->functions.at);
	free(loops->all.at);
	free(loops->runs.at);
	free(loops);
}

/* Add the loop of a jump backwards from @from to @head in @f, the function that was last added to nt_loops::all. */
static bool add_jump(struct nt_loops *loops, struct function *f, uint64_t head, uint64_t from)
{
	struct nt_loop loop = { .object = f->object, .head = head, .last = from, .least = UINT64_MAX };
	size_t i;

	for (i = f->first; i < loops->all.nr; i++) {
		if (loops->all.at[i].head != head)
			continue;
		loops->all.at[i].last = from;
		return true;
	}
	f->nr++;
	return ns_array_add(&loops->all, loop);
}

bool nt_loops_add(struct nt_loops *loops, uint64_t space, uint64_t addr)
{
	struct nt_config config;
	struct function f = { .first = loops->all.nr };
	struct nt_insn insn;
	struct nt_place place;
	uint8_t code[8];
	uint64_t at, to;
	size_t got;
	int cpu;

	nt_session_where(loops->session, space, addr, &place);
	if (!place.symbol || !nt_session_cpu(loops->session, 0, &cpu, &config))
		return true;
	f.object = place.object;
	f.start = place.address - place.offset;
	f.end = f.start + (place.end - place.start);
	for (at = place.start; at < place.end; at += insn.length) {
		got = nt_session_read(loops->session, space, at, code, sizeof(code));
		if (nt_insn_decode(&config, code, got, &insn) <= 0)
			break;
		to = at + insn.imm;
		if ((insn.klass == NT_CLASS_BRANCH || insn.klass == NT_CLASS_JUMP) && to <= at && to >= place.start &&
		    !add_jump(loops, &f, to - place.start + f.start, at - place.start + f.start))
			return false;
	}
	return !f.nr || ns_array_add(&loops->functions, f);
}

/* ---- Runs ---- */

static void end_run(struct nt_loop *loop, uint64_t iterations)
{
	loop->runs++;
	loop->iterations += iterations;
	loop->least = iterations < loop->least ? iterations : loop->least;
	loop->most = iterations > loop->most ? iterations : loop->most;
	loop->by_size[iterations ? 64 - __builtin_clzll(iterations) : 0]++;
}

static void add_up(struct nt_loop *to, const struct nt_loop *from)
{
	size_t i;

	to->runs += from->runs;
	to->iterations += from->iterations;
	to->least = from->least < to->least ? from->least : to->least;
	to->most = from->most > to->most ? from->most : to->most;
	for (i = 0; i < 65; i++)
		to->by_size[i] += from->by_size[i];
}

/* Return the state of a loop in a thread. If the array does not have it, add it. Return NULL if out of memory. */
static struct run *get_run(struct runs *runs, int32_t tid, uint32_t loop)
{
	const struct run new = { .tid = tid, .loop = loop };
	size_t i;

	for (i = 0; i < runs->nr; i++) {
		if (runs->at[i].tid == tid && runs->at[i].loop == loop)
			return &runs->at[i];
	}
	return ns_array_add(runs, new) ? &runs->at[runs->nr - 1] : NULL;
}

static struct run *current_run(struct part *p, int32_t tid, size_t loop)
{
	struct run *run;

	if (p->tid != tid)
		memset(p->current, 0, p->loops->all.nr * sizeof(*p->current));
	p->tid = tid;
	if (p->current[loop])
		return &p->runs.at[p->current[loop] - 1];
	run = get_run(&p->runs, tid, loop);
	if (run)
		p->current[loop] = run - p->runs.at + 1;
	return run;
}

/*
 * Update the state of a loop after a thread has executed the code at [@start, @end). @returns is
 * true if this code ends with a return.
 */
static void take_code(struct part *p, struct run *run, uint64_t start, uint64_t end, bool returns)
{
	struct nt_loop *loop = &p->sums[run->loop];
	bool head = start <= loop->head && loop->head < end;

	/* code that starts outside of the loop shows that the thread has left it, even if this code enters the loop */
	if ((start < loop->head || start > loop->last) && run->state != OUTSIDE) {
		if (run->state == INSIDE)
			end_run(loop, run->iterations);
		run->state = OUTSIDE;
	}
	if (end <= loop->head || start > loop->last)
		return;
	if (run->state == OUTSIDE) {
		run->state = INSIDE;
		run->iterations = 0;
	}
	if (run->state == UNKNOWN)
		run->first += head;
	run->iterations += head;
	if (!returns)
		return;
	if (run->state == INSIDE)
		end_run(loop, run->iterations);
	run->state = OUTSIDE;
}

/* ---- Stretches ---- */

static void *begin(void *ctx, uint64_t stretch)
{
	struct nt_loops *loops = ctx;
	struct part *p = calloc(1, sizeof(*p));
	size_t nr = loops->all.nr, i;

	if (!p)
		return NULL;
	p->loops = loops;
	p->sums = calloc(nr, sizeof(*p->sums));
	p->current = calloc(nr, sizeof(*p->current));
	for (i = 0; p->sums && i < nr; i++)
		p->sums[i] = (struct nt_loop){ .head = loops->all.at[i].head, .last = loops->all.at[i].last,
					       .least = UINT64_MAX };
	if (p->sums && p->current)
		return p;
	free(p->sums);
	free(p->current);
	free(p);
	return NULL;
}

/* Return the cache entry of an address. If the cache does not contain the address, search the function and add it. */
static const struct known *known_at(struct part *p, uint64_t space, uint64_t addr)
{
	struct known *known = &p->known[(addr / 2 ^ space * 61) % CACHE];
	const struct function *f;
	struct nt_place place;
	size_t i;

	if (known->addr == addr && known->space == space)
		return known;
	nt_session_where(p->loops->session, space, addr, &place);
	*known = (struct known){ .space = space, .addr = addr, .address = place.address };
	for (i = 0; i < p->loops->functions.nr; i++) {
		f = &p->loops->functions.at[i];
		if (f->object == place.object && place.address >= f->start && place.address < f->end)
			known->function = i + 1;
	}
	return known;
}

static int take_ranges(void *part, const struct nt_who *who, const struct nt_batch *batch)
{
	struct nt_range_clock clock;
	struct part *p = part;
	const struct known *known;
	const struct function *f;
	struct run *run;
	size_t i, n;

	for (i = 0; i < batch->nr; i++) {
		const struct nt_range *range = &batch->ranges[i];

		if (!nt_filter_passes(&p->loops->filter, nt_range_time(&clock, who, batch, i), who->cpu, who->tid) || !range->insns)
			continue;
		known = known_at(p, nt_who_space(who, range->start), range->start);
		f = known->function ? &p->loops->functions.at[known->function - 1] : NULL;
		for (n = 0; f && n < f->nr; n++) {
			run = current_run(p, who->tid, f->first + n);
			if (!run)
				return -1;
			take_code(p, run, known->address, known->address + 2 * range->halfwords, range->how == NT_END_RETURN);
		}
	}
	return 0;
}

static void break_run(struct run *run)
{
	run->first_lost |= run->state == UNKNOWN;
	run->state = BROKEN;
}

static int take_item(void *part, const struct nt_who *who, const struct nt_item *item)
{
	struct part *p = part;
	size_t i;

	if (item->type != NT_ITEM_ERROR && item->type != NT_ITEM_GAP && item->type != NT_ITEM_LOST)
		return 0;
	for (i = 0; i < p->runs.nr; i++)
		break_run(&p->runs.at[i]);
	return 0;
}

/*
 * Combine the state that a loop of a thread had after all earlier parts with @run, its state at the end of this part,
 * and store the result in nt_loops::runs. If the thread is new, its first iterations are not counted, because its trace
 * may begin inside the loop.
 */
static bool join_run(struct nt_loops *loops, const struct run *run)
{
	size_t nr = loops->runs.nr;
	struct run *before = get_run(&loops->runs, run->tid, run->loop);
	struct nt_loop *loop = &loops->all.at[run->loop];

	if (!before)
		return false;
	if (loops->runs.nr > nr)
		before->state = BROKEN;
	if (before->state == OUTSIDE && run->first) {
		before->state = INSIDE;
		before->iterations = 0;
	}
	before->iterations += run->first;
	if (run->first_lost)
		before->state = BROKEN;
	if (run->state == UNKNOWN)
		return true;
	if (before->state == INSIDE)
		end_run(loop, before->iterations);
	before->state = run->state;
	before->iterations = run->iterations;
	return true;
}

static int end(void *ctx, void *part, const struct nt_who *who, bool lost)
{
	struct nt_loops *loops = ctx;
	struct part *p = part;
	bool ok = true;
	size_t i;

	for (i = 0; i < p->runs.nr; i++)
		ok = join_run(loops, &p->runs.at[i]) && ok;
	for (i = 0; i < loops->all.nr; i++)
		add_up(&loops->all.at[i], &p->sums[i]);
	for (i = 0; lost && i < loops->runs.nr; i++)
		loops->runs.at[i].state = BROKEN;
	free(p->runs.at);
	free(p->sums);
	free(p->current);
	free(p);
	return ok ? 0 : -1;
}

int nt_loops_run(struct nt_loops *loops)
{
	const struct nt_consumer consumer = {
		.size = sizeof(consumer), .begin = begin, .ranges = take_ranges, .item = take_item, .end = end,
		.windows = &loops->filter.time, .nr_windows = loops->filter.time.to ? 1 : 0,
	};

	return loops->all.nr ? nt_session_decode(loops->session, &consumer, loops) : 0;
}

const struct nt_loop *nt_loops_at(const struct nt_loops *loops, size_t nth)
{
	return nth < loops->all.nr ? &loops->all.at[nth] : NULL;
}
