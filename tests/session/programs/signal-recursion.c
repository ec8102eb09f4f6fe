/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* A handler that raises its own signal, 40 deep. */
#include <signal.h>
#include <stddef.h>
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }

static volatile int depth;
static void handler(int sig) { leaf(depth); if (++depth < 40) raise(sig); leaf(depth); }
int main(void)
{
	struct sigaction a = { .sa_handler = handler, .sa_flags = SA_NODEFER };

	sigaction(SIGUSR1, &a, NULL);
	for (int i = 0; i < 3; i++) {
		depth = 0;
		raise(SIGUSR1);
	}
	return 0;
}
