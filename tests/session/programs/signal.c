/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* Signals on the stack of the program. */
#define NOINLINE __attribute__((noinline, noclone))
#include <signal.h>
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
static void handler(int sig) { leaf(sig); leaf(sig); }
NOINLINE static void work(int n) { leaf(n); raise(SIGUSR1); leaf(n); }
int main(void) { signal(SIGUSR1, handler); for (int i = 0; i < 10; i++) work(i); return 0; }
