// SPDX-License-Identifier: GPL-2.0-only
/* Test the driver's register logic for timestamps and their counters */
#include "registers.h"

/*
 * The counter runs in the mode of the default configuration, and an event that chooses no mode uses this mode. If a new
 * default configuration chooses no mode, the driver chooses the best mode for it.
 */
void event_without_ts_mode_has_that_of_the_default(void **state)
{
	u64 best, other;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	best = FIELD_GET(NTRACE_CONFIG_TS_MODE, enc.default_config);
	for (other = 1; other == best || !(enc.caps.ts_modes & BIT(other)); other++)
		;
	enc.default_config &= ~NTRACE_CONFIG_TS_MODE;
	enc.default_config |= other << NTRACE_CONFIG_TS_MODE_SHIFT;
	assert_int_equal(FIELD_GET(NTRACE_CONFIG_TS_MODE,
				   ntrace_encoder_resolve(&enc, NTRACE_CONFIG_TIMESTAMP)), other);
	assert_int_equal(FIELD_GET(NTRACE_CONFIG_TS_MODE, ntrace_encoder_resolve_default(
				   &enc, NTRACE_CONFIG_TIMESTAMP)), best);
}

/* Only two modes have a prescaler: "Prescale timestamp clock [...] Internal System or Core timestamp only" */
void prescaler_is_of_internal_clocks(void **state)
{
	static const struct ntrace_filter all;
	u64 mode, config;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	for (mode = 0; mode <= TR_TS_MODE_SHARED; mode++) {
		if (mode && !(enc.caps.ts_modes & BIT(mode)))
			continue;
		config = NTRACE_CONFIG_TIMESTAMP | mode << NTRACE_CONFIG_TS_MODE_SHIFT;
		assert_int_equal(ntrace_encoder_check(&enc, config, &all), 0);
		config |= 1ULL << NTRACE_CONFIG_TS_PRESCALE_SHIFT;
		assert_int_equal(ntrace_encoder_check(&enc, config, &all),
				 mode == TR_TS_MODE_INTERNAL_SYSTEM ||
				 mode == TR_TS_MODE_INTERNAL_CORE ? 0 : -EOPNOTSUPP);
	}
}

/* After a loss of power, an internal counter restarts, and the driver must forget the base of this counter */
void counter_that_began_anew(void **state)
{
	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	enc.ts_base_time = 1;
	ntrace_encoder_revive(&enc);
	assert_int_equal(enc.ts_base_time, 1);
	enc.default_config &= ~NTRACE_CONFIG_TS_MODE;
	enc.default_config |= (u64)TR_TS_MODE_INTERNAL_SYSTEM << NTRACE_CONFIG_TS_MODE_SHIFT;
	ntrace_encoder_revive(&enc);
	assert_int_equal(enc.ts_base_time, 0);
	assert_int_equal(enc.ts_freq, 0);
}

void timestamp_unit_that_wakes_late(void **state)
{
	direct(&(struct fake_encoder_options){ .ts_active_delay = 5 }, &(struct fake_ram_options){ });
	assert_int_equal(enc.caps.ts_modes, 0x1e);
	assert_int_equal(enc.caps.ts_width, 63);
	assert_true(enc.caps.config & NTRACE_CONFIG_TIMESTAMP);
	assert_true(enc.ts_is_time);
	/* After a loss of power, the driver restores the mode */
	ntrace_write(&enc.comp, TR_CONTROL, 0);
	ntrace_path_restore(&enc);
	assert_int_equal(FIELD_GET(TR_TS_MODE, fake_peek(enc.comp.base, TR_TS_CONTROL)),
			 TR_TS_MODE_EXTERNAL);
}

void funnel_has_a_timestamp_unit(void **state)
{
	shared();
	assert_int_equal(funnel.ts.modes, 0x16);
	assert_int_equal(funnel.ts.prescale, 0xf);
	assert_int_equal(funnel.ts.width, 40);
	assert_int_equal(funnel.inputs, 3);
	assert_int_equal(funnel.ts_mode, TR_TS_MODE_EXTERNAL);
	assert_int_equal(FIELD_GET(TR_TS_MODE, fake_peek(funnel.comp.base, TR_TS_CONTROL)), 1);

	/* After a loss of power, the driver restores the timestamp settings */
	ntrace_write(&funnel.comp, TR_CONTROL, 0);
	ntrace_path_restore(&enc);
	assert_int_equal(FIELD_GET(TR_TS_MODE, fake_peek(funnel.comp.base, TR_TS_CONTROL)), 1);
	/* If a funnel sends to another funnel, both use the same timestamp */
	ntrace_funnel_connect(&funnel, true);
	assert_int_equal(funnel.ts_mode, TR_TS_MODE_SHARED);
}

/* The driver must not use a stopped counter as a clock, even if its value is near the time CSR */
void counter_that_stands_still(void **state)
{
	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	assert_true(enc.ts_is_time);
	fake_set_time(5000);
	fake_freeze(enc.comp.base, 5002);
	ntrace_encoder_measure(&enc);
	assert_false(enc.ts_is_time);
}

/* The time reaches the encoder through other clock domains, and therefore arrives a little late */
void counter_that_lags(void **state)
{
	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	fake_set_time(1000000);
	fake_lag(enc.comp.base, 4);
	ntrace_encoder_measure(&enc);
	assert_true(enc.ts_is_time);
	fake_lag(enc.comp.base, 1000);
	ntrace_encoder_measure(&enc);
	assert_false(enc.ts_is_time);
}

static unsigned int held_up;

/* Simulate firmware or a hypervisor, which runs for 5,000 ticks while the driver reads the counter. */
static void hold_up(void *base, unsigned int offset)
{
	if (base != enc.comp.base || !held_up)
		return;
	held_up--;
	fake_set_time(fake_cycles() + 5000);
}

/*
 * The driver reads a pair of the timestamp and the time CSR. Both values must be of the same time, even if the hart
 * is interrupted between the two reads
 */
void base_of_a_hart_that_is_held_up(void **state)
{
	unsigned int n;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	enc.ts_is_time = false;
	fake_on_read = hold_up;
	for (n = 0; n < 8; n++) {
		held_up = n;
		ntrace_encoder_take_base(&enc);
		assert_in_range(enc.ts_base_time + 20 - enc.ts_base, 0, 40);
	}
	fake_on_read = NULL;
}

/* An event without timestamps does not change the mode of the counter, so the next event reads the right time. */
void base_after_an_event_without_timestamps(void **state)
{
	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	enc.ts_is_time = false;
	ntrace_encoder_take_base(&enc);
	assert_in_range(enc.ts_base_time + 20 - enc.ts_base, 0, 40);
	assert_int_equal(ntrace_encoder_program(&enc, enc.default_config & ~NTRACE_CONFIG_TIMESTAMP, &all), 0);
	/* The counter must not stop, because events of other users may be open and may use its base */
	assert_int_equal(FIELD_GET(TR_TS_MODE, fake_peek(enc.comp.base, TR_TS_CONTROL)),
			 ntrace_encoder_usual_ts_mode(&enc));
	ntrace_encoder_take_base(&enc);
	assert_in_range(enc.ts_base_time + 20 - enc.ts_base, 0, 40);
}

/*
 * An event uses another clock, and the next event uses the default clock. The first event must not change the base of
 * the next event
 */
void base_after_an_event_with_another_clock(void **state)
{
	u64 config;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	enc.ts_is_time = false;
	ntrace_encoder_take_base(&enc);
	config = enc.default_config & ~NTRACE_CONFIG_TS_MODE;
	config |= FIELD_PREP(NTRACE_CONFIG_TS_MODE, TR_TS_MODE_INTERNAL_SYSTEM) |
		  FIELD_PREP(NTRACE_CONFIG_TS_PRESCALE, 3);
	assert_int_not_equal(enc.default_config & NTRACE_CONFIG_TS_MODE, config & NTRACE_CONFIG_TS_MODE);
	assert_int_equal(ntrace_encoder_program(&enc, config, &all), 0);
	fake_set_time(fake_cycles() + 1000000);
	ntrace_encoder_take_base(&enc);
	assert_in_range(enc.ts_base_time + 20 - enc.ts_base, 0, 40);
}

/* The lower half of the counter wraps between two reads of the driver */
void counter_is_read_whole(void **state)
{
	u64 from, got;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	for (from = 0xfffffff0; from < 0x100000000ULL; from++) {
		fake_set_time(from);
		got = ntrace_ts_counter(&enc.comp, TR_TS_COUNTER_LOW);
		assert_in_range(got, from, from + 20);
	}
}

static void never_the_same(void *base, unsigned int offset)
{
	if (base == enc.comp.base)
		fake_set_time(fake_cycles() + (1ULL << 33));
}

/*
 * A counter without a clock may return noise. The driver must stop reading this counter after a limited time
 */
void counter_that_never_stands(void **state)
{
	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	fake_on_read = never_the_same;
	ntrace_ts_counter(&enc.comp, TR_TS_COUNTER_LOW);
	fake_on_read = NULL;
}

void timestamp_of_one_mode(void **state)
{
	struct fake_encoder_options opt = { .ts_modes = BIT(TR_TS_MODE_EXTERNAL) };

	direct(&opt, &(struct fake_ram_options){ });
	assert_int_equal(enc.caps.ts_modes, BIT(TR_TS_MODE_EXTERNAL));
	assert_int_equal(enc.caps.ts_prescale, BIT(0));
	assert_int_equal(ntrace_encoder_check(&enc, enc.default_config, &all), 0);
	assert_true(enc.default_config & NTRACE_CONFIG_TIMESTAMP);
}
