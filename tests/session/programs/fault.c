/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* An access to a protected page. The signal handler makes the page accessible, and the access is repeated. */
#define NOINLINE __attribute__((noinline, noclone))
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
static char *page;
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
static void handler(int sig) { leaf(sig); mprotect(page, 4096, PROT_READ | PROT_WRITE); }
NOINLINE static void touch(int n) { leaf(n); *(volatile char *)page = n; leaf(n); }
int main(void)
{
	page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	signal(SIGSEGV, handler);
	for (int i = 0; i < 5; i++) {
		touch(i);
		mprotect(page, 4096, PROT_NONE);
	}
	return 0;
}
