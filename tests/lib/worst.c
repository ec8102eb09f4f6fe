// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measure the streams whose decoding takes longest for their size.
 *
 * A few bytes can report millions of instructions of a repeated loop, and a decoder needs time to
 * output them. Streams that need much time for little output are worse. The program compares the
 * processor time of each stream with the time of an ordinary stream. This ratio hardly depends on
 * the machine and its load. The program exits with 1 if a stream takes longer than its limit.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <ntrace/ntrace.h>

#define BASE		0x10000ULL
#define CODE_SIZE	(1u << 20)
#define MAX_STREAM	(8u << 20)
#define ROUNDS		3

struct stream {
	uint8_t		data[MAX_STREAM];
	size_t		size;
	uint32_t	bits;
	unsigned int	nr_bits;
};

static struct stream stream;
static uint8_t code[CODE_SIZE];

/* ---- messages ---- */

static void put_fixed(uint64_t value, unsigned int bits)
{
	for (; bits; bits--, value >>= 1) {
		stream.bits |= (value & 1) << stream.nr_bits++;
		if (stream.nr_bits < 6)
			continue;
		stream.data[stream.size++] = stream.bits << 2;
		stream.bits = 0;
		stream.nr_bits = 0;
	}
}

static void put_var(uint64_t value)
{
	put_fixed(value, value ? 64 - __builtin_clzll(value) : 1);
	if (stream.nr_bits)
		put_fixed(0, 6 - stream.nr_bits);
	stream.data[stream.size - 1] |= 1;
}

static void put_end(void)
{
	stream.data[stream.size - 1] |= 3;
}

static void put_sync(uint64_t addr)
{
	put_fixed(NT_TCODE_PROG_TRACE_SYNC, 6);
	put_fixed(NT_SYNC_PERIODIC, 4);
	put_var(0);
	put_var(addr >> 1);
	put_end();
}

static void put_direct(uint64_t icnt)
{
	put_fixed(NT_TCODE_DIRECT_BRANCH, 6);
	put_var(icnt);
	put_end();
}

static void put_indirect(unsigned int btype, uint64_t icnt, uint64_t addr)
{
	put_fixed(NT_TCODE_INDIRECT_BRANCH, 6);
	put_fixed(btype, 2);
	put_var(icnt);
	put_var(addr >> 1);
	put_end();
}

static void put_one(unsigned int tcode, uint64_t value)
{
	put_fixed(tcode, 6);
	put_var(value);
	put_end();
}

static void put_hist_repeat(uint64_t hist, uint64_t times)
{
	put_fixed(NT_TCODE_RESOURCE_FULL, 6);
	put_fixed(NT_RCODE_HIST_REPEAT, 4);
	put_var(hist);
	put_var(times);
	put_end();
}

/* ---- streams that take the decoder as much time as possible ---- */

static void fill_code(uint16_t insn)
{
	unsigned int i;

	for (i = 0; i < CODE_SIZE; i += 2) {
		code[i] = insn;
		code[i + 1] = insn >> 8;
	}
}

#define C_NOP		0x0001
#define C_BEQZ_SELF	0xc101	/* c.beqz a0, . */
#define C_J_SELF	0xa001	/* c.j . */
#define C_JR_A0		0x8502	/* c.jr a0 */

/*
 * Make the ordinary stream, with which the others are compared. A loop has 8 instructions, and each
 * iteration has its own message.
 */
static void make_plain(void)
{
	unsigned int i;

	fill_code(C_NOP);
	code[14] = 0x6d;		/* c.bnez a0, -14 */
	code[15] = 0xf9;
	put_sync(BASE);
	for (i = 0; i < 200000; i++)
		put_direct(8);
}

static void make_repeat(void)
{
	unsigned int i;

	fill_code(C_BEQZ_SELF);
	put_sync(BASE);
	put_direct(1);
	for (i = 0; i < 8; i++)
		put_one(NT_TCODE_REPEAT_BRANCH, (1 << 18) - 1);
}

static void make_repeated_trap(void)
{
	unsigned int i;

	fill_code(C_NOP);
	put_sync(BASE);
	put_indirect(NT_BTYPE_TRAP, 0, 0);
	for (i = 0; i < 2; i++)
		put_one(NT_TCODE_REPEAT_BRANCH, (1 << 18) - 1);
}

static void make_icnt(void)
{
	fill_code(C_J_SELF);
	code[2] = C_JR_A0 & 0xff;
	put_sync(BASE);
	put_direct(1 << 21);
	put_sync(BASE);
}

static void make_hist_repeat(void)
{
	fill_code(C_BEQZ_SELF);
	put_sync(BASE);
	put_hist_repeat(0xffffffff, 1 << 16);
	put_sync(BASE);
}

/* Make a stream that reports no ranges. */
static void make_empty_hist_repeat(void)
{
	unsigned int i;

	fill_code(C_BEQZ_SELF);
	put_sync(BASE);
	for (i = 0; i < 8; i++)
		put_hist_repeat(1, (1 << 18) - 1);
}

/*
 * Each message reports one instruction, and then a trap to the following address. The code contains no
 * jump, so that the block which begins at each address extends to the end of the code.
 */
static void make_places(void)
{
	unsigned int i;

	fill_code(C_NOP);
	put_sync(BASE);
	for (i = 0; i < 20000; i++)
		put_indirect(NT_BTYPE_TRAP, 1, (BASE + 2 * i) ^ (BASE + 2 * i + 2));
}

/*
 * Continue at a new address after each SYNC. These addresses have no code, but each of them uses an entry
 * in the table of blocks.
 */
static void make_no_code(void)
{
	unsigned int i;

	for (i = 0; i < 60000; i++) {
		put_sync(0x100000000ULL + 2 * i);
		put_direct(1);
	}
}

/* Return the number whose product with @odd is 1 modulo 2^64 */
static uint64_t inverse(uint64_t odd)
{
	uint64_t x = odd;
	unsigned int i;

	for (i = 0; i < 6; i++)
		x *= 2 - odd * x;
	return x;
}

/* Continue at addresses that all have the same hash, and so share one slot of the table of blocks. */
static void make_collisions(void)
{
	uint64_t back = inverse(0x9e3779b97f4a7c15ULL);
	unsigned int i;

	for (i = 0; i < 120000; i++) {
		/*
		 * The library hashes an address divided by 2, here @place. The hash is the upper half of the
		 * product of @place and a constant. Here, this product is @i
		 */
		uint64_t place = i * back;

		if (place >> 63)
			continue;
		put_sync(place << 1);
		put_direct(1);
	}
}

/* Each message reports another context, which has another address space. */
static void make_contexts(void)
{
	unsigned int i;

	fill_code(C_NOP);
	put_sync(BASE);
	for (i = 0; i < 20000; i++) {
		put_one(NT_TCODE_OWNERSHIP, (uint64_t)i << 5 | 2);
		put_indirect(NT_BTYPE_TRAP, 1, 0x40);
	}
}

/* ---- measurement of the time that each stream takes ---- */

static uint64_t space_of(void *ctx, const struct nt_context *context)
{
	(void)ctx;
	return context->scontext;
}

struct cost {
	double		seconds;
	uint64_t	ranges;
	uint64_t	messages;
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static struct cost decode_once(void)
{
	struct nt_image_reader reader = { .space = space_of };
	struct nt_config config = NT_CONFIG_INIT;
	struct nt_image *image = nt_image_new();
	struct cost cost = { .seconds = now() };
	struct nt_batch batch;
	struct nt_stats stats;
	struct nt_flow *flow;

	config.return_depth = NT_RETURN_DEPTH_MAX;
	nt_image_add(image, 0, BASE, code, sizeof(code));
	nt_image_set_reader(image, &reader);
	flow = nt_flow_new(&config, image);
	nt_flow_feed(flow, stream.data, stream.size);
	while (nt_flow_next_batch(flow, &batch) > 0)
		cost.ranges += batch.nr;
	nt_flow_stats(flow, &stats, sizeof(stats));
	cost.messages = stats.messages;
	nt_flow_free(flow);
	nt_image_free(image);
	cost.seconds = now() - cost.seconds;
	return cost;
}

static struct cost measure(void (*make)(void))
{
	struct cost best = { .seconds = 1e9 };
	unsigned int i;

	memset(&stream, 0, sizeof(stream));
	make();
	for (i = 0; i < ROUNDS; i++) {
		struct cost cost = decode_once();

		if (cost.seconds < best.seconds)
			best = cost;
	}
	return best;
}

enum unit { PER_RANGE, PER_MESSAGE };

static const struct {
	const char	*name;
	void		(*make)(void);
	enum unit	unit;
	double		limit;		/* limit as a multiple of the ordinary stream's time */
} streams[] = {
	{ "RepeatBranch of a branch", make_repeat, PER_RANGE, 12 },
	{ "RepeatBranch of a trap", make_repeated_trap, PER_RANGE, 30 },
	{ "I-CNT through a loop of jumps", make_icnt, PER_RANGE, 12 },
	{ "HREPEAT", make_hist_repeat, PER_RANGE, 12 },
	{ "HREPEAT of an empty HIST", make_empty_hist_repeat, PER_MESSAGE, 50000 },
	{ "each message jumps to another address in straight code", make_places, PER_MESSAGE, 10000 },
	{ "each message jumps to another address without code", make_no_code, PER_MESSAGE, 500 },
	{ "each message jumps to another address of one slot of the table", make_collisions, PER_MESSAGE, 1200 },
	{ "each message reports another context", make_contexts, PER_MESSAGE, 8000 },
};

int main(void)
{
	struct cost plain = measure(make_plain);
	double per_range = plain.seconds / plain.ranges;
	double per_message = plain.seconds / plain.messages;
	int status = 0;
	size_t i;

	printf("plain: %.1f ns a range\n", per_range * 1e9);
	for (i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
		struct cost cost = measure(streams[i].make);
		double ratio = streams[i].unit == PER_RANGE ?
			cost.seconds / cost.ranges / per_range :
			cost.seconds / cost.messages / per_message;

		printf("%s: %zu bytes, %.1f ms, %.0f ns a byte, %" PRIu64 " ranges, %.1f times a plain %s%s\n",
		       streams[i].name, stream.size, cost.seconds * 1e3,
		       cost.seconds * 1e9 / stream.size, cost.ranges, ratio,
		       streams[i].unit == PER_RANGE ? "range" : "message",
		       ratio > streams[i].limit ? ": TOO SLOW" : "");
		status |= ratio > streams[i].limit;
	}
	return status;
}
