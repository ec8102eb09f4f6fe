/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* Code that the program writes, whose functions call each other, and call or jump back into the program. */
/* record: implicit_return=0 */
#include <string.h>
#include <sys/mman.h>
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
NOINLINE static int back(int n) { leaf(n); return n + 1; }
typedef int code_fn(int (*)(int), int);
NOINLINE static int runs(code_fn *f, int n) { leaf(n); n = f(back, n); leaf(n); return n; }
int main(void)
{
	static const unsigned int code[] = {
		/* addi sp,sp,-16; sd ra,8(sp); jal ra,2f; jal ra,2f; ld ra,8(sp); addi sp,sp,16; j 3f; nop */
		0xff010113, 0x00113423, 0x018000ef, 0x014000ef, 0x00813083, 0x01010113, 0x0300006f, 0x00000013,
		/* 2: addi sp,sp,-16; sd ra,8(sp); sd a0,0(sp); mv t1,a0; mv a0,a1; jalr t1 */
		0xff010113, 0x00113423, 0x00a13023, 0x00050313, 0x00058513, 0x000300e7,
		/* ld a0,0(sp); ld ra,8(sp); addi sp,sp,16; ret */
		0x00013503, 0x00813083, 0x01010113, 0x00008067,
		/* 3: mv t1,a0; mv a0,a1; jr t1 */
		0x00050313, 0x00058513, 0x00030067,
	};
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(p, code, sizeof(code));
	__builtin___clear_cache(p, (char *)p + sizeof(code));
	for (int i = 0; i < 10; i++)
		runs((code_fn *)p, i);
	return 0;
}
