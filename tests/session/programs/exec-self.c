/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* A program that replaces itself by execv() while several of its calls are open. */
#include <unistd.h>
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
NOINLINE static void again(int n, char **argv) { leaf(n); if (n) again(n - 1, argv); else execv("/proc/self/exe", (char *[]){ argv[0], "x", NULL }); leaf(n); }
int main(int argc, char **argv) { leaf(argc); if (argc < 2) again(3, argv); leaf(5); return 0; }
