// SPDX-License-Identifier: GPL-2.0-only
/* The model can write the truth to a file. These tests do not use the truth, so nothing may call this function */
#include "../../../tools/board/model/truth.h"

void nb_truth_slow(struct nb_truth_writer *w, const struct nb_ingress *blk,
		   const struct nb_trace_state *state)
{
	BUG();
}
