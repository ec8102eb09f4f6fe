// SPDX-License-Identifier: GPL-2.0-only
/* Test the driver's register logic for encoders that share funnels and sinks */
#include "registers.h"

void funnel_is_on_while_an_encoder_is(void **state)
{
	struct ntrace_window win = window(0, 0x8000);
	bool wrapped;
	u32 n, m;

	shared();
	assert_int_equal(start(&enc, &win, false), 0);
	assert_int_equal(funnel.comp.users, 1);
	fake_run(enc.comp.base, 100);
	n = ntrace_ramsink_written(&sink, &win, &wrapped);

	assert_int_equal(LOCKED(ntrace_sink_join(&sink, &enc2)), 0);
	assert_int_equal(funnel.comp.users, 2);
	fake_run(enc2.comp.base, 100);
	m = ntrace_ramsink_written(&sink, &win, &wrapped);
	assert_true(m > n + 100);

	assert_int_equal(LOCKED(ntrace_sink_leave(&sink, &enc2)), 0);
	assert_int_equal(funnel.comp.users, 1);
	assert_int_not_equal(fake_peek(funnel.comp.base, TR_CONTROL) & 2, 0);
	fake_run(enc.comp.base, 100);
	assert_int_equal(stop(&enc), 0);
	assert_int_equal(funnel.comp.users, 0);
	assert_int_equal(fake_peek(funnel.comp.base, TR_CONTROL) & 2, 0);
	assert_true(ntrace_ramsink_written(&sink, &win, &wrapped) > m + 100);
}

/* Encoders that stall and trace user mode stay enabled while their sink gets another window */
void members_stand_still(void **state)
{
	static const struct ntrace_filter user = { .priv = NTRACE_PRIV_U }, kernel = { .priv = NTRACE_PRIV_S };
	const struct ntrace_filter *filters[] = { &user, &kernel };
	u64 config;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct ntrace_window win = window(0, 0x8000);

		setup(NULL);
		shared();
		config = plain_config() | NTRACE_CONFIG_STALL;
		assert_int_equal(ntrace_encoder_program(&enc, config, filters[i]), 0);
		assert_int_equal(ntrace_encoder_program(&enc2, config, filters[i]), 0);
		start_both(&win);
		assert_int_equal(LOCKED(ntrace_sink_hold(&sink, &enc)), 0);
		assert_int_equal(fake_peek(sink.comp.base, TR_CONTROL) & TR_CONTROL_ENABLE, 0);
		assert_int_equal(fake_peek(enc.comp.base, TR_CONTROL) & TR_CONTROL_ENABLE, 0);
		assert_int_equal(fake_peek(enc2.comp.base, TR_CONTROL) & TR_CONTROL_ENABLE,
				 i ? 0 : TR_CONTROL_ENABLE);
		assert_int_equal(enc2.on, !i);
		win = window(0x9000, 0x1000);
		assert_int_equal(LOCKED(ntrace_sink_start(&sink, &win)), 0);
		assert_true(enc.on && enc2.on);
		stop_both();
	}
}

/* After an event has ended, an encoder is still enabled. The driver must program this encoder for the new event. */
void encoder_left_enabled(void **state)
{
	static const struct ntrace_filter kernel = { .priv = NTRACE_PRIV_S };
	struct ntrace_want want = { .id = 1, .filter = { .priv = NTRACE_PRIV_U } };
	struct ntrace_window win = window(0, 0x8000);
	bool wrapped;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	want.config = plain_config();
	assert_int_equal(ntrace_encoder_program(&enc, want.config, &kernel), 0);
	assert_int_equal(start(&enc, &win, false), 0);
	/* Simulate that the encoder's sink has stopped although the driver did not stop it */
	ntrace_write(&sink.comp, TR_CONTROL, TR_CONTROL_ACTIVE);
	ntrace_encoder_want(&enc, &want);
	assert_int_equal(start(&enc, &win, false), 0);
	/* This code runs in user mode, which only the new event traces */
	fake_run(enc.comp.base, 100);
	assert_int_equal(stop(&enc), 0);
	assert_true(ntrace_ramsink_written(&sink, &win, &wrapped) > 100);
}

/*
 * Each hart may send a quarter of a byte in a nanosecond. Between two checks of the write pointer, all harts together
 * must not fill more than half of the window.
 */
void period_suits_all_members(void **state)
{
	struct ntrace_window win = window(0, 0x80000), small = window(0, 0x1000);
	u32 one, two;

	shared();
	assert_int_equal(start(&enc, &win, false), 0);
	one = LOCKED(ntrace_sink_period(&sink, &win));
	assert_int_equal(LOCKED(ntrace_sink_join(&sink, &enc2)), 0);
	two = LOCKED(ntrace_sink_period(&sink, &win));
	assert_true(one / 4 <= 0x80000 / 2);
	assert_true(two * 2 / 4 <= 0x80000 / 2);
	assert_int_equal(two, one / 2);
	assert_int_equal(LOCKED(ntrace_sink_leave(&sink, &enc2)), 0);
	assert_int_equal(LOCKED(ntrace_sink_period(&sink, &win)), one);
	/* The period must not be shorter than NTRACE_PERIOD_MIN. */
	assert_int_equal(LOCKED(ntrace_sink_period(&sink, &small)), NTRACE_PERIOD_MIN);
	win.circular = true;
	assert_int_equal(LOCKED(ntrace_sink_period(&sink, &win)), NTRACE_PERIOD_MAX);
	/* All encoders of the sink together must fill at most NTRACE_FOLLOW_MAX bytes in a period */
	win.follow = true;
	one = LOCKED(ntrace_sink_period(&sink, &win));
	assert_int_equal(LOCKED(ntrace_sink_join(&sink, &enc2)), 0);
	two = LOCKED(ntrace_sink_period(&sink, &win));
	assert_int_equal(one / 4, NTRACE_FOLLOW_MAX);
	assert_int_equal(two, one / 2);
	assert_int_equal(LOCKED(ntrace_sink_leave(&sink, &enc2)), 0);
	assert_int_equal(stop(&enc), 0);
}

/*
 * An encoder has two outputs, and its path uses one of them. Trace from the unused output must not reach any event
 */
void input_that_no_path_uses_is_disabled(void **state)
{
	struct ntrace_window win = window(0, 0x8000);
	bool wrapped;
	u32 n;

	shared();
	ntrace_funnel_setup(&funnel);
	funnel.comp.ops->open(&funnel.comp, 0);
	assert_int_equal(fake_peek(funnel.comp.base, TR_FUNNEL_DIS_INPUT), 2);
	start_both(&win);
	fake_run(enc.comp.base, 10);
	n = ntrace_ramsink_written(&sink, &win, &wrapped);
	fake_run(enc2.comp.base, 100);
	assert_int_equal(ntrace_ramsink_written(&sink, &win, &wrapped), n);
	stop_both();
	/* The driver disables the unused input again after a loss of power */
	ntrace_write(&funnel.comp, TR_CONTROL, 0);
	ntrace_path_restore(&enc);
	assert_int_equal(fake_peek(funnel.comp.base, TR_FUNNEL_DIS_INPUT), 2);
}

void drained_funnel_keeps_its_setup(void **state)
{
	struct ntrace_window win = window(0, 0x100);
	bool wrapped;

	funnel_fifo = 256;
	shared();
	funnel_counts_itself();
	start_both(&win);
	fake_run(enc.comp.base, 300);
	fake_run(enc2.comp.base, 300);
	assert_int_equal(fake_peek(sink.comp.base, TR_CONTROL) & 2, 0);
	stop_both();
	ntrace_ramsink_written(&sink, &win, &wrapped);
	assert_true(wrapped);
	assert_int_equal(FIELD_GET(TR_TS_MODE, fake_peek(funnel.comp.base, TR_TS_CONTROL)), 2);
	assert_int_equal(fake_peek(funnel.comp.base, TR_FUNNEL_DIS_INPUT), 0);
	both_can_be_traced(0x10000);
	assert_string_equal(shim_log, "");
}

void encoder_that_is_not_enabled_frees_its_funnel(void **state)
{
	struct ntrace_window win = window(0, 0x1000);

	shared();
	fake_never_enabled(enc.comp.base);
	assert_int_equal(start(&enc, &win, false), -ETIMEDOUT);
	assert_int_equal(funnel.comp.users, 0);
	assert_false(fake_peek(funnel.comp.base, TR_CONTROL) & TR_CONTROL_ENABLE);
}

void what_others_use_is_not_reset(void **state)
{
	struct ntrace_window win = window(0, 0x1000);

	shared();
	assert_int_equal(start(&enc, &win, false), 0);
	funnel.comp.stuck = true;
	assert_int_equal(ntrace_path_recover(&enc2), -EIO);
	assert_true(fake_peek(funnel.comp.base, TR_CONTROL) & TR_CONTROL_ENABLE);
	funnel.comp.stuck = false;
	sink.owner = (struct ntrace_session *)&win;
	sink.comp.stuck = true;
	assert_int_equal(ntrace_path_recover(&enc2), -EIO);
	assert_true(fake_peek(sink.comp.base, TR_CONTROL) & TR_CONTROL_ENABLE);
	sink.comp.stuck = false;
	sink.owner = NULL;
	assert_int_equal(stop(&enc), 0);
}

/* One thread resets a funnel that has stopped answering. Meanwhile, another thread starts a path through this funnel */
void stuck_funnel_is_left_alone(void **state)
{
	struct ntrace_window win = window(0, 0x1000);

	shared();
	funnel.comp.stuck = true;
	assert_int_equal(start(&enc, &win, false), -EIO);
	assert_int_equal(funnel.comp.users, 0);
	assert_int_equal(fake_peek(funnel.comp.base, TR_CONTROL) & TR_CONTROL_ENABLE, 0);
	assert_int_equal(fake_peek(sink.comp.base, TR_CONTROL) & TR_CONTROL_ENABLE, 0);
	assert_int_equal(ntrace_path_recover(&enc), 0);
	shim_log[0] = 0;
	assert_int_equal(start(&enc, &win, false), 0);
	assert_int_equal(stop(&enc), 0);
}
