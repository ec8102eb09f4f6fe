// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write the PC and all callers of each instruction of a process, for gdb_truth.py.
 *
 *	gdb-truth ELF THREAD... TRUTH...
 *
 * Each TRUTH is of one hart, from a board with truth-stacks=on. ELF is the program of the THREADs. A line has the hart,
 * the last timestamp in the hart's truth before the instructions, the thread, the addresses of consecutive
 * instructions, "|", and the open calls, the innermost first. An open call is RETURN-ADDRESS:START:HANDLER. START is the
 * number of the thread's instruction at which the call started, and HANDLER is 1 for a call of a signal handler.
 * judge-calls.c has the rules about calls.
 */
#define main judge_calls
#include "../session/judge-calls.c"
#undef main

static void print_block(const struct thread *t, const struct source *s)
{
	const struct nb_ingress *b = &s->ev.blk;
	const struct calls *c = &t->calls.at[t->cur];
	unsigned int half;
	size_t i;

	if (!s->ev.traced || !b->ninsn || b->priv != NB_PRIV_U)
		return;
	printf("%u %" PRIu64 " %d", s->hart, s->time, t->tid);
	for (half = 0; half < b->iretire; half += (b->code[2 * half] & 3) == 3 ? 2 : 1)
		printf(" %" PRIx64, b->iaddr + 2 * half);
	fputs(" |", stdout);
	for (i = c->open.nr; i--;)
		printf(" %" PRIx64 ":%" PRIu64 ":%d", c->open.at[i].ret, c->open.at[i].begin, c->open.at[i].handler);
	putchar('\n');
}

int main(int argc, char **argv)
{
	struct program program = { 0 };
	int i, nr;

	if (argc < 2 || !read_elf(&program, argv[1]))
		return 2;
	for (i = 2; i < argc && atoi(argv[i]); i++)
		*ADD(&threads) = (struct thread){ .tid = atoi(argv[i]), .program = &program };
	nr = argc - i;
	if (!threads.nr || !nr || !read_truth(argv + i, nr, false, NULL))
		return 2;
	argv += i;
	for (i = 0; i < (int)threads.nr; i++)
		find_stacks(&threads.at[i]);
	return !read_truth(argv, nr, true, print_block);
}
