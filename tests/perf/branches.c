// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compare the branches that perf script prints with the truth of each hart. perf must print the branches which the
 * hart took, in the same order, with the same CPU and thread.
 *
 *   perf script --itrace=be --ns -F pid,tid,cpu[,misc],time,flags,ip,addr |
 *	branches [-c] [-l] [-s] [-r] [-u] [-v VERIFIED] [-t THREADS] [-m CPU=HART ...] hartN.truth ...
 *
 * -c: Trace has no context, so the thread in the truth is unknown and is not compared.
 * -l: Trace is lost. Compare each interval alone. An interval consists of the branches from a start of trace to the
 * next start or error. Print a line for each hart with four numbers: losses that an error reports at the right
 * position, losses that no error reports (silent), losses whose error is at another position (misplaced), and errors
 * without a loss (needless). With -r, a full sink has lost the oldest trace, so an interval after an error may be only
 * the end of an interval in the truth.
 * -s: The trace consists of AUX samples. Trace may be missing before the start of each sample.
 * -r: The trace is from a ring whose oldest part is lost. The trace is complete until the trace of the hart stops.
 * -u: The process may be unknown, because perf does not see the start of every process.
 * -v: Write the correct lines, except lines of conditional branches, to VERIFIED. Before each line, write the number
 * of instructions that the truth has since the previous line of this CPU, the result of kind_of(), and the length of
 * the instruction. Write "gap CPU" if lines are not in order.
 * -t: THREADS has lines "thread TID of PID". A thread that is not in THREADS must be the only thread of its process.
 *
 * The field misc, if present, must be the privilege in the truth: U and K, or g and G in a guest. After an error, the
 * printed branches may continue anywhere later in the truth, and the next MATCH branches must be right. The exit
 * status is 1 if a line is wrong, or if an error is silent or misplaced.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "truth.h"

#define CPUS	16
#define MATCH	500000	/* Shorter matches can be accidental, such as in a loop that polls a lock */
#define SHOWN	8
#define HELD	65536	/* maximum number of branches after an error before find_held() searches them in the truth */

struct branch {
	uint64_t from, to;	/* @from is 0 if trace starts, and @to is 0 if trace stops */
	uint32_t tid, pid;
	char kind;		/* result of kind_of(), or '?' if the kind is unknown */
	char mode;		/* privilege mode: U, K or H, g or G in a guest, or 0 if unknown */
	uint32_t insns;		/* number of instructions since the previous branch */
	uint8_t length;		/* Length of the instruction at @from in bytes */
};

/*
 * State of a hart, with the branches of the truth that are still needed, and the printed branches to compare with them
 */
struct hart {
	struct nb_truth_reader *reader;
	struct branch *queue;
	size_t first, nr, size;
	uint64_t scontext;		/* value of CSR scontext after the last block */
	uint64_t reported;		/* thread that the trace reports up to the end of the last block */
	bool writes_scontext;		/* the next block writes @scontext */
	uint32_t insns;			/* Instructions since the last branch in the queue */
	uint32_t unwritten;		/* number of instructions since the last written line */
	struct nb_ingress last;		/* the last block of instructions that was read from the truth */
	bool has_last, started, tracing, ended;
	bool empty;			/* trace started and stopped without a block in between */
	/* state of the comparison with the printed branches */
	uint64_t stopped_at;	/* target of the last branch of the truth if trace stopped after it, or 0 */
	bool gap;
	struct branch *ahead;	/* printed branches that must still be compared */
	unsigned int nr_ahead, max_ahead;
	/*
	 * The following members are only used with option -l. An interval is the trace from a start to the next start
	 * or error.
	 */
	uint64_t stretches;
	uint64_t errors;	/* errors since the last traced interval that was found in the truth */
	uint64_t told, told_branches;		/* number of reported losses, and of their lost branches */
	uint64_t silent, silent_branches;	/* number of unreported losses, and of their branches */
	uint64_t misplaced, needless;
	uint64_t owed, owed_branches;	/* number of losses that no error reports yet, and of their branches */
	uint64_t spare;			/* number of errors that follow no loss, so that each may report the next loss */
	uint64_t wrong;
	/* traced intervals after an error that are not found in the truth yet; interval i ends at branch @ends[i] */
	struct branch *held;
	unsigned int nr_held, nr_ends, ends[HELD];
};

static struct hart hart[CPUS];
static unsigned int hart_of[CPUS];
static uint32_t thread_tid[4096], thread_pid[4096];
static unsigned int nr_threads;
static uint64_t compared, wrong, wrong_kind, wrong_thread, wrong_pid, wrong_mode, of_guest, disorder, errors, gaps, in_gaps, unchecked;
static uint64_t line_nr;
static bool by_stretch, sampled, no_context, ring, unknown_process;
static FILE *verified;
static const char *line_text;

/* ---- Reading of the truth, which has all blocks that the harts have executed ---- */

static char mode_of(const struct nb_ingress *b)
{
	static const char modes[8] = {
		[NB_PRIV_U] = 'U', [NB_PRIV_S] = 'K', [NB_PRIV_M] = 'H', [NB_PRIV_VU] = 'g', [NB_PRIV_VS] = 'G',
	};

	return modes[b->priv & 7];
}

/* Append a branch of thread @tid to the queue. perf prints the branch with the privilege of block @at. */
static void push(struct hart *h, const struct nb_ingress *at, uint64_t tid, uint64_t from, uint64_t to, char kind)
{
	if (h->first + h->nr == h->size) {
		if (h->first > h->size / 2) {
			memmove(h->queue, h->queue + h->first, h->nr * sizeof(*h->queue));
			h->first = 0;
		} else {
			h->size = 2 * h->size + 1024;
			h->queue = realloc(h->queue, h->size * sizeof(*h->queue));
			if (!h->queue)
				exit(2);
		}
	}
	h->queue[h->first + h->nr++] = (struct branch){ .from = from, .to = to, .kind = kind,
							   .tid = tid, .insns = h->insns,
							   .mode = mode_of(at),
							   .length = 2 * h->last.ilastsize };
	h->insns = 0;
}

static bool is_taken(const struct nb_ingress *b)
{
	return b->itype != NB_ITYPE_NONE && b->itype != NB_ITYPE_NOT_TAKEN;
}

static uint64_t end_of(const struct nb_ingress *b)
{
	return b->iaddr + 2ULL * b->iretire;
}

static uint64_t from_of(const struct nb_ingress *b)
{
	if (b->itype == NB_ITYPE_EXCEPTION || b->itype == NB_ITYPE_INTERRUPT)
		return end_of(b);
	return end_of(b) - 2ULL * b->ilastsize;
}

/*
 * Return the kind of a branch: c (call), r (return), j (jump or branch), t (exception), h (interrupt) or i (trap
 * return).
 */
static char kind_of(const struct nb_ingress *b)
{
	static const char kinds[16] = {
		[NB_ITYPE_EXCEPTION] = 't', [NB_ITYPE_INTERRUPT] = 'h', [NB_ITYPE_TRAP_RETURN] = 'i',
		[NB_ITYPE_INDIRECT_CALL] = 'c', [NB_ITYPE_DIRECT_CALL] = 'c', [NB_ITYPE_RETURN] = 'r',
	};

	return kinds[b->itype & 15] ? : 'j';
}

/*
 * Add a block. A branch at the end of a block belongs to the thread that executed the block. If the block writes
 * scontext, the branch belongs to the old thread, because the encoder sends Ownership after the block.
 */
static void block(struct hart *h, const struct nb_truth_event *ev)
{
	if (h->empty) {
		push(h, &ev->blk, h->scontext, 0, ev->blk.iaddr, '?');
		push(h, &ev->blk, h->scontext, ev->blk.iaddr, 0, '?');
		h->empty = false;
	}
	if (ev->traced) {
		h->started = false;
		if (!h->tracing)
			push(h, &ev->blk, h->scontext, 0, ev->blk.iaddr, '?');
		else if (h->has_last && is_taken(&h->last))
			push(h, &h->last, h->reported, from_of(&h->last), ev->blk.iaddr, kind_of(&h->last));
		h->tracing = true;
		h->last = ev->blk;
		h->has_last = true;
		h->insns += ev->blk.ninsn;
	}
	if (!h->writes_scontext)
		h->reported = h->scontext;
	h->writes_scontext = false;
}

/* Return true if trace stops at the target of branch @b */
static bool is_stop_behind(const struct branch *b, uint64_t stop)
{
	return b->from && b->to == stop;
}

static void stop(struct hart *h, bool lost)
{
	h->empty = h->started && !lost;
	h->started = false;
	if (!h->tracing)
		return;
	if (h->has_last && !lost) {
		uint64_t from = is_taken(&h->last) ? from_of(&h->last) : end_of(&h->last);

		/*
		 * The trap of an interrupt did not reach its handler. Treat this trap as a stop after a
		 * branch.
		 */
		if (h->nr && !h->last.iretire && is_stop_behind(&h->queue[h->first + h->nr - 1], from))
			h->queue[h->first + h->nr - 1].to = 0;
		else
			push(h, &h->last, h->reported, from, 0, '?');
	}
	h->tracing = false;
	h->has_last = false;
}

/* Read the truth until the queue has more than @nr branches. Return false at the end */
static bool more(struct hart *h, size_t nr)
{
	struct nb_truth_event ev;

	while (h->nr <= nr && !h->ended) {
		if (nb_truth_next(h->reader, &ev) <= 0) {
			h->ended = true;
			break;
		}
		switch (ev.kind) {
		case NB_TRUTH_BLOCK:
			block(h, &ev);
			break;
		case NB_TRUTH_START:
			h->started = true;
			h->tracing = false;
			h->has_last = false;
			h->writes_scontext = false;
			break;
		case NB_TRUTH_SYNC:
			/* because of the sync, an Ownership message follows this block */
			h->writes_scontext = false;
			break;
		case NB_TRUTH_STOP:
			stop(h, ev.evcode == NB_ENDED_LOST);
			break;
		case NB_TRUTH_CONTEXT:
			h->scontext = ev.scontext;
			h->writes_scontext = h->tracing;
			break;
		default:
			break;
		}
	}
	return h->nr > nr;
}

static void drop(struct hart *h, size_t nr)
{
	h->first += nr;
	h->nr -= nr;
}

/* ---- The printed branches ---- */

static bool same(const struct branch *a, const struct branch *b)
{
	return a->from == b->from && a->to == b->to;
}

/*
 * Return true if the kinds are the same. An encoder without context reports one B-TYPE for exceptions and interrupts,
 * and perf assumes an exception.
 */
static bool same_kind(char got, char want)
{
	return got == want || got == '?' || want == '?' || (no_context && got == 't' && want == 'h');
}

static void check_thread(const struct branch *got, const struct branch *want)
{
	uint32_t pid = got->tid;
	unsigned int i;

	if (!same_kind(got->kind, want->kind) && wrong_kind++ < SHOWN)
		printf("line %" PRIu64 ": %#" PRIx64 " is %c, not %c\n", line_nr, got->from, want->kind,
		       got->kind);
	if (got->mode && got->mode != want->mode && wrong_mode++ < SHOWN)
		printf("line %" PRIu64 ": %#" PRIx64 " => %#" PRIx64 " in privilege %c, not %c\n", line_nr, got->from,
		       got->to, want->mode, got->mode);
	of_guest += want->mode == 'G' || want->mode == 'g';
	if (!no_context && got->tid != want->tid && wrong_thread++ < SHOWN)
		printf("line %" PRIu64 ": %#" PRIx64 " by thread %u, not %u\n", line_nr, got->from,
		       want->tid, got->tid);
	for (i = 0; i < nr_threads; i++) {
		if (thread_tid[i] == got->tid)
			pid = thread_pid[i];
	}
	/* The trace in a ring may begin before the first recorded context switch, so perf may not know the process. */
	if (got->pid != pid && (!(ring || unknown_process) || got->pid != UINT32_MAX) && wrong_pid++ < SHOWN)
		printf("line %" PRIu64 ": thread %u is of process %u, not %u\n", line_nr, got->tid, pid,
		       got->pid);
}

/* Return true if nothing was traced after branch @nr. In a ring, trace may restart after this branch */
static bool ends_behind(struct hart *h, size_t nr)
{
	return !more(h, nr) || (ring && !h->queue[h->first + nr].from);
}

static void look_ahead(struct hart *h, const struct branch *b)
{
	if (h->nr_ahead == h->max_ahead) {
		h->max_ahead = 2 * h->max_ahead + 1024;
		h->ahead = realloc(h->ahead, h->max_ahead * sizeof(*h->ahead));
		if (!h->ahead)
			exit(2);
	}
	/* Join a branch with a stop at the target of this branch, as stops_behind_branch() does */
	if (h->nr_ahead && !b->to && is_stop_behind(&h->ahead[h->nr_ahead - 1], b->from))
		h->ahead[h->nr_ahead - 1].to = 0;
	else
		h->ahead[h->nr_ahead++] = *b;
}

/*
 * Build the failure table of Knuth, Morris and Pratt. If the first @i printed branches match the truth and
 * the next branch does not, entry @i is the number of these branches that can start another match.
 */
static void make_steps(const struct hart *h, unsigned int *steps)
{
	unsigned int i, n = 0;

	steps[0] = steps[1] = 0;
	for (i = 1; i < h->nr_ahead; i++) {
		while (n && !same(&h->ahead[i], &h->ahead[n]))
			n = steps[n];
		n += same(&h->ahead[i], &h->ahead[n]);
		steps[i + 1] = n;
	}
}

/*
 * Return true if printed branch @n matches branch @next of the truth. If the last message is lost, the truth has a
 * stop at the last branch.
 */
static bool fits(const struct hart *h, unsigned int n, size_t next, bool last)
{
	const struct branch *got = &h->ahead[n], *want = &h->queue[h->first + next];

	if (same(got, want))
		return true;
	return !last && n && n + 1 == h->nr_ahead && got->to && !want->to && got->from == want->from;
}

/*
 * Find the first position in the truth at which all printed branches match. If @last is true, the truth must end there.
 * *most becomes the length of the longest match.
 */
static bool find(struct hart *h, bool last, size_t *at, unsigned int *most)
{
	unsigned int *steps = malloc((h->nr_ahead + 1) * sizeof(*steps)), n = 0;
	bool found = false;
	size_t next;

	if (!steps)
		exit(2);
	make_steps(h, steps);
	*most = 0;
	/* Read one branch more than is compared, because it may show that trace stops after the compared branches */
	for (next = 0; !found && (more(h, next + 1) || next < h->nr); next++) {
		while (n && !fits(h, n, next, last))
			n = steps[n];
		n += fits(h, n, next, last);
		if (n > *most)
			*most = n;
		if (n < h->nr_ahead)
			continue;
		*at = next + 1 - n;
		found = !last || ends_behind(h, next + 1);
		n = steps[n];
	}
	free(steps);
	return found;
}

/*
 * Find the printed branches in the truth. If @last is set, the last printed branch must be the last branch of the
 * truth.
 */
static void align(struct hart *h, bool last)
{
	unsigned int i, most;
	size_t at;

	h->gap = false;
	if (!h->nr_ahead)
		return;
	/*
	 * Fewer than 8 branches may match the truth by accident, so they are not compared. The last branches of a ring
	 * are always compared, because they must be the last branches of the truth.
	 */
	if (h->nr_ahead < 8 && !(last && ring)) {
		unchecked += h->nr_ahead;
	} else if (find(h, last, &at, &most)) {
		for (i = 0; i < h->nr_ahead; i++)
			check_thread(&h->ahead[i], &h->queue[h->first + at + i]);
		compared += h->nr_ahead;
		gaps++;
		in_gaps += at;
		drop(h, at + h->nr_ahead);
	} else {
		wrong += h->nr_ahead;
		printf("line %" PRIu64 ": CPU %zu: %#" PRIx64 " => %#" PRIx64 " and what follows did not happen, "
		       "only the first %u of %u: then %#" PRIx64 " => %#" PRIx64 "\n",
		       line_nr, h - hart, h->ahead[0].from, h->ahead[0].to, most, h->nr_ahead,
		       h->ahead[most % h->nr_ahead].from, h->ahead[most % h->nr_ahead].to);
	}
	h->nr_ahead = 0;
}

/*
 * Write a branch for the test of calls. A conditional branch is never a call, so it gets no line, and its
 * instructions are added to the next line.
 */
static void write_verified(struct hart *h, const struct branch *b)
{
	h->unwritten += b->insns;
	if (strstr(line_text, " jcc "))
		return;
	fprintf(verified, "%u %c%u %s", h->unwritten, b->kind, b->length, line_text);
	h->unwritten = 0;
}

/*
 * Return true if trace stops after branch @b. Another hart may stop the trace of this hart at any instruction. After
 * a taken branch, the truth has a stop at the branch, but perf prints the branch and a stop at its target.
 */
static bool stops_behind_branch(struct hart *h, const struct branch *b)
{
	const struct branch *want;

	if (h->gap || !more(h, 0))
		return false;
	want = &h->queue[h->first];
	if (h->stopped_at && b->from == h->stopped_at && !b->to) {
		h->stopped_at = 0;
		compared++;
		drop(h, 1);
		return true;
	}
	h->stopped_at = 0;
	if (want->to || !want->from || b->from != want->from || !b->to)
		return false;
	check_thread(b, want);
	h->stopped_at = b->to;
	return true;
}

static void sample(struct hart *h, const struct branch *b)
{
	bool stopped = h->stopped_at;

	if (stops_behind_branch(h, b))
		return;
	if (sampled && !b->from && (h->gap || !more(h, 0) || !same(b, &h->queue[h->first]))) {
		align(h, false);
		h->gap = true;
	}
	if (h->gap) {
		if (verified && !h->nr_ahead)
			fprintf(verified, "gap %zu\n", h - hart);
		/*
		 * Decoding begins at a synchronising message, whose address is not the target of a branch
		 */
		if (!b->from && !h->nr_ahead)
			return;
		look_ahead(h, b);
		if (h->nr_ahead == MATCH)
			align(h, false);
		return;
	}
	if (more(h, 0) && same(b, &h->queue[h->first])) {
		check_thread(b, &h->queue[h->first]);
		compared++;
		if (verified)
			write_verified(h, &h->queue[h->first]);
		drop(h, 1);
		return;
	}
	/*
	 * This is not a stop of the trace. Trace is missing between this branch and a later execution of the same
	 * branch.
	 */
	if (sampled && stopped) {
		h->gap = true;
		look_ahead(h, b);
		return;
	}
	if (wrong++ < SHOWN)
		printf("line %" PRIu64 ": %#" PRIx64 " => %#" PRIx64 ", but it was %#" PRIx64 " => %#" PRIx64 "\n",
		       line_nr, b->from, b->to, h->nr ? h->queue[h->first].from : 0,
		       h->nr ? h->queue[h->first].to : 0);
	h->gap = true;
}

static void error(struct hart *h)
{
	errors++;
	if (h->gap && h->nr_ahead)
		align(h, false);
	h->gap = true;
}

/* ---- Option -l compares the printed branches between two starts of trace separately ---- */

/* The @nr entries of the truth from index @at, which match the printed branches from index @first on */
struct place {
	size_t	at, nr;
	unsigned int first;
};

/* Return the number of branches in the truth from @at to the next start */
static size_t stretch_size(struct hart *h, size_t at)
{
	size_t n = 0;

	if (!more(h, at))
		return 0;
	do {
		n++;
	} while (more(h, at + n) && h->queue[h->first + at + n].from);
	return n;
}

/*
 * Return how many of the @n entries of the truth from @at are lost branches. The first entry may be a start of trace,
 * which is none. If no branch follows the start, no code executed after it, or the truth has a stop after it.
 */
static size_t without_start(const struct hart *h, size_t at, size_t n)
{
	return n - !h->queue[h->first + at].from;
}

/*
 * Return true if the last printed branch @n represents both branch @next of the truth and the stop of trace after it.
 * The truth has this stop as a separate entry, but look_ahead() has joined both in the printed branches.
 */
static bool is_joined_stop(const struct hart *h, unsigned int n, size_t next)
{
	const struct branch *got = &h->ahead[n], *want = &h->queue[h->first + next];

	return n && n + 1 == h->nr_ahead && !got->to && got->from == want->from && want->to &&
	       is_stop_behind(want, want[1].from) && !want[1].to;
}

/*
 * Compare the @n branches of the truth from @at with the printed branches from @first. Return the number of matching
 * branches, or 0 if a branch differs.
 */
static size_t matches(const struct hart *h, unsigned int first, size_t at, size_t n)
{
	size_t nr = h->nr_ahead - first, i;

	if (!nr || nr > n)
		return 0;
	for (i = 0; i < nr && fits(h, first + i, at + i, false); i++)
		;
	if (i == nr)
		return nr;
	return i + 1 == nr && nr < n && is_joined_stop(h, first + i, at + i) ? nr + 1 : 0;
}

/* Return true if the hart executed the code from @addr to the next branch before it reached branch @next. */
static bool is_on_the_way(const struct hart *h, uint64_t addr, size_t next)
{
	const struct branch *want = &h->queue[h->first + next];

	return want[-1].to <= addr && addr <= want->from;
}

/*
 * Find the printed branches among the @n branches of the truth from @at to the next start of trace. They must be the
 * first of these @n branches. If a ring has lost the first ones, they may also be the last. The printed branches then
 * begin with a start of trace that the truth lacks. Its address must be in the code that the hart executed directly
 * before the first of these last branches. Return false if the printed branches are not found.
 */
static bool find_in_stretch(struct hart *h, size_t at, size_t n, struct place *place)
{
	size_t nr = matches(h, 0, at, n), next;

	*place = (struct place){ .at = at, .nr = nr };
	if (nr || !ring || !h->errors)
		return nr;
	for (next = at + n - (h->nr_ahead < n ? h->nr_ahead : n); next < at + n; next++) {
		if (next == at || !is_on_the_way(h, h->ahead[0].to, next) ||
		    matches(h, 1, next, at + n - next) != at + n - next)
			continue;
		/* If trace has stopped at an instruction, the next trace also starts there. */
		nr = stretch_size(h, at + n);
		if (nr && matches(h, 0, at + n, nr) == nr)
			return false;
		*place = (struct place){ .at = next, .nr = at + n - next, .first = 1 };
		return true;
	}
	return false;
}

static void settle_losses(struct hart *h)
{
	h->silent += h->owed;
	h->silent_branches += h->owed_branches;
	h->needless += h->spare;
	h->owed = h->owed_branches = h->spare = 0;
}

/*
 * Count a loss of @lost branches between the last two intervals of printed branches, and check whether an error reports
 * this loss.
 */
static void judge_place(struct hart *h, size_t lost)
{
	if (lost && h->errors) {
		settle_losses(h);
		h->told++;
		h->told_branches += lost;
	} else if (lost && h->spare) {
		h->spare--;
		h->misplaced++;
	} else if (lost) {
		if (h->owed + h->silent < SHOWN)
			printf("line %" PRIu64 ": CPU %zu: no error reports that %zu branches are missing\n",
			       line_nr, h - hart, lost);
		h->owed++;
		h->owed_branches += lost;
	} else if (h->errors && h->owed) {
		h->misplaced++;
		h->owed = h->owed_branches = 0;
	} else {
		h->spare += h->errors;
	}
	h->errors = 0;
}

static void compare_stretch(struct hart *h, const struct place *place)
{
	unsigned int i;

	for (i = place->first; i < h->nr_ahead; i++)
		check_thread(&h->ahead[i], &h->queue[h->first + place->at + i - place->first]);
	compared += h->nr_ahead;
	h->stretches++;
	drop(h, place->at + place->nr);
}

/* Find the position of the printed branches in the truth, after branch @least of the truth. */
static void find_stretch(struct hart *h, size_t least)
{
	size_t at = 0, n, lost = 0;
	struct place place;

	for (; (n = stretch_size(h, at)) && (at < least || !find_in_stretch(h, at, n, &place)); at += n)
		lost += without_start(h, at, n);
	if (n) {
		judge_place(h, lost + (place.at - at) - !!place.first);
		compare_stretch(h, &place);
	} else {
		if (h->wrong++ < SHOWN)
			printf("line %" PRIu64 ": CPU %zu: the stretch of %u branches from %#" PRIx64
			       " on did not happen behind the one before\n", line_nr, h - hart, h->nr_ahead,
			       h->ahead[0].to);
		wrong += h->nr_ahead;
	}
	h->nr_ahead = 0;
}

static void select_held(struct hart *h, unsigned int i)
{
	unsigned int first = i ? h->ends[i - 1] : 0;

	h->ahead = h->held + first;
	h->nr_ahead = h->ends[i] - first;
}

/*
 * Return true if all intervals in @held are in the truth from branch @at, and no branch between these intervals is
 * missing.
 */
static bool all_held_match(struct hart *h, size_t at)
{
	struct place place;
	unsigned int i;
	size_t n;

	for (i = 0; i < h->nr_ends; i++, at += n) {
		n = stretch_size(h, at);
		select_held(h, i);
		if (i)
			place = (struct place){ .at = at, .nr = matches(h, 0, at, n) };
		else if (!find_in_stretch(h, at, n, &place))
			return false;
		if (!place.nr || (i + 1 < h->nr_ends && place.at + place.nr != at + n))
			return false;
	}
	return true;
}

/*
 * Find the positions in the truth of the traced intervals in @held. A hart that is idle traces the same few branches
 * many times, so the first interval may be in the truth both before and after a loss. If all intervals are found one
 * after the other, no trace between them is missing.
 */
static void find_held(struct hart *h)
{
	struct branch *ahead = h->ahead;
	size_t at = 0, n;
	unsigned int i;

	while ((n = stretch_size(h, at)) && !all_held_match(h, at))
		at += n;
	for (i = 0; i < h->nr_ends; i++) {
		select_held(h, i);
		find_stretch(h, n && !i ? at : 0);
	}
	h->ahead = ahead;
	h->nr_ahead = h->nr_held = h->nr_ends = 0;
}

static void hold_stretch(struct hart *h)
{
	h->held = realloc(h->held, (h->nr_held + h->nr_ahead) * sizeof(*h->held));
	if (!h->held)
		exit(2);
	memcpy(h->held + h->nr_held, h->ahead, h->nr_ahead * sizeof(*h->held));
	h->nr_held += h->nr_ahead;
	h->ends[h->nr_ends++] = h->nr_held;
	h->nr_ahead = 0;
}

static void end_stretch(struct hart *h)
{
	if (!h->nr_ahead)
		return;
	if (h->errors)
		hold_stretch(h);
	else
		find_stretch(h, 0);
	if (h->nr_held >= HELD)
		find_held(h);
}

static void stretch_sample(struct hart *h, const struct branch *b)
{
	if (!b->from)
		end_stretch(h);
	look_ahead(h, b);
}

static void stretch_error(struct hart *h)
{
	errors++;
	/* If only a start of trace precedes the error, discard it, because no message reports the code after it. */
	if (h->nr_ahead == 1)
		h->nr_ahead = 0;
	end_stretch(h);
	find_held(h);
	h->errors++;
}

/*
 * Compare the last printed branches. Trace that is missing at the end is also lost. Return the number of losses that no
 * error reports at the right position.
 */
static uint64_t finish_stretches(struct hart *h)
{
	size_t at, n, lost = 0;

	end_stretch(h);
	find_held(h);
	for (at = 0; (n = stretch_size(h, at)); at += n)
		lost += without_start(h, at, n);
	judge_place(h, lost);
	settle_losses(h);
	printf("hart %zu: %" PRIu64 " stretches, %" PRIu64 " wrong, %" PRIu64 " losses told with %" PRIu64
	       " branches, %" PRIu64 " silent with %" PRIu64 ", %" PRIu64 " misplaced, %" PRIu64 " needless errors\n",
	       h - hart, h->stretches, h->wrong, h->told, h->told_branches, h->silent, h->silent_branches,
	       h->misplaced, h->needless);
	gaps += h->told;
	in_gaps += h->told_branches;
	return h->silent + h->misplaced;
}

/* ---- Parsing of the lines that perf script prints ---- */

static uint64_t number(char **s, int base)
{
	uint64_t value;

	while (**s == ' ' || **s == '[' || **s == '/' || **s == ']' || **s == ':' || **s == '=' || **s == '>')
		(*s)++;
	value = strtoull(*s, s, base);
	return value;
}

/* Skip the flags, if there are any: "call", "tr strt jmp", "hw int" */
static char flags(char **s)
{
	static const struct { const char *text; char kind; } known[] = {
		{ "tr strt", '?' }, { "tr end", '?' }, { "call", 'c' }, { "return", 'r' },
		{ "jcc", 'j' }, { "jmp", 'j' }, { "syscall", 't' }, { "int", 't' },
		{ "hw int", 'h' }, { "iret", 'i' },
	};
	char *word = *s + strspn(*s, " :");
	size_t i, len = strcspn(word, " \n");

	*s = word;
	if (strspn(word, "0123456789abcdef") == len)
		return '?';
	for (i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (!strncmp(word, known[i].text, strlen(known[i].text)))
			break;
	}
	while (strspn(*s, "0123456789abcdef") != strcspn(*s, " \n")) {
		*s += strcspn(*s, " \n");
		*s += strspn(*s, " ");
	}
	return i < sizeof(known) / sizeof(*known) ? known[i].kind : '!';
}

/*
 * Parse the privilege that perf prints, such as "U", "K", "KUH", "G" or "KGg". The last letter is the mode.
 */
static char mode(char **s)
{
	char last = 0;

	*s += strspn(*s, " ]");
	for (; strchr("UKHGg", **s) && **s; (*s)++)
		last = **s;
	return last;
}

static void line(char *s)
{
	static uint64_t last_time;
	struct branch b = { 0 };
	uint64_t time, cpu;

	line_nr++;
	if (strstr(s, "instruction trace error")) {
		s = strstr(s, " cpu ");
		if (!s)
			return;
		s += 5;
		cpu = number(&s, 10);
		if (cpu < CPUS && hart[hart_of[cpu]].reader)
			(by_stretch ? stretch_error : error)(&hart[hart_of[cpu]]);
		return;
	}
	b.pid = number(&s, 10);
	b.tid = number(&s, 10);
	cpu = number(&s, 10);
	b.mode = mode(&s);
	time = number(&s, 10) * 1000000000;
	s++;
	time += number(&s, 10);
	b.kind = flags(&s);
	b.from = number(&s, 16);
	/* perf may print the name of a symbol between the address and the arrow "=>" */
	s = strstr(s, "=> ") ?: s;
	b.to = number(&s, 16);
	disorder += time < last_time;
	last_time = time;
	if (cpu < CPUS && hart[hart_of[cpu]].reader)
		(by_stretch ? stretch_sample : sample)(&hart[hart_of[cpu]], &b);
	else
		wrong++;
}

static int finish(void)
{
	uint64_t left = 0, unreported = 0;
	unsigned int i;

	for (i = 0; i < CPUS; i++) {
		struct hart *h = &hart[i];

		if (!h->reader)
			continue;
		if (by_stretch)
			unreported += finish_stretches(h);
		else if (h->gap && h->nr_ahead)
			/*
			 * Hardware that does not report contexts (no_context) has a funnel that drops trace when it is
			 * full, so the end of the trace may be missing
			 */
			align(h, !sampled && !no_context);
		for (; !by_stretch && !sampled && !h->gap && !ends_behind(h, 0); drop(h, 1))
			left++;
		if (nb_truth_error(h->reader)) {
			printf("truth of hart %u: %s\n", i, nb_truth_error(h->reader));
			wrong++;
		}
		nb_truth_reader_close(h->reader);
		free(h->queue);
		free(h->ahead);
	}
	if (of_guest)
		printf("%" PRIu64 " branches of a guest, %" PRIu64 " of a wrong privilege\n", of_guest, wrong_mode);
	printf("%" PRIu64 " branches compared, %" PRIu64 " wrong, %" PRIu64 " of a wrong kind, %" PRIu64 " of a wrong thread, %" PRIu64
	       " of a wrong process, %" PRIu64 " out of order, %" PRIu64 " missing; %" PRIu64 " errors, %"
	       PRIu64 " gaps with %" PRIu64 ", %" PRIu64 " unchecked\n", compared, wrong, wrong_kind, wrong_thread,
	       wrong_pid, disorder, left, errors, gaps, in_gaps, unchecked);
	return wrong || wrong_kind || wrong_thread || wrong_pid || wrong_mode || disorder || left || unreported ||
	       !compared;
}

static void read_threads(const char *path)
{
	FILE *f = fopen(path, "r");

	if (!f) {
		perror(path);
		exit(2);
	}
	while (nr_threads < 4096 && fscanf(f, "thread %u of %u ", &thread_tid[nr_threads],
					   &thread_pid[nr_threads]) == 2)
		nr_threads++;
	fclose(f);
}

static void open_truth(const char *path)
{
	struct nb_truth_reader *reader;
	unsigned int nr;

	reader = nb_truth_open(path, &nr);
	if (!reader || nr >= CPUS) {
		fprintf(stderr, "%s: %s\n", path, reader ? "no such hart" : strerror(errno));
		exit(2);
	}
	hart[nr].reader = reader;
}

int main(int argc, char **argv)
{
	unsigned int cpu, nr;
	char text[4096];
	int c;

	for (cpu = 0; cpu < CPUS; cpu++)
		hart_of[cpu] = cpu;
	while ((c = getopt(argc, argv, "clrsut:m:v:")) != -1) {
		if (c == 'c')
			no_context = true;
		else if (c == 'l')
			by_stretch = true;
		else if (c == 's')
			sampled = true;
		else if (c == 'r')
			ring = true;
		else if (c == 'u')
			unknown_process = true;
		else if (c == 'v')
			verified = fopen(optarg, "w");
		else if (c == 't')
			read_threads(optarg);
		else if (c == 'm' && sscanf(optarg, "%u=%u", &cpu, &nr) == 2 && cpu < CPUS && nr < CPUS)
			hart_of[cpu] = nr;
		else
			return 2;
	}
	for (; optind < argc; optind++)
		open_truth(argv[optind]);
	for (nr = 0; nr < CPUS; nr++)
		hart[nr].gap = ring;
	while (fgets(text, sizeof(text), stdin)) {
		line_text = text;
		line(text);
	}
	if (verified && fclose(verified))
		return 2;
	return finish();
}
