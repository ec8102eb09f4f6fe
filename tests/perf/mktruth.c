// SPDX-License-Identifier: GPL-2.0-only
/*
 * mktruth FILE [TIMES]: write the truth of hart 0. Its trace starts and stops 4 times, with 6 blocks each time. Each
 * block is "nop; ret", and the next block is at the next address. The last block is "ret", so that trace stops at the
 * target of a branch. The second group of blocks is executed TIMES times before the third group, and TIMES times
 * after it. scontext is 1 first. Blocks 5, 8 and 15 write scontext, and each of them increments it by 1. A message
 * with SYNC reports the address of block 15.
 */
#include <stdio.h>
#include <stdlib.h>

#include "truth.h"

#define BLOCKS		6
#define ADDRESS		0x10000

int main(int argc, char **argv)
{
	unsigned int times = argc > 2 ? atoi(argv[2]) : 0, nr = times ? 2 * times + 3 : 4, at, stretch;
	struct nb_truth_writer *w = argc > 1 ? nb_truth_create(argv[1], 0) : NULL;
	struct nb_ingress block = {
		.iretire = 2, .ninsn = 2, .ilastsize = 1, .itype = NB_ITYPE_RETURN,
	};
	struct nb_trace_state state = { 0 };
	unsigned int thread = 1, i;

	if (!w)
		return 2;
	nb_truth_context(w, 1, 0);
	for (i = 0; i < nr * BLOCKS; i++) {
		if (i == 5 || i == 8 || i == 15)
			nb_truth_context(w, ++thread, 0);
		if (i == 15) {
			state.stamp++;
			state.syncs++;
		}
		if (i % BLOCKS == 0) {
			state.stamp++;
			state.session = state.starts = i / BLOCKS + 1;
			state.syncs++;
			state.sync = 5;
			state.evcode = 4;
		}
		if (i == nr * BLOCKS - 1)
			block.iretire = block.ninsn = 1;
		at = i / BLOCKS;
		stretch = !times ? at : !at ? 0 : at == nr - 1 ? 3 : at == times + 1 ? 2 : 1;
		block.iaddr = ADDRESS + 4 * (stretch * BLOCKS + i % BLOCKS);
		nb_truth_block(w, &block, &state);
		if (i % BLOCKS == BLOCKS - 1) {
			state.stamp++;
			state.session = 0;
			nb_truth_state(w, &state);
		}
	}
	return nb_truth_close(w) ? 2 : 0;
}
