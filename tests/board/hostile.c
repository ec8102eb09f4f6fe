// SPDX-License-Identifier: GPL-2.0-only
/*
 * All that leaves a translated block in the middle, for tests/board/log.t: traps of each kind,
 * misaligned and atomic accesses, instructions across a page, code that changes with and
 * without fence.i, wfi, interrupts that come in each place, an xret to a fault, user mode.
 * ROUNDS times.
 */
#include "bare.h"

#define MSIP		(*(volatile uint32_t *)0x2000000)
#define MTIMECMP	(*(volatile uint64_t *)0x2004000)
#define MTIME		(*(volatile uint64_t *)0x200bff8)

/* t1 and t2 in the handler; where to resume; how many interrupts and exceptions there were */
uint64_t frame[5];
#define interrupts	frame[3]
#define exceptions	frame[4]

/*
 * An exception goes on at the next instruction, or at frame[2] if that is not 0 (in machine mode).
 * Interrupts are switched off at their source; the timer comes again soon.
 */
__asm__(
"	.balign	4\n"
"handler:\n"
"	csrw	mscratch, t0\n"
"	la	t0, frame\n"
"	sd	t1, 0(t0)\n"
"	sd	t2, 8(t0)\n"
"	csrr	t1, mcause\n"
"	bltz	t1, 3f\n"
"	ld	t2, 32(t0)\n"
"	addi	t2, t2, 1\n"
"	sd	t2, 32(t0)\n"
"	ld	t2, 16(t0)\n"
"	beqz	t2, 1f\n"
"	sd	zero, 16(t0)\n"
"	csrw	mepc, t2\n"
"	li	t1, 3 << 11\n"
"	csrs	mstatus, t1\n"
"	j	2f\n"
"1:	csrr	t1, mepc\n"
"	lhu	t2, 0(t1)\n"		/* its length */
"	andi	t2, t2, 3\n"
"	addi	t2, t2, -3\n"
"	seqz	t2, t2\n"
"	slli	t2, t2, 1\n"
"	addi	t2, t2, 2\n"
"	add	t1, t1, t2\n"
"	csrw	mepc, t1\n"
"2:	ld	t2, 8(t0)\n"
"	ld	t1, 0(t0)\n"
"	csrr	t0, mscratch\n"
"	mret\n"
"3:	ld	t2, 24(t0)\n"
"	addi	t2, t2, 1\n"
"	sd	t2, 24(t0)\n"
"	slli	t1, t1, 1\n"
"	addi	t1, t1, -14\n"
"	beqz	t1, 4f\n"
"	li	t1, 0x2000000\n"
"	sw	zero, 0(t1)\n"
"	j	2b\n"
"4:	li	t1, 0x200bff8\n"
"	ld	t2, 0(t1)\n"
"	addi	t2, t2, 50\n"
"	li	t1, 0x2004000\n"
"	sd	t2, 0(t1)\n"
"	j	2b\n"
);
extern char handler[];

static uint64_t cells[4] __attribute__((aligned(16)));
static uint16_t code[4096] __attribute__((aligned(4096)));

/* as a call of what is written there */
static uint64_t call(const void *at, uint64_t a)
{
	return ((uint64_t (*)(uint64_t))at)(a);
}

/* "addi a0, a0, N; ret", of 32 and 16 bits; the first one may lie across a page */
static void write_code(uint16_t *at, unsigned int n)
{
	uint32_t addi = 0x00050513 | n << 20;

	at[0] = addi;
	at[1] = addi >> 16;
	at[2] = 0x8082;
}

static uint64_t traps(uint64_t n)
{
	uint64_t v = n;

	__asm__ volatile(
	"	.4byte	0\n"			/* illegal, of two times 16 bits */
	"	.4byte	0xffffffff\n"
	"	ecall\n"
	"	addi	%0, %0, 1\n"
	"	ebreak\n"
	"	.option	push\n"
	"	.option	norvc\n"
	"	ebreak\n"
	"	.option	pop\n"
	"	csrr	t0, 0x5a8\n"		/* no fault: the board has it */
	"	csrr	t0, 0x7ff\n"
	"	li	t0, 0x40000000\n"
	"	ld	t1, 0(t0)\n"		/* nothing there */
	"	sd	t1, 0(t0)\n"
	"	la	t0, 1f + 1\n"
	"	lw	t1, 0(t0)\n"		/* misaligned, and done */
	"	la	t0, cells + 2\n"
	"	amoadd.w t1, t0, (t0)\n"	/* misaligned, and not */
	"	addi	%0, %0, 1\n"
	"1:	lui	t0, 0x40000\n"
	"	la	t1, 2f\n"
	"	la	t2, frame + 16\n"
	"	sd	t1, 0(t2)\n"
	"	jr	t0\n"			/* to nowhere */
	"2:	addi	%0, %0, 1\n"
	: "+r"(v) : : "t0", "t1", "t2", "memory");
	return v;
}

static uint64_t atomics(uint64_t n)
{
	uint64_t old, failed;

	__asm__ volatile(
	"1:	lr.d	%0, (%2)\n"
	"	add	%0, %0, %3\n"
	"	sc.d	%1, %0, (%2)\n"
	"	bnez	%1, 1b\n"
	"	amoadd.d %0, %3, (%2)\n"
	"	amoswap.w t0, %3, (%2)\n"
	: "=&r"(old), "=&r"(failed) : "r"(cells), "r"(n) : "t0", "memory");
	return old;
}

static uint64_t changing_code(uint64_t n)
{
	uint16_t *across = code + 2047, *here = code + 64;
	uint64_t v = n;

	write_code(across, n & 63);
	__asm__ volatile("fence.i" : : : "memory");
	v = call(across, v);
	write_code(here, n & 31);
	v = call(here, v);		/* QEMU sees to it even so */
	write_code(here, (n + 1) & 31);
	v = call(here, v);
	return v;
}

static void user_mode(uint64_t n)
{
	__asm__ volatile(
	"	la	t0, 3f\n"
	"	la	t1, frame + 16\n"
	"	sd	t0, 0(t1)\n"
	"	li	t0, 3 << 11\n"
	"	csrc	mstatus, t0\n"
	"	la	t0, 1f\n"
	"	csrw	mepc, t0\n"
	"	mv	t1, %0\n"
	"	mret\n"
	"1:	andi	t1, t1, 7\n"
	"2:	addi	t1, t1, -1\n"
	"	bgtz	t1, 2b\n"
	"	csrr	t0, mstatus\n"		/* illegal in user mode: that ends it */
	"3:	la	t0, 4f\n"
	"	la	t1, frame + 16\n"
	"	sd	t0, 0(t1)\n"
	"	li	t0, 4\n"
	"	csrw	mepc, t0\n"
	"	mret\n"				/* to a fault */
	"4:\n"
	: : "r"(n) : "t0", "t1", "memory");
}

static void interrupted(uint64_t n)
{
	volatile uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < 20; i++) {
		MSIP = 1;
		sum += i * n;
		if (i == 7) {
			MTIMECMP = MTIME + 20;
			__asm__ volatile("wfi");
		}
	}
}

int main(void)
{
	uint64_t n, sum = 0;

	csr_write(mtvec, handler);
	MTIMECMP = MTIME + 100;
	csr_set(mie, 1 << 7 | 1 << 3);
	csr_set(mstatus, 1 << 3);
	for (n = 0; n < ROUNDS; n++) {
		sum += traps(n) + atomics(n) + changing_code(n);
		user_mode(n);
		/* an exception's return has left them on or off */
		csr_set(mstatus, 1 << 3);
		interrupted(n);
	}
	csr_write(mie, 0);
	put_number(interrupts);
	put(" interrupts, ");
	put_number(exceptions);
	put(" exceptions\n");
	return !sum;
}
