/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* pthread_once(), data of threads with destructors, and a clean-up function that the compiler calls. */
#include <pthread.h>
#include <stdlib.h>
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static void destroy(void *p) { leaf(1); free(p); }
static void init(void) { leaf(2); pthread_key_create(&key, destroy); }
static void drop(int *n) { leaf(*n); }
static void *run(void *p)
{
	int mine __attribute__((cleanup(drop))) = 3;

	pthread_once(&once, init);
	pthread_setspecific(key, malloc(16));
	leaf(mine);
	return p;
}
int main(void)
{
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, run, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return 0;
}
