// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test the driver's register logic for the order of accesses, and for components that lose their power, are slow or
 * are stuck
 */
#include "registers.h"

static void not_used_yet(void *base, unsigned int offset, u32 value)
{
	if (base == enc.comp.base)
		assert_true(enc.comp.stuck);
}

void recovered_component_is_set_up_before_it_is_used(void **state)
{
	struct ntrace_window win = window(0, 0x1000);

	programmed();
	enc.comp.stuck = true;
	fake_on_write = not_used_yet;
	assert_int_equal(ntrace_path_recover(&enc), 0);
	fake_on_write = NULL;
	assert_false(enc.comp.stuck);
	/* The start succeeds, because the driver first restores the settings of the component */
	assert_int_equal(start(&enc, &win, false), 0);
	assert_int_equal(stop(&enc), 0);
}

void sink_that_does_not_empty(void **state)
{
	struct ntrace_window win = window(0, 0x1000);

	programmed();
	assert_int_equal(start(&enc, &win, false), 0);
	fake_fault(sink.comp.base, false, true);
	assert_int_equal(stop(&enc), -ETIMEDOUT);
	assert_true(sink.comp.stuck);
	assert_true(sink.loose);
	assert_non_null(strstr(shim_log, "trRamControl"));
	/* The driver does not use the sink until a reset succeeds, and reports the error only once */
	shim_log[0] = 0;
	assert_int_equal(start(&enc, &win, false), -EIO);
	assert_string_equal(shim_log, "");
	fake_fault(sink.comp.base, true, true);
	assert_int_equal(ntrace_path_recover(&enc), -EIO);
	settle();
	assert_string_equal(shim_log, "");

	/* the driver uses the sink again after a successful reset */
	fake_fault(sink.comp.base, false, false);
	assert_int_equal(ntrace_path_recover(&enc), 0);
	assert_non_null(strstr(shim_log, "answers again"));
	traced(&win, 10);
}

void power_was_off(void **state)
{
	struct ntrace_window win = window(0, 0x1000);
	bool wrapped;

	programmed();
	ntrace_write(&enc.comp, TR_CONTROL, 0);
	ntrace_write(&sink.comp, TR_CONTROL, 0);
	ntrace_path_restore(&enc);
	traced(&win, 100);
	assert_true(ntrace_ramsink_written(&sink, &win, &wrapped) > 100);
	assert_string_equal(shim_log, "");
}

static unsigned int reads;

static void count_read(void *base, unsigned int offset)
{
	reads++;
}

/*
 * At a task switch, an encoder continues in its window. The driver may read only a few registers, because the hart
 * waits for each read.
 */
void restart_reads_three_registers(void **state)
{
	struct ntrace_want want = { .id = 1, .config = 0 };
	struct ntrace_window win = window(0, 0x1000);
	unsigned int i, used = 0;
	bool wrapped;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	want.config = plain_config();
	sink.encoders = 1;
	ntrace_encoder_want(&enc, &want);
	assert_int_equal(start(&enc, &win, false), 0);
	ntrace_path_is_ready(&enc, &want);
	assert_int_equal(enc.ready, 1);
	for (i = 0; i < 3; i++) {
		fake_run(enc.comp.base, 20);
		reads = 0;
		fake_on_read = count_read;
		assert_true(ntrace_path_halt(&enc));
		assert_true(ntrace_ramsink_written(&sink, &win, &wrapped) > used);
		ntrace_path_restart(&enc);
		fake_on_read = NULL;
		used = ntrace_ramsink_written(&sink, &win, &wrapped);
		assert_int_equal(reads, 3);
	}
	assert_int_equal(stop(&enc), 0);
}

/*
 * When the driver enables the encoder, check that the sink is already enabled, and that the driver does not set
 * trTeInstTracing in the same write
 */
static void in_order(void *base, unsigned int offset, u32 value)
{
	bool enables = offset == TR_CONTROL && value & TR_CONTROL_ENABLE &&
		!(fake_peek(base, TR_CONTROL) & TR_CONTROL_ENABLE);

	if (!enables || base != enc.comp.base)
		return;
	assert_true(fake_peek(sink.comp.base, TR_CONTROL) & TR_CONTROL_ENABLE);
	assert_false(value & TR_TE_INST_TRACING);
}

void each_is_awaited(void **state)
{
	struct ntrace_window win = window(0, 0x1000);
	unsigned int i;

	direct(&(struct fake_encoder_options){ .enable_delay = 3 },
	       &(struct fake_ram_options){ .enable_delay = 3 });
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
	fake_on_write = in_order;
	for (i = 0; i < 2; i++) {
		traced(&win, 10);
		assert_false(fake_peek(enc.comp.base, TR_CONTROL) & TR_TE_INST_TRACING);
	}
}

static void never_traces(void *base, unsigned int offset, u32 value)
{
	if (base == enc.comp.base && offset == TR_CONTROL)
		assert_false(value & TR_TE_INST_TRACING);
}

void paused_does_not_even_begin(void **state)
{
	struct ntrace_window win = window(0, 0x1000);

	programmed();
	fake_on_write = never_traces;
	assert_int_equal(start(&enc, &win, true), 0);
	assert_int_equal(stop(&enc), 0);
}

/* A hart wakes up. It shares a funnel and a sink with a hart that traces, and these have kept their power */
void what_kept_its_power_goes_on(void **state)
{
	struct ntrace_comp *comps[] = { &enc.comp, &funnel.comp, &sink.comp };
	struct ntrace_window win = window(0, 0x1000);
	unsigned int i;

	shared();
	assert_int_equal(start(&enc, &win, false), 0);
	ntrace_path_restore(&enc2);
	for (i = 0; i < ARRAY_SIZE(comps); i++)
		assert_true(fake_peek(comps[i]->base, TR_CONTROL) & TR_CONTROL_ENABLE);
	assert_int_equal(stop(&enc), 0);
}

/* A reset discards the trace that the sink still holds, and takes some time */
void slow_reset_is_awaited(void **state)
{
	struct ntrace_window win = window(0, 0x800);

	direct(&(struct fake_encoder_options){ .active_delay = 3 },
	       &(struct fake_ram_options){ .keeps_rest = true, .active_delay = 3 });
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
	traced(&win, 5000);
	assert_false(sink.comp.stuck);
	assert_true(fake_peek(sink.comp.base, TR_CONTROL) & TR_CONTROL_EMPTY);
}

static void reset_when_disabled(void *base, unsigned int offset, u32 value)
{
	if (offset == TR_CONTROL && !(value & TR_CONTROL_ACTIVE))
		assert_false(fake_peek(base, TR_CONTROL) & TR_CONTROL_ENABLE);
}

void quiesced_in_order(void **state)
{
	struct ntrace_window win = window(0, 0x1000);

	programmed();
	assert_int_equal(start(&enc, &win, false), 0);
	fake_on_write = reset_when_disabled;
	ntrace_comp_quiesce(&enc.comp);
	ntrace_comp_quiesce(&sink.comp);
	assert_false(fake_peek(sink.comp.base, TR_CONTROL) & TR_CONTROL_ACTIVE);
}
