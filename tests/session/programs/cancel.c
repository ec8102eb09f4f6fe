/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* A thread that is cancelled, so that its calls are unwound and its clean-up functions run. */
#include <pthread.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }

static volatile int ready;
static void clean(void *p) { leaf(*(int *)p); }
NOINLINE static void down(int n)
{
	int mine = n;

	pthread_cleanup_push(clean, &mine);
	leaf(n);
	if (n)
		down(n - 1);
	ready = 1;
	while (!n)
		usleep(1000);
	pthread_cleanup_pop(1);
}
static void *run(void *p) { down(5); return p; }
int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, run, NULL);
	while (!ready)
		usleep(1000);
	pthread_cancel(t);
	pthread_join(t, NULL);
	return 0;
}
