// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Choose the fastest strategy for the current trace. The strategies are to use groups, paths or
 * single blocks (fast.c describes these).
 */
#include "fast.h"
#include "../plain.h"

/* Number of messages before a strategy is judged */
#define SAMPLE		6144
/* Number of messages after which a strategy is dropped if hardly any lookup is successful */
#define SHORT_SAMPLE	2048
/* Number of messages for which a strategy that was too slow is not tried */
#define PAUSE		65536
/* Maximum number of times that PAUSE is doubled, each time because groups and paths were too slow */
#define MAX_PATIENCE	4
/* Minimum number of HIST bits of a path. To look up shorter paths is not faster than to walk each block. */
#define LEAST_PATH_BITS	2

/*
 * Use paths if lookups find stored paths often enough. Otherwise walk by blocks, unless the encoder
 * reports direct jumps like branches, which walking by blocks does not support.
 */
static void judge_paths(struct nt_memo *memo, const struct nt_config *config)
{
	memo->trying = false;
	memo->by_blocks = memo->misses > memo->messages / 8 * 5 && !config->all_jumps &&
		!nt_dialect_of(config)->btm_all_jumps;
	if (!memo->by_blocks)
		memo->patience = 0;
	memo->until = PAUSE << memo->patience;
	if (memo->by_blocks && memo->patience < MAX_PATIENCE)
		memo->patience++;
}

/* Measure SHORT_SAMPLE messages with groups of the messages in @window bytes. If @window is 0, use only paths. */
static void judge_try_window(struct nt_memo *memo, unsigned int window)
{
	memo->window = window;
	memo->by_blocks = false;
	memo->trying = !window;
	memo->until = SHORT_SAMPLE;
}

/* Return true if hardly any lookup found a stored group or path. */
static bool judge_is_hopeless(const struct nt_memo *memo)
{
	if (memo->window)
		return memo->missed > memo->messages / 16 * 15;
	return memo->trying && memo->misses > memo->messages / 4 * 3;
}

/*
 * Choose the next strategy. To look up many messages at once is fastest if the program repeats itself
 * exactly. If lookups find too few groups, try groups of fewer messages, then paths, then blocks.
 */
void nt_judge(struct nt_memo *memo, const struct nt_config *config)
{
	bool hopeless = judge_is_hopeless(memo);

	if (memo->until == SHORT_SAMPLE && !hopeless) {
		memo->until = SAMPLE;
		return;
	}
	if (memo->window && memo->missed > memo->messages / 8 * 3)
		judge_try_window(memo, memo->window == WINDOW && !hopeless ? WINDOW / 2 : 0);
	else if (memo->trying)
		judge_paths(memo, config);
	else if (!memo->window)
		judge_try_window(memo, WINDOW);
	memo->messages = 0;
	memo->missed = 0;
	memo->misses = 0;
}

/*
 * Choose between groups and paths with 8, 4 or 2 bits of HIST. If the current choice finds too few
 * results, try the next one.
 */
void nt_judge_counts(struct nt_memo *memo)
{
	bool hopeless = judge_is_hopeless(memo);

	if (memo->until == SHORT_SAMPLE && !hopeless) {
		memo->until = SAMPLE;
		return;
	}
	if (memo->window && memo->missed > memo->messages / 8 * 3) {
		judge_try_window(memo, memo->window == WINDOW && !hopeless ? WINDOW / 2 : 0);
		memo->path_bits = PATH_BITS;
	} else if (memo->trying && memo->misses > memo->messages / 8 * 5 &&
		   memo->path_bits > LEAST_PATH_BITS) {
		memo->path_bits /= 2;
		memo->until = SHORT_SAMPLE;
	} else if (memo->trying) {
		memo->trying = false;
		memo->until = PAUSE;
	} else if (!memo->window) {
		judge_try_window(memo, WINDOW);
	}
	memo->messages = 0;
	memo->missed = 0;
	memo->misses = 0;
}
