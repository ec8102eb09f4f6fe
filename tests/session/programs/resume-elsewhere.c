/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* A handler that lets the program continue after the instruction that failed. */
#include <signal.h>
#include <stddef.h>
#include <ucontext.h>
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }

static void handler(int sig, siginfo_t *info, void *context)
{
	ucontext_t *c = context;

	(void)info;
	leaf(sig);
	c->uc_mcontext.__gregs[REG_PC] += 4;
}
NOINLINE static int fails(int n) { leaf(n); asm volatile(".4byte 0x0000000b"); leaf(n); return n; }
int main(void)
{
	struct sigaction a = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };

	sigaction(SIGILL, &a, NULL);
	for (int i = 0; i < 10; i++)
		fails(i);
	return 0;
}
