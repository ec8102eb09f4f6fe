// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests of the register blocks. Some tests compare the registers with the tables of the Trace Control
 * Interface specification, which registers.txt contains. Other tests check the behaviour of a component that
 * the chapters of the specification describe. Quotations are from this specification.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "insn.h"
#include "regs_te.h"

#ifndef REGISTERS_TXT
#define REGISTERS_TXT	"registers.txt"
#endif

/* ---- The table of registers and fields in registers.txt ---- */

struct fact {
	char		component[16], reg[40], field[40], access[8], reset[8];
	unsigned int	offset, high, low;
	bool		repeated;	/* true if each filter or comparator has this register */
};

static struct fact facts[256];
static unsigned int n_facts;

static int load_facts(void **state)
{
	FILE *f = fopen(REGISTERS_TXT, "r");
	char line[256], offset[16], bits[16];

	(void)state;
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		struct fact *t = &facts[n_facts];

		if (line[0] == '#')
			continue;
		if (n_facts == 256 || sscanf(line, "%15s %39s %15s %15s %39s %7s %7s", t->component,
					     t->reg, offset, bits, t->field, t->access, t->reset) != 7)
			return -1;
		t->offset = strtoul(offset, NULL, 16);
		t->repeated = strstr(offset, "+i");
		t->high = atoi(bits);
		t->low = strchr(bits, ':') ? atoi(strchr(bits, ':') + 1) : t->high;
		n_facts++;
	}
	fclose(f);
	return n_facts > 100 ? 0 : -1;
}

static uint32_t mask_of(const struct fact *f)
{
	return (0xffffffffU >> (31 - f->high + f->low)) << f->low;
}

/* ---- A test bench with all components ---- */

struct reported {
	unsigned int	n[NB_REPORT_MAX];
};

static struct bench {
	struct nb_te	te;
	struct nb_ram	ram;
	struct nb_funnel funnel;
	uint32_t	mirror[3][1024];	/* values of registers that nb_dev.changed() has reported */
	struct reported	reported;
	uint8_t		memory[1 << 16];
	uint64_t	memory_base, clock;
	bool		gate;
	unsigned int	fired, interrupts;
} b;

static void mirror(void *opaque, struct nb_dev *dev, unsigned int offset, uint32_t value)
{
	(void)opaque;
	b.mirror[dev == &b.te.dev ? 0 : dev == &b.ram.dev ? 1 : 2][offset / 4] = value;
}

static void report(void *opaque, struct nb_dev *dev, enum nb_report what, unsigned int offset,
		   uint32_t value)
{
	(void)opaque;
	(void)dev;
	(void)offset;
	(void)value;
	assert_true(nb_report_text(what)[0]);
	b.reported.n[what]++;
}

static uint64_t bench_clock(void *opaque)
{
	(void)opaque;
	return b.clock;
}

static bool memory_write(void *opaque, uint64_t addr, const uint8_t *bytes, size_t len)
{
	(void)opaque;
	assert_true(addr >= b.memory_base && addr + len <= b.memory_base + sizeof(b.memory));
	memcpy(b.memory + (addr - b.memory_base), bytes, len);
	return true;
}

static bool memory_read(void *opaque, uint64_t addr, uint8_t *bytes, size_t len)
{
	(void)opaque;
	if (addr < b.memory_base || addr + len > b.memory_base + sizeof(b.memory))
		return false;
	memcpy(bytes, b.memory + (addr - b.memory_base), len);
	return true;
}

static void interrupt(void *opaque)
{
	(void)opaque;
	b.interrupts++;
}

static void gate(void *opaque, struct nb_te *te, bool on)
{
	(void)opaque;
	(void)te;
	b.gate = on;
}

static void fire(void *opaque, struct nb_te *te, unsigned int trigger)
{
	(void)opaque;
	(void)te;
	b.fired |= 1 << trigger;
}

static void own(struct nb_dev *dev)
{
	dev->changed = mirror;
	dev->report = report;
	mirror(NULL, dev, 0, dev->shadow[0]);
}

static void make_bench(const struct nb_te_caps *te, const struct nb_ram_caps *ram)
{
	struct nb_funnel_caps funnel = { .inputs = 4, .dis_input = true, .ver_major = 1,
					 .ts_modes = 0x7, .ts_width = 40, .ts_prescale = true };

	if (b.ram.buf)
		nb_ram_fini(&b.ram);
	memset(&b, 0, sizeof(b));
	b.memory_base = 0x80000000;
	nb_te_init(&b.te, te, nb_ram_input, &b.ram);
	assert_int_equal(nb_ram_init(&b.ram, ram), 0);
	nb_funnel_init(&b.funnel, &funnel, nb_ram_input, &b.ram);
	b.ram.mem_write = memory_write;
	b.ram.irq = interrupt;
	b.te.ts.clock = bench_clock;
	b.funnel.ts.clock = bench_clock;
	b.te.gate = gate;
	b.te.ext_out = fire;
	own(&b.te.dev);
	own(&b.ram.dev);
	own(&b.funnel.dev);
}

static void full_bench(void)
{
	struct nb_te_caps te;
	struct nb_ram_caps ram;

	nb_te_caps_full(&te);
	nb_ram_caps_full(&ram);
	ram.align = 16;
	ram.burst = 32;
	make_bench(&te, &ram);
}

static struct nb_dev *device(const char *component)
{
	if (!strcmp(component, "encoder") || !strcmp(component, "ts"))
		return &b.te.dev;
	if (!strcmp(component, "sink"))
		return &b.ram.dev;
	return strcmp(component, "funnel") ? NULL : &b.funnel.dev;
}

static void wr(struct nb_dev *dev, unsigned int offset, uint32_t value)
{
	nb_dev_write(dev, offset, value);
}

static uint32_t rd(struct nb_dev *dev, unsigned int offset)
{
	return nb_dev_read(dev, offset);
}

/* Reset a component and set Active to 1 by the steps of chapter "Reset and Discovery". */
static void wake(struct nb_dev *dev)
{
	wr(dev, TR_CONTROL, 0);
	assert_int_equal(rd(dev, TR_CONTROL) & TR_ACTIVE, 0);
	wr(dev, TR_CONTROL, 1);
	assert_int_equal(rd(dev, TR_CONTROL) & (TR_ACTIVE | TR_ENABLE), TR_ACTIVE);
}

/* ---- Tests whether the registers conform to registers.txt ---- */

/* Fields that must be 0 in an N-Trace 1.0 encoder (table "Trace Encoder Parameters") */
static const char *const zero_fields[] = {
	"trTeInstNoAddrDiff", "trTeInstNoTrapAddr", "trTeInstEnBranchPrediction",
	"trTeInstEnJumpTargetCache", "trTeDataImplemented", "trTeDataTracing", "trTeDataTrigEnable",
	"trTeDataStallEna", "trTeDataDropEna", "trTeDataNoValue", "trTeDataNoAddr",
	"trTeDataAddrCompress", "trTeDataFilters", "trTeDataStallOrOverflow", "trTeDataDrop",
	"trTeFilterMatchDtype", "trTeFilterMatchDsize", "trTeFilterMatchChoiceDtype",
	"trTeFilterMatchChoiceDsize",
	/* Optional fields, which this hardware does not implement */
	"trTeTrigDbgControl", "trTeFilterMatchImpdef", "trTeFilterMatchValueImpdef",
	"trTeFilterMatchMaskImpdef", "trRamMemFormat", "trRamAsyncFreq",
	/* Registers that "should not be implemented" in SRAM mode, which is the initial mode of the sink */
	"trRamStartLow", "trRamStartHigh", "trRamLimitHigh", "trRamWPHigh", "trRamRPHigh", NULL,
};

static bool listed(const char *const *list, const char *name)
{
	for (; *list; list++)
		if (!strcmp(*list, name))
			return true;
	return false;
}

/*
 * Write @value to a single field, with Active 1 and other fields 0. Return the value that a load of the
 * field returns after the write.
 */
static uint32_t try_field(struct nb_dev *dev, const struct fact *f, uint32_t value)
{
	uint32_t mask = mask_of(f);
	uint32_t word = value << f->low & mask;

	if (f->offset == TR_CONTROL || f->offset == TR_TS_CONTROL)
		word |= TR_ACTIVE;
	wr(dev, f->offset, word);
	return (rd(dev, f->offset) & mask) >> f->low;
}

static bool can_hold_nonzero(struct nb_dev *dev, const struct fact *f)
{
	static const uint32_t patterns[] = { ~0U, 1, 2, 3, 4, 6, 0x80, 0xffff, 0x7fffffff };
	unsigned int i;
	uint32_t got;

	for (i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		got = try_field(dev, f, patterns[i]);
		/* The result of a write "should deterministically depend on the illegal written value" */
		assert_int_equal(try_field(dev, f, patterns[i]), got);
		if (got)
			return true;
	}
	return false;
}

static void check_field(struct nb_dev *dev, const struct fact *f)
{
	uint32_t mask = mask_of(f), before = rd(dev, f->offset) & mask;
	bool zero = listed(zero_fields, f->field);

	if (!strcmp(f->access, "RO") || (!strcmp(f->field, "--") && strcmp(f->access, "WARL"))) {
		if (strcmp(f->reset, "SD") && strcmp(f->reset, "Undef") && f->offset != TR_TS_COUNTER_LOW)
			assert_int_equal(before >> f->low, strtoul(f->reset, NULL, 0));
		wr(dev, f->offset, f->offset == TR_CONTROL ? ~(uint32_t)TR_ENABLE : ~0U);
		if (f->offset != TR_TS_CONTROL)
			assert_int_equal(rd(dev, f->offset) & mask, before);
		wr(dev, f->offset, f->offset == TR_CONTROL ? 1 : 0);
		if (f->offset != TR_TS_CONTROL || f->high < 24)
			assert_int_equal(rd(dev, f->offset) & mask, before);
	} else if (!strcmp(f->access, "W1") || !strcmp(f->access, "RW1C")) {
		assert_int_equal(try_field(dev, f, ~0U), 0);
	} else if (strcmp(f->access, "R") && strcmp(f->field, "--") && strcmp(f->field, "trRamWPLow")) {
		if (can_hold_nonzero(dev, f) == zero)
			fail_msg("%s.%s is %s", f->reg, f->field, zero ? "not 0" : "not implemented");
	}
}

static void test_conformance(void **state)
{
	unsigned int i, j, count;

	(void)state;
	for (i = 0; i < n_facts; i++) {
		struct fact f = facts[i];
		struct nb_dev *dev;

		full_bench();
		dev = device(f.component);
		if (!dev)
			continue;	/* the component (a PIB sink or ATB bridge) is not in the bench */
		count = !f.repeated ? 1 : f.offset < 0x600 ? NB_MAX_FILTERS : NB_MAX_COMPS;
		for (j = 0; j < count; j++, f.offset += 0x20) {
			wake(dev);
			if (!strcmp(f.component, "ts"))
				wr(dev, TR_TS_CONTROL, TR_TS_ACTIVE);
			check_field(dev, &f);
		}
		assert_memory_equal(b.mirror[0], b.te.dev.shadow, 4096);
		assert_memory_equal(b.mirror[1], b.ram.dev.shadow, 4096);
		assert_memory_equal(b.mirror[2], b.funnel.dev.shadow, 4096);
	}
}

/* Registers that the tables do not contain "should read as 0 and ignore writes". */
static void test_unused_registers(void **state)
{
	static const char *const components[] = { "encoder", "sink", "funnel" };
	unsigned int c, offset, i;

	(void)state;
	full_bench();
	for (c = 0; c < 3; c++) {
		struct nb_dev *dev = device(components[c]);

		wake(dev);
		for (offset = 4; offset < 4096; offset += 4) {
			bool known = false;

			for (i = 0; i < n_facts; i++) {
				const struct fact *f = &facts[i];
				bool here = !strcmp(f->component, components[c]) ||
					    (c != 1 && !strcmp(f->component, "ts"));

				known |= here && (f->repeated ? f->offset % 0x20 == offset % 0x20 &&
						  f->offset / 0x200 == offset / 0x200 :
						  f->offset == offset);
			}
			if (known)
				continue;
			wr(dev, offset, ~0U);
			assert_int_equal(rd(dev, offset), 0);
		}
	}
}

/* Fields that chapter "Minimal Implementation" does not list "may be tied to 0" */
static void test_minimal(void **state)
{
	static const char *const required[] = {
		"trTeActive", "trTeEnable", "trTeEmpty", "trTeInstTracing", "trTeInstMode",
		"trTeInstSyncMode", "trTeInstSyncMax", "trTeFormat", "trTeVerMajor", "trTeCompType",
		"trTeProtocolMajor", "trTeInstStallOrOverflow", NULL,
	};
	struct nb_te_caps te;
	struct nb_ram_caps ram;
	unsigned int i;

	(void)state;
	nb_te_caps_minimal(&te);
	nb_ram_caps_full(&ram);
	make_bench(&te, &ram);
	wake(&b.te.dev);
	for (i = 0; i < n_facts; i++) {
		const struct fact *f = &facts[i];

		if ((strcmp(f->component, "encoder") && strcmp(f->component, "ts")) ||
		    !strcmp(f->field, "--") || listed(required, f->field))
			continue;
		wr(&b.te.dev, f->offset, f->offset == TR_CONTROL ? ~(uint32_t)TR_ENABLE : ~0U);
		if (rd(&b.te.dev, f->offset) & mask_of(f))
			fail_msg("%s.%s is not 0", f->reg, f->field);
	}
	wr(&b.te.dev, TR_CONTROL, 1);
	assert_int_equal(rd(&b.te.dev, TR_CONTROL) & TR_TE_INST_MODE, 6 << 4);
	assert_int_equal(rd(&b.te.dev, TR_CONTROL) & TR_TE_INST_SYNC_MODE, 1 << 16);
}

/* ---- Reset and discovery ---- */

static void test_active_delay(void **state)
{
	struct nb_dev *dev = &b.te.dev;

	(void)state;
	full_bench();
	dev->active_delay = 3;
	wr(dev, TR_CONTROL, 1);
	assert_int_equal(rd(dev, TR_CONTROL) & 1, 0);
	assert_int_equal(rd(dev, TR_CONTROL) & 1, 0);
	assert_int_equal(rd(dev, TR_CONTROL) & 1, 0);
	assert_int_equal(rd(dev, TR_CONTROL) & 1, 1);
	wr(dev, TR_CONTROL, 0);
	assert_int_equal(rd(dev, TR_CONTROL) & 1, 1);
	rd(dev, TR_CONTROL);
	rd(dev, TR_CONTROL);
	assert_int_equal(rd(dev, TR_CONTROL) & 1, 0);
	dev->faults.active_stuck = true;
	dev->active_delay = 0;
	wr(dev, TR_CONTROL, 1);
	assert_int_equal(rd(dev, TR_CONTROL) & 1, 0);
}

/*
 * A write that sets Active has no effect on the other bits of the register, because "This write will reset
 * most of other enable/mode bits in this register and all WARL and read-only fields will be set to defaults".
 */
static void test_wake_takes_nothing_else(void **state)
{
	struct nb_dev *devs[] = { &b.te.dev, &b.ram.dev, &b.funnel.dev };
	uint32_t asleep;
	unsigned int i;

	(void)state;
	full_bench();
	for (i = 0; i < 3; i++) {
		wake(devs[i]);
		asleep = rd(devs[i], TR_CONTROL);
		wr(devs[i], TR_CONTROL, 0);
		wr(devs[i], TR_CONTROL, ~0U);
		assert_int_equal(rd(devs[i], TR_CONTROL), asleep);
		/*
		 * If Active changes with a delay, a write before the change sets no other bit of tr??Control. This is
		 * also the case for a second write.
		 */
		wr(devs[i], TR_CONTROL, 0);
		devs[i]->active_delay = 2;
		wr(devs[i], TR_CONTROL, ~0U);
		wr(devs[i], TR_CONTROL, ~0U);
		rd(devs[i], TR_CONTROL);
		rd(devs[i], TR_CONTROL);
		assert_int_equal(rd(devs[i], TR_CONTROL), asleep);
	}
}

static void test_inactive_access(void **state)
{
	(void)state;
	full_bench();
	wr(&b.te.dev, TR_TE_INST_FEATURES, 4);
	assert_int_equal(b.reported.n[NB_REPORT_INACTIVE], 1);
	rd(&b.te.dev, TR_IMPL);
	assert_int_equal(b.reported.n[NB_REPORT_INACTIVE], 2);
	wr(&b.te.dev, 2, 1);
	wr(&b.te.dev, 4096, 1);
	assert_int_equal(b.reported.n[NB_REPORT_UNALIGNED], 2);
	wake(&b.te.dev);
	assert_int_equal(rd(&b.te.dev, TR_TE_INST_FEATURES), 0);
}

/*
 * Fields that a reset does not affect have random values after it. "As not all fields are affected by reset
 * the trace tools must initialize" them.
 */
static void test_undefined_after_reset(void **state)
{
	(void)state;
	full_bench();
	b.te.dev.undef = 1;
	wake(&b.te.dev);
	assert_int_not_equal(rd(&b.te.dev, TR_TE_INST_FEATURES), 0);
	assert_int_not_equal(rd(&b.te.dev, TR_TE_FILTER(3)), 0);
	assert_int_equal(rd(&b.te.dev, TR_CONTROL) & ~(TR_EMPTY | TR_TE_FORMAT), TR_ACTIVE);
	wr(&b.te.dev, TR_CONTROL, TR_ACTIVE | TR_ENABLE | 6 << 4);
	assert_int_equal(b.reported.n[NB_REPORT_UNSET], 3);	/* features, filters and timestamp are not set */
}

/* A trace mode that is not supported "cannot revert to 0 but MUST revert to supported non-0 mode". */
static void test_mode_legal(void **state)
{
	struct nb_te_caps te;
	struct nb_ram_caps ram;
	unsigned int mode, got;

	(void)state;
	full_bench();
	wake(&b.te.dev);
	for (mode = 0; mode < 8; mode++) {
		wr(&b.te.dev, TR_CONTROL, 1 | mode << 4);
		got = rd(&b.te.dev, TR_CONTROL) >> 4 & 7;
		assert_true(mode ? got == 3 || got == 6 : got == 0);
		assert_true((mode != 3 && mode != 6) || got == mode);
	}
	nb_te_caps_full(&te);
	nb_ram_caps_full(&ram);
	te.htm = false;
	make_bench(&te, &ram);
	wake(&b.te.dev);
	wr(&b.te.dev, TR_CONTROL, 1 | 6 << 4);
	assert_int_equal(rd(&b.te.dev, TR_CONTROL) >> 4 & 7, 3);
}

/* ---- RAM sink ---- */

#define BUF	0x80000100ULL

static void set_sink(uint32_t flags, uint64_t start, uint32_t size)
{
	struct nb_dev *dev = &b.ram.dev;

	wake(dev);
	wr(dev, TR_CONTROL, TR_ACTIVE | flags);
	if (flags & TR_RAM_MODE) {
		wr(dev, TR_RAM_START_LOW, start);
		wr(dev, TR_RAM_START_HIGH, start >> 32);
		wr(dev, TR_RAM_LIMIT_LOW, start + size - 16);
		wr(dev, TR_RAM_LIMIT_HIGH, (start + size - 16) >> 32);
	} else {
		wr(dev, TR_RAM_LIMIT_LOW, size - 4);
	}
	wr(dev, TR_RAM_WP_LOW, start);
	wr(dev, TR_RAM_WP_HIGH, start >> 32);
	wr(dev, TR_CONTROL, TR_ACTIVE | TR_ENABLE | flags);
	assert_int_equal(rd(dev, TR_CONTROL) & TR_ENABLE, TR_ENABLE);
}

static void feed(unsigned int n, unsigned int size)
{
	uint8_t message[16];
	unsigned int i;

	for (i = 0; i < n; i++) {
		memset(message, i << 2 & 0xff, size);
		nb_ram_input(&b.ram, message, size);
	}
}

static void test_smem(void **state)
{
	struct nb_dev *dev = &b.ram.dev;
	unsigned int i;

	(void)state;
	full_bench();
	set_sink(TR_RAM_MODE, BUF, 4096);
	feed(10, 7);	/* the sink writes two bursts of 32 of these 70 bytes */
	assert_int_equal(rd(dev, TR_RAM_WP_LOW), BUF + 64);
	assert_int_equal(rd(dev, TR_CONTROL) & TR_EMPTY, 0);
	wr(dev, TR_RAM_WP_LOW, BUF);		/* software "should NOT write" the pointer of an enabled sink */
	assert_int_equal(b.reported.n[NB_REPORT_ENABLED], 1);
	nb_ram_end(&b.ram);
	assert_int_equal(b.reported.n[NB_REPORT_LEFT], 1);
	wr(dev, TR_CONTROL, TR_ACTIVE | TR_RAM_MODE);
	assert_int_equal(rd(dev, TR_CONTROL) & (TR_ENABLE | TR_EMPTY), TR_EMPTY);
	assert_int_equal(rd(dev, TR_RAM_WP_LOW), BUF + 80);	/* idle bytes fill up to a multiple of 16 */
	for (i = 0; i < 70; i++)
		assert_int_equal(b.memory[0x100 + i], i / 7 << 2);
	for (; i < 80; i++)
		assert_int_equal(b.memory[0x100 + i], 0xff);
	assert_int_equal(b.memory[0x100 + 80], 0);
}

static void test_power(void **state)
{
	struct nb_dev *dev = &b.ram.dev;

	(void)state;
	full_bench();
	set_sink(TR_RAM_MODE, BUF, 4096);
	feed(10, 7);
	nb_dev_power_off(dev);
	assert_int_equal(b.reported.n[NB_REPORT_POWER], 1);
	/* A loss of power loses the data that the sink has not written, and no more data follow */
	assert_int_equal(b.memory[0x100 + 63], 9 << 2);
	assert_int_equal(b.memory[0x100 + 64], 0);
	assert_int_equal(rd(dev, TR_CONTROL), TR_EMPTY);
	feed(10, 7);
	assert_int_equal(b.memory[0x100 + 64], 0);
	/* The sink is in its state after power-up. A loss of power of a disabled sink is not reported. */
	wr(dev, TR_CONTROL, TR_ACTIVE);
	nb_dev_power_off(dev);
	nb_dev_power_off(dev);
	assert_int_equal(b.reported.n[NB_REPORT_POWER], 1);
	set_sink(TR_RAM_MODE, BUF, 4096);
	assert_int_equal(rd(dev, TR_RAM_WP_LOW), BUF);
	feed(10, 7);
	assert_int_equal(rd(dev, TR_RAM_WP_LOW), BUF + 64);
}

static void test_wrap(void **state)
{
	struct nb_dev *dev = &b.ram.dev;

	(void)state;
	full_bench();
	set_sink(TR_RAM_MODE, BUF, 64);
	feed(5, 16);
	wr(dev, TR_CONTROL, TR_ACTIVE | TR_RAM_MODE);
	assert_int_equal(rd(dev, TR_RAM_WP_LOW), (BUF + 16) | TR_RAM_WRAP);
	assert_int_equal(b.memory[0x100], 4 << 2);
	assert_int_equal(b.memory[0x100 + 16], 1 << 2);
	assert_int_equal(b.memory[0x100 + 64], 0);
	/* After the write of the last word of the buffer, "trRamWP is set to trRamStart" */
	set_sink(TR_RAM_MODE, BUF, 64);
	feed(4, 16);
	assert_int_equal(rd(dev, TR_RAM_WP_LOW), BUF | TR_RAM_WRAP);
	wr(dev, TR_CONTROL, TR_ACTIVE | TR_RAM_MODE);
	wr(dev, TR_RAM_WP_LOW, BUF);
	/* The wrap bit is "only set to 0 if trRamWPLow is written" */
	assert_int_equal(rd(dev, TR_RAM_WP_LOW), BUF);
}

static void test_stop_on_wrap(void **state)
{
	struct nb_dev *dev = &b.ram.dev;
	uint8_t byte = 0xff;

	(void)state;
	full_bench();
	set_sink(TR_RAM_MODE | TR_RAM_STOP_ON_WRAP, BUF, 64);
	feed(6, 12);
	assert_int_equal(rd(dev, TR_CONTROL) & (TR_ENABLE | TR_EMPTY), TR_EMPTY);
	assert_int_equal(rd(dev, TR_RAM_WP_LOW), BUF | TR_RAM_WRAP);
	assert_false(nb_ram_input(&b.ram, &byte, 1));
	assert_int_equal(b.memory[0x100 + 64], 0);
	assert_int_equal(b.memory[0x100], 0);
}

static void test_sram(void **state)
{
	struct nb_dev *dev = &b.ram.dev;
	unsigned int i;

	(void)state;
	full_bench();
	set_sink(0, 0, 64);
	feed(6, 12);		/* the buffer has 64 bytes, so the last 8 of these 72 bytes are at its start */
	wr(dev, TR_RAM_RP_LOW, 8);
	assert_int_equal(rd(dev, TR_RAM_RP_LOW), 0);	/* an enabled sink ignores the write of trRamRP */
	wr(dev, TR_CONTROL, TR_ACTIVE);
	assert_int_equal(rd(dev, TR_RAM_WP_LOW), 8 | TR_RAM_WRAP);
	wr(dev, TR_RAM_RP_LOW, 8);
	assert_int_equal(rd(dev, TR_RAM_RP_LOW), 8);
	for (i = 8; i < 64; i++) {
		uint32_t word = b.ram.dev.shadow[TR_RAM_DATA / 4];

		assert_int_equal(word >> 8 * (i % 4) & 0xff, i / 12 << 2);
		if (i % 4 == 3)
			rd(dev, TR_RAM_DATA);	/* reading trRamData increments trRamRP by 4 */
	}
	assert_int_equal(rd(dev, TR_RAM_RP_LOW), 0);	/* trRamRP has wrapped from Limit to Start */
	assert_int_equal(rd(dev, TR_RAM_DATA) & 0xff, 5 << 2);
	assert_int_equal(rd(dev, TR_RAM_RP_LOW), 4);
}

/* A pointer has its lowest possible value after 0 was written, and its highest after 0xffffffff was written. */
static void test_pointer_range(void **state)
{
	struct nb_te_caps te;
	struct nb_ram_caps ram;

	(void)state;
	nb_te_caps_full(&te);
	nb_ram_caps_full(&ram);
	ram.align = 64;
	ram.smem_lowest = 0x80000000;
	ram.smem_highest = 0x9fffffff;
	make_bench(&te, &ram);
	wake(&b.ram.dev);
	wr(&b.ram.dev, TR_CONTROL, 1 | TR_RAM_MODE);
	wr(&b.ram.dev, TR_RAM_START_LOW, 0);
	assert_int_equal(rd(&b.ram.dev, TR_RAM_START_LOW), 0x80000000);
	wr(&b.ram.dev, TR_RAM_START_LOW, ~0U);
	assert_int_equal(rd(&b.ram.dev, TR_RAM_START_LOW), 0x9fffffc0);
	wr(&b.ram.dev, TR_RAM_START_HIGH, ~0U);
	assert_int_equal(rd(&b.ram.dev, TR_RAM_START_HIGH), 0);
	/* Enabling a sink whose Start is above its Limit is reported, and the sink accepts no trace */
	wr(&b.ram.dev, TR_RAM_LIMIT_LOW, 0x80001000);
	wr(&b.ram.dev, TR_RAM_WP_LOW, 0x80000000);
	wr(&b.ram.dev, TR_CONTROL, 3 | TR_RAM_MODE);
	assert_int_equal(b.reported.n[NB_REPORT_RANGE], 1);
	feed(100, 16);
	assert_int_equal(b.memory[0], 0);
}

static void test_empty_delay(void **state)
{
	struct nb_dev *dev = &b.ram.dev;

	(void)state;
	full_bench();
	dev->empty_delay = 2;
	set_sink(TR_RAM_MODE, BUF, 64);
	feed(1, 3);
	wr(dev, TR_CONTROL, TR_ACTIVE | TR_RAM_MODE);
	assert_int_equal(rd(dev, TR_CONTROL) & TR_EMPTY, 0);
	assert_int_equal(rd(dev, TR_CONTROL) & TR_EMPTY, 0);
	assert_int_equal(rd(dev, TR_CONTROL) & TR_EMPTY, TR_EMPTY);
	dev->empty_delay = 0;
	dev->faults.not_empty = true;
	wr(dev, TR_CONTROL, TR_ACTIVE | TR_RAM_MODE | TR_ENABLE);
	wr(dev, TR_CONTROL, TR_ACTIVE | TR_RAM_MODE);
	assert_int_equal(rd(dev, TR_CONTROL) & TR_EMPTY, 0);
}

/*
 * Software must "Read back and wait for confirmation (tr??Enable = 1)", because a sink accepts no trace
 * before Enable is 1.
 */
static void test_enable_delay(void **state)
{
	struct nb_dev *dev = &b.ram.dev;
	unsigned int i;

	(void)state;
	full_bench();
	set_sink(TR_RAM_MODE, BUF, 4096);
	wr(dev, TR_CONTROL, TR_ACTIVE | TR_RAM_MODE);
	dev->enable_delay = 3;
	wr(dev, TR_CONTROL, TR_ACTIVE | TR_ENABLE | TR_RAM_MODE);
	for (i = 0; i < 3; i++) {
		feed(1, 7);
		assert_false(rd(dev, TR_CONTROL) & TR_ENABLE);
	}
	assert_int_equal(b.ram.bytes, 0);
	assert_true(rd(dev, TR_CONTROL) & TR_ENABLE);
	feed(1, 7);
	assert_int_equal(b.ram.bytes, 7);
	/* When Enable is cleared, it becomes 0 after the same delay, and the sink is then flushed (TR_EMPTY) */
	wr(dev, TR_CONTROL, TR_ACTIVE | TR_RAM_MODE);
	for (i = 0; i < 3; i++)
		assert_int_equal(rd(dev, TR_CONTROL) & (TR_ENABLE | TR_EMPTY), TR_ENABLE);
	assert_int_equal(rd(dev, TR_CONTROL) & (TR_ENABLE | TR_EMPTY), TR_EMPTY);
	/* A second write of the same value to Enable does not restart the delay */
	wr(dev, TR_CONTROL, TR_ACTIVE | TR_ENABLE | TR_RAM_MODE);
	rd(dev, TR_CONTROL);
	rd(dev, TR_CONTROL);
	wr(dev, TR_CONTROL, TR_ACTIVE | TR_ENABLE | TR_RAM_MODE);
	rd(dev, TR_CONTROL);
	assert_true(rd(dev, TR_CONTROL) & TR_ENABLE);
}

/* Optional features of a sink */
static void test_sink_options(void **state)
{
	struct nb_dev *dev = &b.ram.dev;

	(void)state;
	full_bench();
	b.ram.caps.formats = TR_RAM_MEM_FORMAT | TR_RAM_ASYNC_FREQ;
	b.ram.caps.data_write = true;
	b.ram.caps.smem_data = true;
	b.ram.mem_read = memory_read;
	wake(dev);
	wr(dev, TR_CONTROL, TR_ACTIVE | 3 << 9 | 5 << 12);
	assert_int_equal(rd(dev, TR_CONTROL) & (TR_RAM_MEM_FORMAT | TR_RAM_ASYNC_FREQ), 3 << 9 | 5 << 12);
	/* Software can write to the SRAM "by writing to trRamData", and reads the written word */
	wr(dev, TR_RAM_RP_LOW, 8);
	wr(dev, TR_RAM_DATA, 0x12345678);
	assert_int_equal(rd(dev, TR_RAM_RP_LOW), 12);
	wr(dev, TR_RAM_RP_LOW, 8);
	assert_int_equal(rd(dev, TR_RAM_DATA), 0x12345678);
	/*
	 * If software can set trRamRP to the value of trRamLimit in SMEM mode, trRamData reads system memory
	 */
	set_sink(TR_RAM_MODE, BUF, 4096);
	feed(10, 16);
	wr(dev, TR_CONTROL, TR_ACTIVE | TR_RAM_MODE);
	wr(dev, TR_RAM_RP_LOW, BUF + 4096 - 16);
	assert_int_equal(rd(dev, TR_RAM_RP_LOW), BUF + 4096 - 16);
	wr(dev, TR_RAM_RP_LOW, BUF + 16);
	assert_int_equal(rd(dev, TR_RAM_DATA), 0x04040404);
	assert_int_equal(rd(dev, TR_RAM_RP_LOW), BUF + 20);
	b.ram.caps.smem_data = false;
	wr(dev, TR_RAM_RP_LOW, BUF);
	assert_int_equal(rd(dev, TR_RAM_RP_LOW), BUF + 20);
}

/* ---- Tests of the encoder's registers, filters and triggers ---- */

static void set_encoder(uint32_t control)
{
	struct nb_dev *dev = &b.te.dev;

	wr(dev, TR_CONTROL, TR_ACTIVE | control);
	wr(dev, TR_CONTROL, TR_ACTIVE | TR_ENABLE | control);
	wr(dev, TR_CONTROL, TR_ACTIVE | TR_ENABLE | TR_TE_INST_TRACING | control);
}

static void run_priv(uint64_t pc, unsigned int insns, enum nb_itype itype, enum nb_priv priv)
{
	static const uint64_t wide[4] = { ~0ULL, ~0ULL, ~0ULL, ~0ULL };
	struct nb_ingress blk = { .iaddr = pc, .iretire = 2 * insns, .ninsn = insns, .ilastsize = 2,
				  .itype = itype, .priv = priv, .wide = wide,
				  .wide_hash = nb_wide_hash(wide, insns) };

	nb_te_ingress(&b.te, &blk, NULL);
}

static void run(uint64_t pc, unsigned int insns, enum nb_itype itype)
{
	run_priv(pc, insns, itype, NB_PRIV_S);
}

static uint64_t messages(enum nb_tcode tcode)
{
	return b.te.enc.stats.messages[tcode];
}

static void ready_encoder(void)
{
	full_bench();
	set_sink(TR_RAM_MODE, BUF, 4096);
	wake(&b.te.dev);
	wr(&b.te.dev, TR_TE_INST_FEATURES, 0);
	wr(&b.te.dev, TR_TE_INST_FILTERS, 0);
	wr(&b.te.dev, TR_TS_CONTROL, 0);
}

static void test_enable_disable(void **state)
{
	struct nb_dev *dev = &b.te.dev;

	(void)state;
	ready_encoder();
	wr(dev, TR_CONTROL, TR_ACTIVE | TR_ENABLE | 6 << 4);
	assert_false(b.gate);
	run(0x1000, 4, NB_ITYPE_NONE);
	assert_int_equal(b.te.enc.stats.bytes, 0);
	wr(dev, TR_CONTROL, TR_ACTIVE | TR_ENABLE | TR_TE_INST_TRACING | 6 << 4);
	assert_true(b.gate);
	run(0x1008, 4, NB_ITYPE_NONE);
	assert_int_equal(rd(dev, TR_CONTROL) & TR_EMPTY, 0);
	wr(dev, TR_CONTROL, TR_ACTIVE | TR_TE_INST_TRACING | 6 << 4);
	assert_false(b.gate);
	assert_int_equal(rd(dev, TR_CONTROL) & (TR_ENABLE | TR_EMPTY), TR_EMPTY);
	wr(&b.ram.dev, TR_CONTROL, TR_ACTIVE | TR_RAM_MODE);
	/* The trace is ProgTraceSync (SYNC=5 F-ADDR=0x804), ProgTraceCorrelation (EVCODE=4 CDF=1 I-CNT=8 HIST=1) */
	assert_memory_equal(b.memory + 0x100, "\x24\x15\x10\x83\x84\x50\x21\x07\xff\xff", 10);
	assert_int_equal(b.reported.n[NB_REPORT_UNSET] + b.reported.n[NB_REPORT_INACTIVE], 0);
}

static void disable_encoder(void)
{
	wr(&b.te.dev, TR_CONTROL, TR_ACTIVE | TR_TE_INST_TRACING | 6 << 4);
}

/*
 * Empty "Reads as 1 when all generated trace have been emitted". It stays 0 while the sink accepts no trace,
 * because the sink was disabled before the encoder, or because the sink has stopped on wrap.
 */
static void test_empty_when_emitted(void **state)
{
	struct nb_dev *dev = &b.te.dev;
	bool stopped;
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		ready_encoder();
		stopped = i;
		set_sink(TR_RAM_MODE | (stopped ? TR_RAM_STOP_ON_WRAP : 0), BUF, 64);
		set_encoder(6 << 4);
		run(0x1000, 4, NB_ITYPE_INDIRECT_JUMP);
		while (stopped && rd(&b.ram.dev, TR_CONTROL) & TR_ENABLE)
			run(0x1000, 4, NB_ITYPE_INDIRECT_JUMP);
		if (!stopped)	/* disable the sink before the encoder, which is the wrong order */
			wr(&b.ram.dev, TR_CONTROL, TR_ACTIVE | TR_RAM_MODE);
		disable_encoder();
		assert_int_equal(rd(dev, TR_CONTROL) & (TR_ENABLE | TR_EMPTY), 0);
		assert_int_equal(rd(dev, TR_CONTROL) & TR_EMPTY, 0);
		/* When the sink is enabled again, the encoder sends the messages that the sink had refused */
		memset(b.memory, 0, sizeof(b.memory));
		set_sink(TR_RAM_MODE, BUF, 4096);
		assert_int_equal(rd(dev, TR_CONTROL) & TR_EMPTY, TR_EMPTY);
		wr(&b.ram.dev, TR_CONTROL, TR_ACTIVE | TR_RAM_MODE);
		/* The sink has received the message at the end of the trace, ProgTraceCorrelation (TCODE 33) */
		assert_int_equal(b.memory[0x100], 33 << 2);
	}
	/* A reset drops the messages that the sink has refused */
	ready_encoder();
	set_encoder(6 << 4);
	run(0x1000, 4, NB_ITYPE_INDIRECT_JUMP);
	wr(&b.ram.dev, TR_CONTROL, TR_ACTIVE | TR_RAM_MODE);
	disable_encoder();
	wake(dev);
	assert_int_equal(rd(dev, TR_CONTROL) & TR_EMPTY, TR_EMPTY);
	memset(b.memory, 0, sizeof(b.memory));
	set_sink(TR_RAM_MODE, BUF, 4096);
	rd(dev, TR_CONTROL);
	wr(&b.ram.dev, TR_CONTROL, TR_ACTIVE | TR_RAM_MODE);
	assert_int_equal(b.memory[0x100], 0);
}

/* No trace is lost, because "If TE cannot send a message, the hart is stalled until it can" */
static void test_stall_until_taken(void **state)
{
	unsigned int i, taken;

	(void)state;
	ready_encoder();
	b.te.caps.fifo_depth = 32;
	b.te.caps.fifo_rate = 1 << 20;
	set_encoder(3 << 4 | TR_TE_INST_STALL_ENA);
	run(0x1000, 4, NB_ITYPE_TAKEN);
	assert_false(nb_te_stalls(&b.te));
	wr(&b.ram.dev, TR_CONTROL, TR_ACTIVE | TR_RAM_MODE);
	for (i = 0; i < 100 && !nb_te_stalls(&b.te); i++)
		run(0x1000, 4, NB_ITYPE_TAKEN);
	assert_in_range(i, 8, 17);	/* the FIFO has 32 bytes, and a message needs 2 bytes or more */
	assert_true(rd(&b.te.dev, TR_CONTROL) & TR_TE_INST_STALL_OR_OVERFLOW);
	assert_true(nb_te_stalls(&b.te));
	taken = b.ram.bytes;
	set_sink(TR_RAM_MODE, BUF, 4096);
	nb_te_drain(&b.te);
	assert_false(nb_te_stalls(&b.te));
	assert_int_equal(b.ram.bytes - taken, 2 * i);
	assert_int_equal(b.te.enc.stats.overflows, 0);
	/* A disabled encoder does not stall its hart, and does not drop its messages */
	wr(&b.ram.dev, TR_CONTROL, TR_ACTIVE | TR_RAM_MODE);
	while (!nb_te_stalls(&b.te))
		run(0x1000, 4, NB_ITYPE_TAKEN);
	disable_encoder();
	assert_false(nb_te_stalls(&b.te));
	assert_int_equal(rd(&b.te.dev, TR_CONTROL) & TR_EMPTY, 0);
}

/* If the hart does not stall, the FIFO overflows. The Error message follows when the FIFO has room. */
static void test_refused_until_overflow(void **state)
{
	(void)state;
	ready_encoder();
	b.te.caps.fifo_depth = 32;
	b.te.caps.fifo_rate = 1 << 20;
	set_encoder(3 << 4);
	run(0x1000, 4, NB_ITYPE_TAKEN);
	wr(&b.ram.dev, TR_CONTROL, TR_ACTIVE | TR_RAM_MODE);
	while (!b.te.enc.lost)
		run(0x1000, 4, NB_ITYPE_TAKEN);
	assert_false(nb_te_stalls(&b.te));
	disable_encoder();
	assert_int_equal(rd(&b.te.dev, TR_CONTROL) & TR_EMPTY, 0);
	assert_int_equal(messages(NB_TCODE_ERROR), 0);
	set_sink(TR_RAM_MODE, BUF, 4096);
	assert_int_equal(rd(&b.te.dev, TR_CONTROL) & TR_EMPTY, TR_EMPTY);
	assert_int_equal(messages(NB_TCODE_ERROR), 1);
}

static void test_settings_locked(void **state)
{
	(void)state;
	ready_encoder();
	set_encoder(6 << 4);
	wr(&b.te.dev, TR_CONTROL, TR_ACTIVE | TR_ENABLE | TR_TE_INST_TRACING | 3 << 4);
	wr(&b.te.dev, TR_TE_INST_FEATURES, TR_TE_INST_EN_ALL_JUMPS);
	assert_int_equal(b.reported.n[NB_REPORT_ENABLED], 2);
	assert_int_equal(rd(&b.te.dev, TR_CONTROL) >> 4 & 7, 6);
	assert_int_equal(rd(&b.te.dev, TR_TE_INST_FEATURES), 0);
}

static void test_overflow_flag(void **state)
{
	uint32_t on = TR_ACTIVE | TR_ENABLE | TR_TE_INST_TRACING | 3 << 4;
	struct nb_dev *dev = &b.te.dev;

	(void)state;
	ready_encoder();
	b.te.caps.fifo_depth = 64;
	b.te.caps.fifo_rate = 1;
	set_encoder(3 << 4);
	while (!b.te.enc.lost)
		run(0x1000, 4, NB_ITYPE_INDIRECT_JUMP);
	assert_true(rd(dev, TR_CONTROL) & TR_TE_INST_STALL_OR_OVERFLOW);
	wr(dev, TR_CONTROL, on);			/* writing 0 does not clear the flag */
	assert_true(rd(dev, TR_CONTROL) & TR_TE_INST_STALL_OR_OVERFLOW);
	wr(dev, TR_CONTROL, on | TR_TE_INST_STALL_OR_OVERFLOW);
	assert_false(rd(dev, TR_CONTROL) & TR_TE_INST_STALL_OR_OVERFLOW);
}

static void test_privilege_filter(void **state)
{
	(void)state;
	ready_encoder();
	wr(&b.te.dev, TR_TE_FILTER(2), TR_FILTER_ENABLE | TR_FILTER_MATCH_PRIVILEGE);
	wr(&b.te.dev, TR_TE_FILTER(2) + 4, 1 << NB_PRIV_U);
	wr(&b.te.dev, TR_TE_INST_FILTERS, 1 << 2);
	set_encoder(6 << 4);
	run_priv(0x1000, 4, NB_ITYPE_NONE, NB_PRIV_S);
	assert_int_equal(b.te.enc.stats.bytes, 0);
	run_priv(0x1010, 4, NB_ITYPE_EXCEPTION, NB_PRIV_U);
	run_priv(0x2000, 4, NB_ITYPE_TRAP_RETURN, NB_PRIV_M);
	run_priv(0x1020, 4, NB_ITYPE_NONE, NB_PRIV_U);
	assert_int_equal(messages(NB_TCODE_PROG_TRACE_SYNC), 2);
	assert_int_equal(messages(NB_TCODE_PROG_TRACE_CORRELATION), 1);
	assert_null(b.te.enc.qualify);	/* a filter of privilege modes is not evaluated for each block */
}

/*
 * trTeFilterMatchChoicePrivilege has a bit for each privilege mode. The bits have the numbers of the ingress
 * port (E-Trace, signal priv), such as 4 for Debug Mode, 5 for VU and 6 for VS. A hart can have VU and VS
 * without hcontext, which belongs to another extension.
 */
static void test_guest_privilege_filter(void **state)
{
	static const struct { uint32_t choice; enum nb_priv priv; } levels[] = {
		{ 1 << 0, NB_PRIV_U }, { 1 << 1, NB_PRIV_S }, { 1 << 3, NB_PRIV_M },
		{ 1 << 5, NB_PRIV_VU }, { 1 << 6, NB_PRIV_VS },
	};
	unsigned int i, j;

	(void)state;
	for (i = 0; i < 5; i++) {
		ready_encoder();
		wr(&b.te.dev, TR_TE_FILTER(0), TR_FILTER_ENABLE | TR_FILTER_MATCH_PRIVILEGE);
		wr(&b.te.dev, TR_TE_FILTER(0) + 4, 0xff);
		assert_int_equal(rd(&b.te.dev, TR_TE_FILTER(0) + 4), 0x6b);
		wr(&b.te.dev, TR_TE_FILTER(0) + 4, levels[i].choice);
		wr(&b.te.dev, TR_TE_INST_FILTERS, 1);
		set_encoder(6 << 4);
		for (j = 0; j < 5; j++) {
			run_priv(0x1000 * j, 4, NB_ITYPE_TRAP_RETURN, levels[j].priv);
			assert_int_equal(messages(NB_TCODE_PROG_TRACE_SYNC), j >= i);
		}
	}
	/* A hart without the hypervisor extension */
	ready_encoder();
	b.te.caps.hypervisor = false;
	wr(&b.te.dev, TR_TE_FILTER(0), TR_FILTER_ENABLE | TR_FILTER_MATCH_PRIVILEGE);
	wr(&b.te.dev, TR_TE_FILTER(0) + 4, 0xff);
	assert_int_equal(rd(&b.te.dev, TR_TE_FILTER(0) + 4), 0x0b);
}

/* Filter an address range that begins and ends within blocks */
static void test_address_filter(void **state)
{
	(void)state;
	ready_encoder();
	/* Match an address that is >= PMatch (primary function 5) and < SMatch (secondary function 2) */
	wr(&b.te.dev, TR_TE_COMP(1), 5 << 4 | 2 << 8 | 1 << 12);
	wr(&b.te.dev, TR_TE_COMP(1) + 0x10, 0x1008);
	wr(&b.te.dev, TR_TE_COMP(1) + 0x18, 0x1010);
	wr(&b.te.dev, TR_TE_FILTER(0), TR_FILTER_ENABLE | TR_FILTER_MATCH_COMP(0) |
					1 << TR_FILTER_COMP_SHIFT(0));
	wr(&b.te.dev, TR_TE_INST_FILTERS, 1);
	set_encoder(6 << 4);
	run(0x1000, 16, NB_ITYPE_NONE);
	wr(&b.te.dev, TR_CONTROL, TR_ACTIVE | 6 << 4);
	wr(&b.ram.dev, TR_CONTROL, TR_ACTIVE | TR_RAM_MODE);
	/* The trace is a ProgTraceSync at 0x1008 and a ProgTraceCorrelation with I-CNT 4 */
	assert_memory_equal(b.memory + 0x100, "\x24\x15\x10\x83\x84\x50\x11\x07\xff\xff", 10);
}

/* Enable an encoder that traces the code that comparator 0 matches */
static void ready_comparator(uint32_t control, uint64_t p, uint64_t s)
{
	struct nb_dev *dev = &b.te.dev;

	ready_encoder();
	wr(dev, TR_TE_COMP(0), control);
	wr(dev, TR_TE_COMP(0) + 0x10, p);
	wr(dev, TR_TE_COMP(0) + 0x14, p >> 32);
	wr(dev, TR_TE_COMP(0) + 0x18, s);
	wr(dev, TR_TE_COMP(0) + 0x1c, s >> 32);
	wr(dev, TR_TE_FILTER(0), TR_FILTER_ENABLE | TR_FILTER_MATCH_COMP(0));
	wr(dev, TR_TE_INST_FILTERS, 1);
	nb_te_context(&b.te, 0x77, 0);
	set_encoder(6 << 4);
}

/*
 * Check which of the instructions at 0x1000, 0x1004 ... are traced, with comparator 0 set to @control, @p and
 * @s. @traced has one character for each instruction.
 */
static void comparator_traces(uint32_t control, uint64_t p, uint64_t s, const char *traced)
{
	unsigned int i;

	ready_comparator(control, p, s);
	for (i = 0; traced[i]; i++) {
		run(0x1000 + 4 * i, 1, NB_ITYPE_NONE);
		if ((b.te.enc.state.session != 0) != (traced[i] == '1'))
			fail_msg("control %#x: instruction %u", control, i);
	}
}

static void test_comparators(void **state)
{
	static const char *const functions[] = { "010", "101", "100", "110", "001", "011", "000", "111" };
	static const char *const secondary[] = { "010", "101", "100", "110", "001", "011", "111", "111" };
	unsigned int f;

	(void)state;
	for (f = 0; f < 8; f++) {
		comparator_traces(f << 4, 0x1004, 0, functions[f]);
		/* The primary result is always true, so the output (mode 1, P && S) is the secondary result */
		comparator_traces(7 << 4 | f << 8 | 1 << 12, 0, 0x1004, secondary[f]);
	}
	/* In mode 2, the output is !(P && S) */
	comparator_traces(5 << 4 | 3 << 8 | 2 << 12, 0x1004, 0x1008, "10011");
	/* In mode 3, the output is true from a match of P until the instruction after a match of S */
	comparator_traces(0 << 4 | 0 << 8 | 3 << 12, 0x1004, 0x100c, "011100");
	/* If 6 is written as primary function, the output becomes true at once, without a match of P */
	comparator_traces(6 << 4 | 0 << 8 | 3 << 12, 0, 0x1008, "11100");
	/*
	 * The latch keeps its value when the encoder stops and starts, but not when the comparator is written
	 */
	comparator_traces(0 << 4 | 0 << 8 | 3 << 12, 0x1004, 0x2000, "0111");
	set_encoder(0);
	set_encoder(6 << 4);
	run(0x1800, 1, NB_ITYPE_NONE);
	assert_int_not_equal(b.te.enc.state.session, 0);
	set_encoder(0);
	wr(&b.te.dev, TR_TE_COMP(0), 3 << 12);
	set_encoder(6 << 4);
	run(0x1800, 1, NB_ITYPE_NONE);
	assert_int_equal(b.te.enc.state.session, 0);
	/*
	 * An interrupt before an instruction does not change the latch, because the instruction has not retired
	 */
	ready_comparator(0 << 4 | 0 << 8 | 3 << 12, 0x1004, 0x100c);
	run(0x1004, 0, NB_ITYPE_INTERRUPT);
	assert_int_equal(b.te.enc.state.session, 0);
	run(0x2000, 1, NB_ITYPE_TRAP_RETURN);
	assert_int_equal(b.te.enc.state.session, 0);
	run(0x1004, 2, NB_ITYPE_NONE);
	run(0x100c, 0, NB_ITYPE_INTERRUPT);
	assert_int_not_equal(b.te.enc.state.session, 0);
	run(0x2000, 1, NB_ITYPE_TRAP_RETURN);
	run(0x100c, 1, NB_ITYPE_NONE);
	assert_int_not_equal(b.te.enc.state.session, 0);
	run(0x1010, 1, NB_ITYPE_NONE);
	assert_int_equal(b.te.enc.state.session, 0);
	/* With secondary function 6, only the bits that are set in SMatch are compared with PMatch */
	comparator_traces(0 << 4 | 6 << 8, 0x2008, 0xf, "00100");
	/* scontext has 32 bits, so the other bits of the match value are ignored */
	comparator_traces(1, 0xffffffff00000077ULL, 0, "111");
	comparator_traces(1, 0x78, 0, "000");
}

/*
 * Trace some blocks with comparator 0 set to @control, @p and @s. If @singly is true, each instruction is a
 * separate block. Return the number of bytes of the trace, which are in b.memory.
 */
static unsigned int comparator_blocks(uint32_t control, uint64_t p, uint64_t s, bool singly)
{
	/* A loop, followed by a call of a function outside of the traced range, and the return from it */
	static const struct { uint64_t pc; unsigned int n; enum nb_itype itype; } blocks[] = {
		{ 0x1000, 6, NB_ITYPE_TAKEN }, { 0x1008, 1, NB_ITYPE_NOT_TAKEN },
		{ 0x100c, 3, NB_ITYPE_TAKEN }, { 0x1000, 6, NB_ITYPE_NOT_TAKEN },
		{ 0x1018, 2, NB_ITYPE_INDIRECT_CALL }, { 0x0ff8, 8, NB_ITYPE_RETURN },
		{ 0x1020, 4, NB_ITYPE_NONE }, { 0x1030, 1, NB_ITYPE_INDIRECT_JUMP }, { 0x1000, 2, NB_ITYPE_NONE },
	};
	unsigned int i, j;

	ready_comparator(control, p, s);
	for (i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		for (j = 0; singly && j < blocks[i].n - 1; j++)
			run(blocks[i].pc + 4 * j, 1, NB_ITYPE_NONE);
		run(blocks[i].pc + 4 * j, blocks[i].n - j, blocks[i].itype);
	}
	wr(&b.te.dev, TR_CONTROL, TR_ACTIVE | 6 << 4);
	wr(&b.ram.dev, TR_CONTROL, TR_ACTIVE | TR_RAM_MODE);
	return b.te.enc.stats.bytes;
}

/* Whole blocks and single instructions cause the same trace, because the model splits blocks if necessary. */
static void test_comparators_in_blocks(void **state)
{
	static const uint64_t points[] = { 0, 0xffc, 0x1000, 0x1004, 0x1014, 0x1016, 0x1018, 0x1030, 0x77 };
	unsigned int fp, fs, mode, inputs, i, j, n, traced = 0;
	uint8_t memory[4096];

	(void)state;
	for (fp = 0; fp < 8; fp++)
	for (fs = 0; fs < 8; fs++)
	for (mode = 0; mode < 4; mode++)
	for (inputs = 0; inputs < 4; inputs++)
	for (i = 0; i < sizeof(points) / sizeof(points[0]); i++)
	for (j = 0; j < sizeof(points) / sizeof(points[0]); j++) {
		uint32_t control = (inputs & 1) | (inputs & 2) << 1 | fp << 4 | fs << 8 | mode << 12;

		n = comparator_blocks(control, points[i], points[j], true);
		traced += n != 0;
		assert_in_range(n, 0, sizeof(memory) - 1);
		memcpy(memory, b.memory + 0x100, sizeof(memory));
		if (comparator_blocks(control, points[i], points[j], false) != n ||
		    memcmp(memory, b.memory + 0x100, sizeof(memory)))
			fail_msg("control %#x, P %#lx, S %#lx", control, (long)points[i], (long)points[j]);
	}
	assert_in_range(traced, 40000, 80000);
}

static void test_cause_filter(void **state)
{
	(void)state;
	ready_encoder();
	wr(&b.te.dev, TR_TE_FILTER(0), TR_FILTER_ENABLE | TR_FILTER_MATCH_ECAUSE);
	wr(&b.te.dev, TR_TE_FILTER(0) + 8, 1 << 8);	/* exception 8 is an environment call from U */
	wr(&b.te.dev, TR_TE_INST_FILTERS, 1);
	set_encoder(6 << 4);
	nb_te_trap(&b.te, 8, true);
	run(0x1000, 2, NB_ITYPE_INTERRUPT);		/* the filter for exception 8 ignores interrupt 8 */
	run(0x2000, 2, NB_ITYPE_TRAP_RETURN);
	assert_int_equal(b.te.enc.stats.bytes, 0);
	nb_te_trap(&b.te, 8, false);
	run(0x1000, 2, NB_ITYPE_EXCEPTION);
	run(0x2000, 2, NB_ITYPE_NONE);
	assert_int_equal(messages(NB_TCODE_PROG_TRACE_SYNC), 1);
	nb_te_trap(&b.te, 5, true);			/* an interrupt while the trap handler runs */
	run(0x2008, 2, NB_ITYPE_INTERRUPT);
	run(0x3000, 2, NB_ITYPE_TRAP_RETURN);
	run(0x2010, 2, NB_ITYPE_TRAP_RETURN);		/* the filter must "stop matching upon return" */
	run(0x1010, 2, NB_ITYPE_NONE);
	assert_int_equal(messages(NB_TCODE_PROG_TRACE_CORRELATION), 1);
	assert_int_equal(messages(NB_TCODE_PROG_TRACE_SYNC), 1);
}

static void test_triggers(void **state)
{
	struct nb_dev *dev = &b.te.dev;

	(void)state;
	ready_encoder();
	wr(dev, TR_TE_TRIG_EXT_IN, 2 | 3 << 4);
	wr(dev, TR_TE_TRIG_EXT_OUT, 1 | 2 << 4);
	wr(dev, TR_CONTROL, TR_ACTIVE | TR_ENABLE | TR_TE_INST_TRIG_ENABLE | 6 << 4);
	nb_te_ext_trigger(&b.te, 0);
	assert_true(b.gate && rd(dev, TR_CONTROL) & TR_TE_INST_TRACING);
	assert_int_equal(b.fired, 1);
	run(0x1000, 2, NB_ITYPE_NONE);
	nb_te_debug_trigger(&b.te, 4);			/* a debug trigger with action 4, "trace-notify" */
	run(0x1008, 2, NB_ITYPE_NONE);
	assert_int_equal(messages(NB_TCODE_PROG_TRACE_SYNC), 2);
	nb_te_ext_trigger(&b.te, 1);
	assert_false(b.gate || rd(dev, TR_CONTROL) & TR_TE_INST_TRACING);
	assert_int_equal(b.fired, 3);
	assert_int_equal(messages(NB_TCODE_PROG_TRACE_CORRELATION), 1);
}

static void test_watchpoint(void **state)
{
	(void)state;
	ready_encoder();
	wr(&b.te.dev, TR_TE_COMP(0), TR_COMP_P_NOTIFY);
	wr(&b.te.dev, TR_TE_COMP(0) + 0x10, 0x1008);
	set_encoder(6 << 4);
	run(0x1000, 8, NB_ITYPE_NONE);
	assert_int_equal(messages(NB_TCODE_PROG_TRACE_SYNC), 2);
	assert_int_equal(b.te.enc.state.sync, NB_SYNC_TRACE_EVENT);
	/* A watchpoint is a message "explicitly reporting the address" of the matching instruction */
	assert_int_equal(b.te.enc.ref, 0x1008);
	wr(&b.te.dev, TR_CONTROL, TR_ACTIVE | 6 << 4);
	wr(&b.ram.dev, TR_CONTROL, TR_ACTIVE | TR_RAM_MODE);
	/* ProgTraceSync SYNC=6 I-CNT=4 F-ADDR=0x804 follows the first message, which has 4 bytes */
	assert_memory_equal(b.memory + 0x104, "\x24\x18\x05\x10\x83", 5);

	/* Some encoders report the next address, which is the target of a jump */
	ready_encoder();
	b.te.caps.notify_after = true;
	wr(&b.te.dev, TR_TE_COMP(0), TR_COMP_P_NOTIFY);
	wr(&b.te.dev, TR_TE_COMP(0) + 0x10, 0x1008);
	set_encoder(6 << 4);
	run(0x1000, 3, NB_ITYPE_INDIRECT_JUMP);
	run(0x2000, 1, NB_ITYPE_NONE);
	assert_int_equal(b.te.enc.state.sync, NB_SYNC_TRACE_EVENT);
	assert_int_equal(b.te.enc.ref, 0x2000);
}

/*
 * N-Trace enables implicit return by trTeInstImplicitReturnMode, and the control interface by
 * trTeInstEnImplicitReturn. Hardware of both kinds exists.
 */
static void test_implicit_return_enable(void **state)
{
	static const struct { uint32_t features; uint8_t by_bit, by_mode; } cases[] = {
		{ 0, 0, 0 }, { 3 << 6, 0, 3 }, { TR_TE_INST_EN_IMPLICIT_RETURN, 3, 0 },
		{ TR_TE_INST_EN_IMPLICIT_RETURN | 2 << 6, 2, 2 },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < 8; i++) {
		ready_encoder();
		b.te.caps.return_by_mode = i & 1;
		wr(&b.te.dev, TR_TE_INST_FEATURES, cases[i / 2].features);
		set_encoder(6 << 4);
		assert_int_equal(b.te.enc.cfg.implicit_return,
				 i & 1 ? cases[i / 2].by_mode : cases[i / 2].by_bit);
	}
}

/* ---- Tests of the Timestamp Unit and the funnel ---- */

static uint32_t ts_low(struct nb_dev *dev)
{
	return rd(dev, TR_TS_COUNTER_LOW);
}

static void test_timestamp(void **state)
{
	struct nb_dev *dev = &b.te.dev;
	uint32_t system = TR_TS_ACTIVE | NB_TS_SYSTEM << 4;

	(void)state;
	ready_encoder();
	b.clock = 0x123456789aULL;
	wr(dev, TR_TS_CONTROL, TR_TS_ACTIVE | NB_TS_EXTERNAL << 4);
	assert_int_equal(ts_low(dev), 0x3456789a);
	assert_int_equal(rd(dev, TR_TS_COUNTER_HIGH), 0x12);
	wr(dev, TR_TS_CONTROL, system | TR_TS_COUNT | TR_TS_RESET);
	assert_int_equal(ts_low(dev), 0);
	b.clock += 100;
	assert_int_equal(ts_low(dev), 100);
	wr(dev, TR_TS_CONTROL, system);			/* clearing TR_TS_COUNT stops the counter */
	b.clock += 100;
	assert_int_equal(ts_low(dev), 100);
	wr(dev, TR_TS_CONTROL, system | TR_TS_COUNT | 2 << 8);	/* the counter advances every 16 ticks of the clock */
	b.clock += 160;
	assert_int_equal(ts_low(dev), 110);
	assert_false(rd(dev, TR_TS_CONTROL) & TR_TS_RESET);
	dev->faults.clock_stopped = true;
	b.clock += 160;
	assert_int_equal(ts_low(dev), ts_low(dev));
}

/*
 * Messages use the timestamp settings at the time when trace was enabled, so trTsControl must not change
 * while it is enabled.
 */
static void test_timestamp_locked(void **state)
{
	uint32_t external = TR_TS_ACTIVE | NB_TS_EXTERNAL << 4 | TR_TS_ENABLE;
	struct nb_dev *dev = &b.te.dev;

	(void)state;
	ready_encoder();
	wr(dev, TR_TS_CONTROL, external);
	set_encoder(6 << 4);
	wr(dev, TR_TS_CONTROL, external & ~TR_TS_ENABLE);
	wr(dev, TR_TS_CONTROL, TR_TS_ACTIVE | TR_TS_ENABLE | NB_TS_SYSTEM << 4);
	wr(dev, TR_TS_CONTROL, 0);
	assert_int_equal(b.reported.n[NB_REPORT_ENABLED], 3);
	assert_int_equal(rd(dev, TR_TS_CONTROL) & ~TR_TS_WIDTH, external);
	/* The counter may be started, stopped and reset at any time */
	wr(dev, TR_TS_CONTROL, external | TR_TS_COUNT | TR_TS_RESET);
	assert_int_equal(rd(dev, TR_TS_CONTROL) & ~TR_TS_WIDTH, external | TR_TS_COUNT);
	assert_int_equal(b.reported.n[NB_REPORT_ENABLED], 3);
}

/* trTsActive may change some time after it was written, like Active. */
static void test_timestamp_active_delay(void **state)
{
	struct nb_dev *devs[] = { &b.te.dev, &b.funnel.dev };
	unsigned int i, n;

	(void)state;
	full_bench();
	for (i = 0; i < 2; i++) {
		wake(devs[i]);
		wr(devs[i], TR_TS_CONTROL, 0);
		devs[i]->ts_active_delay = 3;
		wr(devs[i], TR_TS_CONTROL, TR_TS_ACTIVE | NB_TS_EXTERNAL << 4);
		for (n = 0; n < 3; n++)
			assert_int_equal(rd(devs[i], TR_TS_CONTROL) & ~TR_TS_WIDTH, 0);
		assert_int_equal(rd(devs[i], TR_TS_CONTROL) & ~TR_TS_WIDTH,
				 TR_TS_ACTIVE | NB_TS_EXTERNAL << 4);
		wr(devs[i], TR_TS_CONTROL, 0);
		for (n = 0; n < 3; n++)
			assert_true(rd(devs[i], TR_TS_CONTROL) & TR_TS_ACTIVE);
		assert_false(rd(devs[i], TR_TS_CONTROL) & TR_TS_ACTIVE);
	}
}

static void test_shared_timestamp(void **state)
{
	(void)state;
	ready_encoder();
	wake(&b.funnel.dev);
	b.te.ts.shared = &b.funnel.ts;
	wr(&b.funnel.dev, TR_TS_CONTROL, TR_TS_ACTIVE | TR_TS_COUNT | TR_TS_RESET | NB_TS_SYSTEM << 4);
	b.clock += 77;
	wr(&b.te.dev, TR_TS_CONTROL, TR_TS_ACTIVE | NB_TS_SHARED << 4);
	assert_int_equal(ts_low(&b.te.dev), 77);
}

static void test_funnel(void **state)
{
	uint8_t message[] = { 0x08, 0x07 };
	struct nb_dev *dev = &b.funnel.dev;

	(void)state;
	full_bench();
	set_sink(TR_RAM_MODE, BUF, 4096);
	wake(dev);
	assert_false(nb_funnel_input(&b.funnel.port[1], message, 2));
	wr(dev, TR_FUNNEL_DIS_INPUT, 0xffff);
	assert_int_equal(rd(dev, TR_FUNNEL_DIS_INPUT), 0xf);	/* the register keeps only bits of inputs that exist */
	wr(dev, TR_FUNNEL_DIS_INPUT, 1 << 1);
	wr(dev, TR_CONTROL, TR_ACTIVE | TR_ENABLE);
	assert_true(nb_funnel_input(&b.funnel.port[1], message, 2));
	assert_true(nb_funnel_input(&b.funnel.port[2], message, 2));
	assert_int_equal(b.ram.bytes, 2);
	assert_int_equal(b.funnel.discarded, 1);
	wr(dev, TR_CONTROL, TR_ACTIVE);
	assert_int_equal(rd(dev, TR_CONTROL) & (TR_ENABLE | TR_EMPTY), TR_EMPTY);
}

/*
 * A funnel with a FIFO for each input serves its inputs in turn. Messages of one source stay in order, but
 * they can overtake messages of other sources.
 */
static void test_funnel_reorder(void **state)
{
	static const uint8_t sent[] = { 2, 2, 2, 3, 2, 1, 3 }, turns[] = { 1, 2, 3, 2, 3, 2, 2 };
	struct nb_dev *dev = &b.funnel.dev;
	uint8_t message[] = { 0x08, 0, 0x07 };
	unsigned int i, reorder, last[4];

	(void)state;
	for (reorder = 0; reorder < 2; reorder++) {
		full_bench();
		b.funnel.caps.fifo = 200;
		b.funnel.caps.reorder = reorder;
		set_sink(TR_RAM_MODE, BUF, 4096);
		wake(dev);
		wr(dev, TR_FUNNEL_DIS_INPUT, 0);
		wr(dev, TR_CONTROL, TR_ACTIVE | TR_ENABLE);
		for (i = 0; i < sizeof(sent); i++) {
			message[1] = sent[i] << 4 | i;
			assert_true(nb_funnel_input(&b.funnel.port[sent[i]], message, 3));
		}
		assert_int_equal(b.ram.bytes, 0);
		wr(dev, TR_CONTROL, TR_ACTIVE);
		wr(&b.ram.dev, TR_CONTROL, TR_ACTIVE | TR_RAM_MODE);
		memset(last, 0, sizeof(last));
		for (i = 0; i < sizeof(sent); i++) {
			unsigned int byte = b.memory[0x100 + 3 * i + 1], input = byte >> 4;

			assert_int_equal(input, reorder ? turns[i] : sent[i]);
			assert_true((byte & 15) >= last[input]);
			last[input] = (byte & 15) + 1;
		}
	}
}

/* A register is undefined after a reset even if it was written before. An access must be to one whole register. */
static void test_reset_forgets(void **state)
{
	static const unsigned int sizes[] = { 1, 2, 8 };
	unsigned int i, unset;

	(void)state;
	full_bench();
	set_sink(TR_RAM_MODE, BUF, 4096);
	unset = b.reported.n[NB_REPORT_UNSET];
	wr(&b.ram.dev, TR_CONTROL, 0);
	wr(&b.ram.dev, TR_CONTROL, TR_ACTIVE);
	wr(&b.ram.dev, TR_CONTROL, TR_ACTIVE | TR_RAM_MODE);
	wr(&b.ram.dev, TR_CONTROL, TR_ACTIVE | TR_RAM_MODE | TR_ENABLE);
	assert_true(b.reported.n[NB_REPORT_UNSET] > unset);
	assert_true(nb_dev_access(&b.ram.dev, TR_RAM_WP_LOW, 4));
	for (i = 0; i < 3; i++)
		assert_false(nb_dev_access(&b.ram.dev, TR_RAM_WP_LOW, sizes[i]));
	assert_false(nb_dev_access(&b.ram.dev, TR_RAM_WP_LOW + 2, 4));
	memset(&b.reported, 0, sizeof(b.reported));
}

/*
 * The sink writes the word at trRamLimit before it wraps, because it wraps "After a trace word write occurs
 * while trRamWP = trRamLimit".
 */
static void test_wraps_after_the_last(void **state)
{
	struct nb_dev *dev = &b.ram.dev;
	unsigned int i, burst;

	(void)state;
	full_bench();
	burst = b.ram.burst;
	set_sink(TR_RAM_MODE, BUF, 4 * burst);
	for (i = 0; i < 4; i++) {
		assert_int_equal(rd(dev, TR_RAM_WP_LOW), BUF + burst * i);
		feed(burst / 16, 16);
	}
	assert_int_equal(rd(dev, TR_RAM_WP_LOW), BUF | TR_RAM_WRAP);
	/* If all words except the last one are written, trRamWP is trRamLimit */
	set_sink(TR_RAM_MODE, BUF, 64);
	feed((64 - b.ram.caps.align) / 4, 4);
	wr(dev, TR_CONTROL, TR_ACTIVE | TR_RAM_MODE);
	assert_int_equal(rd(dev, TR_RAM_WP_LOW), rd(dev, TR_RAM_LIMIT_LOW));
	wr(dev, TR_CONTROL, TR_ACTIVE | TR_RAM_MODE | TR_ENABLE);
	feed(b.ram.caps.align / 4, 4);
	wr(dev, TR_CONTROL, TR_ACTIVE | TR_RAM_MODE);
	assert_int_equal(rd(dev, TR_RAM_WP_LOW), BUF | TR_RAM_WRAP);
}

/* Pointers cannot be written while the sink is enabled, even if it is empty. */
static void test_pointers_are_locked(void **state)
{
	uint32_t wp;

	(void)state;
	full_bench();
	set_sink(TR_RAM_MODE, BUF, 4096);
	assert_int_equal(rd(&b.ram.dev, TR_CONTROL) & (TR_ENABLE | TR_EMPTY), TR_ENABLE | TR_EMPTY);
	wp = rd(&b.ram.dev, TR_RAM_WP_LOW);
	wr(&b.ram.dev, TR_RAM_WP_LOW, wp + 64);
	assert_int_equal(rd(&b.ram.dev, TR_RAM_WP_LOW), wp);
	assert_int_equal(b.reported.n[NB_REPORT_ENABLED], 1);
	memset(&b.reported, 0, sizeof(b.reported));
}

/* ---- Tests of faults that a component has if nb_dev.faults selects them ---- */

/* The sink raises one interrupt each time that its buffer is full. */
static void test_interrupt(void **state)
{
	(void)state;
	full_bench();
	set_sink(TR_RAM_MODE, BUF, 64);
	feed(3, 16);
	assert_int_equal(b.interrupts, 0);
	feed(1, 16);
	assert_int_equal(b.interrupts, 1);
	feed(8, 16);
	assert_int_equal(b.interrupts, 3);
	b.ram.dev.faults.irq_lost = true;
	feed(8, 16);
	assert_int_equal(b.interrupts, 3);
	b.ram.dev.faults.irq_spurious = 10;
	feed(50, 1);
	assert_int_equal(b.interrupts, 8);
}

/* The sink counts a bus error, and writes no data. */
static void test_bus_error(void **state)
{
	(void)state;
	full_bench();
	b.ram.dev.faults.bus_error = true;
	set_sink(TR_RAM_MODE, BUF, 4096);
	feed(8, 16);
	assert_int_equal(b.ram.bus_errors, 4);
	assert_int_equal(b.memory[0x110], 0);
	/* A write without the callback mem_write is also counted as a bus error */
	b.ram.dev.faults.bus_error = false;
	b.ram.mem_write = NULL;
	feed(2, 16);
	assert_int_equal(b.ram.bus_errors, 5);
}

static void test_wp_outside(void **state)
{
	struct nb_dev *dev = &b.ram.dev;

	(void)state;
	full_bench();
	dev->faults.wp_outside = true;
	set_sink(TR_RAM_MODE, BUF, 4096);
	feed(8, 16);
	assert_true(rd(dev, TR_RAM_WP_LOW) > rd(dev, TR_RAM_LIMIT_LOW));
	assert_int_equal(b.memory[0x100 + 16], 4);	/* only trRamWP is wrong; the data is at the correct address */
}

static unsigned int sent(const char *fault)
{
	unsigned int i;

	ready_encoder();
	b.te.dev.faults.seed = 7;
	if (!strcmp(fault, "duplicate"))
		b.te.dev.faults.duplicate = 3;
	if (!strcmp(fault, "corrupt"))
		b.te.dev.faults.corrupt = 3;
	set_encoder(3 << 4);
	for (i = 0; i < 300; i++)
		run(0x1000, 4, NB_ITYPE_TAKEN);
	wr(&b.te.dev, TR_CONTROL, TR_ACTIVE | 3 << 4);
	wr(&b.ram.dev, TR_CONTROL, TR_ACTIVE | TR_RAM_MODE);
	return b.ram.bytes;
}

/* Fault duplicate sends about a third of the messages twice. Fault corrupt changes a bit in about a third. */
static void test_duplicate_and_corrupt(void **state)
{
	unsigned int i, bits = 0, right = sent(""), n;
	uint8_t whole[4096];

	(void)state;
	memcpy(whole, b.memory + 0x100, right);
	assert_in_range(sent("duplicate"), right + 2 * 70, right + 2 * 130);
	n = sent("corrupt");
	assert_int_equal(n, right);
	for (i = 0; i < right; i++)
		bits += __builtin_popcount(whole[i] ^ b.memory[0x100 + i]);
	assert_in_range(bits, 70, 130);
	/* The same seed causes the same faults */
	memcpy(whole, b.memory + 0x100, right);
	assert_int_equal(sent("corrupt"), right);
	assert_memory_equal(whole, b.memory + 0x100, right);
}

static void test_message_faults(void **state)
{
	unsigned int i;

	(void)state;
	ready_encoder();
	b.te.dev.faults.drop = 4;
	b.te.dev.faults.seed = 99;
	set_encoder(3 << 4);
	for (i = 0; i < 1000; i++)
		run(0x1000, 4, NB_ITYPE_TAKEN);
	/* A message has 2 bytes, and about a quarter of the messages is dropped */
	assert_in_range(b.ram.bytes, 2 * 600, 2 * 900);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conformance),
		cmocka_unit_test(test_unused_registers),
		cmocka_unit_test(test_minimal),
		cmocka_unit_test(test_active_delay),
		cmocka_unit_test(test_wake_takes_nothing_else),
		cmocka_unit_test(test_inactive_access),
		cmocka_unit_test(test_undefined_after_reset),
		cmocka_unit_test(test_mode_legal),
		cmocka_unit_test(test_smem),
		cmocka_unit_test(test_power),
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_stop_on_wrap),
		cmocka_unit_test(test_sram),
		cmocka_unit_test(test_pointer_range),
		cmocka_unit_test(test_empty_delay),
		cmocka_unit_test(test_enable_delay),
		cmocka_unit_test(test_sink_options),
		cmocka_unit_test(test_enable_disable),
		cmocka_unit_test(test_empty_when_emitted),
		cmocka_unit_test(test_stall_until_taken),
		cmocka_unit_test(test_refused_until_overflow),
		cmocka_unit_test(test_settings_locked),
		cmocka_unit_test(test_overflow_flag),
		cmocka_unit_test(test_privilege_filter),
		cmocka_unit_test(test_guest_privilege_filter),
		cmocka_unit_test(test_address_filter),
		cmocka_unit_test(test_comparators),
		cmocka_unit_test(test_comparators_in_blocks),
		cmocka_unit_test(test_cause_filter),
		cmocka_unit_test(test_triggers),
		cmocka_unit_test(test_watchpoint),
		cmocka_unit_test(test_implicit_return_enable),
		cmocka_unit_test(test_timestamp),
		cmocka_unit_test(test_timestamp_locked),
		cmocka_unit_test(test_timestamp_active_delay),
		cmocka_unit_test(test_shared_timestamp),
		cmocka_unit_test(test_funnel),
		cmocka_unit_test(test_funnel_reorder),
		cmocka_unit_test(test_reset_forgets),
		cmocka_unit_test(test_pointers_are_locked),
		cmocka_unit_test(test_wraps_after_the_last),
		cmocka_unit_test(test_interrupt),
		cmocka_unit_test(test_bus_error),
		cmocka_unit_test(test_wp_outside),
		cmocka_unit_test(test_duplicate_and_corrupt),
		cmocka_unit_test(test_message_faults),
	};

	return cmocka_run_group_tests_name("registers", tests, load_facts, NULL);
}
