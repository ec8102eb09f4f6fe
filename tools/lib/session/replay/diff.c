// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Find the differences between two threads, which are the places after which they continue at
 * different addresses (diff.h).
 */
#include <stdlib.h>
#include <string.h>

#include "diff.h"
#include "session/array.h"
#include "session/calls/callstack.h"
#include "session/hash.h"

#define PAGES		4096	/* entries of the cache of pages; a power of two */
#define RETURNS		64	/* number of the newest calls that are searched for the returning call */
#define PIECES		64	/* the search for N calls reads at most N * PIECES pieces of code (nt_path_next()) */

/* Position of the code of a page in the file of its object */
struct page {
	uint64_t	space, page;	/* @page is the address divided by 4096, plus 1 */
	uint64_t	moved;		/* address in the process minus address in the object */
	uint32_t	object;		/* hash of the object's name */
};

/* A call that is open */
struct call {
	uint64_t	ret, at;	/* return address, and address of the calling instruction */
};

struct side {
	struct nt_diff_thread thread;
	struct nt_path	*path;
	struct nt_piece	before, now;	/* the last piece of code and the current one */
	uint64_t	nth;		/* number of pieces of code up to the current one */
	struct page	*pages;
	NS_ARRAY(struct call) calls;
	bool		over;		/* the thread has no more code */
	/*
	 * true if nt_path_next() returned @before and @now as one piece of code. compare() has divided this piece, because
	 * the current piece of the other thread was shorter.
	 */
	bool		split;
};

struct nt_diff {
	struct side	sides[2];
	uint64_t	counted[2];	/* for each thread, number of pieces of code before the last difference */
	bool		moves;		/* the threads differ, so nt_diff_next() must first find equal calls */
	bool		gap;		/* the last difference was missing trace */
};

/* ---- Addresses ---- */

static const struct page *page_of(struct side *s, uint64_t space, uint64_t addr)
{
	uint64_t number = (addr >> 12) + 1;
	struct page *p = &s->pages[(number ^ space << 8) & (PAGES - 1)];
	struct nt_place place;

	if (p->page == number && p->space == space)
		return p;
	nt_session_where(s->thread.session, space, addr, &place);
	*p = (struct page){ .space = space, .page = number, .object = ns_hash_mix(ns_hash_text(nt_base_name(place.object) ?: "")) };
	p->moved = addr - place.address;
	return p;
}

static bool is_same_address(struct side s[2], const uint64_t addr[2], const uint64_t space[2])
{
	const struct page *a = page_of(&s[0], space[0], addr[0]), *b = page_of(&s[1], space[1], addr[1]);

	return addr[0] - a->moved == addr[1] - b->moved && a->object == b->object;
}

static bool is_same_start(struct side s[2])
{
	return is_same_address(s, (uint64_t [2]){ s[0].now.start, s[1].now.start },
			       (uint64_t [2]){ s[0].now.space, s[1].now.space });
}

/* ---- Pieces ---- */

static uint64_t last_insn(const struct nt_piece *piece)
{
	return piece->end - 2 * piece->last_len;
}

static bool is_call(const struct nt_piece *piece)
{
	return piece->how == NT_END_CALL || piece->how == NT_END_INDIRECT_CALL;
}

/*
 * Add the call at the end of the last piece of code, or end calls if the piece ends with a return. A return also ends
 * all calls that are newer than the call that returns, because longjmp() ends several calls. Return false if out of
 * memory.
 */
static bool follow_call(struct side *s)
{
	size_t i, nr = s->calls.nr;

	if (is_call(&s->before)) {
		if (nr == NS_STACK_DEPTH_MAX)
			s->calls.nr = 0;
		return ns_array_add(&s->calls, ((struct call){ s->before.end, last_insn(&s->before) }));
	}
	if (s->before.how != NT_END_RETURN)
		return true;
	for (i = nr; i-- > 0 && nr - i <= RETURNS;) {
		if (s->calls.at[i].ret == s->now.start) {
			s->calls.nr = i;
			break;
		}
	}
	return true;
}

/* Go to the next piece of code. Return false after an error. */
static bool advance(struct side *s)
{
	int ret;

	s->before = s->now;
	s->split = false;
	ret = nt_path_next(s->path, &s->now);
	s->over = ret <= 0;
	s->nth++;
	if (ret > 0 && s->now.gap)
		s->calls.nr = 0;
	return ret > 0 && s->nth > 1 && !s->now.gap ? follow_call(s) : ret >= 0;
}

static bool copy_side(struct side *to, const struct side *from)
{
	*to = *from;
	to->path = nt_path_copy(from->path);
	to->calls.room = from->calls.nr + 1;
	to->calls.at = malloc(to->calls.room * sizeof(*to->calls.at));
	if (to->calls.at && from->calls.nr)
		memcpy(to->calls.at, from->calls.at, from->calls.nr * sizeof(*to->calls.at));
	return to->path && to->calls.at;
}

static void free_side(struct side *s)
{
	nt_path_free(s->path);
	free(s->calls.at);
}

/* ---- Equal calls ---- */

/*
 * An anchor is a sequence of NT_DIFF_CALLS calls of one thread. The comparison can continue at an anchor if the other
 * thread has an equal sequence of calls.
 */
struct anchor {
	/* hash of these calls, and number (side::nth) of the piece of code at the target of the first call */
	uint64_t	hash, nth;
	size_t		index;
};

struct anchors {
	NS_ARRAY(struct anchor) all;
	bool		over;		/* the thread has no more calls after those in @all */
};

static uint64_t hash_address(struct side *s, uint64_t space, uint64_t addr, uint64_t hash)
{
	const struct page *p = page_of(s, space, addr);

	hash = (hash ^ (addr - p->moved)) * 0x9e3779b97f4a7c15ULL;
	return ((hash ^ hash >> 29) + p->object) * 0xbf58476d1ce4e5b9ULL;
}

/*
 * Find up to @max next calls of a thread. If the thread has fewer, add NT_DIFF_CALLS elements that are the same for
 * each thread. The ends of two threads are then compared like calls, and are equal.
 */
static bool find_anchors(const struct side *from, bool gap, size_t max, struct anchors *out)
{
	size_t i, j, most = max * PIECES;
	struct side s;
	uint64_t hash;
	bool ok = copy_side(&s, from);

	for (; ok && !s.over && out->all.nr < max && most; most--) {
		if (s.nth > from->nth && is_call(&s.before) && !s.now.gap) {
			hash = hash_address(&s, s.now.space, s.now.start, gap ? 0 : s.calls.nr);
			hash = hash_address(&s, s.before.space, last_insn(&s.before), hash);
			ok = ns_array_add(&out->all, ((struct anchor){ hash, s.nth, out->all.nr }));
		}
		ok = ok && advance(&s);
	}
	out->over = s.over;
	for (i = 0; ok && s.over && i < NT_DIFF_CALLS; i++)
		ok = ns_array_add(&out->all, ((struct anchor){ 1, s.nth, out->all.nr }));
	for (i = 0; ok && i + NT_DIFF_CALLS <= out->all.nr; i++) {
		for (j = 1; j < NT_DIFF_CALLS; j++)
			out->all.at[i].hash = (out->all.at[i].hash ^ out->all.at[i + j].hash >> j) * 0x94d049bb133111ebULL;
	}
	if (ok)
		out->all.nr = i;
	free_side(&s);
	return ok;
}

static int anchor_cmp(const void *a, const void *b)
{
	const struct anchor *x = a, *y = b;

	return ns_order(x->hash, y->hash) ?: ns_order(x->index, y->index);
}

/*
 * Find calls that are equal in both threads. If there are several, choose those before which the two threads together
 * have made the fewest other calls. Return false if no calls are equal.
 */
static bool match(struct anchors found[2], uint64_t nth[2])
{
	__typeof__(found[0].all) *a = &found[0].all, *b = &found[1].all;
	size_t j, at, best = SIZE_MAX;

	ns_array_sort(a, anchor_cmp);
	for (j = 0; j < b->nr && j < best; j++) {
		at = ns_lower_bound(a->nr, a->at[i].hash < b->at[j].hash);
		if (at == a->nr || a->at[at].hash != b->at[j].hash || a->at[at].index + j >= best)
			continue;
		best = a->at[at].index + j;
		nth[0] = a->at[at].nth;
		nth[1] = b->at[j].nth;
	}
	return best != SIZE_MAX;
}

/* Move both threads forwards to the next calls that are equal in both. Return 1, 0 if there are none, or -1. */
static int resynchronise(struct nt_diff *diff)
{
	struct anchors found[2];
	bool ok = true, matched = false;
	uint64_t nth[2] = { 0 };
	size_t max, i;

	for (max = 64; ok && !matched && max <= NT_DIFF_AHEAD; max *= 8) {
		memset(found, 0, sizeof(found));
		for (i = 0; i < 2; i++)
			ok = ok && find_anchors(&diff->sides[i], diff->gap, max, &found[i]);
		matched = ok && match(found, nth);
		for (i = 0; i < 2; i++)
			free(found[i].all.at);
		if (found[0].over && found[1].over)
			break;
	}
	for (i = 0; i < 2; i++) {
		while (ok && matched && diff->sides[i].nth < nth[i])
			ok = advance(&diff->sides[i]);
	}
	diff->gap = false;
	return ok ? matched : -1;
}

/* ---- Comparison ---- */

/* Set @sides to the places after which the two threads differ. */
static int stop(struct nt_diff *diff, struct nt_diff_side sides[2])
{
	unsigned int i, over = 0;

	for (i = 0; i < 2; i++) {
		const struct side *s = &diff->sides[i];
		const struct nt_piece *last = s->before.end ? &s->before : &s->now;
		bool gap = s->before.cut && !s->over;

		diff->counted[i] = s->nth - 1 + s->split;
		sides[i] = (struct nt_diff_side){
			.at = s->before.end ? last_insn(&s->before) : s->now.start, .to = s->before.cut ? 0 : s->now.start,
			.space = last->space, .time = last->time, .insns = s->before.insns, .gap = gap, .ended = s->over,
		};
		over += s->over;
		diff->gap |= gap;
	}
	diff->moves = true;
	return over == 2 ? NT_DIFF_EQUAL : over ? NT_DIFF_END : diff->gap ? NT_DIFF_GAP : NT_DIFF_JUMP;
}

/*
 * Divide the current piece of code of a thread into two pieces. The first has @size bytes, which is the size of the
 * current piece of the other thread.
 */
static void split(struct side *s, uint64_t size, uint8_t last_len)
{
	s->before = s->now;
	s->before.end = s->now.start += size;
	s->before.how = NT_END_LINEAR;
	s->before.last_len = last_len;
	s->before.cut = s->now.gap = false;
	s->split = true;
}

static int compare(struct nt_diff *diff, struct nt_diff_side sides[2])
{
	struct side *s = diff->sides;
	unsigned int longer;
	uint64_t size[2];

	while (!s[0].over && !s[1].over && !s[0].before.cut && !s[1].before.cut && is_same_start(s)) {
		size[0] = s[0].now.end - s[0].now.start;
		size[1] = s[1].now.end - s[1].now.start;
		longer = size[1] > size[0];
		if (size[0] != size[1])
			split(&s[longer], size[!longer], s[!longer].now.last_len);
		else if (!advance(&s[longer]))
			return -1;
		if (!advance(&s[!longer]))
			return -1;
	}
	return stop(diff, sides);
}

int nt_diff_next(struct nt_diff *diff, struct nt_diff_side sides[2])
{
	int ret = 1;

	if (!diff->sides[0].nth && (!advance(&diff->sides[0]) || !advance(&diff->sides[1])))
		return -1;
	if (diff->moves)
		ret = resynchronise(diff);
	if (ret <= 0) {
		stop(diff, sides);
		return ret ? -1 : NT_DIFF_LOST;
	}
	diff->moves = false;
	return compare(diff, sides);
}

/* ---- Earlier executions ---- */

static bool count(const struct side *s, uint64_t nr, struct nt_diff_side *side)
{
	struct nt_path *path = nt_path_new(s->thread.replay, s->thread.tid);
	struct nt_piece piece = { 0 };
	struct nt_place place;
	uint8_t how = NT_END_LINEAR;
	int ret = path ? 1 : -1;

	nt_session_where(s->thread.session, side->space, side->at, &place);
	side->executed = side->called = 0;
	for (; ret > 0 && nr && (ret = nt_path_next(path, &piece)) > 0; nr--) {
		side->executed += piece.space == side->space && piece.start <= side->at && side->at < piece.end;
		side->called += piece.space == side->space && piece.start == place.start && how != NT_END_BRANCH;
		how = piece.how;
	}
	/* do not count the last execution, because it is the one at which the threads differ */
	side->executed -= side->executed > 0;
	side->called -= side->called > 0;
	nt_path_free(path);
	return ret >= 0;
}

bool nt_diff_count(struct nt_diff *diff, struct nt_diff_side sides[2])
{
	return count(&diff->sides[0], diff->counted[0], &sides[0]) && count(&diff->sides[1], diff->counted[1], &sides[1]);
}

size_t nt_diff_callers(const struct nt_diff *diff, unsigned int side, uint64_t *callers, size_t max)
{
	const struct side *s = &diff->sides[side];
	size_t i;

	for (i = 0; i < s->calls.nr && i < max; i++)
		callers[i] = s->calls.at[s->calls.nr - 1 - i].at;
	return s->calls.nr;
}

/* ---- All ---- */

struct nt_diff *nt_diff_new(const struct nt_diff_thread threads[2])
{
	struct nt_diff *diff = calloc(1, sizeof(*diff));
	unsigned int i;

	if (!diff)
		return NULL;
	for (i = 0; i < 2; i++) {
		diff->sides[i].thread = threads[i];
		diff->sides[i].path = nt_path_new(threads[i].replay, threads[i].tid);
		diff->sides[i].pages = calloc(PAGES, sizeof(struct page));
		if (diff->sides[i].path && diff->sides[i].pages)
			continue;
		nt_diff_free(diff);
		return NULL;
	}
	return diff;
}

void nt_diff_free(struct nt_diff *diff)
{
	unsigned int i;

	for (i = 0; diff && i < 2; i++) {
		free_side(&diff->sides[i]);
		free(diff->sides[i].pages);
	}
	free(diff);
}
