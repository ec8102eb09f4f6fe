// SPDX-License-Identifier: GPL-2.0-only
/* Test the driver's register logic for filters and ranges, which select the code that is traced */
#include "registers.h"

void filters_are_written(void **state)
{
	struct ntrace_window win = window(0, 0x8000);
	static const struct ntrace_filter user = { .priv = NTRACE_PRIV_U };
	static const struct ntrace_filter kernel = { .priv = NTRACE_PRIV_S };
	static const struct ntrace_filter here = { .nr_ranges = 1, .ranges = { { 0x10000, 0x10002 } } };
	static const struct ntrace_filter there = { .nr_ranges = 1, .ranges = { { 0x90000, 0x90002 } } };
	static const struct ntrace_filter from = { .nr_ranges = 1, .latch = 1, .no_stop = true,
						   .ranges = { { 0x10000, 0 } } };
	static const struct ntrace_filter never = { .nr_ranges = 1, .latch = 2, .ranges = { { 0x90000, 0 } } };
	static const struct ntrace_filter until = { .nr_ranges = 1, .latch = 3, .no_start = true,
						    .ranges = { { 0, 0x10000 } } };
	const struct ntrace_filter *filters[] = { &user, &kernel, &here, &there, &from, &never, &until };
	u32 n[ARRAY_SIZE(filters)];
	bool wrapped;
	int i;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	for (i = 0; i < ARRAY_SIZE(filters); i++) {
		assert_int_equal(ntrace_encoder_check(&enc, plain_config(), filters[i]), 0);
		assert_int_equal(ntrace_encoder_program(&enc, plain_config(), filters[i]), 0);
		traced(&win, 100);
		n[i] = ntrace_ramsink_written(&sink, &win, &wrapped);
	}
	assert_true(n[0] > 100);
	assert_true(n[1] < 16);		/* The hart is in user mode */
	assert_true(n[2] > 100);
	assert_true(n[3] < 16);
	assert_true(n[4] > n[2]);	/* The hart has executed code outside of the filter */
	assert_true(n[5] < 16);
	assert_in_range(n[6], 1, 64);	/* There is one block of trace, followed by idle bytes */
	enc.caps.latches = 0;
	assert_int_equal(ntrace_encoder_check(&enc, plain_config(), &here), 0);
	assert_int_equal(ntrace_encoder_check(&enc, plain_config(), &from), -EOPNOTSUPP);
}

/* The driver must refuse a filter that also selects code that the event may not see */
void filters_that_choose_more(void **state)
{
	static const struct ntrace_filter user = {
		.priv = NTRACE_PRIV_U, .nr_ranges = 2, .ranges = { { 0x10000, 0x10002 }, { 0x20000, 0x20002 } } };

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	assert_int_equal(ntrace_encoder_check(&enc, plain_config(), &user), 0);
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &user), 0);
	/* From now on, a filter for user mode also selects supervisor mode, unlike during the driver's probe */
	fake_other_levels(enc.comp.base, NTRACE_PRIV_S);
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &user), -EIO);
	assert_int_equal(ntrace_encoder_setup(&enc), 0);
	assert_true(enc.caps.priv & NTRACE_PRIV_U);
	assert_int_equal(ntrace_encoder_check(&enc, plain_config(), &user), -EOPNOTSUPP);
}

/* Return the number of bytes of trace for 100 blocks at 0x10000 and 100 blocks elsewhere, with @filter */
static u32 traced_with(const struct ntrace_filter *filter, u64 config)
{
	struct ntrace_window win = window(0, 0x8000);
	bool wrapped;

	assert_int_equal(ntrace_encoder_check(&enc, config, filter), 0);
	assert_int_equal(ntrace_encoder_program(&enc, config, filter), 0);
	traced(&win, 100);
	return ntrace_ramsink_written(&sink, &win, &wrapped);
}

void ranges_are_left_out(void **state)
{
	struct ntrace_filter none = { .exclude = true };
	struct ntrace_filter here = { .exclude = true, .nr_ranges = 3, .ranges = {
		{ 0x1000, 0x2000 }, { 0x3000, 0x4000 }, { 0x10000, 0x11000 } } };
	struct ntrace_filter all_of_it = { .exclude = true, .nr_ranges = 1, .ranges = { { 0, ~0ULL } } };
	u64 config;
	u32 n;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	config = plain_config() | NTRACE_CONFIG_EXCLUDE;
	n = traced_with(&none, config);
	/* Half of the blocks must be traced */
	assert_in_range(traced_with(&here, config), n / 4, n - 64);
	assert_true(traced_with(&all_of_it, config) < 16);
	here.nr_ranges = 4;
	assert_int_equal(ntrace_encoder_check(&enc, config, &here), -EOPNOTSUPP);
	here.nr_ranges = 2;
	assert_int_equal(ntrace_encoder_check(&enc, config, &here), 0);
}

void overflow_is_counted(void **state)
{
	direct(&(struct fake_encoder_options){ .fifo_depth = 64 }, &(struct fake_ram_options){ });
	assert_int_equal(enc.overflows, 0);
	traced_with(&all, plain_config());
	assert_int_equal(enc.overflows, 1);
}

void paused_traces_nothing(void **state)
{
	struct ntrace_window win = window(0, 0x1000);
	bool wrapped;
	u32 before;

	programmed();
	assert_int_equal(start(&enc, &win, true), 0);
	fake_run(enc.comp.base, 100);
	before = ntrace_ramsink_written(&sink, &win, &wrapped);
	assert_true(before < 16);
	ntrace_encoder_tracing(&enc, true);
	fake_run(enc.comp.base, 100);
	ntrace_encoder_tracing(&enc, false);
	assert_int_equal(stop(&enc), 0);
	assert_true(ntrace_ramsink_written(&sink, &win, &wrapped) > before + 100);
}

/*
 * If some bits of a comparator are set, an encoder reports each instruction. It does so even if no filter uses the
 * comparator.
 */
void comparators_are_off_after_a_reset(void **state)
{
	unsigned int round, j;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	for (round = 0; round < 20; round++) {
		assert_int_equal(ntrace_encoder_drop(&enc), 0);
		for (j = 0; j < TR_TE_COMP_MAX; j++)
			assert_int_equal(fake_peek(enc.comp.base, TR_TE_COMP_CONTROL(j)), 0);
	}
}

/* Check which events can start without new settings of the encoder */
void registers_hold_one_event(void **state)
{
	struct ntrace_filter was = { .priv = NTRACE_PRIV_U, .nr_ranges = 1, .latch = 1,
				     .ranges = { { 0x1000, 0x2000 } } }, other = was;
	u64 config;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	config = plain_config();
	assert_int_equal(ntrace_encoder_program(&enc, config, &was), 0);
	assert_true(ntrace_encoder_holds(&enc, config, &was));
	assert_false(ntrace_encoder_holds(&enc, config ^ NTRACE_CONFIG_CONTEXT, &was));
	assert_false(ntrace_encoder_holds(&enc, config, &all));
	other.priv = NTRACE_PRIV_S;
	assert_false(ntrace_encoder_holds(&enc, config, &other));
	other = was;
	other.latch = 2;
	assert_false(ntrace_encoder_holds(&enc, config, &other));
	other = was;
	other.no_stop = true;
	assert_false(ntrace_encoder_holds(&enc, config, &other));
	other = was;
	other.ranges[0].end++;
	assert_false(ntrace_encoder_holds(&enc, config, &other));
	enc.programmed = false;
	assert_false(ntrace_encoder_holds(&enc, config, &was));
}

void privilege_and_range_have_to_match(void **state)
{
	struct ntrace_filter kernel = { .priv = NTRACE_PRIV_S, .nr_ranges = 1,
					.ranges = { { 0x10000, 0x10002 } } };
	struct ntrace_window win = window(0, 0x1000);
	bool wrapped;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &kernel), 0);
	assert_int_equal(start(&enc, &win, false), 0);
	/* these blocks run in user mode */
	fake_run(enc.comp.base, 100);
	assert_int_equal(stop(&enc), 0);
	assert_true(ntrace_ramsink_written(&sink, &win, &wrapped) < 16);
}

/* The end of this range is 2^64, so that the first address after the range is 0 */
void range_ends_at_the_top_of_the_address_space(void **state)
{
	struct ntrace_filter top = { .nr_ranges = 1, .ranges = { { 0x10000, 0 } } };
	struct ntrace_filter empty = { .nr_ranges = 1, .ranges = { { 1, 1 } } };
	struct ntrace_window win = window(0, 0x8000);
	bool wrapped;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &top), 0);
	traced(&win, 500);
	assert_in_range(ntrace_ramsink_written(&sink, &win, &wrapped), 500, 0x8000);
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &empty), 0);
	win = window(0x8000, 0x8000);
	traced(&win, 500);
	assert_in_range(ntrace_ramsink_written(&sink, &win, &wrapped), 0, 32);
}
