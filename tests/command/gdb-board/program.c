// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two threads that call functions of a library through the PLT, with recursion, callbacks, longjmp() and a signal. Both
 * run on CPU 0. With an argument, they move between CPUs 0 and 1.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

#include "library.h"

static __thread jmp_buf env;
static int moves;

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void handle(int sig)
{
	leaf(sig);
}

static void give_up(int n)
{
	if (n == 2)
		longjmp(env, 1);
	leaf(n);
}

static void risky(void)
{
	if (!setjmp(env))
		each(4, give_up);
}

static int work(int n)
{
	int values[8];
	int i = 0;
	int total;

	while (i < 8) {
		values[i] = (i * 7919 + n) % 101;
		i++;
	}
	qsort(values, 8, sizeof(*values), compare);
	risky();
	total = sum(n % 5);
	total += leaf(values[0]);
	return total;
}

static void move(int to)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(to, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

static void *thread(void *arg)
{
	int n = 40;
	int total = 0;

	while (n) {
		total += work(n);
		sched_yield();
		if (moves)
			move(arg ? n & 1 : n >> 1 & 1);
		n--;
	}
	leaf(total);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t other;

	moves = argc > 1;
	if (!moves)
		move(0);
	signal(SIGUSR1, handle);
	pthread_create(&other, NULL, thread, argv);
	raise(SIGUSR1);
	thread(NULL);
	pthread_join(other, NULL);
	return 0;
}
