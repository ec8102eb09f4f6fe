// SPDX-License-Identifier: GPL-2.0-only
/*
 * These programs make traces that perf must handle. tests/long/perf-tried.t uses them.
 *
 *   tried bpf PACKETS		filter packets by a BPF program, which the kernel compiles
 *   tried ptrace ROUNDS		stop a child at a breakpoint that its debugger writes
 *   tried exec FILE PROGRAM...	execute PROGRAM as soon as FILE exists
 *   tried sort NR ROUNDS	sort numbers
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SO_ATTACH_BPF
#define SO_ATTACH_BPF	50
#endif
#define EBREAK		0x00100073u
#define NT_PRSTATUS	1

static volatile unsigned long sum;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* ---- This BPF program loops for 100 rounds, and accepts the packet ---- */

static int bpf_load(void)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 1, .imm = 100 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_X, .dst_reg = 0, .src_reg = 1 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 1, .imm = -1 },
		{ .code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = 1, .off = -3, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER, .insn_cnt = sizeof(insns) / sizeof(*insns),
		.insns = (uintptr_t)insns, .license = (uintptr_t)"GPL", .prog_name = "tried",
	};

	return syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

static void send_packets(long packets)
{
	int pair[2], prog = bpf_load();
	char byte = 1;

	if (prog < 0)
		fail("bpf");
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) ||
	    setsockopt(pair[1], SOL_SOCKET, SO_ATTACH_BPF, &prog, sizeof(prog)))
		fail("socketpair");
	while (packets--) {
		if (send(pair[0], &byte, 1, 0) != 1 || recv(pair[1], &byte, 1, 0) != 1)
			fail("send");
	}
}

/* ---- a debugger, which changes the code of its child by ptrace() ---- */

static __attribute__((noinline)) void ping(unsigned long n)
{
	sum += n * n;
}

static __attribute__((noinline)) void pong(unsigned long n)
{
	sum -= n;
}

static void child(long rounds)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		fail("ptrace");
	raise(SIGSTOP);
	while (rounds--) {
		ping(rounds);
		pong(rounds);
	}
	exit(0);
}

static void poke(pid_t pid, unsigned long addr, unsigned long code)
{
	if (ptrace(PTRACE_POKETEXT, pid, (void *)addr, (void *)code))
		fail("PTRACE_POKETEXT");
}

/* Return the program counter, which is the first register */
static unsigned long get_pc(pid_t pid)
{
	unsigned long regs[32];
	struct iovec iov = { regs, sizeof(regs) };

	if (ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &iov))
		fail("PTRACE_GETREGSET");
	return regs[0];
}

static void await_stop(pid_t pid, int signal)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) || WSTOPSIG(status) != signal)
		fail("waitpid");
}

/* Run the child until it calls @function, and restore the code of @function. */
static void run_to(pid_t pid, void (*function)(unsigned long))
{
	unsigned long at = (uintptr_t)function;
	unsigned long code = ptrace(PTRACE_PEEKTEXT, pid, (void *)at, NULL);

	poke(pid, at, (code & ~0xffffffffUL) | EBREAK);
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	await_stop(pid, SIGTRAP);
	if (get_pc(pid) != at)
		fail("breakpoint");
	poke(pid, at, code);
}

static void debug(long rounds)
{
	pid_t pid = fork();
	long i;
	int status;

	if (!pid)
		child(rounds);
	await_stop(pid, SIGSTOP);
	for (i = 0; i < rounds; i++) {
		run_to(pid, ping);
		run_to(pid, pong);
	}
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status))
		fail("the child");
}

/* ---- sort numbers or start another program, depending on the arguments ---- */

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void sort(int nr, int rounds)
{
	int *numbers = malloc(nr * sizeof(*numbers)), i;
	unsigned int seed = nr;

	while (rounds--) {
		for (i = 0; i < nr; i++)
			numbers[i] = rand_r(&seed);
		qsort(numbers, nr, sizeof(*numbers), compare);
		sum += numbers[nr / 2];
	}
	free(numbers);
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";

	if (!strcmp(what, "bpf")) {
		send_packets(atol(argv[2]));
	} else if (!strcmp(what, "ptrace")) {
		debug(atol(argv[2]));
	} else if (!strcmp(what, "exec") && argc > 3) {
		while (access(argv[2], F_OK))
			usleep(1000);
		sort(200, 5);
		execv(argv[3], argv + 3);
		fail(argv[3]);
	} else if (!strcmp(what, "sort") && argc > 3) {
		sort(atoi(argv[2]), atoi(argv[3]));
	} else {
		return 2;
	}
	return 0;
}
