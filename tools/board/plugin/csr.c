// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Emulation of scontext and hcontext (Debug Specification, chapter "Sdtrig"). QEMU lacks these
 * registers and would raise an illegal instruction exception. The plugin finds the instructions
 * when code is translated, so other code has no overhead.
 */
#include <stdlib.h>

#include "board.h"

#define CSR_SCONTEXT	0x5a8
#define CSR_HCONTEXT	0x6a8
#define SCONTEXT_MASK	0xffffffffULL	/* textra64.svalue can match 32 bits */
#define HCONTEXT_MASK	0x3fffULL	/* textra64.mhvalue has 13 bits, or 14 with the H extension */

#define OPCODE_SYSTEM	0x73

struct csr_insn {
	uint64_t pc;
	uint32_t opcode;
};

/*
 * Compute the new value of the register. Return false if the instruction does not write it, which is the case for
 * csrrs and csrrc with x0, and for csrrsi and csrrci with 0.
 */
bool csr_new_value(uint32_t opcode, uint64_t old, uint64_t *value)
{
	unsigned int f3 = opcode >> 12 & 7, rs1 = opcode >> 15 & 31;
	uint64_t src = f3 & 4 ? rs1 : rs1 ? board_reg_read(rs1) : 0;

	switch (f3 & 3) {
	case 1:
		*value = src;
		return true;
	case 2:
		*value = old | src;
		return rs1;
	default:
		*value = old & ~src;
		return rs1;
	}
}

/* Pass scontext and hcontext to the encoder and to the truth file. The caller has called hart_enter(@h). */
static void csr_tell(struct hart *h)
{
	if (h->te)
		nb_te_context(h->te, h->scontext, h->hcontext);
	if (h->truth) {
		nb_truth_context(h->truth, h->scontext, h->hcontext);
		nb_truth_time(h->truth, board_time());
	}
}

/*
 * Return true if the current mode may use the register (Debug Specification, "Sdtrig"; Smstateen,
 * bit 57). Supervisor and virtual supervisor mode may use scontext, and only supervisor mode may
 * use hcontext.
 */
static bool csr_allowed(bool hcontext)
{
	const uint64_t context = 1ULL << 57;
	bool gated = guest_has_reg(REG_MSTATEEN0);

	switch (board_reg_read(REG_PRIV)) {
	case NB_PRIV_M:
		return true;
	case NB_PRIV_S:
		return !gated || board_reg_read(REG_MSTATEEN0) & context;
	case NB_PRIV_VS:
		return !hcontext && (!gated || board_reg_read(REG_MSTATEEN0) &
					       board_reg_read(REG_HSTATEEN0) & context);
	default:
		return false;
	}
}

static void csr_exec(unsigned int vcpu, void *opaque)
{
	struct hart *h = &board.harts[vcpu];
	const struct csr_insn *insn = opaque;
	unsigned int rd = insn->opcode >> 7 & 31;
	bool hcontext = insn->opcode >> 20 == CSR_HCONTEXT;
	uint64_t *csr = hcontext ? &h->hcontext : &h->scontext;
	uint64_t old = *csr, value;

	/* If the access is not allowed, QEMU raises the exception */
	if (!csr_allowed(hcontext))
		return;
	hart_enter_wait(h);
	if (csr_new_value(insn->opcode, old, &value)) {
		*csr = value & (hcontext ? HCONTEXT_MASK : SCONTEXT_MASK);
		csr_tell(h);
	}
	/* Set this flag here, because qemu_plugin_set_pc() skips the translated code that sets it */
	h->score->reached = 1;
	hart_leave(h);
	if (rd)
		board_reg_write(rd, old);
	qemu_plugin_set_pc(insn->pc + 4);
}

/* Reset scontext, which firmware does not restore. The caller has entered the hart. */
void csr_reset(struct hart *h)
{
	h->scontext = 0;
	csr_tell(h);
}

/**
 * csr_instrument() - let the plugin execute @insn if it accesses scontext or hcontext
 * @insn: Instruction of a block that is being translated
 * @opcode: Bytes of the instruction
 * @pc: Address of the instruction
 *
 * The instruction is the last one of its block, because QEMU translates it to an exception. The function
 * assumes that the instruction executes at @pc, because code that is mapped at several addresses does
 * not use these registers.
 *
 * Return: True if the plugin executes the instruction.
 */
bool csr_instrument(struct qemu_plugin_insn *insn, uint32_t opcode, uint64_t pc)
{
	unsigned int csr = opcode >> 20;
	struct csr_insn *c;

	if ((opcode & 0x7f) != OPCODE_SYSTEM || !(opcode >> 12 & 3))
		return false;
	if (!(csr == CSR_SCONTEXT && board.has_scontext) && !(csr == CSR_HCONTEXT && board.has_hcontext))
		return false;
	c = malloc(sizeof(*c));
	if (!c)
		board_fatal("no memory");
	c->pc = pc;
	c->opcode = opcode;
	qemu_plugin_register_vcpu_insn_exec_cb(insn, csr_exec, QEMU_PLUGIN_CB_RW_REGS_PC, c);
	return true;
}
