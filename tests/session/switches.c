// SPDX-License-Identifier: GPL-2.0-only
/* longjmp() on one stack, and later on several stacks in turn. Tests replay a recording of this program. */
#include <setjmp.h>
#include <stdio.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline, noclone))

static ucontext_t main_context, contexts[3];
static char stacks[3][65536];
static volatile int sink;
static jmp_buf env[4];

static NOINLINE void leave(int n, int depth)
{
	if (!depth)
		longjmp(env[n], 1);
	leave(n, depth - 1);
	sink = depth;
}

/* Several stacks wait in this function, so a replay may choose a wrong stack on which longjmp() continues. */
static NOINLINE int attempt(int n)
{
	if (!setjmp(env[n])) {
		if (n < 3)
			swapcontext(&contexts[n], &main_context);
		leave(n, n + 1);
	}
	sink = n;
	return n;
}

static void body(int n)
{
	int i;

	for (i = 0; i < 40; i++)
		sink += attempt(n);
}

static NOINLINE void turn(int n)
{
	swapcontext(&main_context, &contexts[n]);
	attempt(3);
}

int main(void)
{
	int i, j;

	for (i = 0; i < 40; i++)
		attempt(3);
	for (i = 0; i < 3; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stacks[i];
		contexts[i].uc_stack.ss_size = sizeof(stacks[i]);
		contexts[i].uc_link = &main_context;
		makecontext(&contexts[i], (void (*)(void))body, 1, i);
	}
	for (i = 0; i < 30; i++) {
		for (j = 0; j < i % 5; j++)
			attempt(3);
		turn(i % 3);
	}
	for (i = 0; i < 20; i++)
		attempt(3);
	printf("%d\n", sink);
	return 0;
}
