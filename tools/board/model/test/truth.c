// SPDX-License-Identifier: GPL-2.0-or-later
/* Tests of the truth file. The reader returns the data that were written, and rejects invalid data. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "insn.h"
#include "random.h"
#include "truth.h"

#define BLOCKS	200000

static char path[] = "/tmp/nb-truth-XXXXXX";
static const uint64_t wide[2] = { 0x5555555555555555ULL, 3 };
static const uint8_t code[] = { 0x13, 0, 0, 0, 1, 0, 0x13, 5, 0, 0, 2, 0 };	/* instructions of 4, 2, 4, 2 bytes */
static const uint64_t code_wide = 5;

static uint32_t rnd(uint32_t *x)
{
	return random_below(x, 1 << 24);
}

/* Return the next block of a stream with loops and random jumps. */
static struct nb_ingress make_block(uint32_t *seed, uint32_t *at)
{
	struct nb_ingress blk = { 0 };

	*at = rnd(seed) % 10 ? (*at + 1) % 7 : rnd(seed) % 5000;
	blk.iaddr = 0xffffffff80000000ULL + *at * 64ULL;
	blk.ninsn = 1 + *at % 70;
	blk.itype = *at % 16;
	blk.ilastsize = 1;
	blk.priv = *at % 3 ? NB_PRIV_S : NB_PRIV_U;
	blk.sijump = *at % 11 == 0;
	if (*at % 5 == 0) {
		blk.ninsn = 4;
		blk.iretire = sizeof(code) / 2;
		blk.code = code;
		blk.wide = &code_wide;
		blk.wide_hash = nb_code_hash(code, sizeof(code));
	} else if (*at % 2) {
		uint32_t i;

		blk.wide = wide;
		blk.wide_hash = nb_wide_hash(wide, blk.ninsn);
		for (i = 0; i < blk.ninsn; i++)
			blk.iretire += 1 + (wide[i / 64] >> i % 64 & 1);
	} else {
		blk.iretire = blk.ninsn;
	}
	return blk;
}

static void write_stream(void)
{
	struct nb_truth_writer *w = nb_truth_create(path, 3);
	struct nb_trace_state state = { 0 };
	uint32_t seed = 1, at = 0, i;

	assert_non_null(w);
	nb_truth_context(w, 77, 5);
	for (i = 0; i < BLOCKS; i++) {
		struct nb_ingress blk = make_block(&seed, &at);

		if (i % 1000 == 500) {
			state.session = i / 1000 + 1;
			state.sync = NB_SYNC_TRACE_ENABLE;
			state.syncs++;
			state.stamp++;
		} else if (i % 1000 == 700) {
			state.sync = NB_SYNC_PERIODIC;
			state.syncs++;
			state.stamp++;
		} else if (i % 1000 == 900) {
			state.session = 0;
			state.evcode = NB_EVCODE_DISABLED;
			state.stamp++;
		}
		if (i == 1234)
			nb_truth_time(w, 5678);
		/* A time that is less than the last one is ignored */
		if (i == 1235)
			nb_truth_time(w, 5000);
		nb_truth_block(w, &blk, &state);
	}
	assert_int_equal(nb_truth_close(w), 0);
}

static void check_event(const struct nb_truth_event *ev, uint32_t i)
{
	switch (ev->kind) {
	case NB_TRUTH_START:
		assert_int_equal(i % 1000, 500);
		assert_int_equal(ev->sync, NB_SYNC_TRACE_ENABLE);
		break;
	case NB_TRUTH_SYNC:
		assert_int_equal(i % 1000, 700);
		assert_int_equal(ev->sync, NB_SYNC_PERIODIC);
		break;
	case NB_TRUTH_STOP:
		assert_int_equal(i % 1000, 900);
		assert_int_equal(ev->evcode, NB_EVCODE_DISABLED);
		break;
	case NB_TRUTH_CONTEXT:
		assert_true(!i && ev->scontext == 77 && ev->hcontext == 5);
		break;
	case NB_TRUTH_TIME:
		assert_true(i == 1234 && ev->time == 5678);
		break;
	default:
		break;
	}
}

static void check_block(const struct nb_truth_event *ev, const struct nb_ingress *want, uint32_t i)
{
	assert_true(nb_truth_same(&ev->blk, want));
	assert_true(!ev->blk.wide == !want->wide);
	if (want->wide)
		assert_int_equal(ev->blk.wide[0] & 1, want->wide[0] & 1);
	assert_true(!ev->blk.code == !want->code);
	if (want->code) {
		assert_memory_equal(ev->blk.code, want->code, sizeof(code));
		assert_int_equal(ev->blk.wide[0], code_wide);
	}
	assert_int_equal(ev->traced, i % 1000 >= 500 && i % 1000 < 900);
}

static void test_round_trip(void **state)
{
	uint32_t seed = 1, at = 0, i = 0, events = 0;
	struct nb_truth_reader *r;
	struct nb_truth_event ev;
	unsigned int hart = 0;
	uint64_t insns = 0;
	struct stat st;

	(void)state;
	write_stream();
	r = nb_truth_open(path, &hart);
	assert_non_null(r);
	assert_int_equal(hart, 3);
	while (nb_truth_next(r, &ev) > 0) {
		struct nb_ingress want;

		if (ev.kind != NB_TRUTH_BLOCK) {
			check_event(&ev, i);
			events++;
			continue;
		}
		want = make_block(&seed, &at);
		check_block(&ev, &want, i++);
		insns += want.ninsn;
	}
	assert_int_equal(i, BLOCKS);
	assert_int_equal(events, 3 * BLOCKS / 1000 + 3);
	assert_true(ev.kind == NB_TRUTH_END && ev.insns == insns);
	assert_int_equal(nb_truth_next(r, &ev), 0);
	nb_truth_reader_close(r);
	stat(path, &st);
	assert_true(st.st_size < BLOCKS);	/* the file has less than one byte per block */
}

static int read_all(void)
{
	unsigned int hart;
	struct nb_truth_reader *r = nb_truth_open(path, &hart);
	struct nb_truth_event ev;
	uint32_t n = 0;
	int rc;

	if (!r)
		return -1;
	while ((rc = nb_truth_next(r, &ev)) > 0 && ++n < 4 * BLOCKS)
		;
	if (rc < 0)
		assert_true(strlen(nb_truth_error(r)) > 10);
	nb_truth_reader_close(r);
	return rc;
}

static void set_version(uint8_t version)
{
	FILE *f = fopen(path, "r+");

	fseek(f, 8, SEEK_SET);
	fputc(version, f);
	fclose(f);
}

/*
 * The truth file stores a new value of the stack pointer before the block at whose start the hart has this
 * value. Version 1 of the file has no stack pointers, and version 3 does not exist.
 */
static void test_stacks(void **state)
{
	static const uint64_t sps[] = { 0x3ffffffff0, 0x3fffffff00, 0, UINT64_MAX, 0x3ffffffff0 };
	static const struct nb_trace_state untraced;
	struct nb_truth_writer *w = nb_truth_create(path, 0);
	struct nb_ingress blk = { .ninsn = 1, .iretire = 1, .ilastsize = 1 };
	struct nb_truth_event ev;
	struct nb_truth_reader *r;
	unsigned int hart, i;

	(void)state;
	nb_truth_stacks(w);
	for (i = 0; i < 5; i++) {
		blk.iaddr = 0x1000 * (i % 2);
		nb_truth_block(w, &blk, &untraced);
		nb_truth_stack(w, sps[i], ~sps[i]);
	}
	assert_int_equal(nb_truth_close(w), 0);
	r = nb_truth_open(path, &hart);
	assert_non_null(r);
	for (i = 0; i < 10; i++) {
		assert_int_equal(nb_truth_next(r, &ev), 1);
		assert_int_equal(ev.kind, i % 2 ? NB_TRUTH_STACK : NB_TRUTH_BLOCK);
		if (i % 2)
			assert_true(ev.sp == sps[i / 2] && ev.tp == ~sps[i / 2]);
		else
			assert_int_equal(ev.blk.iaddr, 0x1000 * (i / 2 % 2));
	}
	nb_truth_reader_close(r);
	set_version(1);
	assert_int_equal(read_all(), -1);
	set_version(3);
	assert_null(nb_truth_open(path, &hart));
}

static void test_truncated(void **state)
{
	struct stat st;

	(void)state;
	write_stream();
	stat(path, &st);
	assert_int_equal(truncate(path, st.st_size - 1), 0);
	assert_int_equal(read_all(), -1);
	assert_int_equal(truncate(path, 30), 0);
	assert_int_equal(read_all(), -1);
	assert_int_equal(truncate(path, 10), 0);
	assert_int_equal(read_all(), -1);
	assert_int_equal(errno, EINVAL);
}

/*
 * Write a truth file with one block of 4 instructions, and replace the counts in its record by @iretire and
 * @ninsn
 */
static void write_wrong_block(const uint8_t *with_code, uint8_t iretire, uint8_t ninsn)
{
	struct nb_truth_writer *w = nb_truth_create(path, 0);
	struct nb_ingress blk = { .iaddr = 0x1000, .ninsn = 4, .iretire = sizeof(code) / 2, .code = with_code,
				  .wide = &code_wide, .ilastsize = 1,
				  .wide_hash = with_code ? nb_code_hash(code, sizeof(code)) :
							   nb_wide_hash(&code_wide, 4) };
	static const struct nb_trace_state untraced;
	uint8_t bytes[200];
	size_t n, at;
	FILE *f;

	nb_truth_block(w, &blk, &untraced);
	assert_int_equal(nb_truth_close(w), 0);
	f = fopen(path, "r+");
	n = fread(bytes, 1, sizeof(bytes), f);
	for (at = 24; at + 1 < n; at++)
		if (bytes[at] == sizeof(code) / 2 && bytes[at + 1] == 4)
			break;
	assert_true(at + 1 < n);
	fseek(f, at, SEEK_SET);
	fputc(iretire, f);
	fputc(ninsn, f);
	fclose(f);
}

/* The reader rejects a block whose size is not the sum of the sizes of its instructions. */
static void test_does_not_add_up(void **state)
{
	(void)state;
	write_wrong_block(code, sizeof(code) / 2, 4);
	assert_int_equal(read_all(), 0);
	write_wrong_block(code, sizeof(code) / 2, 3);
	assert_int_equal(read_all(), -1);
	/* In this file, the end record has the correct number of instructions, and only the block is wrong */
	write_wrong_block(NULL, sizeof(code) / 2 + 1, 4);
	assert_int_equal(read_all(), -1);
}

/* When the reader reads a damaged file, it must report an error or reach the end, but not crash. */
static void test_damaged(void **state)
{
	uint32_t seed = 7, i;
	struct stat st;

	(void)state;
	for (i = 0; i < 60; i++) {
		FILE *f;

		write_stream();
		stat(path, &st);
		f = fopen(path, "r+");
		fseek(f, 24 + rnd(&seed) % (i < 30 ? 300 : st.st_size - 24), SEEK_SET);
		fputc(rnd(&seed), f);
		fclose(f);
		read_all();
	}
}

static void test_missing(void **state)
{
	unsigned int hart;

	(void)state;
	assert_null(nb_truth_open("/nonexistent", &hart));
	assert_int_equal(errno, ENOENT);
	assert_null(nb_truth_create("/nonexistent/truth", 0));
	assert_int_equal(errno, ENOENT);
}

static int setup(void **state)
{
	(void)state;
	return close(mkstemp(path));
}

static int teardown(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_does_not_add_up),
		cmocka_unit_test(test_missing),
	};

	return cmocka_run_group_tests_name("truth", tests, setup, teardown);
}
