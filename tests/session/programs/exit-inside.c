/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* exit() inside calls, with handlers. */
#include <stdlib.h>
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
static void last(void) { leaf(9); }
NOINLINE static void ends(int n) { leaf(n); if (!n) exit(0); ends(n - 1); leaf(n); }
int main(void) { atexit(last); atexit(last); ends(5); return 1; }
