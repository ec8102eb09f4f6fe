// SPDX-License-Identifier: GPL-2.0-only
/*
 * This program calls and returns in all possible ways, in several threads that move between CPUs. Tests compare the
 * calls, counts and latencies of a recording with the truth.
 *
 *	hostile ROUNDS LIBRARY		LIBRARY is built from hostile-lib.c
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline, noclone, noipa))

int catcher(void (*fn)(void));
void *__cxa_allocate_exception(size_t size);
void __cxa_throw(void *exception, void *type, void (*destructor)(void *));
extern char _ZTIi[];
extern char **environ;

static __thread volatile unsigned long done;
static __thread sigjmp_buf fault;
static __thread jmp_buf buf;
static volatile char *volatile nowhere = (volatile char *)8;
static volatile sig_atomic_t alarms;
static const char *library;
static unsigned int cpus;

static void say_thread(void)
{
	printf("thread %ld of %d\n", syscall(SYS_gettid), getpid());
	fflush(stdout);
}

FUNCTION static void leaf(int n)
{
	while (n--)
		done++;
}

FUNCTION static void hop(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu % cpus, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* ---- tail calls, recursion ---- */

FUNCTION static void tail_third(int n)
{
	leaf(n);
	done++;
}

FUNCTION static void tail_second(int n)
{
	leaf(n);
	if (n & 1)
		hop(n / 2);
	tail_third(n + 1);
}

FUNCTION static void tail_first(int n)
{
	done++;
	tail_second(n);
}

FUNCTION static int even(int n);

FUNCTION static int odd(int n)
{
	done++;
	return n ? even(n - 1) : 0;
}

FUNCTION static int even(int n)
{
	return n ? odd(n - 1) : 1;
}

FUNCTION static unsigned int recurse(unsigned int n)
{
	if (n == 40)
		hop(n + done);
	return n ? recurse(n - 1) + done : 1;
}

/* ---- Functions that end without a return, because of longjmp() and siglongjmp() after a fault ---- */

FUNCTION static void jumper(int n)
{
	leaf(n);
	if (n) {
		jumper(n - 1);
		done++;
		return;
	}
	hop(done);
	longjmp(buf, 1);
}

FUNCTION static void jumps(void)
{
	if (!setjmp(buf))
		jumper(10);
	leaf(3);
}

static void on_fault(int nr)
{
	leaf(nr);
	siglongjmp(fault, nr);
}

FUNCTION static void touch(void)
{
	*nowhere = 0;
	done++;
}

FUNCTION static void faults(void)
{
	if (!sigsetjmp(fault, 1))
		touch();
	leaf(2);
}

/* ---- signals ---- */

static void on_inner(int nr)
{
	leaf(nr);
}

static void on_outer(int nr)
{
	leaf(1);
	raise(SIGUSR2);
	hop(done);
	leaf(2);
}

static void on_alarm(int nr)
{
	alarms = alarms + 1;
	leaf(4);
}

FUNCTION static void signals(void)
{
	raise(SIGUSR1);
	leaf(1);
}

/* ---- exceptions of C++, which leave several calls at once ---- */

FUNCTION static void cleanup(int *value)
{
	leaf(*value);
}

FUNCTION static void thrower(void)
{
	hop(done);
	__cxa_throw(__cxa_allocate_exception(8), _ZTIi, NULL);
}

FUNCTION static void with_cleanup(void)
{
	__attribute__((cleanup(cleanup))) int value = 5;

	thrower();
	done += value;
}

FUNCTION static void throw_through(void)
{
	with_cleanup();
	done++;
}

FUNCTION static void exceptions(void)
{
	if (catcher(throw_through))
		leaf(6);
	catcher(signals);
}

/* ---- coroutines, which switch between two stacks ---- */

static __thread ucontext_t here, there;

FUNCTION static void routine(void)
{
	int i;

	for (i = 0; i < 3; i++) {
		leaf(i);
		swapcontext(&there, &here);
	}
}

FUNCTION static void resume(void)
{
	swapcontext(&here, &there);
	leaf(1);
}

FUNCTION static void coroutines(void)
{
	static __thread char stack[64 << 10];
	int i;

	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	there.uc_link = &here;
	makecontext(&there, routine, 0);
	for (i = 0; i < 4; i++)
		resume();
}

/* ---- a library that is loaded and unloaded, and other processes ---- */

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

FUNCTION static void libraries(void)
{
	void *lib = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
	int (*work)(int n, int (*cmp)(const void *a, const void *b));

	if (!lib)
		exit(1);
	work = (int (*)(int n, int (*cmp)(const void *a, const void *b)))dlsym(lib, "library_work");
	done += work(20, compare);
	done += work(30, compare);
	dlclose(lib);
}

FUNCTION static void programs(void)
{
	char *const args[] = { "hostile", "leaf", NULL };
	pid_t pid = fork();

	if (!pid) {
		execv("/proc/self/exe", args);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
	if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, args, environ))
		exit(1);
	waitpid(pid, NULL, 0);
}

/* ---- repeat all functions above in each thread ---- */

FUNCTION static void round_of(int n)
{
	tail_first(n);
	done += even(7);
	done += recurse(60);
	jumps();
	faults();
	signals();
	exceptions();
	coroutines();
	hop(n);
	sched_yield();
}

static void *thread(void *arg)
{
	int i;

	say_thread();
	for (i = 0; i < (long)arg; i++)
		round_of(i);
	return NULL;
}

static void handle(int nr, void (*handler)(int))
{
	struct sigaction act = { .sa_handler = handler, .sa_flags = SA_RESTART };

	if (sigaction(nr, &act, NULL))
		exit(1);
}

int main(int argc, char **argv)
{
	const struct itimerval timer = { { 0, 1500 }, { 0, 1500 } }, off = { 0 };
	long rounds = argc > 1 ? atoi(argv[1]) : 1, i;
	pthread_t threads[3];

	cpus = sysconf(_SC_NPROCESSORS_ONLN);
	if (argc < 3) {
		leaf(10);
		return 0;
	}
	library = argv[2];
	say_thread();
	handle(SIGSEGV, on_fault);
	handle(SIGUSR1, on_outer);
	handle(SIGUSR2, on_inner);
	handle(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, thread, (void *)rounds);
	for (i = 0; i < rounds; i++) {
		round_of(i);
		libraries();
		programs();
	}
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	setitimer(ITIMER_REAL, &off, NULL);
	return 0;
}
