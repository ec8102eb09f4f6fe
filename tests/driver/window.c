// SPDX-License-Identifier: GPL-2.0-only
/*
 * Check which code of a thread in user mode was traced. It must be exactly the executed code that the event selects.
 * The board's truth of one hart contains the executed code, and whether the encoder traced it.
 *
 *	window TRUTH TID LOW HIGH all			the event selects all code
 *	window TRUTH TID LOW HIGH filter FROM TO	it selects addresses from FROM to TO, without TO
 *	window TRUTH TID LOW HIGH start FROM		it selects all code after the first time at FROM
 *	window TRUTH TID LOW HIGH start FROM TO		it selects all code between each FROM and the next TO
 *	window TRUTH TID,TID,... 0 0 nobody		it selects only these threads; check all other threads
 *
 * LOW to HIGH is the code of the program. The check ignores code that the thread executed earlier in another program.
 * The program prints three numbers: selected instructions, selected instructions without trace, and traced
 * instructions that are not selected. All addresses are in hex.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "truth.h"

struct window {
	enum { ALL, FILTER, START, NOBODY } kind;
	uint64_t from, to;
	bool on;
};

static bool wanted(struct window *w, uint64_t pc)
{
	bool last = w->on && pc == w->to;

	switch (w->kind) {
	case ALL:
		return true;
	case FILTER:
		return pc >= w->from && pc < w->to;
	default:
		w->on = (w->on || pc == w->from) && !last;
		return w->on || last;
	}
}

/* Return true if @tid is in the list "TID,TID,..." */
static bool among(const char *list, uint64_t tid)
{
	char *end;

	for (; *list; list = *end ? end + 1 : end)
		if (strtoull(list, &end, 10) == tid)
			return true;
	return false;
}

static const char * const kinds[] = { [ALL] = "all", [FILTER] = "filter", [START] = "start", [NOBODY] = "nobody" };

int main(int argc, char **argv)
{
	uint64_t low, high, want = 0, missing = 0, besides = 0, kernel = 0;
	struct window w = { };
	bool mine = false;
	struct nb_truth_reader *reader;
	struct nb_truth_event ev;
	unsigned int hart;
	int ret;

	while (argc > 5 && w.kind <= NOBODY && strcmp(argv[5], kinds[w.kind]))
		w.kind++;
	if (argc < 6 || w.kind > NOBODY) {
		fprintf(stderr, "usage: window TRUTH TID LOW HIGH all|filter|start|nobody [FROM [TO]]\n");
		return 2;
	}
	low = strtoull(argv[3], NULL, 16);
	high = strtoull(argv[4], NULL, 16);
	w.from = argc > 6 ? strtoull(argv[6], NULL, 16) : 0;
	w.to = argc > 7 ? strtoull(argv[7], NULL, 16) : ~0ULL;

	reader = nb_truth_open(argv[1], &hart);
	if (!reader) {
		fprintf(stderr, "%s: %s\n", argv[1], strerror(errno));
		return 2;
	}
	while ((ret = nb_truth_next(reader, &ev)) > 0) {
		uint64_t pc = ev.blk.iaddr;
		uint32_t i;

		if (ev.kind == NB_TRUTH_CONTEXT)
			mine = among(argv[2], ev.scontext);
		if (ev.kind != NB_TRUTH_BLOCK)
			continue;
		if (w.kind == NOBODY && !mine) {
			want += !ev.traced ? ev.blk.ninsn : 0;
			besides += ev.traced ? ev.blk.ninsn : 0;
		}
		if (w.kind == NOBODY || !mine)
			continue;
		if (ev.blk.priv != NB_PRIV_U) {
			kernel += ev.traced ? ev.blk.ninsn : 0;
			continue;
		}
		if (pc < low || pc >= high)
			continue;
		for (i = 0; i < ev.blk.ninsn; i++) {
			bool is_wanted = wanted(&w, pc);

			want += is_wanted;
			missing += is_wanted && !ev.traced;
			besides += !is_wanted && ev.traced;
			pc += ev.blk.wide[i / 64] >> i % 64 & 1 ? 4 : 2;
		}
	}
	if (ret < 0) {
		fprintf(stderr, "%s\n", nb_truth_error(reader));
		return 2;
	}
	nb_truth_reader_close(reader);
	printf("%" PRIu64 " instructions, %" PRIu64 " missing, %" PRIu64 " besides, %" PRIu64 " of the kernel\n",
	       want, missing, besides, kernel);
	return !want || missing || besides || kernel;
}
