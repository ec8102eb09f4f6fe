/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* Handlers on their own stack which leave by siglongjmp(). */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
static sigjmp_buf at;
NOINLINE static void leaves(int n) { leaf(n); siglongjmp(at, 1); }
static void handler(int sig) { leaf(sig); leaves(sig); }
NOINLINE static void work(int n) { leaf(n); if (n) work(n - 1); raise(SIGUSR1); leaf(n); }
NOINLINE static void tries(int n) { if (!sigsetjmp(at, 1)) work(n); leaf(n); }
int main(void)
{
	stack_t s = { .ss_sp = malloc(1 << 18), .ss_size = 1 << 18 };
	struct sigaction a = { .sa_handler = handler, .sa_flags = SA_ONSTACK };

	sigaltstack(&s, NULL);
	sigaction(SIGUSR1, &a, NULL);
	for (int i = 0; i < 10; i++)
		tries(i);
	return 0;
}
