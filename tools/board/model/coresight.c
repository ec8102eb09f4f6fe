// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Registers of all CoreSight components (CoreSight architecture specification, chapter B2,
 * programmers' model), and the funnel of CoreSight SoC-400.
 */
#include <string.h>

#include "coresight_common.h"

static struct nb_cs *to_cs(struct nb_dev *dev)
{
	return (struct nb_cs *)dev;
}

static uint8_t claim_mask(const struct nb_cs *cs)
{
	return (1U << cs->claim_tags) - 1;
}

static void put_lock(struct nb_cs *cs)
{
	nb_put(&cs->dev, CS_LSR, cs->lock ?
	       CS_LSR_PRESENT | (cs->locked ? CS_LSR_LOCKED : 0) : 0);
}

/* CLAIMSET reads as the implemented tags, CLAIMCLR as the tags that are set. */
static void put_claim(struct nb_cs *cs)
{
	nb_put(&cs->dev, CS_CLAIMSET, claim_mask(cs));
	nb_put(&cs->dev, CS_CLAIMCLR, cs->claimed);
}

static void put_identity(struct nb_cs *cs)
{
	static const uint8_t cidr[4] = { 0x0d, 0x90, 0x05, 0xb1 };
	/* Arm Ltd has the JEP106 code 0x3b with continuation code 4 */
	const uint8_t pidr[4] = {
		cs->part, 0xb0 | cs->part >> 8, cs->revision << 4 | 0x8 | 0x3, 0,
	};
	struct nb_dev *dev = &cs->dev;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		nb_put(dev, CS_CIDR0 + 4 * i, cidr[i]);
		nb_put(dev, CS_PIDR0 + 4 * i, pidr[i]);
	}
	nb_put(dev, CS_PIDR4, 0x04);
	nb_put(dev, CS_DEVID, cs->devid);
	nb_put(dev, CS_DEVTYPE, cs->devtype);
	nb_put(dev, CS_AUTHSTATUS, cs->authstatus);
}

static void cs_reset(struct nb_dev *dev)
{
	struct nb_cs *cs = to_cs(dev);

	cs->locked = cs->lock;
	cs->claimed = 0;
	put_identity(cs);
	put_lock(cs);
	put_claim(cs);
	cs->clear(cs);
}

static void cs_write(struct nb_dev *dev, unsigned int offset, uint32_t value)
{
	struct nb_cs *cs = to_cs(dev);

	if (offset == CS_LAR) {
		cs->locked = cs->lock && value != CS_LAR_KEY;
		put_lock(cs);
	} else if (cs->locked) {
		nb_dev_report(dev, NB_REPORT_LOCKED, offset, value);
	} else if (offset == CS_CLAIMSET || offset == CS_CLAIMCLR) {
		if (offset == CS_CLAIMSET)
			cs->claimed |= value & claim_mask(cs);
		else
			cs->claimed &= ~value;
		put_claim(cs);
	} else if (offset < CS_ITCTRL) {
		cs->set(cs, offset, value);
	}
}

static const struct nb_dev_ops cs_ops = {
	.write = cs_write,
	.reset = cs_reset,
	.foreign = true,
};

void nb_cs_init(struct nb_cs *cs, const char *name)
{
	nb_dev_init(&cs->dev, &cs_ops, name);
	if (!cs->claim_tags)
		cs->claim_tags = 4;
	cs_reset(&cs->dev);
}

/* ---- Registers and input ports of the funnel ---- */

#define FUNNEL_PORTS	0xffU
#define FUNNEL_HOLD	0xf00U

static void funnel_set(struct nb_cs *cs, unsigned int offset, uint32_t value)
{
	const struct nb_cs_funnel *funnel = (struct nb_cs_funnel *)cs;

	if (offset == CS_FUNNEL_CTRL)
		nb_put(&cs->dev, offset, value & (FUNNEL_HOLD | ((1U << funnel->inputs) - 1)));
	else if (offset == CS_FUNNEL_PRIORITY)
		nb_put(&cs->dev, offset, value & 0xffffff);
}

static void funnel_clear(struct nb_cs *cs)
{
	nb_put(&cs->dev, CS_FUNNEL_CTRL, 0x300);	/* reset value in the manual of the CoreSight funnel */
	nb_put(&cs->dev, CS_FUNNEL_PRIORITY, 0xfac688);
}

void nb_cs_funnel_init(struct nb_cs_funnel *funnel, unsigned int inputs, bool lock, nb_out_fn out,
		       void *opaque)
{
	unsigned int i;

	memset(funnel, 0, sizeof(*funnel));
	funnel->inputs = inputs;
	funnel->out = out;
	funnel->out_opaque = opaque;
	funnel->cs.part = 0x908;
	funnel->cs.devtype = 0x12;	/* type of a link that is a funnel */
	funnel->cs.devid = 0x30 | inputs;	/* the funnel has static priorities */
	funnel->cs.lock = lock;
	funnel->cs.set = funnel_set;
	funnel->cs.clear = funnel_clear;
	for (i = 0; i < CS_FUNNEL_INPUTS; i++)
		funnel->port[i] = (struct nb_cs_port){ .funnel = funnel, .index = i };
	nb_cs_init(&funnel->cs, "csfunnel");
}

/*
 * A port that is not enabled refuses all trace. The source of the trace stores or drops the refused
 * trace.
 */
bool nb_cs_funnel_input(void *opaque, const uint8_t *bytes, size_t len)
{
	const struct nb_cs_port *port = opaque;
	struct nb_cs_funnel *funnel = port->funnel;

	if (!(nb_get(&funnel->cs.dev, CS_FUNNEL_CTRL) & FUNNEL_PORTS & 1U << port->index)) {
		funnel->discarded++;
		return false;
	}
	return funnel->out(funnel->out_opaque, bytes, len);
}
