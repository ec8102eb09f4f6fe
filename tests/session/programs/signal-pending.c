/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* Several signals are delivered together, so each handler interrupts the previous handler. */
#include <signal.h>
#include <stddef.h>
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }

static void handler(int sig) { leaf(sig); }
NOINLINE static void send(int n) { leaf(n); raise(SIGUSR1); raise(SIGUSR2); raise(SIGTERM); leaf(n); }
int main(void)
{
	sigset_t all, none;

	sigfillset(&all);
	sigemptyset(&none);
	signal(SIGUSR1, handler);
	signal(SIGUSR2, handler);
	signal(SIGTERM, handler);
	for (int i = 0; i < 5; i++) {
		sigprocmask(SIG_SETMASK, &all, NULL);
		send(i);
		sigprocmask(SIG_SETMASK, &none, NULL);
	}
	return 0;
}
