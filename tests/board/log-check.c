// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compare the truth with QEMU's own log of the same run. The standard input is the log of
 * QEMU's option `-d exec,nochain,int`. It contains each block that QEMU started, and each trap with its
 * address. QEMU writes this log without its plugins.
 *
 *	log-check TRUTH [HART] <LOG
 *
 * Lines of harts other than HART (0 by default) are ignored.
 *
 * Between one line of the log and the next, the retired instructions must be straight code from the
 * address of the first line up to the address of the next line, or up to a jump to that address.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "truth.h"

struct event {
	uint64_t	pc;
	uint8_t		kind;
};

enum { BLOCK, EXCEPTION, INTERRUPT, PC };

struct list {
	struct event	*event;
	size_t		n, size;
};

static void add(struct list *l, uint64_t pc, uint8_t kind)
{
	if (l->n == l->size) {
		l->size = l->size ? 2 * l->size : 1 << 20;
		l->event = realloc(l->event, l->size * sizeof(*l->event));
		if (!l->event)
			exit(2);
	}
	l->event[l->n++] = (struct event){ pc, kind };
}

/*
 * Read the lines "Trace 0: 0x7f89 [flags/PC/..." and "riscv_cpu_do_interrupt: hart:0, async:0, ...,
 * epc:0x..." of the log.
 */
static void read_log(struct list *l, unsigned int hart)
{
	char line[512], *p;

	while (fgets(line, sizeof(line), stdin)) {
		if (!strncmp(line, "Trace ", 6)) {
			p = strchr(line, '/');
			if (strtoul(line + 6, NULL, 10) == hart)
				add(l, p ? strtoull(p + 1, NULL, 16) : 0, BLOCK);
		} else if (!strncmp(line, "riscv_cpu_do_interrupt:", 23)) {
			p = strstr(line, "hart:");
			if (!p || strtoul(p + 5, NULL, 10) != hart)
				continue;
			p = strstr(line, "epc:");
			add(l, p ? strtoull(p + 4, NULL, 16) : 0,
			    strstr(line, "async:1") ? INTERRUPT : EXCEPTION);
		}
	}
}

static void read_truth(struct list *l, const char *path)
{
	struct nb_truth_event ev;
	struct nb_truth_reader *r;
	unsigned int hart;

	r = nb_truth_open(path, &hart);
	if (!r)
		exit(2);
	while (nb_truth_next(r, &ev) > 0) {
		uint64_t pc = ev.blk.iaddr;
		uint32_t i;

		if (ev.kind != NB_TRUTH_BLOCK)
			continue;
		for (i = 0; i < ev.blk.ninsn; i++) {
			add(l, pc, PC);
			pc += ev.blk.wide[i / 64] >> i % 64 & 1 ? 4 : 2;
		}
		if (ev.blk.itype == NB_ITYPE_EXCEPTION || ev.blk.itype == NB_ITYPE_INTERRUPT)
			add(l, pc, ev.blk.itype == NB_ITYPE_INTERRUPT ? INTERRUPT : EXCEPTION);
	}
	nb_truth_reader_close(r);
}

static int differs(const char *what, const struct list *log, size_t i, const struct list *truth, size_t t)
{
	printf("%s: line %zu of the log (0x%llx, kind %u), event %zu of the truth (0x%llx, kind %u)\n", what,
	       i, i < log->n ? (unsigned long long)log->event[i].pc : 0, i < log->n ? log->event[i].kind : 9,
	       t, t < truth->n ? (unsigned long long)truth->event[t].pc : 0,
	       t < truth->n ? truth->event[t].kind : 9);
	return 1;
}

/*
 * maximum number of positions in the truth that may match a line of the log. There can be several
 * positions, because the log does not contain the length of a block, and a block may jump into its own
 * middle.
 */
#define PLACES	16

struct places {
	size_t		t[PLACES], n;
};

static void reach(struct places *p, size_t t)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		if (p->t[i] == t)
			return;
	if (p->n < PLACES)
		p->t[p->n++] = t;
}

/*
 * Add the possible ends of a block to @to. The block began at address @pc and at index @t of the truth.
 * @next is the next line of the log.
 */
static void reach_block(struct places *to, const struct list *truth, size_t t, uint64_t pc, const struct event *next)
{
	/*
	 * If the next block starts at the same address, the block may have retired no instruction. Its first
	 * instruction has trapped, or QEMU starts the block once more
	 */
	if (next->pc == pc)
		reach(to, t);
	while (t < truth->n && truth->event[t].kind == PC && truth->event[t].pc == pc) {
		pc = t + 1 < truth->n ? truth->event[t + 1].pc : next->pc;
		t++;
		if (pc == next->pc)
			reach(to, t);
		/* the block ends with a jump */
		if (pc - truth->event[t - 1].pc > 4)
			break;
	}
}

/*
 * Return true if the rest of the log has only blocks that ran after the machine was switched off, so that
 * the truth is complete. A hart then runs in a loop of up to 4 blocks until QEMU exits, and QEMU writes
 * these blocks only to the log.
 */
static int ended(const struct list *log, size_t i, const struct list *truth, const struct places *at)
{
	uint64_t pcs[4];
	size_t k, n = 0;

	for (k = 0; k < at->n && at->t[k] < truth->n; k++)
		;
	if (k == at->n)
		return 0;
	for (; i < log->n; i++) {
		for (k = 0; k < n && pcs[k] != log->event[i].pc; k++)
			;
		if (k == 4)
			return 0;
		if (k == n)
			pcs[n++] = log->event[i].pc;
	}
	return 1;
}

static int compare(const struct list *log, const struct list *truth)
{
	struct places at = { .n = 1 }, to;
	size_t i, k, last = 0, traps = 0;

	for (i = 0; i + 1 < log->n; i++) {
		const struct event *e = &log->event[i];

		to.n = 0;
		for (k = 0; k < at.n; k++) {
			size_t t = at.t[k];

			if (e->kind == BLOCK)
				reach_block(&to, truth, t, e->pc, e + 1);
			else if (t < truth->n && truth->event[t].kind == e->kind && truth->event[t].pc == e->pc)
				reach(&to, t + 1);
		}
		if (!to.n && ended(log, i, truth, &at))
			break;
		if (!to.n)
			return differs("not what ran", log, i, truth, at.t[0]);
		traps += e->kind != BLOCK;
		at = to;
		last = at.t[0];
	}
	printf("%zu instructions, %zu traps, %zu lines of the log, 0 differences\n", last - traps, traps, log->n);
	return 0;
}

int main(int argc, char **argv)
{
	struct list log = { 0 }, truth = { 0 };

	if (argc != 2 && argc != 3)
		return 2;
	read_log(&log, argc == 3 ? atoi(argv[2]) : 0);
	read_truth(&truth, argv[1]);
	return compare(&log, &truth);
}
