/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* A handler of a signal that leaves by siglongjmp(). */
#define NOINLINE __attribute__((noinline, noclone))
#include <setjmp.h>
#include <signal.h>
static sigjmp_buf at;
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
static void handler(int sig) { leaf(sig); siglongjmp(at, 1); }
NOINLINE static void work(int n) { leaf(n); raise(SIGUSR1); leaf(n); }
NOINLINE static int tries(int n) { if (!sigsetjmp(at, 1)) work(n); leaf(n); return n; }
int main(void) { signal(SIGUSR1, handler); for (int i = 0; i < 10; i++) tries(i); return 0; }
