// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test the driver's register logic for the versions and features that the driver finds in components, and for
 * settings that components do not accept
 */
#include "registers.h"

void full_encoder_has_it_all(void **state)
{
	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	assert_int_equal(enc.caps.modes, BIT(3) | BIT(6));
	assert_int_equal(enc.caps.sync_modes, 0xf);
	assert_int_equal(enc.caps.sync_max, 0xffff);
	assert_int_equal(enc.caps.config | NTRACE_CONFIG_MODE | NTRACE_CONFIG_SYNC_MODE |
			 NTRACE_CONFIG_SYNC_MAX | NTRACE_CONFIG_TS_MODE |
			 NTRACE_CONFIG_TS_PRESCALE | NTRACE_CONFIG_FIRMWARE, NTRACE_CONFIG_VALID);
	assert_int_equal(enc.caps.ir_mode, 3);
	assert_int_equal(enc.caps.src_bits, 12);
	assert_int_equal(enc.caps.ts_modes, 0x1e);
	assert_int_equal(enc.caps.ts_prescale, 0xf);
	assert_int_equal(enc.caps.ts_width, 63);
	assert_int_equal(enc.caps.filters, 0xffff);
	assert_int_equal(enc.caps.comparators, 0xff);
	assert_int_equal(enc.caps.priv & 0xb, 0xb);
	assert_true(enc.ts_is_time);
	assert_int_equal(enc.ts_freq, riscv_timebase);
	assert_int_equal(ntrace_encoder_check(&enc, enc.default_config, &all), 0);
	assert_string_equal(shim_log, "");
}

void minimal_encoder_has_nothing_more(void **state)
{
	direct(&(struct fake_encoder_options){ .minimal = true }, &(struct fake_ram_options){ });
	assert_int_equal(enc.caps.modes, BIT(6));
	assert_int_equal(enc.caps.config, 0);
	assert_int_equal(enc.caps.sync_modes, BIT(1));
	assert_int_equal(enc.caps.sync_max, BIT(8));
	assert_int_equal(enc.caps.ts_modes, 0);
	assert_int_equal(enc.caps.filters, 0);
	assert_int_equal(enc.caps.priv, 0);
	assert_int_equal(enc.ts_freq, 0);
	assert_int_equal(enc.default_config, NTRACE_CONFIG_FIRMWARE |
			 6ULL << NTRACE_CONFIG_MODE_SHIFT | 1ULL << NTRACE_CONFIG_SYNC_MODE_SHIFT |
			 8ULL << NTRACE_CONFIG_SYNC_MAX_SHIFT);
	assert_int_equal(ntrace_encoder_check(&enc, enc.default_config, &all), 0);
}

void minimal_encoder_refuses_the_rest(void **state)
{
	struct ntrace_filter user = { .priv = NTRACE_PRIV_U };
	struct ntrace_filter range = { .nr_ranges = 1 };
	u64 config;
	unsigned int bit;

	direct(&(struct fake_encoder_options){ .minimal = true }, &(struct fake_ram_options){ });
	config = enc.default_config;
	for (bit = 0; bit < 24; bit++) {
		u64 mask = 1ULL << bit, free = NTRACE_CONFIG_FIRMWARE | NTRACE_CONFIG_TS_MODE |
			NTRACE_CONFIG_TS_PRESCALE;

		if (config & mask || mask & free)
			continue;
		assert_int_equal(ntrace_encoder_check(&enc, config | mask, &all), -EOPNOTSUPP);
	}
	assert_int_equal(ntrace_encoder_check(&enc, config & ~NTRACE_CONFIG_SYNC_MODE, &all),
			 -EOPNOTSUPP);
	assert_int_equal(ntrace_encoder_check(&enc, config, &user), -EOPNOTSUPP);
	assert_int_equal(ntrace_encoder_check(&enc, config, &range), -EOPNOTSUPP);
}

void best_mode_is_what_there_is(void **state)
{
	direct(&(struct fake_encoder_options){ .btm_only = true }, &(struct fake_ram_options){ });
	assert_int_equal(FIELD_GET(NTRACE_CONFIG_MODE, ntrace_encoder_resolve(&enc, 0)), 3);
}

void component_that_never_becomes_active(void **state)
{
	void *ram = fake_ram(&(struct fake_ram_options){ });

	fake_fault(ram, true, false);
	assert_int_equal(bring_up(&sink.comp, ram), -ETIMEDOUT);
	assert_true(sink.comp.stuck);
	assert_non_null(strstr(shim_log, "did not become"));
}

#ifndef __KERNEL__
void slow_component_is_waited_for(void **state)
{
	direct(&(struct fake_encoder_options){ .active_delay = 50, .empty_delay = 50 },
	       &(struct fake_ram_options){ .active_delay = 50, .empty_delay = 50 });
	assert_string_equal(shim_log, "");
}

#endif

void versions(void **state)
{
	static const struct {
		struct fake_encoder_options opt;
		int ret;
		const char *say;
	} tests[] = {
		{ { .old = true }, -ENODEV, "pre-ratified" },
		{ { .ver_major = 1, .ver_minor = 3 }, 0, "newer" },
		{ { .ver_major = 1, .ver_minor = 15 }, 0, "experimental" },
		{ { .ver_major = 2 }, -ENODEV, "not compatible" },
		{ { .ver_major = 15 }, -ENODEV, "not compatible" },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(tests); i++) {
		void *ram;

		setup(state);
		ram = fake_ram(&(struct fake_ram_options){ });
		assert_int_equal(bring_up(&enc.comp, fake_encoder(ram, 0, &tests[i].opt)),
				 tests[i].ret);
		assert_non_null(strstr(shim_log, tests[i].say));
	}
	setup(state);
}

void other_protocol_is_refused(void **state)
{
	void *ram = fake_ram(&(struct fake_ram_options){ });
	struct fake_encoder_options opt = { .protocol_major = 2 };

	assert_int_equal(bring_up(&enc.comp, fake_encoder(ram, 0, &opt)), 0);
	assert_int_equal(ntrace_encoder_setup(&enc), -ENODEV);
	assert_non_null(strstr(shim_log, "protocol"));
}

void other_components(void **state)
{
	assert_int_equal(bring_up(&sink.comp, fake_other(0xa01)), -EOPNOTSUPP);
	assert_non_null(strstr(shim_log, "PIB"));
	assert_int_equal(bring_up(&sink.comp, fake_other(0x501)), -ENODEV);
	assert_non_null(strstr(shim_log, "unknown type 0x5"));
	assert_int_equal(bring_up(&sink.comp, fake_other(0)), -ENODEV);
}

static unsigned int writes;

static u32 last_write;

static void count_write(void *base, unsigned int offset, uint32_t value)
{
	writes++;
	last_write = offset;
}

/*
 * The driver must write only the bit Active of this component. It sets Active to read tr??Impl, and clears Active
 * afterwards
 */
void nothing_is_written_to_what_is_not_supported(void **state)
{
	void *pib = fake_other(0xa01), *active = fake_other(0xa01);

	writel_relaxed(TR_CONTROL_ACTIVE | TR_CONTROL_ENABLE, active + TR_CONTROL);
	writes = 0;
	fake_on_write = count_write;
	assert_int_equal(bring_up(&sink.comp, pib), -EOPNOTSUPP);
	assert_int_equal(writes, 2);
	assert_int_equal(last_write, TR_CONTROL);
	assert_int_equal(fake_peek(pib, TR_CONTROL) & TR_CONTROL_ACTIVE, 0);
	writes = 0;
	assert_int_equal(bring_up(&sink.comp, active), -EOPNOTSUPP);
	assert_int_equal(writes, 0);
	fake_on_write = NULL;
}

/*
 * The driver must not access a component that runtime PM has suspended. When the component resumes, the driver
 * restores its registers.
 */
void suspended_component_is_left_alone(void **state)
{
	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	writel_relaxed(0, enc.comp.base + TR_CONTROL);
	enc.comp.powered = false;
	writes = 0;
	fake_on_write = count_write;
	ntrace_path_restore(&enc);
	assert_int_equal(writes, 0);
	fake_on_write = NULL;
	enc.comp.powered = true;
	ntrace_path_restore_comp(&enc.comp);
	assert_int_equal(fake_peek(enc.comp.base, TR_CONTROL) & TR_CONTROL_ACTIVE, 1);
}

void encoder_of_two_formats(void **state)
{
	direct(&(struct fake_encoder_options){ .both_formats = true }, &(struct fake_ram_options){ });
	assert_int_equal(FIELD_GET(TR_TE_PROTOCOL_MAJOR, enc.comp.impl), 1);
	assert_string_equal(shim_log, "");
}

void features_that_are_always_on(void **state)
{
	struct fake_encoder_options opt = {
		.features_fixed = TR_TE_INST_EN_SEQUENTIAL_JUMP, .control_fixed = TR_TE_CONTEXT,
	};
	u64 fixed = NTRACE_CONFIG_SEQUENTIAL_JUMP | NTRACE_CONFIG_CONTEXT;

	direct(&opt, &(struct fake_ram_options){ });
	assert_int_equal(enc.default_config & fixed, fixed);
	assert_int_equal(ntrace_encoder_check(&enc, enc.default_config, &all), 0);
	assert_int_equal(ntrace_encoder_program(&enc, enc.default_config, &all), 0);
	/* These features are always on. Refuse an event without them, because a decoder would misread its trace */
	assert_int_equal(ntrace_encoder_check(&enc, enc.default_config &
					      ~NTRACE_CONFIG_SEQUENTIAL_JUMP, &all), -EOPNOTSUPP);
	assert_int_equal(ntrace_encoder_check(&enc, enc.default_config & ~NTRACE_CONFIG_CONTEXT,
					      &all), -EOPNOTSUPP);
}

/*
 * The field for the mode of implicit returns may be fixed, because trTeInstEnImplicitReturn enables implicit returns
 */
void return_mode_that_is_fixed(void **state)
{
	unsigned int mode;

	for (mode = 1; mode <= 3; mode++) {
		struct fake_encoder_options opt = { .ir_modes = BIT(mode) };
		u64 config;

		direct(&opt, &(struct fake_ram_options){ });
		assert_int_equal(enc.caps.ir_mode, mode);
		config = enc.default_config;
		assert_int_equal(ntrace_encoder_check(&enc, config, &all), 0);
		assert_int_equal(ntrace_encoder_program(&enc, config, &all), 0);
		config ^= NTRACE_CONFIG_IMPLICIT_RETURN;
		assert_int_equal(ntrace_encoder_check(&enc, config, &all), 0);
		assert_int_equal(ntrace_encoder_program(&enc, config, &all), 0);
		setup(state);
	}
}

void tried_values_do_not_stay(void **state)
{
	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	ntrace_write(&enc.comp, TR_TE_INST_FEATURES, 0);
	assert_int_equal(ntrace_try_values(&enc.comp, TR_TE_INST_FEATURES, 0, TR_TE_SRC_BITS),
			 0x1fff);
	assert_int_equal(fake_peek(enc.comp.base, TR_TE_INST_FEATURES), 0);
}

void encoder_of_another_format(void **state)
{
	struct fake_encoder_options opt = { .etrace = true };
	void *ram = fake_ram(&(struct fake_ram_options){ });

	assert_int_equal(bring_up(&enc.comp, fake_encoder(ram, 0, &opt)), 0);
	assert_int_equal(ntrace_encoder_setup(&enc), -ENODEV);
	assert_non_null(strstr(shim_log, "trTeFormat cannot be set to N-Trace"));
}

/*
 * This encoder can make returns implicit only by a count of calls (mode 1), with which a decoder cannot check the
 * address of a return. Therefore implicit returns are supported, but not enabled by default.
 */
void counted_returns_are_for_who_asks(void **state)
{
	direct(&(struct fake_encoder_options){ .ir_modes = 3 }, &(struct fake_ram_options){ });
	assert_int_equal(enc.caps.ir_mode, 1);
	assert_true(enc.caps.config & NTRACE_CONFIG_IMPLICIT_RETURN);
	assert_false(enc.default_config & NTRACE_CONFIG_IMPLICIT_RETURN);
}

/* The encoder has implicit returns, but the field for the mode of implicit returns is always 0 */
void returns_without_a_mode_are_for_who_asks(void **state)
{
	u64 config;

	direct(&(struct fake_encoder_options){ .ir_modes = BIT(0) }, &(struct fake_ram_options){ });
	assert_int_equal(enc.caps.ir_mode, 0);
	assert_false(enc.default_config & NTRACE_CONFIG_IMPLICIT_RETURN);
	assert_int_equal(ntrace_encoder_program(&enc, enc.default_config, &all), 0);
	assert_false(fake_peek(enc.comp.base, TR_TE_INST_FEATURES) & TR_TE_INST_EN_IMPLICIT_RETURN);
	config = enc.default_config | NTRACE_CONFIG_IMPLICIT_RETURN;
	assert_int_equal(ntrace_encoder_check(&enc, config, &all), 0);
	assert_int_equal(ntrace_encoder_program(&enc, config, &all), 0);
	assert_true(fake_peek(enc.comp.base, TR_TE_INST_FEATURES) & TR_TE_INST_EN_IMPLICIT_RETURN);
}

void source_without_bits_is_inhibited(void **state)
{
	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	assert_int_equal(ntrace_encoder_program(&enc, enc.default_config, &all), 0);
	assert_true(fake_peek(enc.comp.base, TR_TE_CONTROL) & TR_TE_INHIBIT_SRC);
	assert_int_equal(ntrace_encoder_set_src(&enc, 2, 1), 0);
	assert_int_equal(ntrace_encoder_program(&enc, enc.default_config, &all), 0);
	assert_false(fake_peek(enc.comp.base, TR_TE_CONTROL) & TR_TE_INHIBIT_SRC);
}

void longest_sync_period_there_is(void **state)
{
	direct(&(struct fake_encoder_options){ .sync_max = 5 }, &(struct fake_ram_options){ });
	assert_int_equal(FIELD_GET(NTRACE_CONFIG_SYNC_MAX, enc.default_config), 5);
	assert_int_equal(ntrace_encoder_check(&enc, enc.default_config, &all), 0);
}

void fields_that_do_not_take(void **state)
{
	direct(&(struct fake_encoder_options){ .minimal = true }, &(struct fake_ram_options){ });
	assert_int_equal(ntrace_encoder_set_src(&enc, 2, 1), -EOPNOTSUPP);
	assert_int_equal(ntrace_encoder_set_src(&enc, 0, 0), 0);
	enc.features = FIELD_PREP(TR_TE_SRC_BITS, 2);
	assert_int_equal(ntrace_encoder_program(&enc, enc.default_config, &all), -EIO);
	assert_false(enc.programmed);
	settle();
	assert_non_null(strstr(shim_log, "trTeInstFeatures reads"));
	/* An event that requests fewer features can use the encoder */
	assert_false(enc.comp.stuck);
	shim_log[0] = 0;
}

/*
 * The driver must read back each mode that it writes: "Set desired mode and verify if that mode is set (regardless of
 * discovery results)"
 */
static void verifies(enum fake_lost lost, u64 more, const struct ntrace_filter *filter)
{
	u64 config;

	setup(NULL);
	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	config = (plain_config() & ~NTRACE_CONFIG_SYNC_MAX) | more;
	assert_int_equal(ntrace_encoder_program(&enc, config, filter), 0);
	assert_string_equal(shim_log, "");
	fake_lose(enc.comp.base, lost);
	assert_int_equal(ntrace_encoder_program(&enc, config, filter), -EIO);
	settle();
}

void setting_that_is_no_longer_taken_is_an_error(void **state)
{
	struct ntrace_filter here = { .nr_ranges = 1, .ranges = { { 0x10000, 0x10020 } } };

	verifies(FAKE_SYNC_MAX, 15ULL << NTRACE_CONFIG_SYNC_MAX_SHIFT, &all);
	assert_non_null(strstr(shim_log, "trTeControl"));
	verifies(FAKE_CONTEXT, NTRACE_CONFIG_CONTEXT, &all);
	assert_non_null(strstr(shim_log, "trTeControl"));
	verifies(FAKE_TS_MODES, NTRACE_CONFIG_TIMESTAMP |
		 (u64)TR_TS_MODE_INTERNAL_SYSTEM << NTRACE_CONFIG_TS_MODE_SHIFT, &all);
	assert_non_null(strstr(shim_log, "trTsControl"));
	verifies(FAKE_COMPARATORS, 0, &here);
	shim_log[0] = 0;
}
