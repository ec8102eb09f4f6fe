/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 -pthread */
/* Threads end inside calls, by pthread_exit() and by a cancellation. */
#include <pthread.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
static void cleanup(void *arg) { leaf((long)arg); }
NOINLINE static void ends(int n) { leaf(n); if (!n) pthread_exit(NULL); ends(n - 1); leaf(n); }
static void *thread(void *arg) { pthread_cleanup_push(cleanup, arg); ends((long)arg); pthread_cleanup_pop(1); return arg; }
static void *sleeps(void *arg) { pthread_cleanup_push(cleanup, arg); pause(); pthread_cleanup_pop(1); return arg; }
int main(void)
{
	pthread_t t[4];

	for (long i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, i & 1 ? thread : sleeps, (void *)i);
	for (int i = 0; i < 4; i += 2)
		pthread_cancel(t[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return 0;
}
