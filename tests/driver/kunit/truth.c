// SPDX-License-Identifier: GPL-2.0-only
/* The model can write the truth to a file, but these tests do not use that */
#include "../../../tools/board/model/truth.h"

void nb_truth_slow(struct nb_truth_writer *w, const struct nb_ingress *blk,
		   const struct nb_trace_state *state)
{
	BUG();
}
