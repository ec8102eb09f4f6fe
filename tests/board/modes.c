// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test privilege levels, for tests/board/modes.t. Print which levels may use scontext and hcontext,
 * the level that is reported if the first instruction after an xret traps, and registers of trace
 * components that a guest reads through two stages of address translation.
 */
#include "bare.h"

#define U	0
#define S	1
#define M	3
#define VU	4
#define VS	5

static const char *const names[] = { "U", "S", "", "M", "VU", "VS" };

uint64_t saved_sp;
struct { uint64_t cause, epc; } trap;

/*
 * Run @fn at the privilege level in @mstatus. @fn ends with an ecall. Any other trap also ends @fn, and
 * is stored in the variable trap.
 */
uint64_t go(uint64_t mstatus, uint64_t fn, uint64_t arg);
__asm__(
"	.balign 4\n"
"handler:\n"
"	csrr	t0, mcause\n"
"	la	t1, trap\n"
"	sd	t0, 0(t1)\n"
"	csrr	t0, mepc\n"
"	sd	t0, 8(t1)\n"
"	la	t1, saved_sp\n"
"	ld	sp, 0(t1)\n"
"	ld	ra, 0(sp)\n"
"	ld	s0, 8(sp)\n"
"	ld	s1, 16(sp)\n"
"	addi	sp, sp, 32\n"
"	ret\n"
"	mret\n"		/* The board executes this mret after an access to a trace register (see bare.S) */
"	.globl	go\n"
"go:	addi	sp, sp, -32\n"
"	sd	ra, 0(sp)\n"
"	sd	s0, 8(sp)\n"
"	sd	s1, 16(sp)\n"
"	la	t1, saved_sp\n"
"	sd	sp, 0(t1)\n"
"	csrw	mstatus, a0\n"
"	csrw	mepc, a1\n"
"	csrw	sepc, a1\n"
"	li	t0, 3 << 11\n"
"	and	t0, t0, a0\n"
"	mv	a0, a2\n"
"	bnez	t0, 1f\n"
"	sret\n"		/* QEMU does not let software set mstatus.MPV */
"1:	mret\n"
"	.globl	use_scontext\n"
"use_scontext:\n"
"	csrrw	a0, 0x5a8, a0\n"
"	ecall\n"
"	.globl	use_hcontext\n"
"use_hcontext:\n"
"	csrrw	a0, 0x6a8, a0\n"
"	ecall\n"
"	.globl	load\n"
"load:	lw	a0, 0(a0)\n"
"	ecall\n"
"	.globl	load_half\n"
"load_half:	lh	a0, 0(a0)\n"
"	ecall\n"
"	.globl	load_double\n"
"load_double:	ld	a0, 0(a0)\n"
"	ecall\n"
"	.globl	load_word\n"
"load_word:	lw	a0, 0(a0)\n"
"	ecall\n"
"	.globl	store_double\n"
"store_double:	sd	zero, 0(a0)\n"
"	ecall\n"
);
extern char handler[], use_scontext[], use_hcontext[], load[], load_half[], load_double[], load_word[], store_double[];

static void run(int level, const void *fn, uint64_t arg)
{
	/* machine mode handles all traps, because no trap is delegated */
	trap.cause = 0;
	csr_write(hstatus, 0x200000000UL | (level >> 2) << 7);
	go(level == M ? 3 << 11 : (level & 1) << 8, (uint64_t)fn, arg);
}

static void say(const char *what, int level)
{
	put(what);
	put(" ");
	put(names[level]);
	put(" ");
	/* the ecall at the end of the function has cause 8 to 11; any other cause is of an earlier trap */
	if (trap.cause >= 8 && trap.cause <= 11)
		put("ok");
	else
		put_number(trap.cause);
	put("\n");
}

static uint64_t g_root[2048] __attribute__((aligned(16384)));
static uint64_t vs_root[512] __attribute__((aligned(4096)));

int main(void)
{
	static const int levels[] = { U, S, VU, VS, M };
	unsigned int i;

	csr_write(mtvec, handler);
	for (i = 0; i < 5; i++) {
		run(levels[i], use_scontext, 0x100 + i);
		say("scontext", levels[i]);
		run(levels[i], use_hcontext, i);
		say("hcontext", levels[i]);
	}
	/*
	 * Map 1 GiB at the address 2 GiB of the guest unchanged, and the trace registers 4 GiB
	 * higher. Each mapping is one leaf of the page table
	 */
	g_root[2] = 0x80000000UL >> 2 | 0xdf;
	g_root[4] = 0 >> 2 | 0xdf;
	vs_root[2] = 0x80000000UL >> 2 | 0xcf;
	vs_root[3] = 0x100000000UL >> 2 | 0xcf;
	csr_write(hgatp, 8UL << 60 | (uint64_t)g_root >> 12);
	csr_write(0x280, 8UL << 60 | (uint64_t)vs_root >> 12);	/* vsatp selects the page table vs_root */
	trace_regs(0)[0] = 1;
	run(VS, load, 0xc0000000UL + TRACE);
	say("guest load", VS);
	/* the first instruction after an xret traps, because address 4 does not have memory */
	run(S, (void *)4, 0);
	say("fetch", S);
	csr_write(0x280, 0);
	run(VS, (void *)4, 0);
	say("fetch", VS);
	run(VU, (void *)4, 0);
	say("fetch", VU);
	run(U, (void *)4, 0);
	say("fetch", U);
	/* try accesses that are not of exactly one aligned register */
	run(M, load_half, TRACE);
	say("lh", M);
	run(M, load_double, TRACE);
	say("ld", M);
	run(M, load_word, TRACE + 2);
	say("misaligned lw", M);
	run(M, store_double, TRACE + 0x10);
	say("sd", M);
	run(M, load_word, TRACE);
	say("lw", M);
	return 0;
}
