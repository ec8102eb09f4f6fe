// SPDX-License-Identifier: GPL-2.0-only
/* Test the driver's register logic for the trace in the windows of a sink, and for full windows */
#include "registers.h"

void trace_arrives_in_the_window(void **state)
{
	struct ntrace_window win = window(0x1000, 0x1000);
	bool wrapped;
	u32 n;

	programmed();
	traced(&win, 100);
	n = ntrace_ramsink_written(&sink, &win, &wrapped);
	assert_false(wrapped);
	assert_in_range(n, 100, 0x1000);
	assert_int_equal(fake_mem[0xfff], 0);
	assert_int_equal(fake_mem[0x1000] & 3, 0);
	assert_int_equal(fake_mem[0x1000 + n], 0);
	assert_int_equal(fake_peek(enc.comp.base, TR_CONTROL) & 2, 0);
	assert_int_equal(fake_peek(sink.comp.base, TR_CONTROL) & 2, 0);
	assert_string_equal(shim_log, "");
}

void second_session_begins_anew(void **state)
{
	struct ntrace_window win = window(0, 0x1000);
	bool wrapped;
	u32 n;

	programmed();
	assert_int_equal(start(&enc, &win, false), 0);
	fake_run(enc.comp.base, 5000);
	stop(&enc);
	ntrace_ramsink_written(&sink, &win, &wrapped);
	assert_true(wrapped);

	win = window(0x2000, 0x1000);
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
	traced(&win, 10);
	n = ntrace_ramsink_written(&sink, &win, &wrapped);
	assert_false(wrapped);
	assert_in_range(n, 10, 0x1000);
	/* The trace must begin with a synchronising message, and not with the rest of an older message */
	assert_int_equal(fake_mem[0x2000] >> 2, 9);
}

void full_window_stops_the_sink(void **state)
{
	struct ntrace_window win = window(0x4000, 0x800);
	bool wrapped;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	assert_true(sink.stop_on_wrap);
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
	assert_int_equal(start(&enc, &win, false), 0);
	fake_run(enc.comp.base, 5000);
	stop(&enc);
	ntrace_ramsink_written(&sink, &win, &wrapped);
	assert_true(wrapped);
	assert_int_equal(fake_mem[0x3fff], 0);
	assert_int_equal(fake_mem[0x4800], 0);
	assert_int_equal(fake_mem[0x4000] >> 2, 9);
}

void write_pointer_in_the_middle(void **state)
{
	struct ntrace_window win = window(0x4000, 0x800);
	bool wrapped;
	u32 n;

	win.wp += 0x100;
	programmed();
	traced(&win, 5);
	n = ntrace_ramsink_written(&sink, &win, &wrapped);
	assert_true(n > 0x100);
	assert_int_equal(fake_mem[0x40ff], 0);
	assert_int_not_equal(fake_mem[0x4100], 0);
}

void window_it_does_not_take(void **state)
{
	struct ntrace_window win = window(0, 0x1000);

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ .align = 64 });
	win.wp += 4;
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
	assert_int_equal(start(&enc, &win, false), -EIO);
	assert_int_equal(fake_peek(sink.comp.base, TR_CONTROL) & 2, 0);
	assert_int_equal(fake_peek(enc.comp.base, TR_CONTROL) & 2, 0);
}

/* The driver must set the behaviour at the end of the window before the driver enables the sink */
static void set_before_enable(void *base, unsigned int offset, u32 value)
{
	u32 was = fake_peek(base, TR_CONTROL);

	if (base == sink.comp.base && offset == TR_CONTROL && value & ~was & TR_CONTROL_ENABLE)
		assert_int_equal((value ^ was) & ~TR_CONTROL_EMPTY, TR_CONTROL_ENABLE);
}

void stop_on_wrap_is_verified(void **state)
{
	struct ntrace_window win = window(0, 0x1000), around = win;

	around.stop = false;
	programmed();
	fake_on_write = set_before_enable;
	traced(&win, 10);
	traced(&around, 10);
	traced(&win, 10);
	fake_on_write = NULL;
	/* If the sink did not stop at the end of the window, it would overwrite the memory before the window */
	fake_no_stop(sink.comp.base);
	assert_int_equal(start(&enc, &win, false), -EIO);
	assert_int_equal(fake_peek(sink.comp.base, TR_CONTROL) & TR_CONTROL_ENABLE, 0);
	assert_non_null(strstr(shim_log, "trRamStopOnWrap cannot be set to 1"));
}

/*
 * A sink that always stops at the end of the window cannot be circular, and an encoder that stalls cannot use this
 * sink
 */
void sink_that_always_stops(void **state)
{
	struct ntrace_window win = window(0, 0x1000);

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ .stop_fixed = true });
	assert_true(sink.stop_on_wrap && sink.stop_fixed);
	assert_false(ntrace_path_fits(&enc, NTRACE_CONFIG_STALL));
	assert_true(ntrace_path_fits(&enc, 0));
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
	traced(&win, 10);
	setup(state);
	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	assert_false(sink.stop_fixed);
	assert_true(ntrace_path_fits(&enc, NTRACE_CONFIG_STALL));
}

/*
 * If a window gets full, the trace that did not fit must not appear in the next window. A reset would discard this
 * trace, but would also reset the counters of encoders and funnels, so that all later times would be wrong.
 */
void counters_go_on_after_a_full_window(void **state)
{
	struct ntrace_window win = window(0, 0x100);
	u64 config;
	u32 before[3], i;
	bool wrapped;

	funnel_fifo = 256;
	shared();
	config = plain_config() & ~NTRACE_CONFIG_TS_MODE;
	config |= NTRACE_CONFIG_TIMESTAMP | (u64)TR_TS_MODE_INTERNAL_SYSTEM << NTRACE_CONFIG_TS_MODE_SHIFT;
	assert_int_equal(ntrace_encoder_program(&enc, config, &all), 0);
	assert_int_equal(ntrace_encoder_program(&enc2, config, &all), 0);
	funnel_counts_itself();
	start_both(&win);
	for (i = 0; i < 300; i++) {
		fake_run(enc.comp.base, 1);
		fake_run(enc2.comp.base, 1);
	}
	before[0] = ntrace_read(&enc.comp, TR_TS_COUNTER_LOW);
	before[1] = ntrace_read(&enc2.comp, TR_TS_COUNTER_LOW);
	before[2] = ntrace_read(&funnel.comp, TR_TS_COUNTER_LOW);
	stop_both();
	ntrace_ramsink_written(&sink, &win, &wrapped);
	assert_true(wrapped);
	both_can_be_traced(0x10000);
	assert_true(ntrace_read(&enc.comp, TR_TS_COUNTER_LOW) >= before[0] && before[0]);
	assert_true(ntrace_read(&enc2.comp, TR_TS_COUNTER_LOW) >= before[1] && before[1]);
	assert_true(ntrace_read(&funnel.comp, TR_TS_COUNTER_LOW) >= before[2] && before[2]);
	assert_string_equal(shim_log, "");
}

/* Trace more code with both encoders than fits into the window */
static void full_window(void)
{
	struct ntrace_window win = window(0, 0x100);
	bool wrapped;

	start_both(&win);
	fake_run(enc.comp.base, 300);
	fake_run(enc2.comp.base, 300);
	stop_both();
	ntrace_ramsink_written(&sink, &win, &wrapped);
	assert_true(wrapped);
}

/*
 * When a window is full, the encoders still have trace that did not fit into it. The sink must not write this trace to
 * the next window, because another user owns this window, or it holds older trace. The end of a ring buffer must not
 * change until new trace overwrites it.
 */
void next_window_has_no_more_than_its_own(void **state)
{
	unsigned int ring, n, i;
	bool wrapped;

	funnel_fifo = 256;
	shared();
	for (ring = 0; ring < 2; ring++) {
		struct ntrace_window next = window(0x10000, 0x1000);

		full_window();
		memset(fake_mem + 0x10000, 0xaa, 0x1000);
		next.circular = ring;
		next.stop = !ring;
		start_both(&next);
		stop_both();
		n = ntrace_ramsink_written(&sink, &next, &wrapped);
		assert_false(wrapped);
		for (i = n; i < 0x1000; i++)
			assert_int_equal(fake_mem[0x10000 + i], 0xaa);
		both_can_be_traced(0x20000);
	}
	assert_string_equal(shim_log, "");
}

/*
 * If the sink has no page for the trace that did not fit, or refuses this page, the driver must reset the sink to
 * discard this trace
 */
void full_window_without_a_page(void **state)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		setup(state);
		funnel_fifo = 256;
		shared();
		/* The sinks of this board cannot write to the address of this page */
		sink.scrap = i ? 1ULL << 60 : 0;
		full_window();
		both_can_be_traced(0x10000);
		assert_int_equal(!!strstr(shim_log, "cannot be set to"), i);
	}
}

static unsigned int enc2_accesses;

static void count_enc2(void *base, unsigned int offset)
{
	enc2_accesses += base == enc2.comp.base;
}

static void count_enc2_write(void *base, unsigned int offset, u32 value)
{
	count_enc2(base, offset);
}

/*
 * If the hart of an encoder idles, the hart and the encoder lose their power. A start of the sink must not access
 * this encoder
 */
void encoder_that_rests_is_left_alone(void **state)
{
	struct ntrace_window next = window(0x10000, 0x4000);
	bool wrapped, first = true;
	unsigned int i, n;

	funnel_fifo = 256;
	shared();
	full_window();
	ntrace_path_rest(&enc2);
	enc2_accesses = 0;
	fake_on_read = count_enc2;
	fake_on_write = count_enc2_write;
	assert_int_equal(start(&enc, &next, false), 0);
	fake_run(enc.comp.base, 100);
	assert_int_equal(stop(&enc), 0);
	fake_on_read = NULL;
	fake_on_write = NULL;
	assert_int_equal(enc2_accesses, 0);
	n = ntrace_ramsink_written(&sink, &next, &wrapped);
	assert_false(wrapped);
	assert_in_range(n, 100, 0x4000);
	/* The field SRC has one bit and follows TCODE in the first byte of a message. Idle bytes are 0xff. */
	for (i = 0; i + 1 < n; i++) {
		if (first && fake_mem[0x10000 + i] != 0xff)
			assert_int_equal(fake_mem[0x10000 + i + 1] >> 2 & 1, 0);
		first = (fake_mem[0x10000 + i] & 3) == 3;
	}
	assert_int_equal(ntrace_encoder_program(&enc2, plain_config(), &all), 0);
	both_can_be_traced(0x20000);
	assert_string_equal(shim_log, "");
}

/* If no reset is necessary, the driver immediately discards the trace that did not fit */
void rest_goes_when_the_window_is_taken(void **state)
{
	struct ntrace_window win = window(0, 0x100);
	unsigned long flags;
	u32 before;

	funnel_fifo = 256;
	shared();
	full_window();
	assert_false(list_empty(&sink.held));
	before = ntrace_read(&enc.comp, TR_TS_COUNTER_LOW);
	local_irq_save(flags);
	ntrace_sink_lock(&sink);
	ntrace_sink_discard(&sink, &win);
	ntrace_sink_unlock(&sink);
	local_irq_restore(flags);
	assert_true(list_empty(&sink.held) && list_empty(&enc.held) && list_empty(&enc2.held));
	assert_true(before && ntrace_read(&enc.comp, TR_TS_COUNTER_LOW) >= before);
	assert_int_equal(fake_peek(sink.comp.base, TR_CONTROL) & TR_CONTROL_ENABLE, 0);
	both_can_be_traced(0x10000);
	assert_string_equal(shim_log, "");
}

/*
 * A path that still has trace of a full window starts again. Its funnel also has trace of a hart that stalls until the
 * next window, so the driver must not reset the funnel, neither when the path joins the sink nor when the sink starts
 */
void funnel_of_a_stalled_hart_is_not_reset(void **state)
{
	static const struct ntrace_filter user = { .priv = NTRACE_PRIV_U };
	struct ntrace_window win = window(0, 0x100), next = window(0x10000, 0x4000);
	unsigned int joins;
	bool wrapped;
	u64 config;

	funnel_fifo = 256;
	shared();
	config = plain_config() | NTRACE_CONFIG_STALL;
	assert_int_equal(ntrace_encoder_program(&enc, config, &user), 0);
	assert_int_equal(ntrace_encoder_program(&enc2, config, &user), 0);
	start_both(&win);
	fake_run(enc2.comp.base, 300);
	for (joins = 2; joins--; ) {
		fake_run(enc.comp.base, 300);
		assert_int_equal(joins ? LOCKED(ntrace_sink_leave(&sink, &enc)) :
					 LOCKED(ntrace_sink_hold(&sink, &enc)), 0);
		assert_false(list_empty(&enc.held));
		assert_int_equal(joins ? LOCKED(ntrace_sink_join(&sink, &enc)) :
					 LOCKED(ntrace_sink_start(&sink, &next)), 0);
		assert_int_equal(funnel.comp.users, 2);
		assert_true(fake_peek(funnel.comp.base, TR_CONTROL) & TR_CONTROL_ENABLE);
		assert_false(joins && fake_peek(funnel.comp.base, TR_CONTROL) & TR_CONTROL_EMPTY);
	}
	fake_run(enc2.comp.base, 100);
	stop_both();
	/* Each branch takes at least 6 bytes. The first window @win has the bytes that are missing in @next */
	assert_in_range(ntrace_ramsink_written(&sink, &next, &wrapped), 400 * 6 - 0x100, 0x4000);
}

void sink_that_fills_in_the_flush(void **state)
{
	struct ntrace_window win = window(0, 0x100);
	bool wrapped;

	funnel_fifo = 1024;
	shared();
	start_both(&win);
	/* The funnel still contains the whole trace, which is larger than the window */
	fake_run(enc.comp.base, 60);
	fake_run(enc2.comp.base, 60);
	assert_int_equal(ntrace_ramsink_written(&sink, &win, &wrapped), 0);
	assert_int_not_equal(fake_peek(sink.comp.base, TR_CONTROL) & 2, 0);
	stop_both();
	ntrace_ramsink_written(&sink, &win, &wrapped);
	assert_true(wrapped);
	both_can_be_traced(0x10000);
	assert_string_equal(shim_log, "");
}

void sink_that_keeps_the_rest(void **state)
{
	struct ntrace_window win = window(0x4000, 0x800), next = window(0x8000, 0x800);
	bool wrapped;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ .keeps_rest = true });
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
	traced(&win, 5000);
	assert_false(sink.comp.stuck);
	assert_true(sink.full);
	ntrace_ramsink_written(&sink, &win, &wrapped);
	assert_true(wrapped);
	if (!enc.programmed)
		assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
	assert_int_equal(start(&enc, &next, false), 0);
	fake_run(enc.comp.base, 20);
	assert_int_equal(stop(&enc), 0);
	assert_in_range(ntrace_ramsink_written(&sink, &next, &wrapped), 20, 0x800);
	assert_false(wrapped);
	assert_string_equal(shim_log, "");
}

void new_window_for_all_members(void **state)
{
	struct ntrace_window win = window(0, 0x8000), next = window(0x10000, 0x8000);
	bool wrapped;

	shared();
	assert_int_equal(start(&enc, &win, false), 0);
	assert_int_equal(LOCKED(ntrace_sink_join(&sink, &enc2)), 0);
	fake_run(enc2.comp.base, 10);
	assert_int_equal(LOCKED(ntrace_sink_stop(&sink)), 0);
	assert_int_equal(funnel.comp.users, 0);
	assert_int_equal(LOCKED(ntrace_sink_start(&sink, &next)), 0);
	assert_int_equal(funnel.comp.users, 2);
	fake_run(enc.comp.base, 100);
	fake_run(enc2.comp.base, 100);
	assert_int_equal(LOCKED(ntrace_sink_stop(&sink)), 0);
	assert_true(ntrace_ramsink_written(&sink, &next, &wrapped) > 200);
	assert_int_equal(fake_mem[0x10000] & 3, 0);
}

void failing_member_stops_all(void **state)
{
	struct ntrace_window win = window(0, 0x8000);

	shared();
	enc2.comp.stuck = true;
	INIT_LIST_HEAD(&sink.members);
	list_add_tail(&enc.member, &sink.members);
	list_add_tail(&enc2.member, &sink.members);
	assert_int_equal(LOCKED(ntrace_sink_start(&sink, &win)), -EIO);
	assert_int_equal(funnel.comp.users, 0);
	assert_int_equal(fake_peek(enc.comp.base, TR_CONTROL) & 2, 0);
	assert_int_equal(fake_peek(sink.comp.base, TR_CONTROL) & 2, 0);
}

void closed_sink_stays_closed(void **state)
{
	struct ntrace_window win = window(0, 0x1000);

	programmed();
	assert_int_equal(start(&enc, &win, false), 0);
	ntrace_sink_close(&sink, true);
	assert_int_equal(fake_peek(sink.comp.base, TR_CONTROL) & 2, 0);
	assert_int_equal(fake_peek(enc.comp.base, TR_CONTROL) & 2, 0);
	assert_int_equal(stop(&enc), 0);
	assert_int_equal(start(&enc, &win, false), -EIO);
}

/* The driver must treat an impossible write pointer like a full window */
void write_pointer_elsewhere(void **state)
{
	struct ntrace_window win = window(0x4000, 0x1000), other = window(0x8000, 0x1000);
	bool wrapped;

	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	assert_int_equal(ntrace_ramsink_program(&sink, &win), 0);
	assert_int_equal(ntrace_ramsink_written(&sink, &win, &wrapped), 0);
	assert_false(wrapped);
	assert_int_equal(ntrace_ramsink_written(&sink, &other, &wrapped), 0);
	assert_true(wrapped);
}

void circular_after_one_that_stopped(void **state)
{
	struct ntrace_window win = window(0, 0x800);

	programmed();
	assert_int_equal(start(&enc, &win, false), 0);
	assert_int_equal(stop(&enc), 0);
	win.stop = false;
	assert_int_equal(start(&enc, &win, false), 0);
	fake_run(enc.comp.base, 5000);
	assert_true(fake_peek(sink.comp.base, TR_CONTROL) & TR_CONTROL_ENABLE);
	assert_int_equal(stop(&enc), 0);
}
