// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Collect the records that the session library returns one by one into arrays for the Python module. */
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "session/array.h"
#include "session/flow/branch.h"
#include "session/calls/calls.h"
#include "session/counts/profile.h"

#include "collect.h"

typedef NS_ARRAY(struct py_branch) branch_array;

struct py_recording {
	struct nt_session *session;
	struct nt_profile *profile;
	branch_array	branches;
	NS_ARRAY(struct py_insn) insns;
	NS_ARRAY(struct py_call) calls;
	NS_ARRAY(uint32_t) slices;	/* number of the slice of each call, for finish_calls() */
	NS_ARRAY(const char *) names;	/* the session owns the strings */
	uint64_t	totals[3];
	/* a file became shorter, and the library has read zeros in place of its bytes */
	bool		shortened;
	char		error[300];
};

/* Branches and totals of one stretch of trace, before they are added to those of the recording */
struct part {
	branch_array	branches;
	uint64_t	totals[3];
};

enum { LOSSES, ERRORS, GAPS };
#define SET_TOTALS(r, t)	memcpy((r)->totals, (uint64_t []){ (t).losses, (t).errors, (t).gaps }, sizeof((r)->totals))

static int failed(struct py_recording *r)
{
	const char *why = nt_session_error(r->session);

	snprintf(r->error, sizeof(r->error), "%s", why[0] ? why : "out of memory");
	return -1;
}

/* ---- Files that get shorter ---- */

static atomic_uint nr_readers, nr_shortened;
static struct sigaction bus_before;

/* Handle SIGBUS: put a page of zeros in place of the lost bytes of a mapped file, so that the library can return. */
static void on_bus(int signal, siginfo_t *info, void *context)
{
	const uintptr_t size = sysconf(_SC_PAGESIZE);

	if (nr_readers && info->si_code == BUS_ADRERR &&
	    mmap((void *)((uintptr_t)info->si_addr & -size), size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
		nr_shortened++;
	else
		sigaction(SIGBUS, &bus_before, NULL);
}

/* Begin a call that reads files. Return the number of pages lost so far, which is @shortened of end_reading(). */
static unsigned int begin_reading(void)
{
	const struct sigaction action = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO };
	struct sigaction before;

	if (!sigaction(SIGBUS, &action, &before) && before.sa_sigaction != on_bus)
		bus_before = before;
	nr_readers++;
	return nr_shortened;
}

/* End a call that reads files. Return -1 if @err is set, or if a file became shorter since begin_reading(). */
static int end_reading(struct py_recording *r, unsigned int shortened, int err)
{
	nr_readers--;
	r->shortened |= nr_shortened != shortened;
	if (err)
		failed(r);
	if (r->shortened)
		snprintf(r->error, sizeof(r->error), "the recording or a file of its code was shortened while it was read");
	return err || r->shortened ? -1 : 0;
}

/* ---- Recording ---- */

struct py_recording *py_open(const char *path, const char *symfs, const char *cache, int threads)
{
	const struct nt_session_options options = {
		.size = sizeof(options), .symfs = symfs, .cache = cache,
		.threads = threads < 0 ? 0 : threads,
	};
	struct py_recording *r = calloc(1, sizeof(*r));
	unsigned int shortened = begin_reading();

	if (r)
		end_reading(r, shortened, nt_session_open(&r->session, path, &options));
	else
		nr_readers--;
	return r;
}

const char *py_error(const struct py_recording *r)
{
	return r->error;
}

void py_close(struct py_recording *r)
{
	if (!r)
		return;
	nt_profile_free(r->profile);
	nt_session_close(r->session);
	free(r->branches.at);
	free(r->insns.at);
	free(r->calls.at);
	free(r->slices.at);
	free(r->names.at);
	free(r);
}

void py_totals(const struct py_recording *r, uint64_t totals[3])
{
	memcpy(totals, r->totals, sizeof(r->totals));
}

/* ---- Branches ---- */

static void *begin(void *ctx, uint64_t stretch)
{
	return calloc(1, sizeof(struct part));
}

static int take_branch(void *ctx, const struct nt_who *who, const struct nt_branch *b)
{
	struct part *part = ctx;
	const struct py_branch branch = {
		.time = b->time, .from = b->from, .to = b->to, .insns = b->insns, .cpu = who->cpu,
		.pid = who->pid, .tid = who->tid, .kind = b->kind, .flags = b->flags,
	};

	return ns_array_add(&part->branches, branch) ? 0 : -1;
}

static int take_error(void *ctx, const struct nt_who *who, const struct nt_item *item)
{
	struct part *part = ctx;

	part->totals[LOSSES] += item->type == NT_ITEM_LOST;
	part->totals[ERRORS] += item->type == NT_ITEM_ERROR;
	part->totals[GAPS] += item->type == NT_ITEM_GAP;
	return 0;
}

static int end(void *ctx, void *stretch, const struct nt_who *who, bool lost)
{
	struct py_recording *r = ctx;
	struct part *part = stretch;
	bool ok = true;
	size_t i;

	for (i = 0; ok && i < part->branches.nr; i++)
		ok = ns_array_add(&r->branches, part->branches.at[i]);
	for (i = 0; i < 3; i++)
		r->totals[i] += part->totals[i];
	r->totals[LOSSES] += lost;
	free(part->branches.at);
	free(part);
	return ok ? 0 : -1;
}

int py_branches(struct py_recording *r, const struct py_branch **branches, size_t *nr)
{
	const struct nt_branch_sink sink = {
		.size = sizeof(sink), .begin = begin, .branch = take_branch, .error = take_error,
		.end = end,
	};

	unsigned int shortened = begin_reading();
	int err;

	r->branches.nr = 0;
	memset(r->totals, 0, sizeof(r->totals));
	err = nt_session_branches(r->session, &sink, r);
	*branches = r->branches.at;
	*nr = r->branches.nr;
	return end_reading(r, shortened, err);
}

/* ---- Instructions ---- */

/*
 * Set *number to the index of @name in r->names. @last is the index of the previous instruction's name, which is often
 * the same; then use it. Otherwise add @name, even if it is elsewhere in r->names. Return false if out of memory.
 */
static bool number_of(struct py_recording *r, const char *name, uint32_t last, uint32_t *number)
{
	*number = last;
	if (r->names.nr && r->names.at[last] == name)
		return true;
	*number = r->names.nr;
	return ns_array_add(&r->names, name);
}

static bool add_insns(struct py_recording *r)
{
	const struct nt_profile_insn *insns;
	struct py_insn insn = { 0 };
	size_t nr, i;

	insns = nt_profile_insns(r->profile, &nr);
	for (i = 0; i < nr; i++) {
		insn.address = insns[i].address;
		insn.count = insns[i].count;
		if (!number_of(r, insns[i].object, insn.object, &insn.object) ||
		    !number_of(r, insns[i].symbol, insn.symbol, &insn.symbol) ||
		    !ns_array_add(&r->insns, insn))
			return false;
	}
	return true;
}

int py_insns(struct py_recording *r, const struct py_insn **insns, size_t *nr)
{
	unsigned int shortened = begin_reading();
	struct nt_profile_totals totals = { 0 };
	int err = -1;

	r->insns.nr = 0;
	r->names.nr = 0;
	nt_profile_free(r->profile);
	r->profile = nt_profile_new(r->session, NULL);
	if (r->profile && !nt_profile_run(r->profile) && add_insns(r)) {
		nt_profile_totals(r->profile, &totals);
		err = 0;
	}
	SET_TOTALS(r, totals);
	*insns = r->insns.at;
	*nr = r->insns.nr;
	return end_reading(r, shortened, err);
}

/* ---- Calls ---- */

static int take_call(void *ctx, const struct nt_call *call)
{
	struct py_recording *r = ctx;
	struct py_call one = {
		.time = call->begin, .ns = call->ns, .on_cpu_ns = call->ran, .at = call->at, .insns = call->insns, .tid = call->tid,
		.object = 2 * call->function, .symbol = 2 * call->function + 1, .kind = call->kind,
		.open = call->open,
	};
	const char *comm;

	nt_session_thread(r->session, call->tid, call->begin, &one.pid, &comm);
	return ns_array_add(&r->calls, one) && ns_array_add(&r->slices, call->slice) ? 0 : -1;
}

/*
 * After all trace is decoded, set the CPU, thread and position of each call from its slice, and the names of functions.
 * Return false if out of memory.
 */
static bool finish_calls(struct py_recording *r, const struct nt_calls *calls)
{
	const struct nt_function *f;
	const struct nt_slice *slice;
	size_t i;

	for (i = 0; i < r->calls.nr; i++) {
		slice = nt_calls_slice(calls, r->slices.at[i]);
		r->calls.at[i].at += slice->at;
		r->calls.at[i].cpu = slice->cpu;
		r->calls.at[i].thread = slice->thread;
	}
	for (i = 0; (f = nt_calls_function(calls, i)); i++) {
		if (!ns_array_add(&r->names, f->object) || !ns_array_add(&r->names, f->symbol))
			return false;
	}
	return true;
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Sort calls by time, then by thread and position. A call precedes the calls that it made. */
static int call_cmp(const void *a, const void *b)
{
	const struct py_call *x = a, *y = b;

	return compare(x->time, y->time) ?: compare(x->thread, y->thread) ?: compare(x->at, y->at) ?:
	       compare(y->insns, x->insns) ?: compare(y->ns, x->ns);
}

static int run_calls(struct py_recording *r, struct nt_calls *calls)
{
	struct nt_calls_totals totals;

	nt_calls_each(calls, take_call, r);
	nt_calls_open(calls);
	if (nt_calls_run(calls) || !finish_calls(r, calls))
		return -1;
	nt_calls_totals(calls, &totals);
	SET_TOTALS(r, totals);
	return 0;
}

int py_calls(struct py_recording *r, const struct py_call **calls, size_t *nr)
{
	unsigned int shortened = begin_reading();
	struct nt_calls *all = nt_calls_new(r->session);
	int err;

	r->calls.nr = 0;
	r->slices.nr = 0;
	r->names.nr = 0;
	err = all ? run_calls(r, all) : -1;
	nt_calls_free(all);
	ns_array_sort(&r->calls, call_cmp);
	*calls = r->calls.at;
	*nr = r->calls.nr;
	return end_reading(r, shortened, err);
}

const char *py_name(const struct py_recording *r, uint32_t number)
{
	return number < r->names.nr ? r->names.at[number] : NULL;
}
