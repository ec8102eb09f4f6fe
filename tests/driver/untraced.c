// SPDX-License-Identifier: GPL-2.0-only
/*
 * Print how many user-mode instructions the encoder missed. For each truth file, count the missed instructions
 * between the first and the last traced instruction.
 *
 *   untraced hartN.truth ...
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "truth.h"

struct count {
	uint64_t traced, missed, waiting, gaps;
};

/* Count an instruction. Instructions without trace are a gap only if a traced instruction follows them. */
static void add(struct count *c, const struct nb_truth_event *ev)
{
	if (!ev->traced) {
		c->waiting += ev->blk.ninsn;
		return;
	}
	if (c->traced && c->waiting) {
		c->missed += c->waiting;
		c->gaps++;
	}
	c->waiting = 0;
	c->traced += ev->blk.ninsn;
}

static int count_file(const char *path)
{
	struct count c = { 0 };
	struct nb_truth_event ev;
	unsigned int hart = 0;
	struct nb_truth_reader *r = nb_truth_open(path, &hart);
	int ret = -1;

	while (r && (ret = nb_truth_next(r, &ev)) > 0)
		if (ev.kind == NB_TRUTH_BLOCK && ev.blk.priv == NB_PRIV_U)
			add(&c, &ev);
	if (ret)
		fprintf(stderr, "untraced: %s cannot be read\n", path);
	if (r)
		nb_truth_reader_close(r);
	printf("hart %u: %" PRIu64 " instructions of user mode traced, %" PRIu64 " missed in %" PRIu64 " gaps\n",
	       hart, c.traced, c.missed, c.gaps);
	return ret;
}

int main(int argc, char **argv)
{
	int i, ret = 0;

	for (i = 1; i < argc; i++)
		ret |= count_file(argv[i]);
	return ret || argc < 2 ? EXIT_FAILURE : EXIT_SUCCESS;
}
