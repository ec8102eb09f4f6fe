// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests of the path through a CoreSight fabric, which has ATB bridges, a funnel, an ETF and an ETR with
 * a formatter. The deframer in this file is written only from the description of frames (CoreSight
 * architecture specification, chapter D4), so that it is an independent check of the formatter.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "coresight.h"
#include "random.h"

static uint32_t random_state;

static uint32_t rnd(uint32_t below)
{
	return random_below(&random_state, below);
}

/* ---- Extract the bytes of each ID from frames ---- */

struct byte_of {
	uint8_t	id, byte;
};

struct deframed {
	struct byte_of	bytes[1 << 16];
	size_t		n;
	int		id;	/* current ID; -1 if unknown */
};

static struct deframed got;

static void took(int id, uint8_t byte)
{
	assert_true(id >= 0);
	if (!id)
		return;
	assert_true(got.n < sizeof(got.bytes) / sizeof(got.bytes[0]));
	got.bytes[got.n++] = (struct byte_of){ id, byte };
}

static bool deframe(void *opaque, const uint8_t frame[16])
{
	unsigned int i;

	(void)opaque;
	for (i = 0; i < 15; i += 2) {
		bool flag = frame[15] >> i / 2 & 1;
		int before = got.id;

		if (frame[i] & 1)
			got.id = frame[i] >> 1;
		else
			took(got.id, frame[i] | flag);
		if (i == 14)
			break;
		took(frame[i] & 1 && flag ? before : got.id, frame[i + 1]);
	}
	return true;
}

static void test_formatter(void **state)
{
	static struct byte_of sent[4096];
	struct nb_formatter f;
	unsigned int seed, i, n;

	(void)state;
	for (seed = 1; seed <= 2000; seed++) {
		uint8_t id = 1;

		random_state = seed;
		got.n = 0;
		got.id = -1;
		n = 1 + rnd(seed % 8 ? 200 : 4096);
		nb_formatter_init(&f, rnd(4), deframe, NULL);
		for (i = 0; i < n; i++) {
			if (!rnd(1 + seed % 7))
				id = 1 + rnd(NB_ATB_ID_LAST);
			sent[i] = (struct byte_of){ id, rnd(256) };
			nb_formatter_put(&f, id, sent[i].byte);
			if (!rnd(50))
				nb_formatter_flush(&f);
		}
		nb_formatter_flush(&f);
		assert_int_equal(got.n, n);
		assert_memory_equal(got.bytes, sent, n * sizeof(sent[0]));
		assert_int_equal(f.pos, 0);
	}
}

static unsigned int n_frames, frames_with_id[64];

static bool count_ids(void *opaque, const uint8_t frame[16])
{
	unsigned int i;

	(void)opaque;
	assert_true(n_frames < 64);
	frames_with_id[n_frames] = 0;
	for (i = 0; i < 15; i += 2)
		frames_with_id[n_frames] += frame[i] & 1;
	n_frames++;
	return true;
}

/* A reader that starts at any frame knows the ID after at most id_every frames. */
static void test_formatter_repeats_ids(void **state)
{
	struct nb_formatter f;
	unsigned int every, i;

	(void)state;
	for (every = 0; every < 5; every++) {
		n_frames = 0;
		nb_formatter_init(&f, every, count_ids, NULL);
		for (i = 0; i < 60 * 14; i++)
			nb_formatter_put(&f, 7, i);
		assert_true(n_frames >= 55);
		for (i = 0; i < n_frames; i++)
			assert_int_equal(frames_with_id[i], every ? i % every == 0 : i == 0);
	}
}

/* ---- A path of two bridges, a funnel, an ETF and an ETR ---- */

#define MEMORY		4096
#define MEMORY_BASE	0x123450000ULL

static struct chain {
	struct nb_atb	bridge[2];
	struct nb_cs_funnel funnel;
	struct nb_tmc	etf, etr;
	uint8_t		memory[MEMORY];
	unsigned int	reported[NB_REPORT_MAX];
} c;

static bool memory_write(void *opaque, uint64_t addr, const uint8_t *bytes, size_t len)
{
	(void)opaque;
	if (addr < MEMORY_BASE || addr + len > MEMORY_BASE + MEMORY)
		return false;
	memcpy(c.memory + (addr - MEMORY_BASE), bytes, len);
	return true;
}

static void report(void *opaque, struct nb_dev *dev, enum nb_report what, unsigned int offset,
		   uint32_t value)
{
	(void)opaque;
	(void)dev;
	(void)offset;
	(void)value;
	assert_true(nb_report_text(what)[0]);
	c.reported[what]++;
}

static void wr(struct nb_dev *dev, unsigned int offset, uint32_t value)
{
	nb_dev_write(dev, offset, value);
}

static uint32_t rd(struct nb_dev *dev, unsigned int offset)
{
	return nb_dev_read(dev, offset);
}

static unsigned int reports(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < NB_REPORT_MAX; i++)
		n += c.reported[i];
	return n;
}

static int setup(void **state)
{
	const struct nb_tmc_caps etf = { .etf = true, .fifo = 256, .lock = true };
	const struct nb_tmc_caps etr = { .highest = (1ULL << 40) - 1, .id_every = 4, .lock = true };
	const struct nb_atb_caps atb = { .ver_major = 1 };
	struct nb_dev *devs[] = {
		&c.bridge[0].dev, &c.bridge[1].dev, &c.funnel.cs.dev, &c.etf.cs.dev, &c.etr.cs.dev,
	};
	unsigned int i;

	(void)state;
	memset(&c, 0, sizeof(c));
	if (nb_tmc_init(&c.etf, &etf) || nb_tmc_init(&c.etr, &etr))
		return -1;
	c.etf.out = nb_tmc_input;
	c.etf.out_opaque = &c.etr;
	c.etr.mem_write = memory_write;
	c.etr.flush = nb_tmc_drain;
	c.etr.opaque = &c.etf;
	nb_cs_funnel_init(&c.funnel, 4, true, nb_tmc_input, &c.etf);
	for (i = 0; i < 2; i++)
		nb_atb_init(&c.bridge[i], &atb, nb_cs_funnel_input, &c.funnel.port[i]);
	for (i = 0; i < 5; i++)
		devs[i]->report = report;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	nb_tmc_fini(&c.etf);
	nb_tmc_fini(&c.etr);
	return 0;
}

static void set_bridge(unsigned int i, uint8_t id)
{
	struct nb_dev *dev = &c.bridge[i].dev;

	wr(dev, TR_CONTROL, TR_ACTIVE);
	assert_int_equal(rd(dev, TR_IMPL), TRCOMP_ATBBRIDGE << 8 | 1);
	wr(dev, TR_CONTROL, TR_ACTIVE | id << 8);
	wr(dev, TR_CONTROL, TR_ACTIVE | TR_ENABLE | id << 8);
	assert_int_equal(rd(dev, TR_CONTROL), TR_ACTIVE | TR_ENABLE | TR_EMPTY | id << 8);
}

static void start_etf(void)
{
	struct nb_dev *dev = &c.etf.cs.dev;

	wr(dev, CS_LAR, CS_LAR_KEY);
	wr(dev, TMC_MODE, NB_TMC_HW_FIFO);
	wr(dev, TMC_FFCR, TMC_FFCR_EN_FMT | TMC_FFCR_EN_TI);
	wr(dev, TMC_BUFWM, 0);
	wr(dev, TMC_CTL, TMC_CTL_CAPTURE);
}

static void start_etr(uint32_t size)
{
	struct nb_dev *dev = &c.etr.cs.dev;

	wr(dev, CS_LAR, CS_LAR_KEY);
	assert_true(rd(dev, TMC_STS) & TMC_STS_READY);
	wr(dev, TMC_RSZ, size / 4);
	wr(dev, TMC_MODE, NB_TMC_CIRCULAR);
	wr(dev, TMC_AXICTL, 0xf02);
	wr(dev, TMC_DBALO, (uint32_t)MEMORY_BASE);
	wr(dev, TMC_DBAHI, MEMORY_BASE >> 32);
	wr(dev, TMC_FFCR, TMC_FFCR_EN_FMT | TMC_FFCR_EN_TI);
	wr(dev, TMC_CTL, TMC_CTL_CAPTURE);
	assert_false(rd(dev, TMC_STS) & TMC_STS_READY);
}

static void stop_etr(void)
{
	struct nb_dev *dev = &c.etr.cs.dev;
	uint32_t ffcr = rd(dev, TMC_FFCR) | TMC_FFCR_STOP_ON_FLUSH;

	wr(dev, TMC_FFCR, ffcr);
	wr(dev, TMC_FFCR, ffcr | TMC_FFCR_FLUSH_MAN);
	assert_false(rd(dev, TMC_FFCR) & TMC_FFCR_FLUSH_MAN);
	assert_true(rd(dev, TMC_STS) & TMC_STS_READY);
	assert_true(rd(dev, TMC_FFSR) & TMC_FFSR_STOPPED);
	wr(dev, TMC_CTL, 0);
}

static void start_all(uint32_t size)
{
	start_etr(size);
	start_etf();
	wr(&c.funnel.cs.dev, CS_LAR, CS_LAR_KEY);
	wr(&c.funnel.cs.dev, CS_FUNNEL_CTRL, 0x703);
	set_bridge(0, 0x10);
	set_bridge(1, 0x6f);
}

static uint64_t write_pointer(void)
{
	return (uint64_t)rd(&c.etr.cs.dev, TMC_RWPHI) << 32 | rd(&c.etr.cs.dev, TMC_RWP);
}

static void deframe_memory(size_t len)
{
	size_t i;

	got.n = 0;
	got.id = -1;
	for (i = 0; i < len; i += 16)
		deframe(NULL, c.memory + i);
}

static void test_chain(void **state)
{
	const uint8_t one[] = { 1, 2, 3 }, two[] = { 4, 5 };
	size_t i;

	(void)state;
	start_all(MEMORY);
	assert_true(nb_atb_input(&c.bridge[0], one, sizeof(one)));
	assert_true(nb_atb_input(&c.bridge[1], two, sizeof(two)));
	assert_true(nb_atb_input(&c.bridge[0], one, sizeof(one)));
	/* The ETF stores all trace until the ETR requests a flush */
	assert_int_equal(write_pointer(), MEMORY_BASE);
	assert_false(rd(&c.etf.cs.dev, TMC_STS) & TMC_STS_EMPTY);
	stop_etr();
	assert_int_equal(write_pointer(), MEMORY_BASE + 16);
	deframe_memory(16);
	assert_int_equal(got.n, 8);
	for (i = 0; i < 8; i++)
		assert_int_equal(got.bytes[i].id, i == 3 || i == 4 ? 0x6f : 0x10);
	assert_int_equal(got.bytes[0].byte, 1);
	assert_int_equal(got.bytes[4].byte, 5);
	assert_int_equal(reports(), 0);
}

/* The buffer is a ring. After a wrap, STS.Full is set, and the whole buffer contains frames. */
static void test_wrap(void **state)
{
	const uint8_t message[] = { 1, 2, 3, 4, 5, 6, 7 };
	unsigned int i;

	(void)state;
	start_all(64);
	for (i = 0; i < 100; i++)
		assert_true(nb_atb_input(&c.bridge[0], message, sizeof(message)));
	stop_etr();
	assert_true(rd(&c.etr.cs.dev, TMC_STS) & TMC_STS_FULL);
	assert_true(write_pointer() >= MEMORY_BASE && write_pointer() < MEMORY_BASE + 64);
	for (i = 64; i < MEMORY; i++)
		assert_int_equal(c.memory[i], 0);
}

/* A TMC that does not capture accepts trace and drops it. */
static void test_not_capturing(void **state)
{
	const uint8_t message[] = { 1, 2, 3 };

	(void)state;
	set_bridge(0, 1);
	assert_false(nb_atb_input(&c.bridge[0], message, sizeof(message)));	/* the port of the funnel is disabled */
	wr(&c.funnel.cs.dev, CS_LAR, CS_LAR_KEY);
	wr(&c.funnel.cs.dev, CS_FUNNEL_CTRL, 0x301);
	assert_true(nb_atb_input(&c.bridge[0], message, sizeof(message)));
	assert_int_equal(c.etf.discarded, 1);
	start_etf();
	assert_true(nb_atb_input(&c.bridge[0], message, sizeof(message)));
	nb_tmc_drain(&c.etf);
	assert_int_equal(c.etr.discarded, 1);
	assert_int_equal(write_pointer(), 0);
}

static void test_lock_and_claim(void **state)
{
	struct nb_dev *dev = &c.etr.cs.dev;

	(void)state;
	assert_int_equal(rd(dev, CS_LSR), CS_LSR_PRESENT | CS_LSR_LOCKED);
	wr(dev, TMC_RSZ, 64);
	assert_int_equal(c.reported[NB_REPORT_LOCKED], 1);
	assert_int_equal(rd(dev, TMC_RSZ), 0);
	wr(dev, CS_LAR, CS_LAR_KEY);
	assert_int_equal(rd(dev, CS_LSR), CS_LSR_PRESENT);
	wr(dev, TMC_RSZ, 64);
	assert_int_equal(rd(dev, TMC_RSZ), 64);
	assert_int_equal(rd(dev, CS_CLAIMSET), 0xf);
	wr(dev, CS_CLAIMSET, 2);
	assert_int_equal(rd(dev, CS_CLAIMCLR), 2);
	wr(dev, CS_CLAIMCLR, 2);
	assert_int_equal(rd(dev, CS_CLAIMCLR), 0);
	wr(dev, CS_LAR, 0);
	wr(dev, TMC_RSZ, 128);
	assert_int_equal(rd(dev, TMC_RSZ), 64);
	/* The identification registers are those of Arm's TMC, configured as an ETR without scatter-gather */
	assert_int_equal(rd(dev, CS_PIDR0), 0x61);
	assert_int_equal(rd(dev, CS_PIDR0 + 4) & 0xf, 9);
	assert_int_equal(rd(dev, CS_DEVTYPE), 0x21);
	assert_int_equal(rd(dev, CS_DEVID) >> 6 & 3, 1);
	assert_true(rd(dev, CS_DEVID) & 1 << 24);
	assert_int_equal(rd(&c.etf.cs.dev, CS_DEVTYPE), 0x32);
	assert_int_equal(rd(&c.etf.cs.dev, TMC_RSZ), 256 / 4);
}

static void test_misuse(void **state)
{
	struct nb_dev *dev = &c.etr.cs.dev;

	(void)state;
	start_etr(MEMORY);
	wr(dev, TMC_DBALO, 0);
	assert_int_equal(c.reported[NB_REPORT_ENABLED], 1);
	assert_int_equal(rd(dev, TMC_DBALO), (uint32_t)MEMORY_BASE);
	nb_tmc_end(&c.etr);
	assert_int_equal(c.reported[NB_REPORT_LEFT], 1);
	wr(dev, TMC_CTL, 0);		/* an error, because no flush with StopOnFl has stopped the TMC */
	assert_int_equal(c.reported[NB_REPORT_ENABLED], 2);
	wr(dev, TMC_RSZ, 6);		/* 24 bytes; an error, because a frame has 16 bytes */
	wr(dev, TMC_CTL, TMC_CTL_CAPTURE);
	assert_int_equal(c.reported[NB_REPORT_RANGE], 1);
	wr(dev, TMC_FFCR, TMC_FFCR_EN_FMT | TMC_FFCR_STOP_ON_FLUSH | TMC_FFCR_FLUSH_MAN);
	wr(dev, TMC_CTL, 0);
	wr(dev, TMC_MODE, NB_TMC_HW_FIFO);
	wr(dev, TMC_CTL, TMC_CTL_CAPTURE);
	assert_true(c.reported[NB_REPORT_UNSET] >= 1);
	/* Enable a bridge with an ID that ATB reserves */
	wr(&c.bridge[0].dev, TR_CONTROL, TR_ACTIVE);
	wr(&c.bridge[0].dev, TR_CONTROL, TR_ACTIVE | TR_ENABLE | 0x70 << 8);
	assert_int_equal(c.reported[NB_REPORT_RANGE], 3);
	wr(&c.bridge[0].dev, TR_CONTROL, TR_ACTIVE | TR_ENABLE | 5 << 8);
	assert_int_equal(nb_dev_read(&c.bridge[0].dev, TR_CONTROL) >> 8, 0x70);
}

/* With a buffer outside of memory, STS.MemErr is set and nothing else is written. */
static void test_bus_error(void **state)
{
	const uint8_t message[32] = { 0 };
	struct nb_dev *dev = &c.etr.cs.dev;

	(void)state;
	start_all(MEMORY);
	stop_etr();
	wr(dev, TMC_DBALO, 0);
	wr(dev, TMC_DBAHI, 0);
	wr(dev, TMC_FFCR, TMC_FFCR_EN_FMT | TMC_FFCR_EN_TI);
	wr(dev, TMC_CTL, TMC_CTL_CAPTURE);
	assert_true(nb_atb_input(&c.bridge[0], message, sizeof(message)));
	stop_etr();
	assert_true(rd(dev, TMC_STS) & TMC_STS_MEMERR);
	assert_int_equal(c.etr.bus_errors, 1);
	wr(dev, TMC_STS, 0);
	assert_false(rd(dev, TMC_STS) & TMC_STS_MEMERR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formatter),
		cmocka_unit_test(test_formatter_repeats_ids),
		cmocka_unit_test_setup_teardown(test_chain, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrap, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_capturing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lock_and_claim, setup, teardown),
		cmocka_unit_test_setup_teardown(test_misuse, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bus_error, setup, teardown),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
