// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test that several threads decode a buffer to the same items, with all their fields, and the same
 * statistics as one flow. The library returns the parts once in order and once in any order. In the
 * second case, the test sorts the parts before it compares them.
 *
 *   parallel [FOLDER]
 *
 * A small encoder in this file, written from the tables of the specification, makes the streams.
 * FOLDER has prog.elf and its traces, which lib/unit.t made. A part is a piece of the buffer that one
 * thread decodes. A small NT_CELL_SIZE makes the parts short, so that parts begin and end in many
 * different situations.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <ntrace/ntrace.h>

#include "alloc.h"
#include "counted.h"
#include "code.h"
#include "items.h"

#define MAX_SIZE	(400u << 10)
#define MAX_THREADS	5

/* Size of each stream in bytes, and number of bytes by which each short stream is longer than the previous one */
#ifndef STREAM_SIZE
#define STREAM_SIZE	(300u << 10)
#define SHORT_STEP	7
#endif
/* Number of allocations to test. One of them fails in each repetition of the test. */
#ifndef ALLOCATIONS
#define ALLOCATIONS	120
#endif

static const char *folder;

/* ---- writer of messages (chapters 3 and 6.1 of the specification) ---- */

struct stream {
	uint8_t		*data;
	size_t		size;
	unsigned int	src_bits;
	bool		timestamp;
	/* The last bits of the current message that do not fill a byte yet, and their number */
	unsigned int	acc;
	unsigned int	nr_acc;
};

static void put_byte(struct stream *stream, unsigned int mdo, unsigned int mseo)
{
	assert_true(stream->size < MAX_SIZE);
	stream->data[stream->size++] = mdo << 2 | mseo;
}

static void put_fixed(struct stream *stream, unsigned int bits, unsigned int value)
{
	stream->acc |= value << stream->nr_acc;
	stream->nr_acc += bits;
	while (stream->nr_acc > 6) {
		put_byte(stream, stream->acc & 0x3f, 0);
		stream->acc >>= 6;
		stream->nr_acc -= 6;
	}
}

/* Append a variable-length field. Its first bits complete the last byte of the fixed fields before it. */
static void put_var(struct stream *stream, uint64_t value)
{
	unsigned __int128 all = (unsigned __int128)value << stream->nr_acc | stream->acc;
	unsigned int done = stream->nr_acc;

	if (done == 6) {
		put_byte(stream, stream->acc & 0x3f, 0);
		all >>= 6;
	}
	while (all >> 6) {
		put_byte(stream, all & 0x3f, 0);
		all >>= 6;
	}
	put_byte(stream, all, 1);
	stream->acc = 0;
	stream->nr_acc = 0;
}

static void begin_message(struct stream *stream, unsigned int tcode, unsigned int src)
{
	put_fixed(stream, 6, tcode);
	if (stream->src_bits)
		put_fixed(stream, stream->src_bits, src);
}

static void end_message(struct stream *stream)
{
	stream->data[stream->size - 1] |= 3;
}

/* ---- a hart that runs a program of equal blocks of code (units), and its encoder ---- */

#define BASE	0x1000u
#define UNITS	256u

/*
 * The program is an array of units of 16 bytes. A unit has different code in each address space:
 *	space 0: c.nop; c.beqz a0, 1f; c.nop; c.nop; 1: c.nop; c.jr a1
 *	space 1, and odd units of space 0: 5 times c.nop; c.jr a1
 */
static uint8_t code[2][UNITS * 16];

static void make_code(void)
{
	static const uint16_t units[2][8] = {
		{ 0x0001, 0xc119, 0x0001, 0x0001, 0x0001, 0x8582, 0x0001, 0x0001 },
		{ 0x0001, 0x0001, 0x0001, 0x0001, 0x0001, 0x8582, 0x0001, 0x0001 },
	};
	unsigned int i, k;

	for (k = 0; k < 2; k++)
		for (i = 0; i < UNITS * 8; i++) {
			code[k][2 * i] = units[k | (i / 8 & 1)][i % 8] & 0xff;
			code[k][2 * i + 1] = units[k | (i / 8 & 1)][i % 8] >> 8;
		}
}

struct hart {
	unsigned int	src;
	bool		htm;
	bool		running;
	uint64_t	pc;
	uint64_t	ref;
	uint64_t	context;
	uint64_t	time;		/* time that was reported last */
};

struct maker {
	struct stream	stream;
	uint64_t	seed;
	uint64_t	time;
	unsigned int	tstamp_bits;
	unsigned int	spaces;
	unsigned int	sync_every;	/* average number of messages between two SYNC */
	unsigned int	oddities;	/* average number of messages between two unusual ones; 0: no unusual ones */
	bool		changes_mode;
	bool		stops;		/* each SYNC follows ProgTraceCorrelation */
	bool		no_branch;	/* no branch is executed between SYNC and the next message */
	unsigned int	nr_harts;
	struct hart	harts[3];
};

static uint32_t draw(struct maker *maker, uint32_t n)
{
	maker->seed = maker->seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (maker->seed >> 33) % n;
}

static void put_time(struct maker *maker, struct hart *hart, bool sync)
{
	uint64_t mask = maker->tstamp_bits < 64 ? (1ULL << maker->tstamp_bits) - 1 : UINT64_MAX;

	maker->time += draw(maker, 40);
	if (!maker->stream.timestamp || (!sync && !draw(maker, 3)))
		return;
	put_var(&maker->stream, sync ? maker->time & mask : maker->time - hart->time);
	hart->time = maker->time;
}

static void put_ownership(struct maker *maker, struct hart *hart)
{
	static const unsigned int formats[] = { 0, 2, 3, 2 };
	unsigned int format = formats[draw(maker, 4)];
	static const unsigned int privs[] = { 0, 1, 3, 4, 5, 2 };
	unsigned int priv = privs[draw(maker, maker->oddities ? 6 : 5)];

	if (format == 2 && priv != 2)
		hart->context = draw(maker, 100);
	begin_message(&maker->stream, 2, hart->src);
	put_var(&maker->stream, format | priv << 2 |
		(format == 2 ? hart->context : draw(maker, 1000)) << 5);
	put_time(maker, hart, false);
	end_message(&maker->stream);
}

static void put_sync(struct maker *maker, struct hart *hart, unsigned int reason)
{
	begin_message(&maker->stream, 9, hart->src);
	put_fixed(&maker->stream, 4, reason);
	put_var(&maker->stream, 0);
	put_var(&maker->stream, hart->pc >> 1);
	put_time(maker, hart, true);
	end_message(&maker->stream);
	hart->ref = hart->pc;
	hart->running = true;
	if (draw(maker, 2))
		put_ownership(maker, hart);
}

static void put_stop(struct maker *maker, struct hart *hart)
{
	begin_message(&maker->stream, 33, hart->src);
	put_fixed(&maker->stream, 4, 4);
	put_fixed(&maker->stream, 2, hart->htm);
	put_var(&maker->stream, 0);
	if (hart->htm)
		put_var(&maker->stream, 1);
	put_time(maker, hart, false);
	end_message(&maker->stream);
	hart->running = false;
}

static void put_error(struct maker *maker, struct hart *hart)
{
	begin_message(&maker->stream, 8, hart->src);
	put_fixed(&maker->stream, 4, 0);
	put_var(&maker->stream, 1u << draw(maker, 5));
	put_time(maker, hart, false);
	end_message(&maker->stream);
	hart->context = 0;
	if (draw(maker, 2))
		put_sync(maker, hart, 7);
}

/* Send the messages of a hart that executes one 16-byte unit of the program and jumps to another unit. */
static void put_unit(struct maker *maker, struct hart *hart, bool sync)
{
	struct stream *stream = &maker->stream;
	uint64_t dest = BASE + 16 * draw(maker, UNITS);
	bool branch = !(hart->pc & 16) && (maker->spaces < 2 || !(hart->context & 1));
	bool has_hist = hart->htm && (branch || !maker->no_branch || sync);
	bool taken = branch && draw(maker, 3);
	unsigned int icnt = taken ? 4 : 6;

	if (sync && maker->no_branch)
		dest |= 16;
	if (taken && !hart->htm) {
		begin_message(stream, 3, hart->src);
		put_var(stream, 2);
		put_time(maker, hart, false);
		end_message(stream);
		icnt = 2;
	}
	begin_message(stream, (has_hist ? 28 : 4) + (!sync ? 0 : hart->htm ? 1 : 8), hart->src);
	if (sync)
		put_fixed(stream, 4, 2);
	put_fixed(stream, 2, 0);
	put_var(stream, icnt);
	put_var(stream, sync ? dest >> 1 : (dest ^ hart->ref) >> 1);
	if (has_hist)
		put_var(stream, !branch ? 1 : taken ? 3 : 2);
	put_time(maker, hart, sync);
	end_message(stream);
	hart->pc = dest;
	hart->ref = dest;
}

static void put_vendor(struct maker *maker, struct hart *hart)
{
	begin_message(&maker->stream, 56 + draw(maker, 7), hart->src);
	put_var(&maker->stream, draw(maker, 100000));
	end_message(&maker->stream);
}

/* Add one of several unusual messages or errors, which an encoder or a noisy line may cause. */
static void put_oddity(struct maker *maker, struct hart *hart)
{
	switch (draw(maker, 8)) {
	case 0:
		put_error(maker, hart);
		break;
	case 1:
		put_vendor(maker, hart);
		break;
	case 2:
		put_stop(maker, hart);
		break;
	case 3:		/* damage the last message */
		maker->stream.data[maker->stream.size - 1 - draw(maker, 4)] ^= 1 << draw(maker, 8);
		break;
	case 4:		/* lose up to 7 bytes of the last message */
		maker->stream.size -= draw(maker, 8);
		break;
	case 5:
		memset(maker->stream.data + maker->stream.size, 0xff, 40);
		maker->stream.size += draw(maker, 40);
		break;
	case 6:
		put_ownership(maker, hart);
		break;
	case 7:
		put_sync(maker, hart, draw(maker, 16));
		break;
	}
}

static void step(struct maker *maker, struct hart *hart)
{
	if (!hart->running) {
		if (maker->changes_mode)
			hart->htm = draw(maker, 2);
		put_sync(maker, hart, 5);
	} else if (maker->oddities && !draw(maker, maker->oddities)) {
		put_oddity(maker, hart);
	} else if (!draw(maker, maker->sync_every)) {
		if (draw(maker, 2) && !maker->no_branch)
			put_sync(maker, hart, 2);
		else if (maker->stops && hart->pc & 16)
			put_stop(maker, hart);
		else if (maker->stops)
			put_unit(maker, hart, false);
		else
			put_unit(maker, hart, true);
	} else if (!draw(maker, 50)) {
		put_ownership(maker, hart);
	} else {
		put_unit(maker, hart, false);
	}
}

static void make(struct maker *maker, size_t size)
{
	unsigned int i;

	maker->stream.data = malloc(MAX_SIZE);
	maker->stream.size = 0;
	for (i = 0; i < maker->nr_harts; i++) {
		maker->harts[i].src = i + 1;
		maker->harts[i].htm = maker->harts[0].htm;
		maker->harts[i].pc = BASE;
	}
	while (maker->stream.size < size)
		step(maker, &maker->harts[draw(maker, maker->nr_harts)]);
}

static uint64_t find_space(void *ctx, const struct nt_context *context)
{
	(void)ctx;
	return context->has_scontext ? context->scontext & 1 : 0;
}

static int read_space(void *ctx, uint64_t space, uint64_t addr, uint8_t *buf, size_t size)
{
	(void)ctx;
	if (addr - BASE >= sizeof(code[0]))
		return 0;
	if (size > sizeof(code[0]) - (addr - BASE))
		size = sizeof(code[0]) - (addr - BASE);
	memcpy(buf, code[space] + (addr - BASE), size);
	return size;
}

static struct nt_image *make_image(unsigned int spaces)
{
	static const struct nt_image_reader reader = { .space = find_space, .read = read_space };
	struct nt_image *image = nt_image_new();

	if (spaces > 1)
		nt_image_set_reader(image, &reader);
	else
		nt_image_add(image, 0, BASE, code[0], sizeof(code[0]));
	return image;
}

/* ---- decoded items ---- */

/*
 * The fields of an item that are compared. @part is needed to sort items that arrive out of order.
 */
struct print {
	uint64_t	part;
	uint64_t	hash;
	uint64_t	offset;
	uint8_t		tcode;
};

struct prints {
	const struct nt_config *config;
	struct print	*data;
	size_t		nr;
	size_t		room;
	uint64_t	errors;
	size_t		wanted;		/* print the item with this index */
	size_t		stop_at;	/* number of batches after which consume() returns 77, or 0 to never return it */
	size_t		calls;
	bool		late;		/* true if the library called consume() again after it had returned 77 */
};

static void add_item(struct prints *prints, uint64_t part, const struct nt_item *item)
{
	char desc[256];

	if (prints->nr == prints->room) {
		prints->room = prints->room ? 2 * prints->room : 1000;
		prints->data = realloc(prints->data, prints->room * sizeof(*prints->data));
	}
	if (prints->nr == prints->wanted) {
		nt_item_desc(item, desc, sizeof(desc));
		print_message("# item %zu: %s [source %u, time %llu kind %u, scontext %llu, tcode %u, "
			      "offset %llu]\n", prints->nr, desc, item->src,
			      (unsigned long long)item->tstamp, item->tstamp_kind,
			      (unsigned long long)item->context.scontext, item->tcode,
			      (unsigned long long)item->offset);
	}
	prints->data[prints->nr++] = (struct print){
		.part = part, .hash = items_hash(0, item), .offset = item->offset,
		.tcode = item->tcode,
	};
	prints->errors += item->type == NT_ITEM_ERROR || item->type == NT_ITEM_GAP;
}

static int add_part_batch(void *ctx, uint64_t part, const struct nt_batch *batch)
{
	struct prints *prints = ctx;
	struct items items = { .config = prints->config, .batch = *batch };
	struct nt_item item;

	prints->late |= prints->stop_at && prints->calls >= prints->stop_at;
	if (++prints->calls == prints->stop_at)
		return 77;
	if (!batch->nr)
		add_item(prints, part, &batch->item);
	while (items.next < batch->nr) {
		items_take_range(&items, &item);
		add_item(prints, part, &item);
	}
	return 0;
}

static int add_batch(void *ctx, const struct nt_batch *batch)
{
	return add_part_batch(ctx, 0, batch);
}

struct input {
	struct nt_config	config;
	struct nt_image		*image;
	const uint8_t		*data;
	size_t			size;
};

static struct prints new_prints(const struct input *input, size_t wanted)
{
	return (struct prints){ .config = &input->config, .wanted = wanted };
}

/* Decode with one flow, and get its items one by one. */
static struct prints decode_one(const struct input *input, size_t wanted, struct nt_stats *stats)
{
	struct prints prints = new_prints(input, wanted);
	struct nt_flow *flow = nt_flow_new(&input->config, input->image);
	struct nt_item item;
	int ended;

	nt_flow_feed(flow, input->data, input->size);
	for (ended = 0; ended < 2; ended++) {
		while (nt_flow_next(flow, &item) > 0)
			add_item(&prints, 0, &item);
		nt_flow_end(flow);
	}
	nt_flow_stats(flow, stats, sizeof(*stats));
	nt_flow_free(flow);
	return prints;
}

/*
 * Put the items of all threads into one list. Each item has the number of the part of the trace from which a thread has
 * decoded it, and the list is sorted by this number.
 */
static struct prints merge(const struct input *input, struct prints *threads, unsigned int nr)
{
	struct prints all = new_prints(input, SIZE_MAX);
	size_t at[MAX_THREADS] = { 0 }, i, k;

	for (;;) {
		for (i = 0, k = nr; i < nr; i++)
			if (at[i] < threads[i].nr &&
			    (k == nr || threads[i].data[at[i]].part < threads[k].data[at[k]].part))
				k = i;
		if (k == nr)
			return all;
		if (all.nr == all.room) {
			all.room = all.room ? 2 * all.room : 1000;
			all.data = realloc(all.data, all.room * sizeof(*all.data));
		}
		all.data[all.nr++] = threads[k].data[at[k]++];
	}
}

static struct prints decode_unordered(const struct input *input, unsigned int nr,
				      struct nt_stats *stats)
{
	struct prints threads[MAX_THREADS], all;
	void *ctxs[MAX_THREADS];
	unsigned int i;

	for (i = 0; i < nr; i++) {
		threads[i] = new_prints(input, SIZE_MAX);
		ctxs[i] = &threads[i];
	}
	assert_int_equal(nt_parallel_decode_unordered(&input->config, input->image, input->data,
						      input->size, nr, add_part_batch, ctxs,
						      stats), NT_OK);
	all = merge(input, threads, nr);
	for (i = 0; i < nr; i++)
		free(threads[i].data);
	return all;
}

static struct prints decode_ordered(const struct input *input, unsigned int nr, size_t wanted,
				    struct nt_stats *stats)
{
	struct prints prints = new_prints(input, wanted);

	assert_int_equal(nt_parallel_decode(&input->config, input->image, input->data, input->size,
					    nr, add_batch, &prints, stats), NT_OK);
	return prints;
}

/*
 * Return true if two items are equal, as items_are_same() does. In a stream without timestamps, @other may name a later
 * message than @one, because @other is from a batch.
 */
static bool is_same(const struct input *input, const struct print *one, const struct print *other)
{
	if (one->hash != other->hash || other->offset < one->offset)
		return false;
	return one->offset == other->offset ? one->tcode == other->tcode :
	       !input->config.timestamp && other->tcode;
}

static void compare(const struct input *input, const struct prints *one, struct prints *other,
		    const char *title, unsigned int threads)
{
	struct prints again;
	struct nt_stats stats;
	size_t i;

	for (i = 0; i < one->nr && i < other->nr; i++)
		if (!is_same(input, &one->data[i], &other->data[i]))
			break;
	if (i < one->nr || i < other->nr) {
		print_message("# %s, %u threads: item %zu differs; %zu and %zu items\n", title,
			      threads, i, one->nr, other->nr);
		again = decode_one(input, i, &stats);
		free(again.data);
		again = decode_ordered(input, threads, i, &stats);
		free(again.data);
		fail_msg("%s, %u threads: not the items of one flow", title, threads);
	}
	free(other->data);
}

/* Check that the counts of several threads equal the counts of the ranges that one flow returns. */
static void assert_counts(const struct input *input, const char *title)
{
	struct items_way plain = { .piece = SIZE_MAX };
	struct counted counted = { 0 };
	struct nt_counts *counts;
	struct items items;
	struct nt_item item;
	unsigned int threads;

	assert_true(items_begin(&items, &input->config, input->image, input->data, input->size,
				plain));
	while (items_next(&items, &item))
		counted_add_item(&counted, &item);
	items_end(&items);
	counted_fold(&counted);
	for (threads = 1; threads <= MAX_THREADS; threads += 2) {
		counts = nt_counts_new();
		assert_int_equal(nt_parallel_count(&input->config, input->image, input->data,
						   input->size, threads, counts, NULL), NT_OK);
		if (!counted_is(&counted, counts))
			fail_msg("%s, %u threads: counts differ", title, threads);
		nt_counts_free(counts);
	}
	counted_free(&counted);
}

/* Compare the items of one flow with those of several threads. Return the number of parts. */
static uint64_t assert_all_same(const struct input *input, const char *title)
{
	uint64_t parts = 0;
	struct nt_stats one_stats, stats;
	struct prints one = decode_one(input, SIZE_MAX, &one_stats), other;
	unsigned int threads;

	assert_counts(input, title);
	for (threads = 1; threads <= MAX_THREADS; threads += 2 - threads % 2) {
		other = decode_ordered(input, threads, SIZE_MAX, &stats);
		compare(input, &one, &other, title, threads);
		if (memcmp(&stats, &one_stats, sizeof(stats)))
			fail_msg("%s, %u threads: statistics differ", title, threads);
		other = decode_unordered(input, threads, &stats);
		parts = other.nr ? other.data[other.nr - 1].part + 1 : 0;
		compare(input, &one, &other, title, threads);
		if (memcmp(&stats, &one_stats, sizeof(stats)))
			fail_msg("%s, %u threads, out of order: statistics differ", title, threads);
	}
	free(one.data);
	return parts;
}

/* ---- tests that several threads decode the stream of each struct plan like one thread ---- */

struct plan {
	const char	*title;
	unsigned int	src_bits;
	unsigned int	src_id;		/* source to decode, or 0 for any */
	unsigned int	tstamp_bits;	/* width of TSTAMP, or 0 without timestamps */
	unsigned int	spaces;
	unsigned int	nr_harts;
	unsigned int	oddities;
	unsigned int	sync_every;
	unsigned int	mode;
	bool		htm;
	bool		changes_mode;
	bool		no_branch;
	bool		stops;
	bool		must_split;	/* several threads must decode this stream */
};

static const struct plan plans[] = {
	{ "plain HTM", .htm = true, .sync_every = 100, .must_split = true },
	{ "plain BTM", .sync_every = 100, .must_split = true },
	{ "HTM, IndirectBranch after SYNC", .htm = true, .sync_every = 30, .no_branch = true, .must_split = true },
	{ "BTM, IndirectBranch after SYNC", .sync_every = 30, .tstamp_bits = 16, .no_branch = true,
	  .must_split = true },
	{ "trace stops often", .htm = true, .sync_every = 20, .no_branch = true, .stops = true, .must_split = true },
	{ "trace stops often, oddities", .htm = true, .sync_every = 20, .oddities = 40, .no_branch = true,
	  .stops = true },
	{ "IndirectBranch after SYNC, oddities", .htm = true, .sync_every = 20, .oddities = 30, .spaces = 2,
	  .no_branch = true },
	{ "IndirectBranch after SYNC, mode changes", .htm = true, .sync_every = 20, .oddities = 60,
	  .changes_mode = true, .no_branch = true },
	{ "BTM, the config has the mode", .mode = NT_MODE_BTM, .sync_every = 30 },
	{ "SYNC is rare", .htm = true, .sync_every = 20000 },
	{ "no SYNC", .htm = true, .sync_every = UINT32_MAX },
	{ "times", .htm = true, .tstamp_bits = 64, .sync_every = 100 },
	{ "times of 40 bits", .htm = true, .tstamp_bits = 40, .sync_every = 100 },
	{ "times that wrap often", .htm = true, .tstamp_bits = 16, .sync_every = 40 },
	{ "times that wrap in each message", .tstamp_bits = 4, .sync_every = 40 },
	{ "contexts", .htm = true, .spaces = 2, .sync_every = 100 },
	{ "contexts and times", .spaces = 2, .tstamp_bits = 12, .sync_every = 30 },
	{ "oddities", .htm = true, .oddities = 60, .sync_every = 100 },
	{ "oddities, BTM", .oddities = 200, .sync_every = 50, .tstamp_bits = 20 },
	{ "many oddities", .htm = true, .oddities = 6, .sync_every = 10, .tstamp_bits = 16,
	  .spaces = 2 },
	{ "oddities, the config has the mode", .htm = true, .mode = NT_MODE_HTM, .oddities = 30,
	  .sync_every = 30, .tstamp_bits = 64 },
	{ "two sources, one is decoded", .htm = true, .src_bits = 4, .src_id = 2, .nr_harts = 2,
	  .sync_every = 50 },
	{ "three sources, one is decoded, with contexts and times", .src_bits = 9, .src_id = 3, .nr_harts = 3,
	  .sync_every = 50, .tstamp_bits = 14, .oddities = 100, .spaces = 2 },
	{ "three sources, all are decoded", .htm = true, .src_bits = 2, .nr_harts = 3, .sync_every = 50,
	  .tstamp_bits = 16 },
	{ "one source", .htm = true, .src_bits = 12, .nr_harts = 1, .sync_every = 50 },
	{ "mode changes", .htm = true, .changes_mode = true, .oddities = 100, .sync_every = 50 },
	{ "mode changes, the config has a mode", .htm = true, .changes_mode = true, .oddities = 100,
	  .sync_every = 50, .mode = NT_MODE_HTM },
};

#define NR_PLANS	(sizeof(plans) / sizeof(plans[0]))

static struct input make_input(const struct plan *plan, uint64_t seed, size_t size)
{
	struct maker maker = {
		.seed = seed, .tstamp_bits = plan->tstamp_bits, .spaces = plan->spaces,
		.sync_every = plan->sync_every, .oddities = plan->oddities,
		.changes_mode = plan->changes_mode, .no_branch = plan->no_branch,
		.stops = plan->stops, .nr_harts = plan->nr_harts ? plan->nr_harts : 1,
		.stream = { .src_bits = plan->src_bits, .timestamp = plan->tstamp_bits },
		.harts = { { .htm = plan->htm } },
	};
	struct input input = { .config = NT_CONFIG_INIT };

	make(&maker, size);
	input.config.src_bits = plan->src_bits;
	if (plan->src_id)
		input.config.src_id = plan->src_id;
	input.config.timestamp = !!plan->tstamp_bits;
	input.config.tstamp_bits = plan->tstamp_bits;
	input.config.mode = plan->mode;
	input.image = make_image(plan->spaces);
	input.data = maker.stream.data;
	input.size = maker.stream.size;
	return input;
}

static void free_input(struct input *input)
{
	nt_image_free(input->image);
	free((void *)input->data);
}

static void items_are_those_of_one_flow(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < NR_PLANS; i++) {
		struct input input = make_input(&plans[i], i, STREAM_SIZE);

		if (assert_all_same(&input, plans[i].title) < 5 && plans[i].must_split)
			fail_msg("%s: the stream was not split", plans[i].title);
		free_input(&input);
	}
}

/* Generated streams are valid, so they decode without errors if @oddities of the plan is 0. */
static void streams_are_valid(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < NR_PLANS; i++) {
		struct input input = make_input(&plans[i], i + 1000, 20u << 10);
		struct nt_stats stats;
		struct prints prints = decode_one(&input, SIZE_MAX, &stats);

		assert_true(prints.nr > 500);
		if (!plans[i].oddities && prints.errors)
			fail_msg("%s: %llu errors", plans[i].title, (unsigned long long)prints.errors);
		free(prints.data);
		free_input(&input);
	}
}

/*
 * Decode streams of every size, so that the end of the stream and the boundaries between parts fall on
 * every byte of a message.
 */
static void short_streams(void **state)
{
	size_t i, size;

	(void)state;
	for (i = 0; i < NR_PLANS; i++) {
		struct input input = make_input(&plans[i], i + 2000, 3000);

		for (size = 0; size < 1200; size += SHORT_STEP) {
			input.size = size;
			assert_all_same(&input, plans[i].title);
		}
		free_input(&input);
	}
}

static void real_traces(void **state)
{
	static const struct {
		const char	*name;
		struct nt_config config;
	} traces[] = {
#define CONFIG(...) { .size = sizeof(struct nt_config), .xlen = 64, .src_id = NT_SRC_ANY, __VA_ARGS__ }
		{ "htm", CONFIG(.mode = 0) },
		{ "btm", CONFIG(.mode = NT_MODE_BTM) },
		{ "ir", CONFIG(.return_depth = 32) },
		{ "ts", CONFIG(.timestamp = 1, .src_bits = 4) },
		{ "rep", CONFIG(.return_depth = 32) },
		{ "all", CONFIG(.return_depth = 32, .sequential_jump = 1, .all_jumps = 1,
				.extend_addr = 1, .timestamp = 1) },
	};
	size_t i;

	(void)state;
	if (!folder)
		skip();
	for (i = 0; i < sizeof(traces) / sizeof(traces[0]); i++) {
		struct input input = { .config = traces[i].config, .image = nt_image_new() };
		char path[512];
		unsigned int xlen;
		FILE *file;
		uint8_t *data = malloc(8 << 20);

		snprintf(path, sizeof(path), "%s/prog.elf", folder);
		assert_true(add_code(input.image, path, &xlen));
		snprintf(path, sizeof(path), "%s/%s", folder, traces[i].name);
		file = fopen(path, "rb");
		assert_non_null(file);
		input.size = fread(data, 1, 8 << 20, file);
		input.data = data;
		fclose(file);
		assert_all_same(&input, traces[i].name);
		free_input(&input);
	}
}

/* After consume() has returned a value other than 0, the library must not call it. */
static void stops_at_once(void **state)
{
	struct input input = make_input(&plans[0], 5, 60u << 10);
	struct prints prints[MAX_THREADS];
	void *ctxs[MAX_THREADS];
	unsigned int threads, i;
	size_t at;

	(void)state;
	for (threads = 1; threads <= 3; threads++) {
		for (at = 1; at < 200; at += 1 + at / 2) {
			prints[0] = new_prints(&input, SIZE_MAX);
			prints[0].stop_at = at;
			assert_int_equal(nt_parallel_decode(&input.config, input.image, input.data,
							    input.size, threads, add_batch, prints,
							    NULL), 77);
			assert_false(prints[0].late);
			assert_int_equal(prints[0].calls, at);
			free(prints[0].data);
		}
		for (i = 0; i < threads; i++) {
			prints[i] = new_prints(&input, SIZE_MAX);
			prints[i].stop_at = 1;
			ctxs[i] = &prints[i];
		}
		assert_int_equal(nt_parallel_decode_unordered(&input.config, input.image, input.data,
							      input.size, threads, add_part_batch,
							      ctxs, NULL), 77);
		for (i = 0; i < threads; i++)
			assert_true(prints[i].calls <= 1);
	}
	assert_int_equal(nt_parallel_decode(&input.config, input.image, input.data, input.size, 0,
					    add_batch, prints, NULL), NT_E_INVALID);
	free_input(&input);
}

/* ---- out of memory (see --wrap in lib/parallel.t) ---- */

static long allocations = -1;	/* number of allocations until one fails, or negative if none fails */

static bool alloc_fails(void)
{
	return __atomic_load_n(&allocations, __ATOMIC_RELAXED) >= 0 &&
	       __atomic_fetch_sub(&allocations, 1, __ATOMIC_RELAXED) == 0;
}

/*
 * If an allocation fails, the library may return fewer items, but the returned items must be right.
 * If items are missing, the return value must report an error.
 */
static void memory_runs_out(void **state)
{
	struct input input = make_input(&plans[15], 7, 60 << 10);
	struct nt_stats stats;
	struct prints one = decode_one(&input, SIZE_MAX, &stats), other;
	unsigned int nomem = 0;
	size_t i;
	long n;

	(void)state;
	for (n = 0; n < ALLOCATIONS; n++) {
		other = new_prints(&input, SIZE_MAX);
		other.room = one.nr + 1000;
		other.data = malloc(other.room * sizeof(*other.data));
		__atomic_store_n(&allocations, n, __ATOMIC_RELAXED);
		int ret = nt_parallel_decode(&input.config, input.image, input.data, input.size, 2,
					     add_batch, &other, &stats);

		__atomic_store_n(&allocations, -1, __ATOMIC_RELAXED);
		assert_true(ret == NT_OK || ret == NT_E_NOMEM);
		nomem += ret == NT_E_NOMEM;
		for (i = 0; i < other.nr; i++)
			if (i >= one.nr || !is_same(&input, &one.data[i], &other.data[i]))
				fail_msg("allocation %ld fails: item %zu is another", n, i);
		if (ret == NT_OK)
			assert_int_equal(other.nr, one.nr);
		free(other.data);
	}
	assert_true(nomem > 5);
	free(one.data);
	free_input(&input);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams_are_valid),
		cmocka_unit_test(items_are_those_of_one_flow),
		cmocka_unit_test(short_streams),
		cmocka_unit_test(stops_at_once),
		cmocka_unit_test(memory_runs_out),
		cmocka_unit_test(real_traces),
	};

	folder = argc > 1 ? argv[1] : NULL;
	make_code();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
