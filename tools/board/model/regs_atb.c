// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The ATB bridge, see Trace Control Interface 1.0, chapter "ATB Bridge". It adds a trace ID to each
 * message and does not buffer messages.
 */
#include <string.h>

#include "coresight.h"
#include "regs_common.h"

static struct nb_atb *to_atb(struct nb_dev *dev)
{
	return (struct nb_atb *)dev;
}

static uint8_t atb_id(const struct nb_atb *atb)
{
	return nb_field(nb_get(&atb->dev, TR_CONTROL), TR_ATB_BRIDGE_ID);
}

static void atb_write(struct nb_dev *dev, unsigned int offset, uint32_t value)
{
	uint32_t old = nb_get(dev, TR_CONTROL), now;

	if (offset != TR_CONTROL)
		return;
	now = value & (TR_ACTIVE | TR_ENABLE | TR_ATB_BRIDGE_ID);
	if (old & TR_ENABLE && now & TR_ENABLE && (old ^ now) & TR_ATB_BRIDGE_ID) {
		nb_dev_report(dev, NB_REPORT_ENABLED, offset, value);
		now = (now & ~TR_ATB_BRIDGE_ID) | (old & TR_ATB_BRIDGE_ID);
	}
	nb_put(dev, offset, now | (old & TR_EMPTY));
	if (old & TR_ENABLE && !(now & TR_ENABLE)) {
		nb_flushed(dev);
	} else if (now & TR_ENABLE && !(old & TR_ENABLE)) {
		uint8_t id = nb_field(now, TR_ATB_BRIDGE_ID);

		if (!id || id > NB_ATB_ID_LAST)
			nb_dev_report(dev, NB_REPORT_RANGE, offset, value);
	}
}

static void atb_activate(struct nb_dev *dev)
{
	struct nb_atb *atb = to_atb(dev);

	nb_put(dev, TR_IMPL, nb_impl(TRCOMP_ATBBRIDGE, atb->caps.ver_major, atb->caps.ver_minor,
				     atb->caps.vendor));
}

static const struct nb_dev_ops atb_ops = {
	.write = atb_write,
	.activate = atb_activate,
};

void nb_atb_init(struct nb_atb *atb, const struct nb_atb_caps *caps, nb_out_fn out, void *opaque)
{
	memset(atb, 0, sizeof(*atb));
	nb_dev_init(&atb->dev, &atb_ops, "bridge");
	atb->caps = *caps;
	atb->out = out;
	atb->out_opaque = opaque;
}

bool nb_atb_input(void *opaque, const uint8_t *bytes, size_t len)
{
	struct nb_atb *atb = opaque;
	uint8_t transfer[NB_ATB_MAX];
	uint8_t id = atb_id(atb);

	if (!(nb_get(&atb->dev, TR_CONTROL) & TR_ENABLE))
		return false;
	if (!id || id > NB_ATB_ID_LAST || len >= sizeof(transfer)) {
		/* Discard the message, because the next components could not identify its source */
		atb->discarded++;
		return true;
	}
	transfer[0] = id;
	memcpy(transfer + 1, bytes, len);
	return atb->out(atb->out_opaque, transfer, len + 1);
}

void nb_atb_end(struct nb_atb *atb)
{
	uint32_t control = nb_get(&atb->dev, TR_CONTROL);

	if (control & TR_ENABLE)
		nb_dev_report(&atb->dev, NB_REPORT_LINK_LEFT, TR_CONTROL, control);
}
