// SPDX-License-Identifier: GPL-2.0-only
/*
 * Change the bytes of a trace while the library decodes them, as a process does that writes to a mapped file.
 *
 *   changes ELF TRACE ROUNDS htm|btm|ir|ts
 *
 * Each read of the trace causes a fault. The handler of the fault changes some bytes around the address, lets this
 * one instruction read them, and protects the trace again. Therefore bytes can change between any two reads, and the
 * same arguments lead to the same changes. A page that cannot be read follows the trace. The program exits with 1 if
 * the library reads this page, and with 77 on a processor whose instructions it cannot execute one by one.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <ntrace/ntrace.h>

#include "code.h"

#define PAGE		4096
#define ROOM		(2 * PAGE)
#define MAX_SIZE	2020
#define MAX_ITEMS	5000
#define FRAMES		(100 * NT_FRAME_SIZE)
#define OUT		50		/* size of a buffer for the bytes of one trace ID */

static struct {
	uint8_t		*room, *begin, *end;	/* the trace is from @begin to @end, which is the end of @room */
	uint8_t		*writable;		/* a second mapping of @room, which is never protected */
	uint8_t		*changed, was;		/* the last changed byte, and its previous value */
	const uint8_t	*other;			/* bytes that replace the whole trace at read number @until, or NULL */
	unsigned int	until;
	uint64_t	seed, nr;		/* state of random generator choose(), and number of changed bytes */
} t = { .seed = 88172645463325252ULL };

static uint32_t choose(uint32_t n)
{
	t.seed ^= t.seed << 13;
	t.seed ^= t.seed >> 7;
	t.seed ^= t.seed << 17;
	return (t.seed >> 20) % n;
}

#if defined(__x86_64__)
#define TRAP_FLAG	0x100

/*
 * The library reads the byte at @at. Change a random byte near it in some cases, and in others restore the byte that
 * was changed last. If t.other is set, only count the read, and replace the whole trace at the read number t.until.
 */
static void change(uint8_t *at)
{
	static const uint8_t values[] = { 0, 1, 2, 3, 0xff, 0xfc };
	uint8_t *changed = t.changed;

	if (t.other) {
		if (t.until && !--t.until)
			memcpy(t.writable + (t.begin - t.room), t.other, t.end - t.begin);
		return;
	}
	if (changed && choose(2)) {
		*changed = t.was;
		t.changed = NULL;
	}
	at += (int)choose(24) - 4;
	if (choose(3) || at < t.begin || at >= t.end)
		return;
	t.nr++;
	at = t.writable + (at - t.room);
	t.changed = at;
	t.was = *at;
	*at = choose(3) ? *at ^ (1 + choose(3)) : choose(2) ? values[choose(sizeof(values))] : choose(256);
}

static void on_read(int signal, siginfo_t *info, void *context)
{
	static const char said[] = "the library reads bytes that do not belong to the trace\n";
	uint8_t *at = info->si_addr;

	(void)signal;
	if (at < t.room || at >= t.end)
		_exit(write(1, said, sizeof(said) - 1) ? 1 : 2);
	change(at);
	mprotect(t.room, ROOM, PROT_READ);
	((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

static void on_step(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	mprotect(t.room, ROOM, PROT_NONE);
	((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
}

static void begin(void)
{
	struct sigaction action = { .sa_sigaction = on_read, .sa_flags = SA_SIGINFO };
	int fd = memfd_create("trace", 0);

	t.room = mmap(NULL, ROOM + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	t.end = t.room + ROOM;
	t.writable = ftruncate(fd, ROOM) ? MAP_FAILED : mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (t.room == MAP_FAILED || t.writable == MAP_FAILED ||
	    mmap(t.room, ROOM, PROT_NONE, MAP_SHARED | MAP_FIXED, fd, 0) != t.room)
		exit(2);
	sigaction(SIGSEGV, &action, NULL);
	action.sa_sigaction = on_step;
	sigaction(SIGTRAP, &action, NULL);
}
#else
static void begin(void) { exit(77); }
#endif

/* Copy a trace to the end of @room, directly before the page that cannot be read */
static void put(const uint8_t *data, size_t size)
{
	t.changed = NULL;
	t.begin = t.end - size;
	memcpy(t.writable + ROOM - size, data, size);
}

static void read_messages(const struct nt_config *config, size_t size)
{
	struct nt_reader *reader = nt_reader_new(config);
	char text[NT_MESSAGE_DESC_MAX];
	struct nt_message msg;

	nt_reader_seek(reader, 0, choose(2));
	nt_reader_feed(reader, t.begin, size);
	while (nt_reader_next(reader, &msg))
		nt_message_desc(&msg, text, sizeof(text));
	/* nt_reader_feed() succeeds only if the reader has read all earlier bytes */
	if (nt_reader_feed(reader, t.begin, 0))
		abort();
	nt_reader_end(reader, &msg);
	nt_reader_free(reader);
}

static int take(void *ctx, const struct nt_batch *batch)
{
	size_t *left = ctx;

	return *left < batch->nr ? 1 : (*left -= batch->nr + 1, 0);
}

static void decode(const struct nt_config *config, struct nt_image *image, size_t size)
{
	struct nt_counts *counts = nt_counts_new();
	struct nt_flow *flow = nt_flow_new(config, image);
	unsigned int round, way = choose(3);
	struct nt_batch batch;
	size_t nr = 0;
	int ret = 1;

	/* decode the same bytes twice, because the second time the flow uses results that it stored the first time */
	for (round = 0; round < 2; round++) {
		nt_flow_restart(flow, 0, false);
		nt_flow_feed(flow, t.begin, size);
		nt_flow_end(flow);
		do
			ret = way == 0 ? nt_flow_next(flow, &batch.item) :
			      way == 1 ? nt_flow_next_batch(flow, &batch) : nt_flow_count(flow, &batch.item);
		while (ret > 0 && nr++ < MAX_ITEMS);
	}
	if (nt_counts_take(counts, flow))
		abort();
	nt_counts_free(counts);
	nt_flow_free(flow);
}

static void search(const struct nt_config *config, size_t size)
{
	size_t offset;

	if (!nt_sync_find(config, t.begin, size, false, choose(3), &offset) && offset >= size)
		abort();
	if (!nt_sync_next(config, t.begin, size, true, choose(size), &offset) && offset >= size)
		abort();
	if (!nt_sync_previous(config, t.begin, size, true, choose(size), &offset) && offset >= size)
		abort();
}

static void decode_parallel(const struct nt_config *config, struct nt_image *image, size_t size)
{
	size_t left = MAX_ITEMS;

	nt_parallel_decode(config, image, t.begin, size, 2, take, &left, NULL);
}

/*
 * Decode in two threads, which may divide the trace at multiples of 100 bytes. While they read the trace, replace a
 * message with SYNC that crosses the offset 200 by a shorter message that begins at this offset.
 */
static void move_cut(struct nt_config config, struct nt_image *image)
{
	uint8_t one[300], other[300];
	unsigned int until;

	config.timestamp = false;
	config.mode = NT_MODE_HTM;
	memset(one, 0xff, sizeof(one));
	memset(other, 0xff, sizeof(other));
	memcpy(one + 196, "\x24\x15\x40\x40\x40\x40\x40\x40\x40\x40\x07", 11);
	memcpy(other + 200, "\x24\x15\x07", 3);
	t.other = other;
	for (until = 1; until < 900; until += 3) {
		t.until = until;
		put(one, sizeof(one));
		decode_parallel(&config, image, sizeof(one));
	}
	t.other = NULL;
}

/* Unpack frames to buffers that are almost full. They are on the heap, where the sanitizer detects writes beyond them */
static void unpack(void)
{
	static const uint8_t ids[] = { 1, 2, 3, 0x6f, 0x70, 0x7b, 0x7d, 0x7e };
	struct nt_frames_out outs[NT_FRAMES_IDS] = { 0 };
	struct nt_frames *frames = nt_frames_new();
	uint8_t data[FRAMES];
	size_t i, at, used = 1;

	for (i = 0; i < FRAMES; i++)
		data[i] = i % 2 ? choose(256) : choose(3) ? choose(128) << 1 : ids[choose(sizeof(ids))] << 1 | 1U;
	put(data, FRAMES);
	for (i = 1; i <= 3; i++)
		outs[i] = (struct nt_frames_out){ .data = malloc(OUT), .size = OUT };
	for (at = 0; at < FRAMES; at += used) {
		for (i = 1; i <= 3; i++)
			outs[i].nr = used ? OUT - choose(OUT) : 0;
		nt_frames_convert(frames, t.begin + at, FRAMES - at < 40 ? FRAMES - at : 40, &used, outs);
	}
	for (i = 1; i <= 3; i++)
		free(outs[i].data);
	nt_frames_free(frames);
}

int main(int argc, char **argv)
{
	struct nt_config config = NT_CONFIG_INIT;
	struct nt_image *image = nt_image_new();
	size_t size = 0, from, n;
	unsigned long rounds, i;
	static uint8_t trace[1 << 20];
	unsigned int xlen;
	FILE *file;

	if (argc < 5 || !add_code(image, argv[1], &xlen))
		return 2;
	file = fopen(argv[2], "rb");
	if (file)
		size = fread(trace, 1, sizeof(trace), file);
	if (size <= MAX_SIZE)
		return 2;
	rounds = strtoul(argv[3], NULL, 0);
	config.timestamp = !strcmp(argv[4], "ts");
	config.return_depth = strcmp(argv[4], "ir") ? 0 : nt_encoder_return_depth(config.dialect);
	begin();
	for (i = 0; i < rounds; i++) {
		n = 20 + choose(choose(4) ? 400 : MAX_SIZE - 20);
		if (nt_sync_next(&config, trace, size - n, false, choose(size - n), &from))
			from = 0;
		put(trace + from, n);
		read_messages(&config, n);
		put(trace + from, n);
		decode(&config, image, n);
		search(&config, n);
		decode_parallel(&config, image, n);
		for (n = 0; n < 5; n++)
			unpack();
	}
	move_cut(config, image);
	nt_image_free(image);
	printf("%llu changes\n", (unsigned long long)t.nr);
	return t.nr < rounds;
}
