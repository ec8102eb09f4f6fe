// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Harts that are switched off, with deep-idle=on.
 *
 * A hart that waits in machine mode is one that software has no use for: it has
 * been stopped, or put to sleep in a state that is not retentive (SBI, chapter
 * "Hart State Management Extension"). Its trace encoder has no power then, and
 * neither has a funnel or a sink that only such harts lead to. Bytes that such a sink has taken
 * and not written are lost. The hart's scontext is 0 when it comes
 * back. hcontext, as all that machine mode cares for, is kept.
 *
 * The hart is on again when it leaves machine mode.
 */
#include "board.h"

static void power_wfi(unsigned int vcpu, void *opaque)
{
	struct hart *h = &board.harts[vcpu];

	(void)opaque;
	if (board_reg_read(REG_PRIV) != NB_PRIV_M)
		return;
	board_claim(h);
	h->off = true;
	h->stats.power_losses++;
	memory_sync();
	topology_power();
	csr_reset(h);
	board_release(h);
	hart_leave(h);
}

static void power_mret(unsigned int vcpu, void *opaque)
{
	(void)opaque;
	board.harts[vcpu].off = false;
}

/**
 * power_instrument() - have @insn report whether its hart is on
 * @insn: of a block that is being translated
 * @opcode: its bytes
 */
void power_instrument(struct qemu_plugin_insn *insn, uint32_t opcode)
{
	if (opcode == WFI)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, power_wfi, QEMU_PLUGIN_CB_R_REGS, NULL);
	else if (opcode == MRET)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, power_mret, QEMU_PLUGIN_CB_NO_REGS, NULL);
}
