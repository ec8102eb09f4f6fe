// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Accesses to registers of the trace components.
 *
 * The registers are at unused physical addresses of the machine. A load or store
 * at one of these addresses takes an access fault to machine mode. Before the first block
 * of the trap handler runs, the plugin executes the load or store. It calls the
 * model, writes the loaded value to the destination register, advances mepc, and
 * continues the hart at an mret that it finds in the handler. In this way, the
 * registers need no copy in memory, loads have their side effects, and other loads
 * and stores have no overhead.
 *
 * The plugin does not report the trap to the encoder, because software sees only one
 * instruction. The access changes mepc, mcause and mtval, so software in machine mode
 * must not need the values of these registers when it accesses trace components.
 *
 * The firmware must not delegate access faults; OpenSBI does not.
 */
#include <string.h>

#include "../model/regs_common.h"
#include "board.h"

#define CAUSE_LOAD_ACCESS	5
#define CAUSE_STORE_ACCESS	7
#define MRET_SEARCH		(64 << 10)	/* number of bytes of the trap handler in which mret is searched */

#define SATP_MODE_SHIFT		60
#define SATP_PPN		((1ULL << 44) - 1)
#define PTE_V			(1U << 0)
#define PTE_RWX			(7U << 1)
#define PTE_PPN(pte)		((pte) >> 10 & ((1ULL << 44) - 1))

/*
 * Return the number of page table levels for the mode of @atp, which is the value of satp, vsatp or hgatp
 * (Sv39 and wider). Return 0 if the mode is Bare.
 */
static int levels_of(uint64_t atp)
{
	return atp >> SATP_MODE_SHIFT ? (int)(atp >> SATP_MODE_SHIFT) - 5 : 0;
}

/*
 * Translate address @va by the page tables of @atp (Privileged specification, "Virtual Address Translation
 * Process"). The hart has already checked permissions. If @second is true, @atp is hgatp, whose root page
 * table has 16 KiB. If @hgatp is not 0, it translates the addresses of the page tables of vsatp.
 */
static bool walk(uint64_t atp, uint64_t hgatp, bool second, uint64_t va, uint64_t *pa)
{
	uint64_t table = (atp & SATP_PPN) << 12, pte;
	int levels = levels_of(atp);

	if (!levels) {
		*pa = va;
		return true;
	}
	for (int level = levels - 1; level >= 0; level--) {
		uint64_t shift = 12 + 9 * level, mask = (1ULL << shift) - 1;
		uint64_t index = va >> shift & (second && level == levels - 1 ? 2047 : 511);
		uint64_t at = table + index * 8;

		if ((hgatp && !walk(hgatp, 0, true, at, &at)) || !board_mem_read(at, &pte, 8) ||
		    !(pte & PTE_V))
			return false;
		if (pte & PTE_RWX) {
			*pa = (PTE_PPN(pte) << 12 & ~mask) | (va & mask);
			return true;
		}
		table = PTE_PPN(pte) << 12;
	}
	return false;
}

/* Translate an address of the privilege mode from which a trap to machine mode was taken. */
static bool translate(uint64_t va, uint64_t *pa)
{
	enum nb_priv priv = guest_trapped_priv(NB_PRIV_M);
	uint64_t hgatp;

	if (priv == NB_PRIV_M) {
		*pa = va;
		return true;
	}
	if (priv < NB_PRIV_VU)
		return walk(board_reg_read(REG_SATP), 0, false, va, pa);
	hgatp = board_reg_read(REG_HGATP);
	if (!levels_of(hgatp))
		hgatp = 0;
	return walk(board_reg_read(REG_VSATP), hgatp, false, va, pa) &&
	       (!hgatp || walk(hgatp, 0, true, *pa, pa));
}

/* Translate an address of the current privilege mode. Return false if this mode is VS or VU. */
bool mmio_translate(uint64_t va, uint64_t *pa)
{
	uint64_t priv = board_reg_read(REG_PRIV);

	*pa = va;
	return priv == NB_PRIV_M ||
	       (priv < NB_PRIV_VU && walk(board_reg_read(REG_SATP), 0, false, va, pa));
}

/* Read an instruction, which may cross a page boundary. */
static bool fetch(uint64_t pc, uint32_t *opcode)
{
	uint16_t half[2] = { 0 };
	uint64_t pa;

	for (int i = 0; i < 2; i++) {
		if (!translate(pc + 2 * i, &pa) || !board_mem_read(pa, &half[i], 2))
			return false;
		if ((half[0] & 3) != 3)
			break;
	}
	*opcode = half[0] | (uint32_t)half[1] << 16;
	return true;
}

static void set_access(struct mmio_access *a, bool store, unsigned int log2, unsigned int reg, bool sign)
{
	a->store = store;
	a->size = 1 << log2;
	a->reg = reg;
	a->sign = sign;
}

/*
 * Decode a compressed load or store (c.lw, c.ld, c.sw, c.sd, c.lwsp, c.ldsp, c.swsp, c.sdsp). Loads and stores of
 * Zcb are not decoded, because they are narrower than a register.
 */
static bool decode_compressed(uint32_t insn, struct mmio_access *a)
{
	unsigned int f3 = insn >> 13 & 7;

	a->len = 2;
	if (f3 != 2 && f3 != 3 && f3 != 6 && f3 != 7)
		return false;
	switch (insn & 3) {
	case 0:
		set_access(a, f3 >= 6, 2 + (f3 & 1), 8 + (insn >> 2 & 7), true);
		return true;
	case 2:
		set_access(a, f3 >= 6, 2 + (f3 & 1), f3 >= 6 ? insn >> 2 & 31 : insn >> 7 & 31, true);
		return true;
	}
	return false;
}

static bool decode(uint32_t insn, struct mmio_access *a)
{
	unsigned int f3 = insn >> 12 & 7;

	if ((insn & 3) != 3)
		return decode_compressed(insn & 0xffff, a);
	a->len = 4;
	if ((insn & 0x7f) == 0x03 && f3 != 7) {
		set_access(a, false, f3 & 3, insn >> 7 & 31, !(f3 & 4));
		return true;
	}
	if ((insn & 0x7f) == 0x23 && f3 <= 3) {
		set_access(a, true, f3, insn >> 20 & 31, false);
		return true;
	}
	return false;
}

/* Set the state of the access. GATE_MMIO is set while an access is in progress. */
static void set_state(struct hart *h, enum mmio_state state)
{
	h->mmio = state;
	if (state == MMIO_NONE)
		h->score->gate &= ~(uint64_t)GATE_MMIO;
	else
		h->score->gate |= GATE_MMIO;
}

/* Abort an access that was in progress when the machine was reset. */
void mmio_reset(struct hart *h)
{
	set_state(h, MMIO_NONE);
}

/**
 * mmio_fault() - check whether an exception is an access to a register
 * @h: The hart, after the trap
 * @epc: Address of the instruction that trapped
 *
 * Return: True if the exception is an access to a register, in which case the caller must not report the trap.
 */
bool mmio_fault(struct hart *h, uint64_t epc)
{
	struct mmio_access *a = &h->access;
	struct board_dev *dev;
	uint64_t cause, va, pa;
	uint32_t opcode;

	if (board_reg_read(REG_PRIV) != NB_PRIV_M)
		return false;
	cause = board_reg_read(REG_MCAUSE);
	if (cause != CAUSE_LOAD_ACCESS && cause != CAUSE_STORE_ACCESS)
		return false;
	va = board_reg_read(REG_MTVAL);
	if (!translate(va, &pa))
		return false;
	dev = topology_find(pa);
	if (!dev)
		return false;
	if (!power_is_on(dev)) {
		nb_dev_report(dev->dev, NB_REPORT_OFF, pa - dev->addr, 0);
		return false;
	}
	if (!fetch(epc, &opcode) || !decode(opcode, a) || a->store != (cause == CAUSE_STORE_ACCESS)) {
		board_warn("%s: access at %#llx is not by an integer load or store; it faults", dev->name,
			   (unsigned long long)epc);
		return false;
	}
	if (!nb_dev_access(dev->dev, pa - dev->addr, a->size) && board.strict_access)
		return false;
	a->opcode = opcode;
	a->epc = epc;
	a->addr = pa;
	a->dev = dev->dev;
	a->offset = pa - dev->addr;
	if (a->store)
		dev->stores++;
	else
		dev->loads++;
	set_state(h, MMIO_FAULTED);
	h->stats.mmio++;
	latency_access(h, a->store);
	return true;
}

/*
 * Perform a store. Registers have 32 bits. An aligned store of 64 bits has the effect of two stores, like on
 * many buses. A narrower or unaligned store was already reported and has no effect.
 */
static void access_store(struct mmio_access *a)
{
	uint64_t value = a->reg ? board_reg_read(a->reg) : 0;

	if (a->size < 4 || a->offset & (a->size - 1))
		return;
	nb_dev_write(a->dev, a->offset, value);
	if (a->size == 8)
		nb_dev_write(a->dev, a->offset + 4, value >> 32);
}

static void access_load(struct mmio_access *a)
{
	uint64_t value = nb_dev_read(a->dev, a->offset & ~3U);
	unsigned int shift;

	if (a->size == 8)
		value |= (uint64_t)nb_dev_read(a->dev, (a->offset & ~3U) + 4) << 32;
	value >>= 8 * (a->offset & 3);
	shift = 64 - 8 * a->size;
	value = a->sign ? (uint64_t)((int64_t)(value << shift) >> shift) : value << shift >> shift;
	if (a->reg)
		board_reg_write(a->reg, value);
}

static uint64_t find_mret(struct hart *h)
{
	static __thread uint8_t code[MRET_SEARCH];
	uint64_t vec = board_reg_read(REG_MTVEC) & ~3ULL;

	if (h->mret && vec == h->mret_vec)
		return h->mret;
	if (!board_mem_read(vec, code, sizeof(code)))
		board_fatal("the trap handler at %#llx cannot be read", (unsigned long long)vec);
	for (size_t i = 0; i + 4 <= sizeof(code); i += 2) {
		uint32_t opcode;

		memcpy(&opcode, code + i, 4);
		if (opcode == MRET) {
			h->mret_vec = vec;
			h->mret = vec + i;
			return h->mret;
		}
	}
	board_fatal("the firmware's trap handler has no mret: give QEMU OpenSBI (-bios)");
}

/**
 * mmio_step() - process a block that is about to run while an access is in progress
 * @h: The hart, which the caller has entered
 *
 * Return: True if the block is the mret of the trap handler, which is not part of the trace. If the block is
 * the start of the trap handler, the function does not return, because the hart continues at the mret.
 */
bool mmio_step(struct hart *h)
{
	struct mmio_access *a = &h->access;
	uint64_t mret;

	if (h->mmio == MMIO_RETURN) {
		set_state(h, MMIO_NONE);
		return true;
	}
	mret = find_mret(h);
	board_claim(h);
	memory_sync();
	if (a->store) {
		access_store(a);
		topology_drain();
	} else {
		access_load(a);
	}
	memory_sync();
	board_release(h);
	/* Report the store or load after its effect, so that the trace begins with the store that enables it */
	if (h->score->gate & GATE_STREAM) {
		if (!h->have_priv) {
			h->priv = guest_trapped_priv(NB_PRIV_M);
			h->have_priv = true;
		}
		stream_emit(h, a->epc, a->len / 2, a->opcode);
		h->expect = a->epc + a->len;
		h->have_expect = true;
	}
	board_reg_write(REG_MEPC, a->epc + a->len);
	set_state(h, MMIO_RETURN);
	hart_leave(h);
	qemu_plugin_set_pc(mret);
}
