// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Count the executed instructions of a recording in several threads. Each thread adds the counts of
 * the stretch that it decodes to a set of counts that no other thread uses at the same time. At the
 * end, the blocks of all sets are converted to instructions.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "session/array.h"
#include "profile.h"
#include "session/session-priv.h"

struct nt_profile {
	struct nt_session *session;
	struct nt_filter filter;
	bool		filtered;
	pthread_mutex_t	lock;
	NS_ARRAY(struct nt_counts *) idle;	/* sets of counts that no thread is using */
	NS_ARRAY(struct nt_profile_insn) insns;
	struct nt_profile_totals totals;
};

/* A stretch that is being counted */
struct part {
	struct nt_profile *profile;
	struct nt_counts *counts;
	struct nt_profile_totals totals;
};

/* ---- Stretches ---- */

static struct nt_counts *take_counts(struct nt_profile *profile)
{
	struct nt_counts *counts = NULL;

	pthread_mutex_lock(&profile->lock);
	if (profile->idle.nr)
		counts = profile->idle.at[--profile->idle.nr];
	pthread_mutex_unlock(&profile->lock);
	return counts ? counts : nt_counts_new();
}

static void *begin(void *ctx, uint64_t stretch)
{
	struct part *part = calloc(1, sizeof(*part));

	if (!part)
		return NULL;
	part->profile = ctx;
	part->counts = take_counts(ctx);
	if (part->counts)
		return part;
	free(part);
	return NULL;
}

static int end(void *ctx, void *stretch, const struct nt_who *who, bool lost)
{
	struct nt_profile *profile = ctx;
	struct part *part = stretch;
	bool ok;

	profile->totals.errors += part->totals.errors;
	profile->totals.gaps += part->totals.gaps;
	profile->totals.losses += part->totals.losses + lost;
	pthread_mutex_lock(&profile->lock);
	ok = ns_array_add(&profile->idle, part->counts);
	pthread_mutex_unlock(&profile->lock);
	if (!ok)
		nt_counts_free(part->counts);
	free(part);
	return ok ? 0 : -1;
}

static int take_all(void *part, const struct nt_who *who, struct nt_flow *flow)
{
	return nt_counts_take(((struct part *)part)->counts, flow) ? -1 : 0;
}

/* Return the address at which the thread continued after range @nth of the batch; 0: not known */
static uint64_t dest_of(const struct nt_batch *batch, size_t nth)
{
	if (nth + 1 < batch->nr)
		return batch->ranges[nth + 1].start;
	return batch->has_dest ? batch->dest : 0;
}

static int take_range(struct part *part, const struct nt_batch *batch, size_t nth)
{
	const struct nt_range *range = &batch->ranges[nth];
	struct nt_item item = { .type = NT_ITEM_RANGE, .space = batch->space };

	item.range.start = range->start;
	item.range.end_addr = range->start + 2 * range->halfwords;
	item.range.last_addr = item.range.end_addr - 2 * range->last_len;
	item.range.how = range->how;
	item.range.taken = range->flags & NT_RANGE_TAKEN;
	item.range.insns = range->insns;
	item.range.dest = dest_of(batch, nth);
	item.range.has_dest = item.range.dest;
	return nt_counts_add_item(part->counts, &item) ? -1 : 0;
}

static int take_ranges(void *ctx, const struct nt_who *who, const struct nt_batch *batch)
{
	struct nt_range_clock clock;
	struct part *part = ctx;
	int err = 0;
	size_t i;

	for (i = 0; !err && i < batch->nr; i++) {
		if (nt_filter_passes(&part->profile->filter, nt_range_time(&clock, who, batch, i), who->cpu, who->tid))
			err = take_range(part, batch, i);
	}
	return err;
}

static int take_item(void *ctx, const struct nt_who *who, const struct nt_item *item)
{
	struct part *part = ctx;

	part->totals.errors += item->type == NT_ITEM_ERROR;
	part->totals.gaps += item->type == NT_ITEM_GAP;
	part->totals.losses += item->type == NT_ITEM_LOST;
	return 0;
}

/* ---- Instructions ---- */

static bool add_insn(struct nt_profile *profile, const struct nt_count *block, uint64_t addr)
{
	struct nt_profile_insn insn = { .space = block->space, .addr = addr, .count = block->count };
	const struct nt_profile_insn *last = profile->insns.nr ?
					     &profile->insns.at[profile->insns.nr - 1] : NULL;
	struct nt_place place;

	nt_session_where(profile->session, block->space, addr, &place);
	insn.object = place.object;
	insn.symbol = place.symbol;
	insn.offset = place.offset;
	insn.address = place.object ? place.address : addr;
	/*
	 * add to the previous element if it is the same instruction, so that the array stays small;
	 * blocks are sorted by address, and often begin at the same instruction
	 */
	if (last && last->object == insn.object && last->address == insn.address) {
		profile->insns.at[profile->insns.nr - 1].count += insn.count;
		return true;
	}
	return ns_array_add(&profile->insns, insn);
}

static bool add_block(struct nt_profile *profile, const struct nt_count *block)
{
	uint8_t code[2 * NT_RANGE_HALFWORDS];
	uint64_t addr = block->from;
	size_t at = 0, size = block->to - block->from, got;

	profile->totals.insns += block->insns;
	if (size > sizeof(code))
		size = sizeof(code);
	got = nt_session_read(profile->session, block->space, addr, code, size);
	for (; got - at >= 2; at += nt_code_length(code[at])) {
		if (!add_insn(profile, block, addr + at))
			return false;
		if (nt_code_length(code[at]) > got - at)
			break;
	}
	return true;
}

static int insn_cmp(const void *a, const void *b)
{
	const struct nt_profile_insn *x = a, *y = b;

	return strcmp(x->object ?: "", y->object ?: "") ?: ns_order(x->address, y->address);
}

static int make_insns(struct nt_profile *profile)
{
	struct nt_counts *all = profile->idle.nr ? profile->idle.at[0] : NULL;
	struct nt_count count;
	uint64_t at = 0;
	size_t i;

	for (i = 1; i < profile->idle.nr; i++) {
		if (nt_counts_merge(all, profile->idle.at[i]))
			return -1;
	}
	if (all)
		nt_counts_sort(all);
	while (all && nt_counts_next(all, &at, &count) && count.type == NT_COUNT_BLOCK) {
		if (!add_block(profile, &count))
			return -1;
	}
	/* add up equal instructions, because blocks overlap, and because several processes execute the same file */
	ns_array_join(&profile->insns, insn_cmp, a->count += b->count);
	return 0;
}

/* ---- All ---- */

struct nt_profile *nt_profile_new(struct nt_session *session, const struct nt_filter *filter)
{
	struct nt_profile *profile = calloc(1, sizeof(*profile));

	if (!profile)
		return NULL;
	profile->session = session;
	profile->filter = (struct nt_filter){ .cpu = -1, .tid = -1 };
	if (filter)
		profile->filter = *filter;
	profile->filtered = nt_filter_is_set(&profile->filter);
	pthread_mutex_init(&profile->lock, NULL);
	return profile;
}

void nt_profile_free(struct nt_profile *profile)
{
	size_t i;

	if (!profile)
		return;
	for (i = 0; i < profile->idle.nr; i++)
		nt_counts_free(profile->idle.at[i]);
	pthread_mutex_destroy(&profile->lock);
	free(profile->idle.at);
	free(profile->insns.at);
	free(profile);
}

struct nt_session *ns_profile_session(const struct nt_profile *profile)
{
	return profile->session;
}

/*
 * Take the counts of a session that nt_session_open_counts() has opened. Filters do not apply to
 * these counts, because they have no times, CPUs or threads.
 */
static int take_sums(struct nt_profile *profile)
{
	struct nt_counts *counts = take_counts(profile);

	if (!counts || !ns_array_add(&profile->idle, counts)) {
		nt_counts_free(counts);
		return -1;
	}
	return profile->session->counted->take(profile->session, counts, &profile->totals) ?:
		make_insns(profile);
}

int nt_profile_run(struct nt_profile *profile)
{
	struct nt_consumer consumer = {
		.size = sizeof(consumer), .begin = begin, .item = take_item, .end = end,
		.windows = &profile->filter.time, .nr_windows = profile->filter.time.to ? 1 : 0,
	};
	int err;

	if (profile->session->counted)
		return take_sums(profile);
	if (profile->filtered)
		consumer.ranges = take_ranges;
	else
		consumer.counts = take_all;
	err = nt_session_decode(profile->session, &consumer, profile);
	return err ? err : make_insns(profile);
}

const struct nt_profile_insn *nt_profile_insns(const struct nt_profile *profile, size_t *nr)
{
	*nr = profile->insns.nr;
	return profile->insns.at;
}

bool nt_profile_count(const struct nt_profile *profile, uint64_t *at, struct nt_count *count)
{
	/* each thread of the library has its own set of counts; make_insns() has added all sets to the first set */
	return profile->idle.nr && nt_counts_next(profile->idle.at[0], at, count);
}

void nt_profile_totals(const struct nt_profile *profile, struct nt_profile_totals *totals)
{
	*totals = profile->totals;
}
