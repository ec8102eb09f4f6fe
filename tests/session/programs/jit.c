/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* Code that the program writes itself. */
/* record: implicit_return=0 */
#define NOINLINE __attribute__((noinline, noclone))
#include <string.h>
#include <sys/mman.h>
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
NOINLINE static int runs(int (*f)(int), int n) { leaf(n); n = f(n); leaf(n); return n; }
int main(void)
{
	static const unsigned int code[] = { 0x00150513, 0x00008067 };	/* addi a0, a0, 1; ret */
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(p, code, sizeof(code));
	__builtin___clear_cache(p, (char *)p + sizeof(code));
	for (int i = 0; i < 5; i++)
		runs((int (*)(int))p, i);
	return 0;
}
