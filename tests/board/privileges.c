// SPDX-License-Identifier: GPL-2.0-only
/* Print the number of instructions of each privilege in a truth file, such as "U 10 S 20 M 30 VU 40 VS 50" */
#include <stdint.h>
#include <stdio.h>

#include "truth.h"

int main(int argc, char **argv)
{
	static const struct { const char *name; unsigned int priv; } privs[] = {
		{ "U", NB_PRIV_U }, { "S", NB_PRIV_S }, { "M", NB_PRIV_M }, { "VU", NB_PRIV_VU }, { "VS", NB_PRIV_VS },
	};
	struct nb_truth_reader *r;
	struct nb_truth_event ev;
	uint64_t insns[8] = { 0 };
	unsigned int hart, i;
	int rc;

	r = argc == 2 ? nb_truth_open(argv[1], &hart) : NULL;
	if (!r)
		return 2;
	while ((rc = nb_truth_next(r, &ev)) > 0) {
		if (ev.kind == NB_TRUTH_BLOCK)
			insns[ev.blk.priv & 7] += ev.blk.ninsn;
	}
	nb_truth_reader_close(r);
	for (i = 0; i < sizeof(privs) / sizeof(privs[0]); i++)
		printf("%s %llu ", privs[i].name, (unsigned long long)insns[privs[i].priv]);
	putchar('\n');
	return rc < 0;
}
