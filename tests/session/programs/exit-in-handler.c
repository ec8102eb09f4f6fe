/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* _exit() from deep inside a signal handler. */
#include <signal.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }

NOINLINE static void down(int n) { leaf(n); if (!n) _exit(0); down(n - 1); leaf(n); }
static void handler(int sig) { leaf(sig); down(10); }
NOINLINE static void send(int n) { leaf(n); if (!n) raise(SIGUSR1); else send(n - 1); leaf(n); }
int main(void) { signal(SIGUSR1, handler); send(5); return 1; }
