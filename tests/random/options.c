// SPDX-License-Identifier: GPL-2.0-only
/*
 * Choose the options of a test from its seed. A table, which is empty at present, lists situations that no
 * test has, because the library handles them wrong.
 */
#include <stdio.h>
#include <string.h>

#include "random.h"

static const struct option {
	const char	*name;
	size_t		offset;
	uint32_t	plain, max;
	const char	*text;
} options[] = {
#define OPTION_ROW(name, plain, max, text)	{ #name, offsetof(struct options, name), plain, max, text },
	OPTIONS(OPTION_ROW)
#undef OPTION_ROW
};

#define NR_OPTIONS	(sizeof(options) / sizeof(options[0]))

static uint32_t *field(struct options *opt, size_t i)
{
	return (uint32_t *)((char *)opt + options[i].offset);
}

/*
 * Excluded situations, each with its reason. There are none at present. If a fault is found that
 * cannot be fixed at once, add a line, so that the search for other faults can continue.
 */
static const struct exclusion {
	const char	*name;		/* name of an option that gets its plain value in each test */
	const char	*reason;
} exclusions[] = {
	{ NULL, NULL }		/* The loops over this list end here */
};

bool options_exclude(struct options *opt, const char *allowed)
{
	bool changed = false;
	size_t i, j;

	for (i = 0; exclusions[i].name; i++) {
		for (j = 0; j < NR_OPTIONS; j++) {
			if (strcmp(options[j].name, exclusions[i].name) ||
			    (allowed && !strcmp(options[j].name, allowed)))
				continue;
			changed |= *field(opt, j) != options[j].plain;
			*field(opt, j) = options[j].plain;
		}
	}
	return changed;
}

void options_list_exclusions(void)
{
	size_t i;

	for (i = 0; exclusions[i].name; i++)
		printf("# left out: %s: %s\n", exclusions[i].name, exclusions[i].reason);
}

uint32_t *options_find(struct options *opt, const char *name, size_t length)
{
	size_t i;

	for (i = 0; i < NR_OPTIONS; i++) {
		if (strlen(options[i].name) == length && !strncmp(options[i].name, name, length))
			return field(opt, i);
	}
	return NULL;
}

/* Print the options that do not have their plain value. */
void options_print(const struct options *opt)
{
	size_t i;

	for (i = 0; i < NR_OPTIONS; i++) {
		uint32_t value = *field((struct options *)opt, i);

		if (value != options[i].plain)
			printf(" %s=%u", options[i].name, value);
	}
}

/* Simplify one option, which @step selects. Return false if @step is greater than the last step. */
bool options_shrink(struct options *opt, uint32_t step)
{
	size_t i = step / 3;
	uint32_t *value;

	if (i >= NR_OPTIONS)
		return false;
	value = field(opt, i);
	if (step % 3 == 0)
		*value = options[i].plain;
	else if (step % 3 == 1)
		*value = options[i].plain + ((int64_t)*value - options[i].plain) / 4;
	else
		*value = options[i].plain + ((int64_t)*value - options[i].plain) / 2;
	return true;
}

/* Change options that exclude each other. */
void options_settle(struct options *opt)
{
	opt->xlen = opt->xlen == 32 ? 32 : 64;
	if (opt->zcmt || opt->zcmp)
		opt->compressed = 1;
	if (opt->ir_mode == 1)
		opt->procs = 1;	/* simple counting requires that each return goes to the caller */
	if (opt->procs > 1)
		opt->context = 1;
	if (opt->harts > 1 && opt->src_bits < 2)
		opt->src_bits = 2;
	if (opt->ir_decoder < opt->ir_depth)
		opt->ir_decoder = opt->ir_depth;
	if (!opt->context)
		opt->guests = 0;
	if (opt->dev_self) {
		/*
		 * Only the profile "accemic" has RepeatInstruction. SYNC does not empty the return stack of this profile,
		 * a full stack ignores calls, and reserved and vendor messages may end the flow
		 */
		opt->dev_stack = 1;
		opt->ir_reject = 1;
		opt->vendor = 0;
	}
}

static uint32_t maybe(struct rng *rng, uint32_t percent)
{
	return rng_percent(rng, percent);
}

/*
 * Return an interval from @low to @high for a "Once in N" option. With a probability of 100 - @percent
 * percent, return 0, which means never.
 */
static uint32_t rate(struct rng *rng, uint32_t percent, uint32_t low, uint32_t high)
{
	uint32_t value = rng_range(rng, low, high);

	if (rng_percent(rng, 50))
		value = low + (value - low) / 8;
	return rng_percent(rng, percent) ? value : 0;
}

static uint32_t share(struct rng *rng, uint32_t percent)
{
	static const uint32_t shares[] = { 2, 10, 30, 60, 100 };

	return rng_percent(rng, percent) ? shares[rng_below(rng, 5)] : 0;
}

static void draw_program(struct options *opt, struct rng *rng)
{
	opt->xlen = maybe(rng, 30) ? 32 : 64;
	opt->compressed = maybe(rng, 75);
	opt->zcmp = maybe(rng, 25);
	opt->zcmt = maybe(rng, 25);
	opt->long_insns = maybe(rng, 20);
	opt->custom = maybe(rng, 20) ? rng_range(rng, 1, 20) : 0;
	opt->functions = rng_range(rng, 2, maybe(rng, 30) ? 40 : 8);
	opt->blocks = rng_range(rng, 1, 12);
	opt->block_insns = maybe(rng, 8) ? 2500 : 50;
	opt->high = rng_below(rng, 4);
	opt->pairs = maybe(rng, 50) ? rng_range(rng, 1, 30) : 0;
}

static void draw_execution(struct options *opt, struct rng *rng)
{
	opt->harts = maybe(rng, 60) ? 1 : rng_range(rng, 2, 3);
	opt->same_code = maybe(rng, 60);
	opt->procs = maybe(rng, 75) ? 1 : rng_range(rng, 2, 4);
	/* make some streams long, so that the decoder uses stored paths, and discards some stored paths */
	opt->insns = maybe(rng, 85) ? rng_range(rng, 50, 2500) :
		     maybe(rng, 95) ? rng_range(rng, 2500, 40000) : rng_range(rng, 40000, 200000);
	opt->chance = maybe(rng, 50) ? rng_below(rng, 4) : rng_below(rng, 101);
	opt->wild = share(rng, 50);
	opt->exceptions = rate(rng, 50, 20, 2000);
	opt->interrupts = rate(rng, 50, 20, 2000);
	opt->guests = maybe(rng, 30);
}

static void draw_optimisations(struct options *opt, struct rng *rng)
{
	opt->htm = maybe(rng, 55);
	opt->mode_given = maybe(rng, 50);
	opt->ir_mode = maybe(rng, 60) ? rng_range(rng, 1, 3) : 0;
	opt->ir_depth = maybe(rng, 50) ? rng_range(rng, 1, 6) : rng_range(rng, 7, 32);
	opt->ir_decoder = maybe(rng, 60) ? 32 : opt->ir_depth;
	opt->ir_strict = maybe(rng, 40);
	opt->ir_reject = maybe(rng, 10);
	opt->seq = maybe(rng, 45);
	opt->seq_told = share(rng, 20);
	opt->all_jumps = maybe(rng, 20);
	opt->rephist = maybe(rng, 40);
	opt->hrep_max = maybe(rng, 50) ? 262143 : rng_range(rng, 1, 9);
	opt->hrep_short = maybe(rng, 40);
	opt->hrep_first = maybe(rng, 40);
	opt->hrep_one = maybe(rng, 20);
	opt->hist_bits = maybe(rng, 50) ? 31 : rng_range(rng, 1, 30);
	opt->hist_early = maybe(rng, 20) ? rng_range(rng, 1, 50) : 0;
	opt->hist_before = maybe(rng, 40);
	opt->repeat = maybe(rng, 50);
	opt->bcnt_max = maybe(rng, 60) ? 262143 : rng_range(rng, 1, 9);
	opt->repeat_loose = maybe(rng, 40);
	opt->ext = maybe(rng, 50);
	opt->icnt_bits = maybe(rng, 60) ? 22 : rng_range(rng, 6, 14);
	opt->icnt_before = maybe(rng, 40);
	opt->icnt_early = rate(rng, 15, 5, 300);
	opt->icnt_sync = share(rng, 40);
	opt->icnt_first = share(rng, 60);
	opt->hist_first = share(rng, 50);
	opt->ib_empty = maybe(rng, 50) ? 100 : rng_below(rng, 100);
}

static void draw_events(struct options *opt, struct rng *rng)
{
	opt->sync = rate(rng, 75, 15, 2000);
	opt->sync_upgrade = share(rng, 70);
	opt->sync_other = share(rng, 20);
	opt->sync_vendor = maybe(rng, 15) ? share(rng, 100) : 0;
	opt->sync_any = maybe(rng, 60);
	opt->sync_direct = maybe(rng, 70);
	opt->stops = rate(rng, 45, 30, 2000);
	opt->no_corr = share(rng, 30);
	opt->stop_jump = share(rng, 30);
	opt->stop_cdf0 = maybe(rng, 10);
	opt->stop_vendor = maybe(rng, 20);
	opt->disabled = maybe(rng, 20);
	opt->resets = rate(rng, 15, 50, 2000);
	opt->reset_jump = share(rng, 40);
	opt->overruns = rate(rng, 25, 50, 2000);
	opt->overrun_stale = maybe(rng, 40);
	opt->error_vendor = maybe(rng, 20);
}

static void draw_transport(struct options *opt, struct rng *rng)
{
	opt->ts = maybe(rng, 50);
	opt->ts_bits = maybe(rng, 40) ? 64 : rng_range(rng, 14, 48);
	opt->ts_share = maybe(rng, 50) ? 100 : rng_below(rng, 100);
	opt->ts_step = rng_range(rng, 1, maybe(rng, 30) ? 1000 : 10);
	opt->idle = share(rng, 30);
	opt->padding = share(rng, 30);
	opt->vendor = maybe(rng, 20) ? rng_range(rng, 1, 50) : 0;
	opt->vendor_ts = maybe(rng, 40);
	opt->vendor_bytes = maybe(rng, 80) ? 30 : 1000;
	opt->context = maybe(rng, 50);
	opt->own_again = rate(rng, 20, 10, 500);
	opt->src_bits = maybe(rng, 50) ? 0 : rng_range(rng, 1, 12);
	opt->btype1 = maybe(rng, 30);
	opt->cut = maybe(rng, 10);
	opt->mixed = 1;
	opt->parallel = 1;
	opt->named = 1;
}

void options_draw(struct options *opt, uint64_t seed)
{
	struct rng rng = rng_new(seed, 1);

	draw_program(opt, &rng);
	draw_execution(opt, &rng);
	draw_optimisations(opt, &rng);
	draw_events(opt, &rng);
	draw_transport(opt, &rng);
}

/* Choose deviations from the specification, in addition to the options of options_draw(). */
void options_deviate(struct options *opt, uint64_t seed)
{
	struct rng rng = rng_new(seed, 2);

	opt->dev_direct = maybe(&rng, 40);
	opt->dev_bit = maybe(&rng, 40);
	opt->dev_hist = maybe(&rng, 40);
	opt->dev_stack = maybe(&rng, 40);
	opt->dev_xret = maybe(&rng, 40);
	opt->dev_self = maybe(&rng, 20);
	opt->dev_ecode = maybe(&rng, 40);
	opt->dev_gap = maybe(&rng, 40);
	opt->dev_addr = maybe(&rng, 40);
}
