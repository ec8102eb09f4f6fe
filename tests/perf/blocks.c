// SPDX-License-Identifier: GPL-2.0-only
/*
 * Print the code that a thread executed while it was traced, from the board's truth:
 *
 *	blocks TID hartN.truth ...
 *	blocks all hart0.truth
 *
 * Prints a line for each retired block, in order, with its address and its bytes in hex, and prints "stop" when the
 * trace stopped. It is an error if the thread moved to another hart, because the truth does not show the order of
 * events on different harts.
 *
 * With "all", each line begins with the thread and the itype (specification, chapter 2.1).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "truth.h"

static bool all_threads;

static void print_block(const struct nb_ingress *blk, uint64_t tid)
{
	uint32_t i;

	if (all_threads)
		printf("%" PRIu64 " %u ", tid, blk->itype);
	printf("%" PRIx64 " ", blk->iaddr);
	if (blk->iretire && !blk->code) {
		fprintf(stderr, "no code of %#" PRIx64 "\n", blk->iaddr);
		exit(2);
	}
	for (i = 0; i < 2 * blk->iretire; i++)
		printf("%02x", blk->code[i]);
	putchar('\n');
}

/* Print the blocks of thread @tid, and return true if there were any */
static bool print_hart(struct nb_truth_reader *reader, uint64_t tid)
{
	struct nb_truth_event ev;
	bool mine = all_threads, any = false;
	uint64_t now = 0;
	int ret;

	while ((ret = nb_truth_next(reader, &ev)) > 0) {
		if (ev.kind == NB_TRUTH_CONTEXT) {
			now = ev.scontext;
			mine = all_threads || now == tid;
		} else if (ev.kind == NB_TRUTH_STOP && mine) {
			puts("stop");
		} else if (ev.kind == NB_TRUTH_BLOCK && ev.traced && mine) {
			print_block(&ev.blk, now);
			any = true;
		}
	}
	if (ret < 0) {
		fprintf(stderr, "%s\n", nb_truth_error(reader));
		exit(2);
	}
	return any;
}

int main(int argc, char **argv)
{
	struct nb_truth_reader *reader;
	unsigned int hart;
	int i, harts = 0;

	if (argc < 3) {
		fprintf(stderr, "usage: blocks TID hartN.truth ...\n");
		return 2;
	}
	all_threads = !strcmp(argv[1], "all");
	for (i = 2; i < argc; i++) {
		reader = nb_truth_open(argv[i], &hart);
		if (!reader) {
			fprintf(stderr, "%s: %s\n", argv[i], strerror(errno));
			return 2;
		}
		harts += print_hart(reader, strtoull(argv[1], NULL, 10));
		nb_truth_reader_close(reader);
	}
	if (harts != 1)
		fprintf(stderr, "thread %s was on %d harts\n", argv[1], harts);
	return harts != 1;
}
