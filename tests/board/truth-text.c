// SPDX-License-Identifier: GPL-2.0-only
/*
 * Print a truth file as text with one event in each line. The lines are "block ADDRESS PRIV ITYPE
 * INSTRUCTIONS", "trap KIND ADDRESS PRIV", "context SCONTEXT", and for events of the trace "start SYNC",
 * "sync SYNC" and "stop EVCODE". With --pcs, print a line "pc ADDRESS" for each instruction instead of
 * the line of its block.
 */
#include <stdio.h>
#include <string.h>

#include "truth.h"

static void block(const struct nb_ingress *b, bool pcs)
{
	static const char *const privs[8] = { "U", "S", "?", "M", "VU", "VS", "?", "?" };
	uint64_t pc = b->iaddr;
	uint32_t i;

	if (!pcs && b->ninsn)
		printf("block %llx %s %u %u\n", (unsigned long long)b->iaddr, privs[b->priv & 7], b->itype,
		       b->ninsn);
	for (i = 0; pcs && i < b->ninsn; i++) {
		printf("pc %llx\n", (unsigned long long)pc);
		pc += b->wide[i / 64] >> i % 64 & 1 ? 4 : 2;
	}
	pc = b->iaddr + 2ULL * b->iretire;
	if (b->itype == NB_ITYPE_EXCEPTION || b->itype == NB_ITYPE_INTERRUPT)
		printf("trap %s %llx %s\n", b->itype == NB_ITYPE_INTERRUPT ? "interrupt" : "exception",
		       (unsigned long long)pc, privs[b->priv & 7]);
}

int main(int argc, char **argv)
{
	bool pcs = argc > 2 && !strcmp(argv[2], "--pcs");
	struct nb_truth_reader *r;
	struct nb_truth_event ev;
	unsigned int hart;
	int rc;

	r = argc > 1 ? nb_truth_open(argv[1], &hart) : NULL;
	if (!r)
		return 1;
	while ((rc = nb_truth_next(r, &ev)) > 0) {
		if (ev.kind == NB_TRUTH_BLOCK)
			block(&ev.blk, pcs);
		else if (ev.kind == NB_TRUTH_CONTEXT)
			printf("context %llx\n", (unsigned long long)ev.scontext);
		else if (ev.kind == NB_TRUTH_START)
			printf("start %u\n", ev.sync);
		else if (ev.kind == NB_TRUTH_SYNC)
			printf("sync %u\n", ev.sync);
		else if (ev.kind == NB_TRUTH_STOP)
			printf("stop %u\n", ev.evcode);
	}
	nb_truth_reader_close(r);
	return rc < 0;
}
