/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* Children of vfork() and of fork(). */
#define NOINLINE __attribute__((noinline, noclone))
#include <sys/wait.h>
#include <unistd.h>
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
NOINLINE static void child(void) { leaf(1); _exit(0); }
NOINLINE static void forks(void) { int status; leaf(2); if (!fork()) child(); wait(&status); leaf(3); }
NOINLINE static void vforks(void) { int status; leaf(4); if (!vfork()) _exit(0); wait(&status); leaf(5); }
int main(void) { for (int i = 0; i < 3; i++) { forks(); vforks(); } return 0; }
