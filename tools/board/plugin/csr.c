// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * scontext and hcontext (Debug Specification, chapter "Sdtrig"), which QEMU
 * lacks: it would raise an illegal instruction exception. The instructions are
 * found when code is translated, so they cost nothing where there are none.
 */
#include <stdlib.h>

#include "board.h"

#define CSR_SCONTEXT	0x5a8
#define CSR_HCONTEXT	0x6a8
#define SCONTEXT_MASK	0xffffffffULL	/* textra64.svalue can match 32 bits */
#define HCONTEXT_MASK	0x3fffULL	/* textra64.mhvalue: 13 bits and one more with H */

#define OPCODE_SYSTEM	0x73

struct csr_insn {
	uint64_t pc;
	uint32_t opcode;
};

/* Zicsr: csrrs and csrrc with x0, or 0, do not write */
static bool csr_new_value(uint32_t opcode, uint64_t old, uint64_t *value)
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

/* @h is entered: tell the encoder and the truth the new values of scontext and hcontext */
static void csr_tell(struct hart *h)
{
	if (h->te)
		nb_te_context(h->te, h->scontext, h->hcontext);
	if (h->truth)
		nb_truth_context(h->truth, h->scontext, h->hcontext);
}

/*
 * Who may use it (Debug Specification, "Sdtrig"; Smstateen, bit 57): scontext supervisor and
 * virtual supervisor mode, hcontext the hypervisor's.
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

	/* let QEMU raise the exception */
	if (!csr_allowed(hcontext))
		return;
	hart_enter_wait(h);
	if (csr_new_value(insn->opcode, old, &value)) {
		*csr = value & (hcontext ? HCONTEXT_MASK : SCONTEXT_MASK);
		csr_tell(h);
	}
	/* The instruction retires here, even if QEMU sets its mark of the last instruction later */
	h->score->reached = 1;
	hart_leave(h);
	if (rd)
		board_reg_write(rd, old);
	qemu_plugin_set_pc(insn->pc + 4);
}

/* The hart, which the caller has entered, loses the state that no firmware restores */
void csr_reset(struct hart *h)
{
	h->scontext = 0;
	csr_tell(h);
}

/**
 * csr_instrument() - have @insn carried out by the plugin if it needs it
 * @insn: of a block that is being translated
 * @opcode: its bytes
 * @pc: its address
 *
 * The instruction is the last of its block, since QEMU translates it to an exception. Code that is
 * mapped at several addresses does not use these registers, so the address of translation is the
 * address where it runs.
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
