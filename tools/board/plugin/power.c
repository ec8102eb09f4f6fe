// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Harts that are switched off, with deep-idle=on, and the power controller of the trace
 * components, in topologies that have one.
 *
 * A hart that waits in machine mode is one that software has no use for: it has
 * been stopped, or put to sleep in a state that is not retentive (SBI, chapter
 * "Hart State Management Extension"). Its trace encoder has no power then, and
 * neither has a funnel or a sink that only such harts lead to. Bytes that such a sink has taken
 * and not written are lost. The hart's scontext is 0 when it comes
 * back. hcontext, as all that machine mode cares for, is kept.
 *
 * The hart is on again when it leaves machine mode.
 *
 * The power controller has a register of 32 bits for each domain, at 4 * its number: power,
 * clock, and reset released. A component of the domain answers if all three are set. An access
 * to it faults otherwise, as on a bus. It is as after power-up when it answers again, unless it was only its
 * clock that stood still.
 */
#include <string.h>

#include "../model/regs_common.h"
#include "board.h"

#define POWER_ON	(1U << 0)
#define POWER_CLOCK	(1U << 1)
#define POWER_RESET	(1U << 2)	/* released */
#define POWER_ALL	(POWER_ON | POWER_CLOCK | POWER_RESET)

static const struct board_dev *controller;

/* "lost its power": also a clock that stops while the component is enabled */
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

/* Does @dev answer? A component that only serves harts without power has none itself. */
bool power_is_on(const struct board_dev *dev)
{
	if (dev->domain && controller &&
	    nb_get(controller->power, 4 * dev->domain) != POWER_ALL)
		return false;
	return !board.deep_idle || dev->kind > DEV_ATBBRIDGE || topology_is_used(dev);
}

/* A hart has been switched off: so are the components that serve no other, but for CoreSight's */
void power_cut(void)
{
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++)
		if (d->kind <= DEV_ATBBRIDGE && !topology_is_used(d))
			nb_dev_power_off(d->dev);
}

/*
 * The machine was reset, and trace components had no power meanwhile. Each hart comes here, before
 * software of the new boot can have touched any of them.
 */
void power_reset(struct hart *h)
{
	board_claim(h);
	memory_sync();
	for (struct board_dev *d = board.devs; d < board.devs + board.n_devs; d++) {
		if (d->kind > DEV_ATBBRIDGE)
			continue;
		/* Nobody is to be told that it was enabled */
		nb_put(d->dev, TR_CONTROL, nb_get(d->dev, TR_CONTROL) & ~TR_ENABLE);
		nb_dev_power_off(d->dev);
	}
	board_release(h);
}

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
	power_cut();
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
