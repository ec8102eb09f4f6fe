/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* Signals on their own stack, one within another. */
#define NOINLINE __attribute__((noinline, noclone))
#include <signal.h>
#include <stdlib.h>
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
static void inner(int sig) { leaf(sig); }
static void handler(int sig) { leaf(sig); raise(SIGUSR2); leaf(sig); }
NOINLINE static void work(int n) { leaf(n); raise(SIGUSR1); leaf(n); }
int main(void)
{
	stack_t s = { .ss_sp = malloc(1 << 18), .ss_size = 1 << 18 };
	struct sigaction a = { .sa_handler = handler, .sa_flags = SA_ONSTACK };

	sigaltstack(&s, NULL);
	sigaction(SIGUSR1, &a, NULL);
	a.sa_handler = inner;
	sigaction(SIGUSR2, &a, NULL);
	for (int i = 0; i < 10; i++)
		work(i);
	return 0;
}
