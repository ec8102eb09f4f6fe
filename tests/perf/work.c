// SPDX-License-Identifier: GPL-2.0-only
/*
 * Do typical work of a system, so that a trace of this work can be compared with the truth. The program forks and
 * executes processes, handles signals and page faults, starts threads, and generates code at run time.
 *
 *   work ROUNDS [DIR [PART]]    write jit-PID.dump (perf inject --jit) to DIR, or no file if DIR is empty
 *
 * PART divides the number of loops, but not the number of processes, threads, signals and faults.
 *
 * Prints "thread TID of PID" for each thread.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096

static volatile unsigned long sum;
static int part = 1;
static volatile sig_atomic_t signals;
static sigjmp_buf fault;
static volatile char *volatile nowhere = (volatile char *)8;

/* ---- jitdump; see tools/perf/Documentation/jitdump-specification.txt ---- */

#define JITDUMP_MAGIC	0x4a695444
#define JITDUMP_ARCH_TIME 1

struct jit_header {
	uint32_t magic, version, size, mach, pad, pid;
	uint64_t time, flags;
};

struct jit_load {
	uint32_t id, size;
	uint64_t time;
	uint32_t pid, tid;
	uint64_t vma, addr, code_size, index;
};

static int jit_fd = -1;
static uint64_t jit_index;

static uint64_t ticks(void)
{
	uint64_t time;

	__asm__ volatile("rdtime %0" : "=r" (time));
	return time;
}

static void jit_write(const void *data, size_t size)
{
	if (write(jit_fd, data, size) != (ssize_t)size)
		exit(1);
}

static void jit_open(const char *dir)
{
	struct jit_header header = {
		.magic = JITDUMP_MAGIC, .version = 1, .size = sizeof(header), .mach = 243,
		.pid = getpid(), .time = ticks(), .flags = JITDUMP_ARCH_TIME,
	};
	char path[256];

	snprintf(path, sizeof(path), "%s/jit-%d.dump", dir, getpid());
	jit_fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0666);
	jit_write(&header, sizeof(header));
	/* perf inject --jit finds the file jit-PID.dump by the record of this mapping */
	if (mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, jit_fd, 0) == MAP_FAILED)
		exit(1);
}

/* Write a loop of @nops nops and a branch. Return the size in bytes */
static size_t jit_make(uint32_t *code, unsigned int nops)
{
	size_t n = 0;
	int back;

	while (n < nops)
		code[n++] = 0x00000013;				/* nop */
	code[n++] = 0xfff50513;					/* addi a0, a0, -1 */
	back = -4 * (int)n;
	code[n++] = 0x00051063 | (back >> 12 & 1u) << 31 |	/* bnez a0 */
		    (back >> 5 & 0x3fu) << 25 | (back >> 1 & 0xfu) << 8 | (back >> 11 & 1u) << 7;
	code[n++] = 0x00008067;					/* ret */
	return n * sizeof(*code);
}

static void jit_run(const char *dir, int rounds)
{
	uint32_t *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct jit_load load = { .pid = getpid(), .tid = getpid() };
	char name[32];
	int i;

	jit_open(dir);
	for (i = 0; i < rounds; i++) {
		/*
		 * Generate the code at another address each time. The last code replaces older code at its address
		 */
		uint32_t *at = code + 64 * (i % 14);
		size_t size = jit_make(at, 1 + i % 5 + i / 14);

		__builtin___clear_cache((char *)at, (char *)at + size);
		snprintf(name, sizeof(name), "made_%d", i);
		load.size = sizeof(load) + strlen(name) + 1 + size;
		load.vma = load.addr = (uintptr_t)at;
		load.code_size = size;
		load.index = jit_index++;
		load.time = ticks();
		jit_write(&load, sizeof(load));
		jit_write(name, strlen(name) + 1);
		jit_write(at, size);
		((void (*)(long))at)(20000 / part);
	}
	close(jit_fd);
}

/* ---- cause signals and page faults ---- */

static void on_signal(int nr)
{
	signals = signals + (nr == SIGUSR1);
}

static void on_fault(int nr)
{
	siglongjmp(fault, nr);
}

static void take_signals(int n)
{
	struct sigaction act = { .sa_handler = on_signal };

	sigaction(SIGUSR1, &act, NULL);
	act.sa_handler = on_fault;
	sigaction(SIGSEGV, &act, NULL);
	while (n--) {
		raise(SIGUSR1);
		if (!sigsetjmp(fault, 1))
			*nowhere = 0;
	}
}

static void take_faults(int n)
{
	while (n--) {
		char *p = mmap(NULL, 32 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		int i;

		for (i = 0; i < 32; i++)
			p[i * PAGE] = i;
		munmap(p, 32 * PAGE);
	}
}

/* ---- sort numbers in threads and processes ---- */

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void sort(int n)
{
	unsigned int seed = n;
	int *v, i;

	n = n / part + 1;
	v = malloc(n * sizeof(*v));

	for (i = 0; i < n; i++)
		v[i] = rand_r(&seed);
	qsort(v, n, sizeof(*v), compare);
	sum += v[n / 2];
	free(v);
}

static void *thread(void *arg)
{
	int i;

	printf("thread %ld of %d\n", syscall(SYS_gettid), getpid());
	fflush(stdout);
	for (i = 0; i < (long)arg; i++) {
		sort(3000);
		raise(SIGUSR1);
	}
	return NULL;
}

static void run_threads(long rounds)
{
	pthread_t t[4];
	int i;

	for (i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, thread, (void *)rounds);
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

static void run_processes(const char *self, int n)
{
	while (n--) {
		pid_t pid = fork();

		if (!pid) {
			if (n & 1) {
				sort(500);
				_exit(0);
			}
			execl(self, self, "leaf", NULL);
			_exit(1);
		}
		waitpid(pid, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1, i;

	if (argc > 1 && !strcmp(argv[1], "leaf")) {
		sort(300);
		return 0;
	}
	if (argc > 3 && atoi(argv[3]) > 0)
		part = atoi(argv[3]);
	printf("thread %d of %d\n", getpid(), getpid());
	fflush(stdout);
	for (i = 0; i < rounds; i++) {
		take_signals(20);
		take_faults(10);
		run_processes("/proc/self/exe", 4);
		run_threads(4);
		sort(20000);
	}
	if (argc > 2 && *argv[2])
		jit_run(argv[2], 40);
	return signals < 20 * rounds;
}
