/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* Signals that interrupt handlers, and a handler that calls the function which it interrupted. */
#include <signal.h>
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
NOINLINE static void work(int n) { leaf(n); if (n) raise(n & 1 ? SIGUSR1 : SIGUSR2); leaf(n); }
static void one(int sig) { leaf(sig); work(0); raise(SIGUSR2); }
static void two(int sig) { leaf(sig); work(0); }
int main(void) { signal(SIGUSR1, one); signal(SIGUSR2, two); for (int i = 0; i < 10; i++) work(i); return 0; }
