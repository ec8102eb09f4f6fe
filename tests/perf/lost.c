// SPDX-License-Identifier: GPL-2.0-only
/*
 * The threads of this program call topA -> midA -> leafA and topB -> midB -> leafB, and yield in the leaves. No other
 * call chain is possible, even if any part of the trace is lost.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#define FUNCTION __attribute__((noinline, noclone, noipa))

static __thread volatile unsigned long done;

FUNCTION static void work(unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		done += i & 1 ? i : 1;
}

#define PATH(name)						\
FUNCTION static void leaf##name(unsigned int n)			\
{								\
	work(n);						\
	sched_yield();						\
	done++;							\
}								\
								\
FUNCTION static void mid##name(unsigned int n)			\
{								\
	leaf##name(n);						\
	done++;							\
}								\
								\
FUNCTION static void top##name(unsigned int n)			\
{								\
	mid##name(n);						\
	done++;							\
}

PATH(A)
PATH(B)

static unsigned int rounds;

FUNCTION static void *th(void *arg)
{
	unsigned int i;

	for (i = 0; i < rounds; i++) {
		topA(i % 50);
		topB(i % 30);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[4];
	int i;

	rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 10000;
	for (i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, th, NULL);
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
