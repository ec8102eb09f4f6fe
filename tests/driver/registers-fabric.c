// SPDX-License-Identifier: GPL-2.0-only
/* Test the driver's register logic: a CoreSight fabric, and SiFive's components of version 0 */
#include "registers.h"

static int bring_up_cs(struct ntrace_comp *comp, void *base, bool tmc)
{
	int ret;

	ntrace_comp_init(comp, tmc ? &ntrace_tmc_comp_ops : &ntrace_csfunnel_comp_ops, &dev, base,
			 0xc000000);
	ret = comp->ops->identify(comp);
	return ret ?: comp->ops->setup(comp);
}

static int bring_up_sifive(struct ntrace_comp *comp, void *base,
			   const struct ntrace_comp_ops *ops)
{
	int ret;

	ntrace_comp_init(comp, ops, &dev, base, 0xc000000);
	comp->powered = true;
	ret = ntrace_comp_recognise(comp) ?: ntrace_comp_reset(comp);
	settle();
	comp->state = ret ? NTRACE_COMP_NEW : NTRACE_COMP_READY;
	return ret;
}

static void *sifive_regs;

static void *sifive(void)
{
	void *funnel_regs = fake_sifive_funnel();

	sifive_regs = fake_sifive_encoder(funnel_regs, 1, 2);
	assert_int_equal(bring_up_sifive(&sink.comp, funnel_regs, &ntrace_sifive_funnel_comp_ops), 0);
	assert_int_equal(sink.comp.ops->setup(&sink.comp), 0);
	INIT_LIST_HEAD(&sink.members);
	assert_int_equal(bring_up_sifive(&enc.comp, sifive_regs, &ntrace_sifive_encoder_comp_ops), 0);
	assert_int_equal(ntrace_encoder_setup(&enc), 0);
	connect_to(&enc, NULL);
	INIT_LIST_HEAD(&enc.member);
	list_add(&enc.member, &sink.members);
	return funnel_regs;
}

void sifive_is_probed(void **state)
{
	sifive();
	assert_int_equal(enc.caps.modes, BIT(6));
	assert_int_equal(enc.caps.sync_modes, BIT(0) | BIT(1));
	assert_int_equal(enc.caps.sync_max, GENMASK(12, 1));
	assert_int_equal(enc.caps.ts_modes, BIT(TR_TS_MODE_SHARED));
	assert_int_equal(enc.caps.ts_width, 40);
	assert_int_equal(enc.caps.priv, 0);
	assert_int_equal(enc.caps.config, NTRACE_CONFIG_TIMESTAMP | NTRACE_CONFIG_STALL |
			 NTRACE_CONFIG_INHIBIT_SRC);
	assert_true(enc.caps.src_fixed);
	assert_int_equal(enc.src_bits, 2);
	assert_int_equal(enc.src_id, 2);
	assert_int_equal(sink.area->align, 8);
	assert_int_equal(sink.area->start_align, 8);
	assert_int_equal(sink.area->max >> 32, 0x3ff);
	assert_true(sink.area->one_line);
	assert_true(sink.stop_on_wrap);
	assert_non_null(strstr(shim_log, "mode 7 of teInstruction is not used"));
	shim_log[0] = 0;
	/* The driver refuses an event that requests mode 7 */
	assert_int_equal(ntrace_encoder_check(&enc, 7ULL << NTRACE_CONFIG_MODE_SHIFT, &all), -EOPNOTSUPP);
	assert_int_equal(ntrace_encoder_check(&enc, enc.default_config, &all), 0);
	assert_int_equal(ntrace_encoder_check(&enc, NTRACE_CONFIG_CONTEXT, &all), -EOPNOTSUPP);
}

/* The funnel writes to the reserved memory of the device tree, unless a window there crosses a 4-GiB boundary. */
void sifive_writes_to_reserved_memory(void **state)
{
	static const struct {
		u64	start, end;
		int	ret;
	} regions[] = {
		{ FAKE_MEM_BASE + 4, FAKE_MEM_BASE + 0x5004, 0 },
		{ 0xffff0000, 0x100010000, -EINVAL },
		{ 1ULL << 43, (1ULL << 43) + 0x10000, -EINVAL },
		{ FAKE_MEM_BASE, FAKE_MEM_BASE + 8, -EINVAL },
	};
	unsigned int i;

	sifive();
	sink.mem = fake_mem;
	for (i = 0; i < ARRAY_SIZE(regions); i++) {
		sink.mem_start = regions[i].start;
		sink.mem_end = regions[i].end;
		assert_int_equal(sink.comp.ops->setup(&sink.comp), regions[i].ret);
		if (!i) {
			assert_int_equal(sink.area->min, FAKE_MEM_BASE + 8);
			assert_int_equal(sink.area->max, FAKE_MEM_BASE + 0x5000 - 8);
		}
	}
	shim_log[0] = 0;
}

void sifive_programs_what_silicon_takes(void **state)
{
	void *funnel_regs = sifive();
	struct ntrace_window win = window(0x1000, 0x1000);
	bool wrapped;
	u32 n;

	shim_log[0] = 0;
	assert_int_equal(ntrace_encoder_program(&enc, enc.default_config, &all), 0);
	/*
	 * The encoder uses HTM, sends a sync every 2^12 messages, has the I-CNT limit that it has after a reset, and
	 * sends to the funnel
	 */
	assert_int_equal(fake_peek(sifive_regs, 0x000), 0x81a70069);
	assert_int_equal(fake_peek(sifive_regs, 0x040), 0x28038041);
	assert_int_equal(fake_peek(funnel_regs, 0x040), 0x28000023);
	traced(&win, 100);
	n = ntrace_sink_written(&sink, &win, &wrapped);
	assert_false(wrapped);
	assert_in_range(n, 100, 0x1000);
	assert_int_equal(n % 8, 0);
	assert_int_equal(fake_mem[0xfff], 0);
	assert_int_equal(fake_mem[0x1000] >> 2, 9);	/* ProgTraceSync */
	assert_int_equal(fake_mem[0x1001] >> 2 & 3, 2);	/* MDO of this byte begins with SRC */
	assert_int_equal(fake_mem[0x1000 + n], 0);
	assert_int_equal(fake_peek(funnel_regs, 0x000), 0x70004009);
	assert_string_equal(shim_log, "");
}

void sifive_stops_when_its_window_is_full(void **state)
{
	struct ntrace_window win = window(0x1000, 0x100);
	bool wrapped;

	sifive();
	shim_log[0] = 0;
	assert_int_equal(ntrace_encoder_program(&enc, enc.default_config, &all), 0);
	traced(&win, 5000);
	assert_int_equal(ntrace_sink_written(&sink, &win, &wrapped), 0);
	assert_true(wrapped);
	assert_int_equal(fake_mem[0xfff], 0);
	assert_int_equal(fake_mem[0x1100], 0);
	assert_string_equal(shim_log, "");
	win = window(0x2000, 0x1000);
	traced(&win, 10);
	assert_in_range(ntrace_sink_written(&sink, &win, &wrapped), 8, 0x800);
	assert_false(wrapped);
}

void sifive_window_across_a_line_is_refused(void **state)
{
	struct ntrace_window win = { .start = 0x1fffffff0ULL, .wp = 0x1fffffff0ULL, .end = 0x200000010ULL };

	sifive();
	shim_log[0] = 0;
	assert_int_equal(ntrace_sink_start(&sink, &win), -EIO);
	settle();
	assert_non_null(strstr(shim_log, "cannot be set to a buffer"));
	shim_log[0] = 0;
}

void sifive_sink_error_is_reported(void **state)
{
	struct ntrace_window win = window(0x1000, 0x1000);
	void *funnel_regs = sifive();

	shim_log[0] = 0;
	assert_int_equal(ntrace_encoder_program(&enc, enc.default_config, &all), 0);
	fake_bus_error(funnel_regs, true);
	assert_int_equal(ntrace_sink_start(&sink, &win), 0);
	fake_run(sifive_regs, 100);
	assert_int_equal(ntrace_sink_stop(&sink), -EIO);
	settle();
	assert_non_null(strstr(shim_log, "a write to memory caused a bus error"));
	shim_log[0] = 0;
	/* The driver has cleared the error */
	assert_int_equal(fake_peek(funnel_regs, 0x000) & BIT(27), 0);
}

void sifive_power_was_off(void **state)
{
	struct ntrace_window win = window(0x1000, 0x1000);
	void *funnel_regs = sifive();
	bool wrapped;

	shim_log[0] = 0;
	fake_power_off(funnel_regs);
	fake_power_off(sifive_regs);
	ntrace_path_restore_comp(&sink.comp);
	ntrace_path_restore_comp(&enc.comp);
	assert_int_equal(fake_peek(funnel_regs, 0x040), 0x28000023);
	assert_int_equal(ntrace_encoder_program(&enc, enc.default_config, &all), 0);
	traced(&win, 100);
	assert_in_range(ntrace_sink_written(&sink, &win, &wrapped), 100, 0x1000);
	assert_string_equal(shim_log, "");
}

void nothing_is_no_version_0(void **state)
{
	void *base = fake_other(0);

	assert_int_equal(bring_up_sifive(&enc.comp, base, &ntrace_sifive_encoder_comp_ops), -ENODEV);
	assert_non_null(strstr(shim_log, "no SiFive trace encoder of version 0"));
	shim_log[0] = 0;
	assert_int_equal(bring_up_sifive(&sink.comp, base, &ntrace_sifive_funnel_comp_ops), -ENODEV);
	shim_log[0] = 0;
}

/*
 * Set up an encoder, ATB bridge, CoreSight funnel, ETF and ETR. If @two is set, set up two encoders and two bridges
 */
static void *fabric(bool two)
{
	void *etr_regs = fake_etr(0xffffffff), *etf_regs = fake_etf(etr_regs);
	void *funnel_regs = fake_csfunnel(etf_regs), *bridge_regs = fake_bridge(funnel_regs, 2);

	assert_int_equal(bring_up_cs(&sink.comp, etr_regs, true), 0);
	assert_int_equal(bring_up_cs(&etf, etf_regs, true), 0);
	assert_int_equal(bring_up_cs(&csfunnel.comp, funnel_regs, false), 0);
	assert_int_equal(bring_up(&bridge, bridge_regs), 0);
	assert_int_equal(bridge.ops->setup(&bridge), 0);
	csfunnel.comp.ops->open(&csfunnel.comp, 2);
	assert_int_equal(bring_up(&enc.comp, fake_encoder(bridge_regs, 0,
				  &(struct fake_encoder_options){ })), 0);
	assert_int_equal(ntrace_encoder_setup(&enc), 0);
	connect_to(&enc, &bridge);
	enc.route.path[2] = &csfunnel.comp;
	enc.route.path[3] = &etf;
	enc.route.path[4] = &sink.comp;
	enc.route.len = 5;
	take_route(&enc);
	if (two) {
		bridge_regs = fake_bridge(funnel_regs, 3);
		assert_int_equal(bring_up(&bridge2, bridge_regs), 0);
		assert_int_equal(bridge2.ops->setup(&bridge2), 0);
	}
	return etr_regs;
}

static void leave_fabric(void)
{
	(bridge.ops->free)(&bridge);
	if (bridge2.trace_id)
		(bridge2.ops->free)(&bridge2);
}

void frames_arrive_in_the_window(void **state)
{
	struct ntrace_window win = window(0x1000, 0x1000);
	bool wrapped;
	u32 n;

	fabric(false);
	win.stop = false;
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
	traced(&win, 100);
	n = ntrace_sink_written(&sink, &win, &wrapped);
	assert_false(wrapped);
	assert_in_range(n, 100, 0x1000);
	assert_int_equal(n % 16, 0);
	assert_int_equal(fake_mem[0xfff], 0);
	assert_int_equal(fake_mem[0x1000], bridge.trace_id << 1 | 1);
	assert_int_equal(fake_mem[0x1000 + n], 0);
	assert_string_equal(shim_log, "");
	leave_fabric();
}

/* The next window must begin with a new frame, which contains the trace ID. */
void second_window_of_frames(void **state)
{
	struct ntrace_window win = window(0, 0x1000);
	bool wrapped;

	fabric(false);
	win.stop = false;
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
	traced(&win, 5000);
	ntrace_sink_written(&sink, &win, &wrapped);
	assert_true(wrapped);
	win = window(0x2000, 0x1000);
	traced(&win, 10);
	assert_in_range(ntrace_sink_written(&sink, &win, &wrapped), 16, 0x800);
	assert_false(wrapped);
	assert_int_equal(fake_mem[0x2000], bridge.trace_id << 1 | 1);
	leave_fabric();
}

void debugger_holds_the_etr(void **state)
{
	void *etr_regs = fake_etr(0xffffffff);

	fake_claim(etr_regs);
	assert_int_equal(bring_up_cs(&sink.comp, etr_regs, true), -EBUSY);
	assert_non_null(strstr(shim_log, "in use by an external debugger"));
	/* The driver has not changed the component */
	assert_int_equal(fake_peek(etr_regs, CS_CLAIMCLR), 1);
	shim_log[0] = 0;
}

void bus_refuses_frames(void **state)
{
	struct ntrace_window win = window(0, 0x1000);
	void *etr_regs = fabric(false);

	win.stop = false;
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
	assert_int_equal(start(&enc, &win, false), 0);
	fake_bus_error(etr_regs, true);
	fake_run(enc.comp.base, 100);
	assert_int_equal(stop(&enc), -EIO);
	settle();
	assert_non_null(strstr(shim_log, "caused a bus error"));
	shim_log[0] = 0;
	assert_true(sink.comp.stuck);
	/* In spite of the error, the sink has stopped, and does not write to memory */
	assert_false(sink.loose);
	assert_int_equal(start(&enc, &win, false), -EIO);
	fake_bus_error(etr_regs, false);
	assert_int_equal(ntrace_path_recover(&enc), 0);
	shim_log[0] = 0;
	assert_int_equal(start(&enc, &win, false), 0);
	assert_int_equal(stop(&enc), 0);
	leave_fabric();
}

void each_bridge_has_an_id(void **state)
{
	fabric(true);
	assert_int_not_equal(bridge.trace_id, bridge2.trace_id);
	assert_in_range(bridge2.trace_id, 1, 0x6f);
	assert_int_equal(fake_peek(bridge.base, TR_CONTROL) >> 8 & 0x7f, bridge.trace_id);
	/* Simulate that the bridge has lost its power */
	ntrace_write(&bridge, TR_CONTROL, 0);
	ntrace_path_restore(&enc);
	assert_int_equal(fake_peek(bridge.base, TR_CONTROL) >> 8 & 0x7f, bridge.trace_id);
	assert_int_equal(fake_peek(bridge.base, TR_CONTROL) & 2, 2);
	leave_fabric();
}

static unsigned int counter_reads;

static void counter_is_noise(void *base, unsigned int offset)
{
	counter_reads++;
	if (counter_reads < 1000)
		fake_set_time(fake_cycles() + (1ULL << 33));
}

void sifive_counter_that_never_stands(void **state)
{
	sifive();
	counter_reads = 0;
	fake_on_read = counter_is_noise;
	ntrace_encoder_counter(&enc);
	fake_on_read = NULL;
	assert_in_range(counter_reads, 3, 20);
	/* An encoder without timestamps need not have a register for them */
	enc.caps.ts_modes = 0;
	assert_int_equal(ntrace_encoder_counter(&enc), 0);
}
