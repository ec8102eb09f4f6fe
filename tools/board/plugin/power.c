// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Harts without power (deep-idle=on), and the power controller of the trace components, if the
 * topology contains one.
 *
 * A hart that waits in machine mode is not in use by software. Software has stopped it, or has put it
 * to sleep in a non-retentive state (SBI, chapter "Hart State Management Extension"). The trace encoder
 * of this hart loses its power. A funnel or a sink loses its power if it is only on the paths of harts
 * without power. A sink without power loses the bytes that it has accepted but not written. The hart's
 * scontext is 0 when the hart returns. The hart's hcontext does not change, because machine mode would
 * save and restore it.
 *
 * The hart is powered again when it leaves machine mode. CoreSight and SiFive components never lose their
 * power in this way.
 *
 * The power controller has a 32-bit register for each domain, at 4 times the number of the domain. The
 * register has bits for power, clock, and the release of reset. A component of the domain responds only
 * if all three bits are set. Otherwise an access to the component faults. After its power was off, or
 * after a reset, a component is in its state after power-up. A stopped clock does not change its state.
 */
#include <string.h>

#include "../model/regs_common.h"
#include "board.h"

#define POWER_ON	(1U << 0)
#define POWER_CLOCK	(1U << 1)
#define POWER_RESET	(1U << 2)	/* 1 if the component is not in reset */
#define POWER_ALL	(POWER_ON | POWER_CLOCK | POWER_RESET)

static const struct board_dev *controller;

/*
 * Write a register of the power controller. If a clock stops while its component is enabled, a loss of
 * power is reported.
 */
static void power_write(struct nb_dev *dev, unsigned int offset, uint32_t value)
{
	uint32_t old = nb_get(dev, offset), need = POWER_ON | POWER_RESET;

	nb_put(dev, offset, value & POWER_ALL);
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++) {
		if (d->domain != offset / 4 || !d->domain || (old & POWER_ALL) != POWER_ALL)
			continue;
		if ((value & need) != need)
			nb_dev_power_off(d->dev);
		else if (!(value & POWER_CLOCK) && nb_get(d->dev, TR_CONTROL) & TR_ENABLE)
			nb_dev_report(d->dev, NB_REPORT_POWER, TR_CONTROL, value);
	}
}

static const struct nb_dev_ops power_ops = {
	.foreign = true,
	.write = power_write,
};

void power_make(struct board_dev *dev)
{
	nb_dev_init(dev->power, &power_ops, dev->name);
	memset(dev->power->shadow, 0, sizeof(dev->power->shadow));
	dev->dev = dev->power;
	controller = dev;
}

/*
 * Return true if an access to @dev does not fault. With deep-idle, a component that is only on the paths of harts
 * without power has no power, except CoreSight and SiFive components.
 */
bool power_is_on(const struct board_dev *dev)
{
	if (dev->domain && controller &&
	    nb_get(controller->power, 4 * dev->domain) != POWER_ALL)
		return false;
	return !board.deep_idle || dev->kind > DEV_ATBBRIDGE || topology_is_used(dev);
}

/*
 * Power off each component that is not on the path of a hart with power. CoreSight and SiFive components stay powered.
 */
void power_cut(void)
{
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++)
		if (d->kind <= DEV_ATBBRIDGE && !topology_is_used(d))
			nb_dev_power_off(d->dev);
}

/*
 * Power off the components of the Trace Control Interface, because they have no power while the machine
 * is reset. Each hart calls this before software of the new boot can access a component.
 */
void power_reset(struct hart *h)
{
	board_claim(h);
	memory_sync();
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++) {
		if (d->kind > DEV_ATBBRIDGE)
			continue;
		/* Disable the component, so that nb_dev_power_off() does not report the loss of power */
		nb_put(d->dev, TR_CONTROL, nb_get(d->dev, TR_CONTROL) & ~TR_ENABLE);
		nb_dev_power_off(d->dev);
	}
	board_release(h);
}

static void power_wfi(unsigned int vcpu, void *opaque)
{
	struct hart *h = &board.harts[vcpu];

	if (board_reg_read(REG_PRIV) != NB_PRIV_M)
		return;
	board_claim(h);
	h->off = true;
	h->stats.power_losses++;
	memory_sync();
	power_cut();
	csr_reset(h);
	board_release(h);
	hart_leave(h);
}

static void power_mret(unsigned int vcpu, void *opaque)
{
	board.harts[vcpu].off = false;
}

/**
 * power_instrument() - update whether a hart has power when it executes @insn (wfi and mret)
 * @insn: Instruction of a block that is being translated
 * @opcode: Bytes of the instruction
 */
void power_instrument(struct qemu_plugin_insn *insn, uint32_t opcode)
{
	if (opcode == WFI)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, power_wfi, QEMU_PLUGIN_CB_R_REGS, NULL);
	else if (opcode == MRET)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, power_mret, QEMU_PLUGIN_CB_NO_REGS, NULL);
}
