/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* Children that return through the calls that their parent made before fork(). */
#include <sys/wait.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
NOINLINE static int forks(int n) { leaf(n); int pid = n ? forks(n - 1) : fork(); leaf(n); return pid; }
int main(void) { int status; for (int i = 0; i < 4; i++) { if (!forks(i)) { leaf(1); _exit(0); } wait(&status); } return 0; }
