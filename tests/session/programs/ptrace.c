/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* A child whose parent traces it, and continues it after each stop. */
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include <signal.h>
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
NOINLINE static int work(int n) { leaf(n); return n ? work(n - 1) + 1 : 0; }
NOINLINE static void child(void) { ptrace(PTRACE_TRACEME, 0, 0, 0); raise(SIGSTOP); work(3); _exit(0); }
int main(void)
{
	int pid = fork(), status;

	if (!pid)
		child();
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) { leaf(1); ptrace(PTRACE_CONT, pid, 0, 0); }
	return 0;
}
