// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests of SiFive's components of version 0. The tests compare registers with the values of silicon, write
 * legal and illegal values, and cause faults that wrong use by software causes on silicon. The values are
 * from dumps of an EIC7700X and from its TRM.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sifive.h"

#define MEM_BASE	0x80000000ULL
#define MEM_SIZE	4096

static uint8_t mem[MEM_SIZE];
static uint64_t now, written_at[64];
static unsigned int n_written, reports[NB_REPORT_MAX];
static struct nb_te te[4];
static struct nb_sf_funnel funnel;

static uint64_t bus_clock(void *opaque)
{
	return now;
}

static bool mem_write(void *opaque, uint64_t addr, const uint8_t *bytes, size_t len)
{
	if (n_written < 64)
		written_at[n_written] = addr;
	n_written++;
	if (addr < MEM_BASE || addr + len > MEM_BASE + MEM_SIZE)
		return false;
	memcpy(mem + (addr - MEM_BASE), bytes, len);
	return true;
}

static void report(void *opaque, struct nb_dev *dev, enum nb_report what, unsigned int offset,
		   uint32_t value)
{
	reports[what]++;
}

static int setup(void **state)
{
	struct nb_te_caps caps;
	unsigned int i;

	memset(mem, 0, sizeof(mem));
	memset(reports, 0, sizeof(reports));
	n_written = 0;
	now = 1000;
	nb_sf_funnel_init(&funnel);
	funnel.mem_write = mem_write;
	funnel.ts.clock = bus_clock;
	funnel.dev.report = report;
	nb_te_caps_full(&caps);
	for (i = 0; i < 4; i++) {
		const struct nb_sf_te_caps sf = { .hart = i, .src_bits = 2, .src_id = i };

		nb_sf_te_init(&te[i], &caps, &sf, nb_sf_funnel_input, &funnel.port[i]);
		te[i].ts.shared = &funnel.ts;
		te[i].dev.report = report;
		funnel.port[i].te = &te[i];
	}
	return 0;
}

static uint32_t rd(struct nb_dev *dev, unsigned int offset)
{
	return nb_dev_read(dev, offset);
}

static void wr(struct nb_dev *dev, unsigned int offset, uint32_t value)
{
	nb_dev_write(dev, offset, value);
}

/* Reset a component by the steps "write 0, poll active 0, write 1, poll 1". */
static void reset(struct nb_dev *dev)
{
	wr(dev, 0x000, 0);
	assert_int_equal(rd(dev, 0x000) & 1, 0);
	wr(dev, 0x000, 1);
	assert_int_equal(rd(dev, 0x000) & 1, 1);
}

static void reset_all(void)
{
	unsigned int i;

	reset(&funnel.dev);
	for (i = 0; i < 4; i++)
		reset(&te[i].dev);
}

/* Set the sink's buffer to @size bytes at @base. */
static void buffer(uint64_t base, uint32_t size)
{
	wr(&funnel.dev, 0x010, base);
	wr(&funnel.dev, 0x014, base >> 32);
	wr(&funnel.dev, 0x018, base + size - 8);
	wr(&funnel.dev, 0x01c, base);
}

/* Retire blocks of linear code that end with a taken branch or a jump. */
static void run(struct nb_te *t, unsigned int blocks)
{
	static uint64_t pc = 0x10000;
	struct nb_ingress blk = { .itype = NB_ITYPE_TAKEN, .iretire = 40, .ninsn = 20, .ilastsize = 2 };
	unsigned int i;

	for (i = 0; i < blocks; i++) {
		blk.iaddr = pc;
		pc += 0x1000 - 0x800 * (i & 1);
		blk.itype = i % 3 ? NB_ITYPE_TAKEN : NB_ITYPE_INDIRECT_JUMP;
		nb_te_ingress(t, &blk, NULL);
	}
}

static void start(struct nb_te *t, uint32_t control)
{
	wr(&t->dev, 0x000, control | 1);
	wr(&t->dev, 0x000, control | 3);
	wr(&t->dev, 0x000, control | 7);
}

/* ---- Values that were read from a real chip ---- */

static void impl_is_that_of_silicon(void **state)
{
	static const uint32_t impl[4] = { 0x02040100, 0x12140100, 0x22240100, 0x32340100 };
	unsigned int i;

	reset_all();
	for (i = 0; i < 4; i++) {
		assert_int_equal(rd(&te[i].dev, 0x004), impl[i]);
		wr(&te[i].dev, 0x004, ~0U);
		assert_int_equal(rd(&te[i].dev, 0x004), impl[i]);
	}
	assert_int_equal(rd(&funnel.dev, 0x004), 0x00010080);
}

static void encoder_control_is_that_of_silicon(void **state)
{
	struct nb_dev *dev = &te[0].dev;

	reset_all();
	assert_int_equal(rd(dev, 0x000), 0x81000009);
	wr(dev, 0x000, 0x81a31071);
	assert_int_equal(rd(dev, 0x000), 0x81a31079);
	wr(dev, 0x000, 0x81a31073);
	assert_int_equal(rd(dev, 0x000), 0x81a3107b);
	wr(dev, 0x000, 0x81a31077);
	/* The encoder traces, so pending messages may clear Empty */
	assert_int_equal(rd(dev, 0x000) | 8, 0x81a3107f);
	wr(dev, 0x000, 0x81a31071);
	assert_int_equal(rd(dev, 0x000), 0x81a31079);
}

static void funnel_control_is_that_of_silicon(void **state)
{
	reset_all();
	assert_int_equal(rd(&funnel.dev, 0x000), 0x70000009);
	buffer(MEM_BASE, MEM_SIZE);
	wr(&funnel.dev, 0x000, 0x70000003);
	start(&te[0], 0x81a31070);
	run(&te[0], 100);
	while (rd(&funnel.dev, 0x000) & 8)
		run(&te[0], 1);
	assert_int_equal(rd(&funnel.dev, 0x000), 0x70000003);
	funnel.dev.empty_delay = 2;
	wr(&funnel.dev, 0x000, 0x70000001);
	assert_int_equal(rd(&funnel.dev, 0x000), 0x70000001);
	rd(&funnel.dev, 0x000);
	assert_int_equal(rd(&funnel.dev, 0x000), 0x70000009);
}

static void timestamp_control_is_that_of_silicon(void **state)
{
	reset_all();
	wr(&funnel.dev, 0x040, 0x28000023);
	assert_int_equal(rd(&funnel.dev, 0x040), 0x28000023);
	wr(&te[0].dev, 0x040, 0x280f8041);
	assert_int_equal(rd(&te[0].dev, 0x040), 0x280f8041);
	now += 12345;
	assert_int_equal(rd(&funnel.dev, 0x044), 12345);
	assert_int_equal(rd(&te[0].dev, 0x044), 12345);
	now += 1ULL << 39;
	assert_int_equal(rd(&te[0].dev, 0x048), 1 << 7);
	now += 1ULL << 39;
	assert_int_equal(rd(&te[0].dev, 0x048), 0);	/* the counter has 40 bits */
}

static void a_sink_that_is_not_there_is_an_error(void **state)
{
	reset_all();
	wr(&funnel.dev, 0x000, 0);
	start(&te[2], 0x81a31070);
	run(&te[2], 10);
	assert_int_equal(rd(&te[2].dev, 0x000) >> 24, 0x89);
	/* Writing 1 clears the error bit, but writing 0 does not */
	wr(&te[2].dev, 0x000, 0x81a31071);
	assert_int_equal(rd(&te[2].dev, 0x000), 0x89a31079);
	wr(&te[2].dev, 0x000, 0x89a31071);
	assert_int_equal(rd(&te[2].dev, 0x000), 0x81a31079);
}

/* ---- Which values of a written field a register accepts ---- */

static void mode_takes_what_the_table_has(void **state)
{
	unsigned int mode;

	reset_all();
	for (mode = 0; mode < 8; mode++) {
		bool there = mode == 0 || mode == 1 || mode == 6 || mode == 7;

		wr(&te[0].dev, 0x000, 1 | mode << 4);
		assert_int_equal(rd(&te[0].dev, 0x000) >> 4 & 7, there ? mode : 0);
	}
}

static void syncs_take_what_the_table_has(void **state)
{
	unsigned int n;

	reset_all();
	for (n = 0; n < 16; n++) {
		wr(&te[0].dev, 0x000, 1 | n << 16 | n << 20);
		assert_int_equal(rd(&te[0].dev, 0x000) >> 16 & 15, n < 12 || n == 15 ? n : 3);
		assert_int_equal(rd(&te[0].dev, 0x000) >> 20 & 15, n < 6 || n == 10 || n == 15 ? n : 10);
	}
	/* The register has these values after a loss of power, before any write */
	nb_dev_power_off(&te[0].dev);
	assert_int_equal(rd(&te[0].dev, 0x000), 0x81a30008);
}

static void fixed_fields_stay(void **state)
{
	reset_all();
	wr(&te[0].dev, 0x000, ~0U & ~6U);
	assert_int_equal(rd(&te[0].dev, 0x000), 0x81ffb1f9);
	wr(&te[0].dev, 0x040, ~0U);
	assert_int_equal(rd(&te[0].dev, 0x040), 0x280f8041);
	wr(&te[0].dev, 0x040, 0x20001);		/* tsBranch 2 is reserved */
	assert_int_equal(rd(&te[0].dev, 0x040), 0x28000041);
	wr(&funnel.dev, 0x040, ~0U & ~4U);
	assert_int_equal(rd(&funnel.dev, 0x040), 0x28000323);
	wr(&funnel.dev, 0x000, ~0U & ~2U);
	assert_int_equal(rd(&funnel.dev, 0x000), 0x70004009);
}

/* Addresses of the sink have 42 bits and are multiples of 8 bytes. */
static void the_sink_reaches_42_bits(void **state)
{
	unsigned int offset;

	reset_all();
	for (offset = 0x010; offset < 0x020; offset += 4)
		wr(&funnel.dev, offset, ~0U);
	assert_int_equal(rd(&funnel.dev, 0x010), 0xfffffff8);
	assert_int_equal(rd(&funnel.dev, 0x014), 0x3ff);
	assert_int_equal(rd(&funnel.dev, 0x018), 0xfffffff8);
	assert_int_equal(rd(&funnel.dev, 0x01c), 0xfffffff9);
	assert_int_equal(rd(&funnel.dev, 0x024), 0);	/* reads as 0, because the sink has no SRAM */
}

/* ---- Wrong accesses, wrapping of the buffer, and bus errors ---- */

static void an_inactive_component_is_not_to_be_touched(void **state)
{
	rd(&te[0].dev, 0x004);
	wr(&funnel.dev, 0x010, MEM_BASE);
	assert_int_equal(reports[NB_REPORT_INACTIVE], 2);
	assert_int_equal(rd(&te[0].dev, 0x040), 0);
}

static void a_disabled_funnel_accepts_and_drops(void **state)
{
	reset_all();
	buffer(MEM_BASE, MEM_SIZE);
	start(&te[0], 0x81a31070);
	run(&te[0], 300);
	assert_int_equal(n_written, 0);
	assert_true(funnel.dropped > 0);
	wr(&te[0].dev, 0x000, 0x81a31071);
	assert_int_equal(rd(&te[0].dev, 0x000), 0x81a31079);
}

static void wp_goes_from_the_limit_to_the_base(void **state)
{
	reset_all();
	buffer(MEM_BASE, 64);
	wr(&funnel.dev, 0x000, 0x70000003);
	start(&te[0], 0x81a31070);
	run(&te[0], 300);
	assert_true(n_written > 16);
	assert_int_equal(written_at[7], MEM_BASE + 56);
	assert_int_equal(written_at[8], MEM_BASE);
	assert_int_equal(rd(&funnel.dev, 0x01c) & 1, 1);
	assert_int_equal(rd(&funnel.dev, 0x000) & 2, 2);
}

static void stop_on_wrap_disables_the_funnel(void **state)
{
	reset_all();
	buffer(MEM_BASE, 64);
	wr(&funnel.dev, 0x000, 0x70004003);
	start(&te[0], 0x81a31070);
	run(&te[0], 300);
	assert_int_equal(n_written, 8);
	assert_int_equal(rd(&funnel.dev, 0x01c), MEM_BASE | 1);
	assert_int_equal(rd(&funnel.dev, 0x000), 0x70004009);
	/* The encoder is not informed that the funnel has stopped */
	wr(&te[0].dev, 0x000, 0x81a31071);
	assert_int_equal(rd(&te[0].dev, 0x000), 0x81a31079);
}

static void a_buffer_does_not_cross_a_line_of_4_gib(void **state)
{
	reset_all();
	buffer(0x1ffffffe0ULL, 64);
	wr(&funnel.dev, 0x000, 0x70000003);
	assert_int_equal(reports[NB_REPORT_RANGE], 1);
	start(&te[0], 0x81a31070);
	run(&te[0], 300);
	assert_int_equal(written_at[3], 0x1fffffff8ULL);
	assert_int_equal(written_at[4], 0x100000000ULL);
}

static void a_bus_error_is_a_sink_error(void **state)
{
	reset_all();
	buffer(0x40000000, 4096);
	wr(&funnel.dev, 0x000, 0x70000003);
	start(&te[0], 0x81a31070);
	run(&te[0], 300);
	assert_int_equal(rd(&funnel.dev, 0x000) >> 24, 0x78);
	wr(&funnel.dev, 0x000, 0x70000001);
	assert_int_equal(rd(&funnel.dev, 0x000), 0x78000009);
	wr(&funnel.dev, 0x000, 0x78000001);
	assert_int_equal(rd(&funnel.dev, 0x000), 0x70000009);
}

static void a_flush_fills_the_last_word(void **state)
{
	uint32_t wp;

	reset_all();
	buffer(MEM_BASE, MEM_SIZE);
	wr(&funnel.dev, 0x000, 0x70000003);
	start(&te[3], 0x81a31060);
	run(&te[3], 1);
	wr(&te[3].dev, 0x000, 0x81a31061);
	wr(&funnel.dev, 0x000, 0x70000001);
	wp = rd(&funnel.dev, 0x01c);
	assert_int_equal(wp % 8, 0);
	assert_true(wp > MEM_BASE);
	assert_int_equal(mem[wp - MEM_BASE - 1], 0xff);
	/* The first message is ProgTraceSync, with TCODE 9, source 3 and SYNC 5 */
	assert_int_equal(mem[0] >> 2, 9);
	assert_int_equal(mem[1] >> 2 & 3, 3);
	assert_int_equal(mem[1] >> 4 & 15, 5);
}

int main(void)
{
#define TEST(f)	cmocka_unit_test_setup(f, setup)
	const struct CMUnitTest tests[] = {
		TEST(impl_is_that_of_silicon),
		TEST(encoder_control_is_that_of_silicon),
		TEST(funnel_control_is_that_of_silicon),
		TEST(timestamp_control_is_that_of_silicon),
		TEST(a_sink_that_is_not_there_is_an_error),
		TEST(mode_takes_what_the_table_has),
		TEST(syncs_take_what_the_table_has),
		TEST(fixed_fields_stay),
		TEST(the_sink_reaches_42_bits),
		TEST(an_inactive_component_is_not_to_be_touched),
		TEST(a_disabled_funnel_accepts_and_drops),
		TEST(wp_goes_from_the_limit_to_the_base),
		TEST(stop_on_wrap_disables_the_funnel),
		TEST(a_buffer_does_not_cross_a_line_of_4_gib),
		TEST(a_bus_error_is_a_sink_error),
		TEST(a_flush_fills_the_last_word),
	};

	return cmocka_run_group_tests_name("sifive", tests, NULL, NULL);
}
