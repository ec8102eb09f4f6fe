/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 -pthread */
/* Four threads that wait for each other. */
#define NOINLINE __attribute__((noinline, noclone))
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
NOINLINE static void work(int n) { pthread_mutex_lock(&lock); leaf(n); pthread_mutex_unlock(&lock); if (n) work(n - 1); leaf(n); }
static void *thread(void *arg) { for (int i = 0; i < 10; i++) work(i); return arg; }
int main(void)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, thread, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return 0;
}
