// SPDX-License-Identifier: GPL-2.0-only
/*
 * Execute code that makes QEMU leave a translated block before its end, for tests/board/log.t. The
 * reasons are traps of each kind, misaligned and atomic accesses, instructions that cross a page, code
 * that changes with and without fence.i, wfi, interrupts at each instruction, an xret to an address that
 * faults, and user mode. Repeat the code ROUNDS times.
 */
#include "bare.h"

#define HARTS		2
#define MTIME		(*(volatile uint64_t *)0x200bff8)
#define INTERVAL	50
#define SPP		(1U << 8)
#define SPV		(1U << 7)

/*
 * State of the trap handler. mscratch contains the address of this structure. interval is the number
 * of mtime ticks to the next timer interrupt. Each interrupt increases the interval by a quarter, and
 * each round resets it to INTERVAL. Therefore the program continues even on a busy machine that writes
 * a log, on which a handler may take longer than INTERVAL.
 */
static struct frame {
	uint64_t		t1, t2;
	uint64_t		resume;
	uint64_t		interrupts, exceptions;
	volatile uint32_t	*msip;
	volatile uint64_t	*mtimecmp;
	uint64_t		interval;
} frames[HARTS];

static volatile int done[HARTS];

/*
 * The trap handler. After an exception, it continues at the next instruction, or in machine mode at
 * frame.resume if that is not 0. After an interrupt, it disables the source, and lets the timer expire
 * again soon.
 */
__asm__(
"	.balign	4\n"
"handler:\n"
"	csrrw	t0, mscratch, t0\n"
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
"	lhu	t2, 0(t1)\n"		/* length of the instruction */
"	andi	t2, t2, 3\n"
"	addi	t2, t2, -3\n"
"	seqz	t2, t2\n"
"	slli	t2, t2, 1\n"
"	addi	t2, t2, 2\n"
"	add	t1, t1, t2\n"
"	csrw	mepc, t1\n"
"2:	ld	t2, 8(t0)\n"
"	ld	t1, 0(t0)\n"
"	csrrw	t0, mscratch, t0\n"
"	mret\n"
"3:	ld	t2, 24(t0)\n"
"	addi	t2, t2, 1\n"
"	sd	t2, 24(t0)\n"
"	slli	t1, t1, 1\n"
"	addi	t1, t1, -14\n"
"	beqz	t1, 4f\n"
"	ld	t1, 40(t0)\n"
"	sw	zero, 0(t1)\n"
"	j	2b\n"
"4:	ld	t1, 56(t0)\n"
"	srli	t2, t1, 2\n"
"	add	t1, t1, t2\n"
"	sd	t1, 56(t0)\n"
"	li	t2, 0x200bff8\n"
"	ld	t2, 0(t2)\n"
"	add	t2, t2, t1\n"
"	ld	t1, 48(t0)\n"
"	sd	t2, 0(t1)\n"
"	j	2b\n"
);
extern char handler[];

static uint64_t cells[HARTS][4] __attribute__((aligned(16)));
static uint16_t codes[HARTS][4096] __attribute__((aligned(4096)));

/* Call the code at @at with the argument @a, and return its result. */
static uint64_t call(const void *at, uint64_t a)
{
	return ((uint64_t (*)(uint64_t))at)(a);
}

/* Write the instructions "addi a0, a0, N" of 32 bits and "ret" of 16 bits. The first may cross a page. */
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
	"	.4byte	0\n"			/* two illegal instructions of 16 bits each, which trap */
	"	.4byte	0xffffffff\n"
	"	ecall\n"
	"	addi	%0, %0, 1\n"
	"	ebreak\n"
	"	.option	push\n"
	"	.option	norvc\n"
	"	ebreak\n"
	"	.option	pop\n"
	"	csrr	t0, 0x5a8\n"		/* This CSR (scontext) causes no fault, because the board implements it */
	"	csrr	t0, 0x7ff\n"
	"	li	t0, 0x40000000\n"
	"	ld	t1, 0(t0)\n"		/* no memory at this address */
	"	sd	t1, 0(t0)\n"
	"	la	t0, 1f + 1\n"
	"	lw	t1, 0(t0)\n"		/* misaligned, executed without a fault */
	"	la	t0, cells + 2\n"
	"	amoadd.w t1, t0, (t0)\n"	/* misaligned, causes a fault */
	"	addi	%0, %0, 1\n"
	"1:	lui	t0, 0x40000\n"
	"	la	t1, 2f\n"
	"	csrr	t2, mscratch\n"
	"	sd	t1, 16(t2)\n"
	"	jr	t0\n"			/* jump to an address without memory */
	"2:	addi	%0, %0, 1\n"
	: "+r"(v) : : "t0", "t1", "t2", "memory");
	return v;
}

static uint64_t atomics(unsigned int hart, uint64_t n)
{
	uint64_t old, failed;

	__asm__ volatile(
	"1:	lr.d	%0, (%2)\n"
	"	add	%0, %0, %3\n"
	"	sc.d	%1, %0, (%2)\n"
	"	bnez	%1, 1b\n"
	"	amoadd.d %0, %3, (%2)\n"
	"	amoswap.w t0, %3, (%2)\n"
	: "=&r"(old), "=&r"(failed) : "r"(cells[hart]), "r"(n) : "t0", "memory");
	return old;
}

static uint64_t changing_code(unsigned int hart, uint64_t n)
{
	uint16_t *code = codes[hart], *across = code + 2047, *here = code + 64;
	uint64_t v = n;

	write_code(across, n & 63);
	__asm__ volatile("fence.i" : : : "memory");
	v = call(across, v);
	write_code(here, n & 31);
	v = call(here, v);		/* QEMU notices the change even without fence.i */
	write_code(here, (n + 1) & 31);
	v = call(here, v);
	return v;
}

/*
 * Run code in a lower mode. Enter the mode by sret, because QEMU does not let software set mstatus.MPV.
 * @spp is SPP of mstatus, and @spv is SPV of hstatus.
 */
static void lower_mode(uint64_t n, uint64_t spp, uint64_t spv)
{
	__asm__ volatile(
	"	la	t0, 3f\n"
	"	csrr	t1, mscratch\n"
	"	sd	t0, 16(t1)\n"
	"	csrc	mstatus, %3\n"
	"	csrs	mstatus, %1\n"
	"	csrs	0x600, %2\n"		/* Set hstatus; sret clears SPV */
	"	la	t0, 1f\n"
	"	csrw	sepc, t0\n"
	"	mv	t1, %0\n"
	"	sret\n"
	"1:	andi	t1, t1, 7\n"
	"2:	addi	t1, t1, -1\n"
	"	bgtz	t1, 2b\n"
	"	csrr	t0, mstatus\n"		/* illegal below machine mode; the trap then enters machine mode */
	"3:	la	t0, 4f\n"
	"	csrr	t1, mscratch\n"
	"	sd	t0, 16(t1)\n"
	"	li	t0, 4\n"
	"	csrw	sepc, t0\n"
	"	csrc	mstatus, %3\n"
	"	csrs	mstatus, %1\n"
	"	csrs	0x600, %2\n"
	"	sret\n"				/* return to an address that faults */
	"4:\n"
	: : "r"(n), "r"(spp), "r"(spv), "r"(SPP) : "t0", "t1", "memory");
}

static void interrupted(struct frame *frame, uint64_t n)
{
	volatile uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < 20; i++) {
		*frame->msip = 1;
		sum += i * n;
		if (i == 7) {
			*frame->mtimecmp = MTIME + 20;
			__asm__ volatile("wfi");
		}
	}
}

static uint64_t run(unsigned int hart)
{
	struct frame *frame = &frames[hart];
	uint64_t n, sum = 0;

	frame->msip = (uint32_t *)0x2000000 + hart;
	frame->mtimecmp = (uint64_t *)0x2004000 + hart;
	csr_write(mscratch, frame);
	csr_write(mtvec, handler);
	frame->interval = INTERVAL;
	*frame->mtimecmp = MTIME + 100;
	/* htimedelta reduces the time of VS and VU mode, so that none of their timers expires */
	csr_write(0x605, -(1UL << 40));
	csr_set(mie, 1 << 7 | 1 << 3);
	csr_set(mstatus, 1 << 3);
	for (n = 0; n < ROUNDS; n++) {
		frame->interval = INTERVAL;
		sum += traps(n) + atomics(hart, n) + changing_code(hart, n);
		/* enter U, S, VU and VS mode in turn */
		lower_mode(n, n & 1 ? SPP : 0, n & 2 ? SPV : 0);
		/* enable interrupts, because the return from an exception may have left them disabled */
		csr_set(mstatus, 1 << 3);
		interrupted(frame, n);
	}
	csr_write(mie, 0);
	done[hart] = 1;
	return sum;
}

int main(unsigned int hart)
{
	uint64_t sum = run(hart);
	unsigned int i;

	if (hart)
		return 0;
	for (i = 0; i < RUNNING; i++) {
		/*
		 * Wait in a loop of two blocks. If a single block jumped to itself, the log would not
		 * show how many times it ran
		 */
		while (!done[i])
			__asm__ volatile("j 1f\n.4byte 0x13, 0x13\n1:");
		put_number(frames[i].interrupts);
		put(" interrupts, ");
		put_number(frames[i].exceptions);
		put(i + 1 < RUNNING ? " exceptions; " : " exceptions\n");
	}
	return !sum;
}
