// SPDX-License-Identifier: GPL-2.0-only
/*
 * mktruth FILE: write the truth of hart 0, which executes 4 stretches of 6 blocks, each of "nop;
 * ret" at the next address. The last block is "ret", so that trace stops at the target of a branch.
 */
#include <stdio.h>

#include "truth.h"

#define STRETCHES	4
#define BLOCKS		6

int main(int argc, char **argv)
{
	struct nb_truth_writer *w = argc == 2 ? nb_truth_create(argv[1], 0) : NULL;
	struct nb_ingress block = {
		.iaddr = 0x10000, .iretire = 2, .ninsn = 2, .ilastsize = 1, .itype = NB_ITYPE_RETURN,
	};
	struct nb_trace_state state = { 0 };
	unsigned int i;

	if (!w)
		return 2;
	for (i = 0; i < STRETCHES * BLOCKS; i++) {
		if (i % BLOCKS == 0) {
			state.stamp++;
			state.session = state.starts = i / BLOCKS + 1;
			state.syncs++;
			state.sync = 5;
			state.evcode = 4;
		}
		if (i == STRETCHES * BLOCKS - 1)
			block.iretire = block.ninsn = 1;
		nb_truth_block(w, &block, &state);
		block.iaddr += 4;
		if (i % BLOCKS == BLOCKS - 1) {
			state.stamp++;
			state.session = 0;
			nb_truth_state(w, &state);
		}
	}
	return nb_truth_close(w) ? 2 : 0;
}
