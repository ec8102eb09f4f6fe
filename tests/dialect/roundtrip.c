// SPDX-License-Identifier: GPL-2.0-only
/*
 * Encode random programs in SiFive's pre-ratified messages, and decode them again.
 *
 *   roundtrip run SEEDS INSTRUCTIONS [FIRST]	compare every instruction, time and event
 *   roundtrip flips SEED FLIPS			flip single bits, and count how many the library detects
 *   roundtrip write SEED INSTRUCTIONS FOLDER k3|sifive|random NR
 *						write prog.elf, and N.nt and N.pcs of NR harts
 *   roundtrip speed SEED INSTRUCTIONS		measure the speed of decoding
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <ntrace/ntrace.h>
#include "../lib/counted.h"

#include "judge.h"
#include "program.h"

#define MAX_HARTS	4
#define CHUNK		200000

/*
 * The instructions that a source has executed. The instructions before index @at are already compared.
 */
struct expected {
	uint64_t	*pcs;
	size_t		nr, max, at;
	size_t		extra;		/* number of compared messages that do not change the PC */
	uint64_t	traps;
};

struct test {
	uint64_t	seed;
	struct setup	setup;
	unsigned int	nr_harts;
	unsigned int	how;		/*
					 * 0: get batches from the whole stream; 1: get items one by one
					 * from pieces of the stream
					 */
	struct program	*program;
	struct hart	*harts[MAX_HARTS];
	struct encoder	encoders[MAX_HARTS];
	struct expected	expected[MAX_HARTS];
	struct stream	stream;
	size_t		sent_at;	/* number of sent messages whose time was compared with the decoded time */
	uint64_t	fed;		/* offset of @stream.data in the whole stream in bytes */
	uint64_t	compared, times, extras;
	struct nt_image	*image;
	struct nt_flow	*flow;
	struct nt_flow		*counting;	/* second decoder of the stream, which only counts by nt_flow_count() */
	struct counted		counted;
};

static void die(const struct test *test, const char *what, uint64_t a, uint64_t b)
{
	printf("seed %" PRIu64 ": %s: 0x%" PRIx64 ", wanted 0x%" PRIx64 ", after %" PRIu64 " instructions\n",
	       test->seed, what, a, b, test->compared);
	exit(1);
}

static struct setup random_setup(uint64_t seed, unsigned int *nr_harts)
{
	uint64_t r = seed * 0x9e3779b97f4a7c15ULL + 12345;
	struct setup setup;

#define PICK(n)	(next_random(&r) % (n))
	next_random(&r);
	setup = (struct setup){
		.btm = !PICK(5),
		.implicit_return = PICK(2),
		.swap_is_call = PICK(2),
		.timestamp = PICK(3),
		.some_timestamps = PICK(2),
		.tstamp_bits = PICK(2) ? 40 : PICK(2) ? 64 : 16,
		.icnt_max = PICK(2) ? 4096 : 16 + PICK(6),
		.hist_max = PICK(3) ? 31 : 1 + PICK(31),
		.run_min = PICK(3) ? 1 + PICK(31) : 0,
		.sync_period = PICK(4) ? 16 << PICK(7) : 0,
		.addr_bits = 48 + PICK(2),
		.src_bits = PICK(3),
		.extras = PICK(2),
	};
	if (setup.run_min > setup.hist_max)
		setup.run_min = setup.hist_max;
	/*
	 * Use a wide counter if only some messages have a timestamp, because a narrow one could wrap twice between
	 * two timestamps, and the decoder would notice only one of these wraps.
	 */
	if (setup.tstamp_bits < 40 || setup.some_timestamps)
		setup.tstamp_bits = setup.some_timestamps ? 40 : 16;
	*nr_harts = setup.src_bits ? 1 + PICK(1 << setup.src_bits) : 1;
#undef PICK
	return setup;
}

static struct nt_config config_of(const struct setup *setup)
{
	struct nt_config config = NT_CONFIG_INIT;

	config.dialect = NT_DIALECT_SIFIVE0;
	config.src_bits = setup->src_bits;
	config.timestamp = setup->timestamp;
	config.tstamp_bits = setup->tstamp_bits;
	/* The decoder detects the mode from the messages */
	config.return_depth = NT_RETURN_DEPTH_SIFIVE0;
	return config;
}

static void open_test(struct test *test, uint64_t seed)
{
	struct nt_config config;
	unsigned int i;

	memset(test, 0, sizeof(*test));
	test->seed = seed;
	test->setup = random_setup(seed, &test->nr_harts);
	test->how = seed & 1;
	test->program = malloc(sizeof(*test->program));
	program_make(test->program, seed);
	test->image = nt_image_new();
	for (i = 0; i < 2; i++)
		nt_image_add(test->image, 0, test->program->regions[i].base,
			     test->program->regions[i].code, 2 * test->program->regions[i].nr);
	config = config_of(&test->setup);
	test->flow = nt_flow_new(&config, test->image);
	if (test->how)
		test->counting = nt_flow_new(&config, test->image);
	for (i = 0; i < test->nr_harts; i++) {
		test->harts[i] = malloc(sizeof(struct hart));
		hart_start(test->harts[i], test->program, seed * 7 + i + 1);
		test->encoders[i] = (struct encoder){
			.setup = &test->setup, .stream = &test->stream, .src = i,
			.random = (seed + i) * 77777 + 1,
		};
		encoder_start(&test->encoders[i], test->harts[i]->pc);
	}
}

static void close_test(struct test *test)
{
	unsigned int i;

	nt_flow_free(test->counting);
	counted_free(&test->counted);
	for (i = 0; i < test->nr_harts; i++) {
		free(test->harts[i]);
		free(test->expected[i].pcs);
		free(test->encoders[i].extra);
	}
	free(test->stream.data);
	free(test->stream.sent);
	nt_flow_free(test->flow);
	nt_image_free(test->image);
	free(test->program);
}

/* ---- execute ---- */

static void execute(struct test *test, unsigned int nr)
{
	uint64_t random = test->seed + test->compared + 1;

	while (nr) {
		unsigned int i = next_random(&random) % test->nr_harts;
		unsigned int n = 1 + next_random(&random) % 60;
		struct expected *expected = &test->expected[i];

		for (; n && nr; n--, nr--) {
			uint64_t pc = test->harts[i]->pc;

			if (expected->nr == expected->max) {
				expected->max = expected->max * 2 + CHUNK;
				expected->pcs = realloc(expected->pcs, expected->max * 8);
			}
			if (hart_step(test->harts[i], &test->encoders[i]))
				expected->pcs[expected->nr++] = pc;
			else
				expected->traps++;
		}
	}
}

/* ---- compare ---- */

static void take_range(struct test *test, unsigned int src, uint64_t start, uint64_t end,
		       unsigned int insns)
{
	struct expected *expected = &test->expected[src];
	uint64_t pc = start;

	for (; insns; insns--) {
		if (expected->at == expected->nr)
			die(test, "an instruction that was not executed", pc, 0);
		if (expected->pcs[expected->at++] != pc)
			die(test, "instruction", pc, expected->pcs[expected->at - 1]);
		pc += 2 * program_insn(test->program, pc)->halfwords;
		test->compared++;
	}
	if (pc != end)
		die(test, "end of a range", end, pc);
}

/* Compare the time of the message at @offset with the time that the encoder sent. */
static void take_time(struct test *test, uint64_t offset, uint64_t tstamp)
{
	while (test->sent_at < test->stream.nr_sent &&
	       test->stream.sent[test->sent_at].offset + test->fed < offset)
		test->sent_at++;
	if (test->sent_at == test->stream.nr_sent)
		die(test, "no such message", offset, 0);
	if (test->stream.sent[test->sent_at].offset + test->fed != offset)
		return;		/* the library's offset includes the idle bytes before the message */
	if (test->stream.sent[test->sent_at].has_time &&
	    test->stream.sent[test->sent_at].time != tstamp)
		die(test, "time", tstamp, test->stream.sent[test->sent_at].time);
	test->times++;
}

static void take_extra(struct test *test, const struct nt_item *item)
{
	struct encoder *encoder = &test->encoders[item->src];
	const struct extra *extra;

	if (test->expected[item->src].extra == encoder->nr_extra)
		die(test, "an event that was not sent", item->type, 0);
	extra = &encoder->extra[test->expected[item->src].extra++];
	test->extras++;
	if (extra->is_event != (item->type == NT_ITEM_EVENT))
		die(test, "kind of event", item->type, extra->is_event);
	if (!extra->is_event) {
		if (item->data.id != extra->first || item->data.value != extra->second)
			die(test, "data", item->data.value, extra->second);
		return;
	}
	if (item->event.source != extra->source)
		die(test, "CKSRC", item->event.source, extra->source);
	if (item->event.has_addr != !!extra->first || item->event.addr != extra->first)
		die(test, "address of an event", item->event.addr, extra->first);
	if (item->event.data != extra->second)
		die(test, "datum of an event", item->event.data, extra->second);
}

static void take_item(struct test *test, const struct nt_item *item)
{
	char text[256];

	if (item->tstamp_kind == NT_TSTAMP_EXACT && item->type != NT_ITEM_RANGE)
		take_time(test, item->offset, item->tstamp);
	switch (item->type) {
	case NT_ITEM_RANGE:
		take_range(test, item->src, item->range.start, item->range.end_addr,
			   item->range.insns);
		break;
	case NT_ITEM_DATA:
	case NT_ITEM_EVENT:
		take_extra(test, item);
		break;
	case NT_ITEM_SYNC:
		if (item->sync.restart && test->expected[item->src].at)
			die(test, "restart at", item->sync.addr, 0);
		break;
	case NT_ITEM_ERROR:
	case NT_ITEM_GAP:
	case NT_ITEM_LOST:
	case NT_ITEM_SKIPPED:
		nt_item_desc(item, text, sizeof(text));
		puts(text);
		die(test, "an error at", item->offset, 0);
	}
}

static void take_batch(struct test *test, const struct nt_batch *batch)
{
	size_t i;

	if (!batch->nr)
		take_item(test, &batch->item);
	for (i = 0; i < batch->nr; i++)
		take_range(test, batch->src, batch->ranges[i].start,
			   batch->ranges[i].start + 2ULL * batch->ranges[i].halfwords,
			   batch->ranges[i].insns);
	for (i = 0; i < batch->nr_marks && batch->nr; i++) {
		if (batch->marks[i].tstamp_kind == NT_TSTAMP_EXACT)
			take_time(test, batch->marks[i].offset, batch->marks[i].tstamp);
	}
}

static void drain(struct test *test)
{
	struct nt_batch batch;
	struct nt_item item;

	if (test->how) {
		while (nt_flow_next(test->flow, &item) > 0) {
			take_item(test, &item);
			counted_add_item(&test->counted, &item);
		}
		while (nt_flow_count(test->counting, &item) > 0)
			;
	} else {
		while (nt_flow_next_batch(test->flow, &batch) > 0)
			take_batch(test, &batch);
	}
}

/* The counts of nt_flow_count() must equal the sums of the ranges that nt_flow_next() returned. */
static void compare_counts(struct test *test)
{
	struct nt_counts *counts = nt_counts_new();

	counted_fold(&test->counted);
	if (test->how && (nt_counts_take(counts, test->counting) ||
			  !counted_is(&test->counted, counts)))
		die(test, "counts", 0, 0);
	nt_counts_free(counts);
}

/* Decode the new part of the stream, and compare its items with the execution. @end is true in the last call. */
static void decode(struct test *test, bool end)
{
	size_t at = 0, n = test->stream.size, piece = test->how ? 1 + test->seed % 3000 : n;
	unsigned int i;

	for (; at < n; at += piece) {
		nt_flow_feed(test->flow, test->stream.data + at, n - at < piece ? n - at : piece);
		if (test->how)
			nt_flow_feed(test->counting, test->stream.data + at,
				     n - at < piece ? n - at : piece);
		drain(test);
	}
	if (end) {
		nt_flow_end(test->flow);
		if (test->how)
			nt_flow_end(test->counting);
		drain(test);
		compare_counts(test);
	}
	test->fed += n;
	test->stream.size = 0;
	test->stream.nr_sent = 0;
	test->sent_at = 0;
	for (i = 0; i < test->nr_harts; i++) {
		struct expected *e = &test->expected[i];

		memmove(e->pcs, e->pcs + e->at, (e->nr - e->at) * sizeof(*e->pcs));
		e->nr -= e->at;
		e->at = 0;
		if (end && e->nr)
			die(test, "instructions that are missing", 0, e->nr);
		if (end && e->extra != test->encoders[i].nr_extra)
			die(test, "events", e->extra, test->encoders[i].nr_extra);
	}
}

static void stop(struct test *test)
{
	unsigned int i;

	for (i = 0; i < test->nr_harts; i++)
		encoder_stop(&test->encoders[i]);
}

static int run(uint64_t seeds, uint64_t insns, uint64_t first)
{
	uint64_t compared = 0, times = 0, extras = 0, bytes = 0, traps = 0, seed, i;
	uint64_t tcodes[64] = { 0 }, rcodes[16] = { 0 }, at_branch = 0;
	static struct test test;

	for (seed = first; seed < first + seeds; seed++) {
		uint64_t left = insns;

		open_test(&test, seed);
		while (left) {
			unsigned int n = left < CHUNK ? left : CHUNK;

			execute(&test, n);
			left -= n;
			if (!left)
				stop(&test);
			decode(&test, !left);
		}
		compared += test.compared;
		times += test.times;
		extras += test.extras;
		bytes += test.fed;
		at_branch += test.stream.at_branch;
		for (i = 0; i < test.nr_harts; i++)
			traps += test.expected[i].traps;
		for (i = 0; i < 64; i++)
			tcodes[i] += test.stream.tcodes[i];
		for (i = 0; i < 16; i++)
			rcodes[i] += test.stream.rcodes[i];
		close_test(&test);
	}
	printf("%" PRIu64 " instructions, %" PRIu64 " traps, %" PRIu64 " times, %" PRIu64
	       " events, %" PRIu64 " syncs at a branch that HIST lacks, %.2f bits an instruction\n",
	       compared, traps, times, extras, at_branch, 8.0 * bytes / compared);
	printf("messages by TCODE:");
	for (i = 0; i < 64; i++) {
		if (tcodes[i])
			printf(" %" PRIu64 ":%" PRIu64, i, tcodes[i]);
	}
	printf("; RCODE");
	for (i = 0; i < 16; i++) {
		if (rcodes[i])
			printf(" %" PRIu64 ":%" PRIu64, i, rcodes[i]);
	}
	puts("");
	return 0;
}

/* ---- flips ---- */

static int flips(uint64_t seed, unsigned long nr)
{
	static struct test test;
	struct verdicts verdicts = { 0 };
	uint64_t random = seed | 1;
	struct nt_config config;
	struct result good;
	char name[64];

	open_test(&test, seed);
	/* send only messages of the flow, as nt_config::flow_only promises to the library */
	test.setup.extras = false;
	config = config_of(&test.setup);
	config.flow_only = true;
	/* send a sync every 32 messages, because hardware sends a sync every 32 to 2048 messages */
	test.setup.sync_period = 32;
	execute(&test, 60000);
	stop(&test);
	good = judge_decode(&config, test.image, test.stream.data, test.stream.size);
	while (nr--) {
		struct flip flip = {
			.config = &config, .data = test.stream.data, .size = test.stream.size,
			.at = next_random(&random) % test.stream.size,
			.bit = 1 << next_random(&random) % 8,
		};

		judge_flip(&verdicts, &flip, test.image, &good);
	}
	snprintf(name, sizeof(name), "%s%s%s", test.setup.btm ? "BTM" : "HTM",
		 test.setup.implicit_return ? ", implicit return" : "",
		 test.setup.timestamp ? ", times" : "");
	judge_print(name, test.stream.size, &verdicts);
	close_test(&test);
	return 0;
}

/* ---- files ---- */

static void put(FILE *file, uint64_t value, unsigned int bytes)
{
	for (; bytes; bytes--, value >>= 8)
		fputc(value & 0xff, file);
}

static FILE *create(const char *folder, const char *name)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "wb");
	if (!file) {
		perror(path);
		exit(2);
	}
	return file;
}

/* Write an ELF file with an ELF header, program headers, and the code of both regions. */
static void write_elf(const struct program *program, const char *folder)
{
	FILE *file = create(folder, "prog.elf");
	uint64_t at = 64 + 2 * 56;
	unsigned int i;

	fwrite("\177ELF\2\1\1\0\0\0\0\0\0\0\0\0", 1, 16, file);
	put(file, 2, 2);		/* e_type: ET_EXEC, an executable file */
	put(file, 243, 2);		/* e_machine: EM_RISCV */
	put(file, 1, 4);
	put(file, USER, 8);
	put(file, 64, 8);		/* program headers */
	put(file, 0, 8);
	put(file, 0, 4);
	put(file, 64, 2);
	put(file, 56, 2);
	put(file, 2, 2);
	put(file, 64, 2);
	put(file, 0, 4);
	for (i = 0; i < 2; i++) {
		uint64_t size = 2 * program->regions[i].nr;

		put(file, 1, 4);	/* PT_LOAD, R X */
		put(file, 5, 4);
		put(file, at, 8);
		put(file, program->regions[i].base, 8);
		put(file, program->regions[i].base, 8);
		put(file, size, 8);
		put(file, size, 8);
		put(file, 2, 8);
		at += size;
	}
	for (i = 0; i < 2; i++)
		fwrite(program->regions[i].code, 2, program->regions[i].nr, file);
	fclose(file);
}

static void write_hart(const struct program *program, const struct setup *setup, uint64_t seed,
		       unsigned int number, unsigned long insns, const char *folder)
{
	struct hart *hart = malloc(sizeof(*hart));
	struct stream stream = { 0 };
	struct encoder encoder = {
		.setup = setup, .stream = &stream, .src = number, .random = seed + 99 * number,
		.time = 1000000 * seed,
	};
	char name[32];
	FILE *file;

	snprintf(name, sizeof(name), "%u.pcs", number);
	file = create(folder, name);
	hart_start(hart, program, seed * 31 + number);
	encoder_start(&encoder, hart->pc);
	while (insns--) {
		uint64_t pc = hart->pc;

		if (hart_step(hart, &encoder))
			fprintf(file, "0x%" PRIx64 "\n", pc);
	}
	encoder_stop(&encoder);
	fclose(file);
	snprintf(name, sizeof(name), "%u.nt", number);
	file = create(folder, name);
	fwrite(stream.data, 1, stream.size, file);
	fclose(file);
	free(stream.data);
	free(stream.sent);
	free(encoder.extra);
	free(hart);
}

static int write_files(uint64_t seed, unsigned long insns, const char *folder, const char *kind,
		       unsigned int nr)
{
	struct program *program = malloc(sizeof(*program));
	struct setup setup;
	unsigned int i;

	if (!strcmp(kind, "random"))
		setup = random_setup(seed, &i);
	else if (!strcmp(kind, "k3"))
		setup = (struct setup){ .k3 = true, .btm = true, .timestamp = true,
			.tstamp_bits = 64, .icnt_max = 1 << 20, .sync_period = 100, .src_bits = 12 };
	else
		setup = (struct setup){ .implicit_return = true, .timestamp = true,
			.some_timestamps = true, .tstamp_bits = 40, .icnt_max = 20,
			.hist_max = 31, .run_min = 31, .sync_period = 1000, .addr_bits = 49,
			.src_bits = 2, .extras = true };
	program_make(program, seed);
	write_elf(program, folder);
	for (i = 0; i < nr; i++)
		write_hart(program, &setup, seed, i, insns, folder);
	free(program);
	return 0;
}

/* ---- measurement of the speed of the decoder ---- */

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static int speed(uint64_t seed, unsigned int insns)
{
	static struct test test;
	double best = 1e9, start, took;
	struct nt_config config;
	unsigned int i;

	open_test(&test, seed);
	config = config_of(&test.setup);
	execute(&test, insns);
	stop(&test);
	for (i = 0; i < 9; i++) {
		start = now();
		judge_decode(&config, test.image, test.stream.data, test.stream.size);
		took = now() - start;
		best = took < best ? took : best;
	}
	printf("%s%s%s%s: %.2f bits an instruction, %.0f M instructions/s\n",
	       test.setup.btm ? "BTM" : "HTM", test.setup.implicit_return ? ", implicit return" : "",
	       test.setup.timestamp ? ", times" : "", test.setup.run_min ? ", runs" : "",
	       8.0 * test.stream.size / insns, insns / best / 1e6);
	close_test(&test);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc >= 4 && !strcmp(argv[1], "run"))
		return run(strtoull(argv[2], NULL, 0), strtoull(argv[3], NULL, 0),
			   argc > 4 ? strtoull(argv[4], NULL, 0) : 1);
	if (argc == 4 && !strcmp(argv[1], "flips"))
		return flips(strtoull(argv[2], NULL, 0), strtoul(argv[3], NULL, 0));
	if (argc == 4 && !strcmp(argv[1], "speed"))
		return speed(strtoull(argv[2], NULL, 0), strtoul(argv[3], NULL, 0));
	if (argc == 7 && !strcmp(argv[1], "write"))
		return write_files(strtoull(argv[2], NULL, 0), strtoul(argv[3], NULL, 0), argv[4],
				   argv[5], strtoul(argv[6], NULL, 0));
	fprintf(stderr, "usage: roundtrip run|flips|write|speed ...\n");
	return 2;
}
