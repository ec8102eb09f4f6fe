/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* Signals of a timer, which interrupt the program anywhere. */
#include <signal.h>
#include <stddef.h>
#include <sys/time.h>
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
static volatile int alarms;
static void handler(int sig) { leaf(sig); alarms++; }
NOINLINE static int work(int n) { leaf(n); return n ? work(n - 1) + work(n - 2 > 0 ? n - 2 : 0) : 1; }
int main(void)
{
	struct itimerval v = { { 0, 1000 }, { 0, 1000 } };

	signal(SIGALRM, handler);
	setitimer(ITIMER_REAL, &v, NULL);
	for (int i = 0; i < 200000 && alarms < 5; i++)
		work(6);
	return 0;
}
