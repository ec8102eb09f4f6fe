/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* Code that the program writes, and that calls the program and itself. A decoder lacks this code, so the trace must report its returns. */
/* record: implicit_return=0 */
#include <string.h>
#include <sys/mman.h>
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
NOINLINE static int back(int n) { leaf(n); return n + 1; }
NOINLINE static int runs(int (*f)(int (*)(int), int), int n) { leaf(n); n = f(back, n); leaf(n); return n; }
int main(void)
{
	/* addi sp,sp,-16; sd ra,8(sp); mv t1,a0; mv a0,a1; jalr t1; ld ra,8(sp); addi sp,sp,16; ret */
	static const unsigned int code[] = { 0xff010113, 0x00113423, 0x00050313, 0x00058513, 0x000300e7, 0x00813083,
					     0x01010113, 0x00008067 };
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(p, code, sizeof(code));
	__builtin___clear_cache(p, (char *)p + sizeof(code));
	for (int i = 0; i < 10; i++)
		runs((int (*)(int (*)(int), int))p, i);
	return 0;
}
