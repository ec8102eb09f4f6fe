// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests of filters and comparators with random registers and random code. For each instruction, the test
 * compares the model with an oracle, a second implementation that decides whether the instruction is traced.
 * The oracle is written from the text of the Trace Control Interface, chapter "Trace Encoder Filter
 * Registers", and uses the values that were written to the registers. It shares no code with the model.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "insn.h"
#include "random.h"
#include "regs_te.h"

#define RUNS	400
#define BLOCKS	300
#define FILTERS	3
#define COMPS	3

static uint32_t seed;

static uint32_t rnd(uint32_t n)
{
	return random_below(&seed, n);
}

/* ---- The oracle, which decides whether an instruction is traced ---- */

struct filter {
	uint32_t control, match;
	uint64_t causes;
	int traps;	/* number of nested traps from the matching trap on; 0 after its return */
};

struct comp {
	uint32_t control;
	uint64_t p, s;
	int asserted;
};

static struct filter filters[FILTERS];
static struct comp comps[COMPS];
static uint32_t selected;

/* Return the result of value @f of trTeCompPFunction or trTeCompSFunction. */
static int function(unsigned int f, uint64_t input, uint64_t match)
{
	int results[8] = { input == match, input != match, input < match, input <= match,
			   input > match, input >= match, 0, 1 };

	return results[f];
}

/*
 * Return the output of a comparator. Mode 3 is "Set when primary result is true and continue to assert until
 * instruction after secondary result is true".
 */
static int comparator(struct comp *c, uint64_t addr)
{
	unsigned int pf = c->control >> 4 & 7, sf = c->control >> 8 & 7;
	int p = function(pf, addr, c->p), s = function(sf, addr, c->s), now;

	switch (c->control >> 12 & 3) {
	case 0:
		return p;
	case 1:
		return p && s;
	case 2:
		return !p || !s;
	default:
		now = c->asserted || p;
		c->asserted = now && !s;
		return now;
	}
}

/*
 * Return true if the filter matches only in trap handlers. "When set, start matching from exception cause
 * codes specified ..., and stop matching upon return from the 1st matching exception". Such a filter "should
 * include a count of nested traps". Bit 8 of MatchInst selects interrupts instead of exceptions.
 */
static int is_about_traps(const struct filter *f)
{
	return f->control >> 2 & 3;
}

static int trap_is_chosen(const struct filter *f, unsigned int cause, int interrupt)
{
	int wants_interrupts = f->control & 8 && f->match & 0x100;

	return interrupt == wants_interrupts && (!(f->control & 4) || f->causes >> cause & 1);
}

static void trapped(unsigned int cause, int interrupt)
{
	int i;

	for (i = 0; i < FILTERS; i++)
		if (selected >> i & 1 && is_about_traps(&filters[i]) &&
		    (filters[i].traps || trap_is_chosen(&filters[i], cause, interrupt)))
			filters[i].traps++;
}

static void returned(void)
{
	int i;

	for (i = 0; i < FILTERS; i++)
		if (selected >> i & 1 && filters[i].traps)
			filters[i].traps--;
}

/* Return the number of a privilege mode in filters, which is 0 for U, 1 for S, 3 for M, 5 for VU, 6 for VS. */
static unsigned int level(unsigned int priv)
{
	static const unsigned int levels[] = { [0] = 0, [1] = 1, [3] = 3, [4] = 5, [5] = 6 };

	return levels[priv];
}

static int is_traced(uint64_t addr, unsigned int priv)
{
	int out[COMPS], traced = !selected, i, k;

	for (i = 0; i < COMPS; i++)
		out[i] = comparator(&comps[i], addr);
	for (i = 0; i < FILTERS; i++) {
		uint32_t c = filters[i].control;
		int match = selected >> i & c & 1;

		if (c & 2)
			match &= filters[i].match >> level(priv);
		if (is_about_traps(&filters[i]))
			match &= filters[i].traps > 0;
		for (k = 0; k < 3; k++)
			if (c >> (4 + 4 * k) & 1)
				match &= out[c >> (5 + 4 * k) & 7];
		traced |= match & 1;
	}
	return traced;
}

/* ---- The model, which the test compares with the oracle ---- */

static struct nb_te te;

static bool drop(void *opaque, const uint8_t *bytes, size_t len)
{
	(void)opaque, (void)bytes, (void)len;
	return true;
}

static void write64(unsigned int offset, uint64_t value)
{
	nb_dev_write(&te.dev, offset, value);
	nb_dev_write(&te.dev, offset + 4, value >> 32);
}

static void set_up(void)
{
	static const uint32_t functions[] = { 0, 1, 2, 3, 4, 5, 7 };
	struct nb_te_caps caps;
	int i;

	nb_te_caps_full(&caps);
	nb_te_init(&te, &caps, drop, NULL);
	nb_dev_write(&te.dev, TR_CONTROL, 1);
	nb_dev_write(&te.dev, TR_TE_INST_FEATURES, 0);
	nb_dev_write(&te.dev, TR_TS_CONTROL, 0);
	for (i = 0; i < COMPS; i++) {
		comps[i] = (struct comp){
			.control = functions[rnd(7)] << 4 | functions[rnd(7)] << 8 | rnd(4) << 12,
			.p = 0x1000 + 2 * rnd(200), .s = 0x1000 + 2 * rnd(200),
		};
		write64(TR_TE_COMP(i) + 0x10, comps[i].p);
		write64(TR_TE_COMP(i) + 0x18, comps[i].s);
		nb_dev_write(&te.dev, TR_TE_COMP(i), comps[i].control);
	}
	for (i = 0; i < FILTERS; i++) {
		filters[i].control = (rnd(8) ? 1 : 0) | rnd(2) << 1;
		if (rnd(3))
			filters[i].control |= 1 << 4 | rnd(COMPS) << 5;
		if (!rnd(3))
			filters[i].control |= 1 << 8 | rnd(COMPS) << 9;
		if (!rnd(3))
			filters[i].control |= 1 << 2;
		if (!rnd(3))
			filters[i].control |= 1 << 3;
		filters[i].match = (rnd(0x80) & 0x6b) | (filters[i].control & 8 ? rnd(2) << 8 : 0);
		filters[i].causes = rnd(0x10000);
		filters[i].traps = 0;
		/*
		 * Write the control register first, because fields that it does not enable may not
		 * exist
		 */
		nb_dev_write(&te.dev, TR_TE_FILTER(i), filters[i].control);
		nb_dev_write(&te.dev, TR_TE_FILTER(i) + 4, filters[i].match);
		nb_dev_write(&te.dev, TR_TE_FILTER(i) + 8, filters[i].causes);
	}
	selected = rnd(8);
	nb_dev_write(&te.dev, TR_TE_INST_FILTERS, selected);
	nb_dev_write(&te.dev, TR_CONTROL, 1 | 6 << 4);
	nb_dev_write(&te.dev, TR_CONTROL, 3 | 6 << 4);
	nb_dev_write(&te.dev, TR_CONTROL, 7 | 6 << 4);
}

static uint8_t expected[BLOCKS * 16];
static unsigned int n_expected;

/* Take a trap before an instruction. The instruction does not retire, so comparators do not compare it. */
static void give_trap(struct nb_truth_writer *truth)
{
	struct nb_ingress blk = { .iaddr = 0x1000 + 2 * rnd(200), .ilastsize = 1, .priv = NB_PRIV_S };
	unsigned int cause = rnd(16);
	int interrupt = rnd(2);

	blk.itype = interrupt ? NB_ITYPE_INTERRUPT : NB_ITYPE_EXCEPTION;
	nb_te_trap(&te, cause, interrupt);
	nb_te_ingress(&te, &blk, truth);
	trapped(cause, interrupt);
}

/*
 * Retire a block of up to 12 instructions. The model processes the whole block, and the oracle processes each
 * instruction.
 */
static void give_block(struct nb_truth_writer *truth)
{
	static const uint8_t privs[] = { NB_PRIV_U, NB_PRIV_S, NB_PRIV_M, NB_PRIV_VU, NB_PRIV_VS };
	struct nb_ingress blk = { .iaddr = 0x1000 + 2 * rnd(200), .ninsn = 1 + rnd(12), .priv = privs[rnd(5)],
				  .itype = NB_ITYPE_INDIRECT_JUMP };
	uint64_t wide = rnd(1 << 12), addr = blk.iaddr;
	uint32_t i;

	if (!rnd(8))
		blk.itype = NB_ITYPE_TRAP_RETURN;
	wide &= (1 << blk.ninsn) - 1;
	blk.wide = &wide;
	for (i = 0; i < blk.ninsn; i++) {
		blk.ilastsize = 1 + (wide >> i & 1);
		blk.iretire += blk.ilastsize;
		expected[n_expected++] = is_traced(addr, blk.priv);
		addr += 2 * blk.ilastsize;
	}
	blk.wide_hash = nb_wide_hash(blk.wide, blk.ninsn);
	nb_te_ingress(&te, &blk, truth);
	if (blk.itype == NB_ITYPE_TRAP_RETURN)
		returned();
}

static void compare(const char *path, unsigned int run)
{
	struct nb_truth_reader *r;
	struct nb_truth_event ev;
	unsigned int hart, n = 0;
	uint32_t i;

	r = nb_truth_open(path, &hart);
	assert_non_null(r);
	while (nb_truth_next(r, &ev) > 0)
		for (i = 0; ev.kind == NB_TRUTH_BLOCK && i < ev.blk.ninsn; i++, n++)
			if (n < n_expected && ev.traced != expected[n])
				fail_msg("run %u, instruction %u in the block at %#llx: the model %s it", run, n,
					 (unsigned long long)ev.blk.iaddr, ev.traced ? "traces" : "filters");
	assert_int_equal(n, n_expected);
	nb_truth_reader_close(r);
}

static void test_oracle(void **state)
{
	char path[] = "/tmp/filter-XXXXXX";
	unsigned int run, i, traced = 0, all = 0;
	struct nb_truth_writer *truth;

	(void)state;
	close(mkstemp(path));
	for (run = 0; run < RUNS; run++) {
		seed = run;
		set_up();
		truth = nb_truth_create(path, 0);
		assert_non_null(truth);
		n_expected = 0;
		for (i = 0; i < BLOCKS; i++) {
			if (!rnd(6))
				give_trap(truth);
			give_block(truth);
		}
		assert_int_equal(nb_truth_close(truth), 0);
		for (i = 0; i < n_expected; i++)
			traced += expected[i];
		all += n_expected;
		compare(path, run);
	}
	unlink(path);
	/* The test is meaningful only if a part of the code is traced */
	assert_in_range(traced, all / 5, all * 4 / 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_oracle) };

	return cmocka_run_group_tests_name("filter", tests, NULL, NULL);
}
