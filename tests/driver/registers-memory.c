// SPDX-License-Identifier: GPL-2.0-only
/* Test the driver's register logic for the memory of a sink, which can be fixed, reserved, or an SRAM in the sink */
#include "registers.h"

void alignment_is_found(void **state)
{
	static const unsigned int aligns[] = { 4, 8, 16, 64, 4096 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(aligns); i++) {
		struct fake_ram_options opt = { .align = aligns[i] };

		setup(state);
		assert_int_equal(bring_up(&sink.comp, fake_ram(&opt)), 0);
		assert_int_equal(ntrace_ramsink_setup(&sink), 0);
		assert_int_equal(sink.area->align, aligns[i]);
		assert_true(sink.area->start_align >= sink.area->align);
	}
}

void range_is_found(void **state)
{
	struct fake_ram_options opt = { .lowest = 0x80000000, .highest = 0xfffffffc, .align = 4 };

	assert_int_equal(bring_up(&sink.comp, fake_ram(&opt)), 0);
	assert_int_equal(ntrace_ramsink_setup(&sink), 0);
	assert_int_equal(sink.area->min, 0x80000000);
	assert_int_equal(sink.area->max, 0xfffffffc);
}

/*
 * The decoder cannot read trace in a format of the sink, such as a custom trRamMemFormat, so the driver refuses the
 * sink
 */
void other_memory_formats_are_refused(void **state)
{
	struct fake_ram_options opt = { .format = 3 };

	assert_int_equal(bring_up(&sink.comp, fake_ram(&opt)), 0);
	assert_int_equal(ntrace_ramsink_setup(&sink), -EOPNOTSUPP);
	assert_non_null(strstr(shim_log, "trRamMemFormat is 3, and the driver supports only 0"));
}

/* The driver must refuse a trRamLimit whose low 32 bits are always 0 */
void granule_of_4_gib_is_refused(void **state)
{
	struct fake_ram_options opt = {
		.lowest = 0x100000000, .highest = 0x100000003, .align = 4, .fixed = true,
	};

	assert_int_equal(bring_up(&sink.comp, fake_ram(&opt)), 0);
	assert_int_equal(ntrace_ramsink_setup(&sink), -EOPNOTSUPP);
	assert_non_null(strstr(shim_log, "too coarse"));
}

void fixed_buffer_is_refused(void **state)
{
	struct fake_ram_options opt = {
		.lowest = 0x80000000, .highest = 0x8000fffc, .fixed = true,
	};

	assert_int_equal(bring_up(&sink.comp, fake_ram(&opt)), 0);
	assert_int_equal(ntrace_ramsink_setup(&sink), -EOPNOTSUPP);
	assert_non_null(strstr(shim_log, "fixed"));
}

/* Copy trace from fixed memory that the device tree reserves. The driver must not write the address of this memory */
void fixed_buffer_that_is_reserved(void **state)
{
	struct fake_ram_options opt = {
		.lowest = FAKE_MEM_BASE + 0x4000, .highest = FAKE_MEM_BASE + 0x7fff, .fixed = true,
	};
	struct ntrace_window win;
	static u8 buf[64];
	bool wrapped;
	u32 n;

	sink.mem = fake_mem;
	sink.mem_start = FAKE_MEM_BASE;
	sink.mem_end = FAKE_MEM_BASE + FAKE_MEM_SIZE;
	direct(&(struct fake_encoder_options){ }, &opt);
	assert_true(sink.area->copied);
	assert_int_equal(sink.area->min, opt.lowest);
	assert_int_equal(sink.area->max + sink.area->align, opt.highest + 1);
	win = (struct ntrace_window){
		.start = sink.area->min, .wp = sink.area->min, .end = opt.highest + 1, .stop = true,
	};
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
	traced(&win, 20);
	n = ntrace_ramsink_written(&sink, &win, &wrapped);
	assert_in_range(n, 20, 4096);
	ntrace_ramsink_read(&sink, 0, buf, sizeof(buf));
	assert_memory_equal(buf, fake_mem + 0x4000, sizeof(buf));
	assert_int_equal(buf[0] >> 2, 9);
	/* The sink's memory is not in the reserved memory */
	setup(state);
	sink.mem = fake_mem;
	sink.mem_start = FAKE_MEM_BASE + 0x5000;
	sink.mem_end = FAKE_MEM_BASE + FAKE_MEM_SIZE;
	assert_int_equal(bring_up(&sink.comp, fake_ram(&opt)), 0);
	assert_int_equal(ntrace_ramsink_setup(&sink), -EINVAL);
}

/* The sink can write to any address, but must only use the memory that the device tree reserves */
void reserved_memory_is_kept_to(void **state)
{
	sink.mem = fake_mem;
	sink.mem_start = FAKE_MEM_BASE + 0x1000;
	sink.mem_end = FAKE_MEM_BASE + 0x9000;
	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ });
	assert_true(sink.area->copied);
	assert_int_equal(sink.area->min, FAKE_MEM_BASE + 0x1000);
	assert_int_equal(sink.area->max + sink.area->align, FAKE_MEM_BASE + 0x9000);
}

/*
 * The sink accepts only sizes that are powers of two, but the reserved memory has another size. The driver must use a
 * part of the memory, and a circular window must fill this part.
 */
void reserved_memory_of_a_size_that_is_not_taken(void **state)
{
	unsigned int sizes;

	for (sizes = 1; sizes <= 2; sizes++) {
		struct fake_ram_options opt = { .sizes = sizes };
		struct ntrace_window win;

		sink.mem = fake_mem;
		sink.mem_start = FAKE_MEM_BASE + 0x1000;
		sink.mem_end = FAKE_MEM_BASE + 0xd000;
		direct(&(struct fake_encoder_options){ }, &opt);
		assert_int_equal(sink.area->min, FAKE_MEM_BASE + 0x1000);
		assert_int_equal(sink.area->max + sink.area->align, FAKE_MEM_BASE + 0x9000);
		win = (struct ntrace_window){
			.start = sink.area->min, .wp = sink.area->min,
			.end = sink.area->max + sink.area->align, .circular = true,
		};
		assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
		assert_int_equal(start(&enc, &win, true), 0);
		assert_int_equal(stop(&enc), 0);
		setup(state);
	}
}

void sram_is_read_back(void **state)
{
	struct fake_ram_options opt = { .sram = true, .sram_size = 4096 };
	struct ntrace_window win;
	static u8 buf[4096], rest[4096];
	bool wrapped;
	u32 n;

	direct(&(struct fake_encoder_options){ }, &opt);
	assert_false((sink.area == &sink.areas[TR_RAM_MODE_SMEM]));
	assert_int_equal(sink.area->max - sink.area->min + 4, 4096);
	win = (struct ntrace_window){
		.start = sink.area->min, .wp = sink.area->min, .end = sink.area->max + 4, .circular = true,
	};
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
	traced(&win, 20);
	n = ntrace_ramsink_written(&sink, &win, &wrapped);
	assert_in_range(n, 20, 4096);
	ntrace_ramsink_read(&sink, 0, buf, n);
	assert_int_equal(buf[0] >> 2, 9);
	ntrace_ramsink_read(&sink, 8, rest, n - 8);
	assert_memory_equal(rest, buf + 8, n - 8);
}

/* The driver must use only a part of a large SRAM, because it reads SRAM word by word with interrupts disabled */
void sram_is_read_in_parts(void **state)
{
	struct fake_ram_options opt = { .sram = true, .sram_size = 1 << 20 };

	direct(&(struct fake_encoder_options){ }, &opt);
	assert_int_equal(sink.area->max + sink.area->align - sink.area->min, 64 << 10);
	assert_true(sink.area->trims);
	assert_string_equal(shim_log, "");
	/* If trRamLimit is fixed, the sink always uses its whole SRAM, so the driver must refuse a large SRAM. */
	setup(state);
	opt.limit_fixed = true;
	assert_int_equal(bring_up(&sink.comp, fake_ram(&opt)), 0);
	assert_int_equal(ntrace_ramsink_setup(&sink), -EOPNOTSUPP);
	assert_non_null(strstr(shim_log, "its buffer has 1024 KiB, the driver copies at most 64 KiB"));
	setup(state);
	opt.sram_size = 64 << 10;
	direct(&(struct fake_encoder_options){ }, &opt);
	assert_false(sink.area->trims);
	assert_string_equal(shim_log, "");
}

/* If the sink does not accept the size of a window, the driver must use a smaller window, and never a larger one */
void window_of_a_power_of_two(void **state)
{
	unsigned int sizes;

	for (sizes = 1; sizes <= 2; sizes++) {
		struct ntrace_window win = window(0x1000, 0x3000);

		setup(state);
		direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ .sizes = sizes });
		win.wp += 0x40;
		assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
		assert_int_equal(start(&enc, &win, false), 0);
		assert_int_equal(win.end - win.start, 0x2000);
		fake_run(enc.comp.base, 5000);
		assert_int_equal(fake_mem[0x3000], 0);
		stop(&enc);
		assert_false(sink.comp.stuck);
	}
}

/*
 * trRamStart may have a larger granule than trRamLimit. In this case, a window may begin before the position of its
 * write pointer
 */
void start_is_coarser_than_limit(void **state)
{
	struct ntrace_window win = window(0x4000, 0x1000);
	bool wrapped;

	direct(&(struct fake_encoder_options){ },
	       &(struct fake_ram_options){ .align = 4, .start_align = 0x1000 });
	assert_int_equal(sink.area->align, 4);
	assert_int_equal(sink.area->start_align, 0x1000);
	win.wp += 0x100;
	assert_int_equal(ntrace_encoder_program(&enc, plain_config(), &all), 0);
	traced(&win, 10);
	assert_true(ntrace_ramsink_written(&sink, &win, &wrapped) > 0x100);
	assert_int_equal(fake_mem[0x4100] >> 2 & 63, 9);
}

void memory_of_the_system_is_preferred(void **state)
{
	direct(&(struct fake_encoder_options){ }, &(struct fake_ram_options){ .both = true });
	assert_true((sink.area == &sink.areas[TR_RAM_MODE_SMEM]));
	assert_int_equal(FIELD_GET(TR_RAM_MODE, fake_peek(sink.comp.base, TR_RAM_CONTROL)),
			 TR_RAM_MODE_SMEM);
}

static unsigned int smem_writes;

/* The sink loses its power before the driver sets the mode SMEM for the second time */
static void refuse_second_smem(void *base, unsigned int offset, u32 value)
{
	if (offset == TR_RAM_CONTROL && FIELD_GET(TR_RAM_MODE, value) == TR_RAM_MODE_SMEM && ++smem_writes == 2)
		fake_power_off(base);
}

/* A sink that refuses a mode, which it accepted when the driver tried it, must not be used */
void mode_that_is_no_longer_taken_is_an_error(void **state)
{
	void *ram = fake_ram(&(struct fake_ram_options){ .both = true });

	assert_int_equal(bring_up(&sink.comp, ram), 0);
	smem_writes = 0;
	fake_on_write = refuse_second_smem;
	assert_int_equal(ntrace_ramsink_setup(&sink), -EIO);
	fake_on_write = NULL;
	assert_non_null(strstr(shim_log, "trRamMode cannot be set to"));
}
