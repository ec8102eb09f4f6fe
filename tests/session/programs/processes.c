/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* Processes that start processes, and wait for them. */
#include <sys/wait.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }

NOINLINE static int work(int n) { leaf(n); return n ? work(n - 1) + 1 : 0; }
NOINLINE static void start(int n)
{
	int status;

	work(n);
	if (!n)
		return;
	for (int i = 0; i < 2; i++) {
		if (!fork()) {
			start(n - 1);
			_exit(0);
		}
	}
	while (wait(&status) > 0)
		work(1);
}
int main(void) { start(3); return 0; }
