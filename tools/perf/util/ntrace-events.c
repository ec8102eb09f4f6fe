// SPDX-License-Identifier: GPL-2.0-only
/* Set up the events for which samples are synthesised, and the memory for these samples. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/zalloc.h>

#include "branch.h"
#include "callchain.h"
#include "debug.h"
#include "evlist.h"
#include "evsel.h"
#include "ntrace-compat.h"
#include "ntrace-priv.h"
#include "session.h"
#include "symbol.h"

static void ntrace_set_event_name(struct evlist *evlist, u64 id, const char *name)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (evsel->core.id && evsel->core.id[0] == id) {
			zfree(&evsel->name);
			evsel->name = strdup(name);
			return;
		}
	}
}

static int ntrace_synth_event(struct ntrace *nt, const char *name, struct perf_event_attr *attr,
			      u64 id)
{
	int err = perf_session__deliver_synth_attr_event(nt->session, attr, id);

	if (err)
		pr_err("N-Trace: failed to synthesize the event '%s'\n", name);
	else
		ntrace_set_event_name(nt->session->evlist, id, name);
	return err;
}

static struct evsel *ntrace_session_evsel(struct ntrace *nt)
{
	struct evsel *evsel;

	evlist__for_each_entry(nt->session->evlist, evsel) {
		if (evsel->core.attr.type == nt->info.pmu_type && evsel->core.ids)
			return evsel;
	}
	return NULL;
}

static void ntrace_synth_attr(struct ntrace *nt, struct evsel *evsel, struct perf_event_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	attr->type = PERF_TYPE_HARDWARE;
	attr->sample_type = evsel->core.attr.sample_type & PERF_SAMPLE_MASK;
	attr->sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD |
			     PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	if (nt->synth_opts.timeless_decoding)
		attr->sample_type &= ~(u64)PERF_SAMPLE_TIME;
	attr->exclude_user = evsel->core.attr.exclude_user;
	attr->exclude_kernel = evsel->core.attr.exclude_kernel;
	attr->exclude_hv = evsel->core.attr.exclude_hv;
	attr->exclude_host = evsel->core.attr.exclude_host;
	attr->exclude_guest = evsel->core.attr.exclude_guest;
	attr->sample_id_all = evsel->core.attr.sample_id_all;
	attr->read_format = evsel->core.attr.read_format;
}

static int ntrace_synth_branches(struct ntrace *nt, struct perf_event_attr attr, u64 id)
{
	int err;

	attr.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	attr.sample_period = 1;
	attr.sample_type |= PERF_SAMPLE_ADDR;
	err = ntrace_synth_event(nt, "branches", &attr, id);
	if (err)
		return err;
	nt->sample_branches = true;
	nt->branches_sample_type = attr.sample_type;
	nt->branches_id = id;
	return 0;
}

static int ntrace_synth_instructions(struct ntrace *nt, struct perf_event_attr attr, u64 id)
{
	int err;

	attr.config = PERF_COUNT_HW_INSTRUCTIONS;
	attr.sample_period = nt->synth_opts.period;
	if (nt->synth_opts.callchain)
		attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (nt->synth_opts.last_branch) {
		attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
		/* Declare that branch stacks have the hardware index, because struct branch_stack of perf has it */
		attr.branch_sample_type |= PERF_SAMPLE_BRANCH_HW_INDEX;
	}
	err = ntrace_synth_event(nt, "instructions", &attr, id);
	if (err)
		return err;
	nt->sample_instructions = true;
	nt->instructions_sample_type = attr.sample_type;
	nt->instructions_id = id;
	return 0;
}

static size_t ntrace_chain_size(struct ntrace *nt)
{
	/* One more entry for the context (PERF_CONTEXT_*) before the addresses */
	return sizeof(struct ip_callchain) + (nt->synth_opts.callchain_sz + 1) * sizeof(u64);
}

static size_t ntrace_br_stack_size(struct ntrace *nt)
{
	return sizeof(struct branch_stack) + nt->br_stack_sz * sizeof(struct branch_entry);
}

/* Set up call chains and branch stacks for samples of other events (options G and L of --itrace) */
static int ntrace_synth_setup_add(struct ntrace *nt)
{
	struct evsel *evsel;
	u64 type = 0;

	if (nt->synth_opts.add_callchain) {
		type |= PERF_SAMPLE_CALLCHAIN;
		nt->chain = zalloc(ntrace_chain_size(nt));
		if (!nt->chain)
			return -ENOMEM;
	}
	if (nt->synth_opts.add_last_branch) {
		type |= PERF_SAMPLE_BRANCH_STACK;
		nt->br_stack = zalloc(ntrace_br_stack_size(nt));
		if (!nt->br_stack)
			return -ENOMEM;
	}
	evlist__for_each_entry(nt->session->evlist, evsel)
		evsel->synth_sample_type |= type & ~evsel->core.attr.sample_type;
	return 0;
}

/* Convert the sample period to instructions or ns. perf sets it to 0 for "every instruction". */
static void ntrace_synth_setup_period(struct ntrace *nt)
{
	struct itrace_synth_opts *opts = &nt->synth_opts;

	if (opts->period_type == PERF_ITRACE_PERIOD_TICKS && nt->have_time)
		opts->period = (opts->period * nt->tc.time_mult) >> nt->tc.time_shift;
	if (!opts->period) {
		opts->period_type = PERF_ITRACE_PERIOD_INSTRUCTIONS;
		opts->period = 1;
	}
}

static void ntrace_synth_setup_stack(struct ntrace *nt)
{
	struct itrace_synth_opts *opts = &nt->synth_opts;

	if ((opts->callchain || opts->add_callchain) && !symbol_conf.use_callchain) {
		symbol_conf.use_callchain = true;
		if (callchain_register_param(&callchain_param) < 0) {
			symbol_conf.use_callchain = false;
			opts->callchain = false;
			opts->add_callchain = false;
		}
	}
	if (opts->last_branch || opts->add_last_branch)
		nt->br_stack_sz = opts->last_branch_sz;
	nt->callstack = opts->callchain || opts->add_callchain || opts->thread_stack;
	nt->use_thread_stack = nt->callstack || opts->last_branch || opts->add_last_branch;
}

int ntrace_synth_setup(struct ntrace *nt)
{
	struct evsel *evsel = ntrace_session_evsel(nt);
	struct perf_event_attr attr;
	u64 id;
	int err;

	ntrace_synth_setup_period(nt);
	ntrace_synth_setup_stack(nt);
	err = ntrace_synth_setup_add(nt);
	if (err)
		return err;
	if (nt->synth_opts.calls)
		nt->branches_filter |= PERF_IP_FLAG_CALL | PERF_IP_FLAG_ASYNC |
				       PERF_IP_FLAG_TRACE_END;
	if (nt->synth_opts.returns)
		nt->branches_filter |= PERF_IP_FLAG_RETURN | PERF_IP_FLAG_TRACE_BEGIN;
	if (!evsel) {
		pr_warning("N-Trace: the metadata names an event of type %u, but this recording has no such event\n",
			   nt->info.pmu_type);
		return 0;
	}

	ntrace_synth_attr(nt, evsel, &attr);
	id = ntrace_synth_id(evsel);
	if (nt->synth_opts.branches)
		err = ntrace_synth_branches(nt, attr, id++);
	if (!err && nt->synth_opts.instructions)
		err = ntrace_synth_instructions(nt, attr, id++);
	nt->want_ranges = nt->sample_branches || nt->sample_instructions ||
			  nt->use_thread_stack || nt->log;
	return err;
}

int ntrace_synth_queue_init(struct ntrace_queue *q)
{
	q->event_buf = malloc(PERF_SAMPLE_MAX_SIZE);
	if (!q->event_buf)
		return -ENOMEM;
	if (q->nt->synth_opts.callchain) {
		q->chain = zalloc(ntrace_chain_size(q->nt));
		if (!q->chain)
			return -ENOMEM;
	}
	if (q->nt->synth_opts.last_branch) {
		q->last_branch = zalloc(ntrace_br_stack_size(q->nt));
		if (!q->last_branch)
			return -ENOMEM;
	}
	return 0;
}

void ntrace_synth_queue_exit(struct ntrace_queue *q)
{
	zfree(&q->event_buf);
	zfree(&q->chain);
	zfree(&q->last_branch);
}
