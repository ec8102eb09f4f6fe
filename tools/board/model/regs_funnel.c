// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The Trace Funnel: Trace Control Interface 1.0, chapter "Trace Funnel". Each
 * message passes at once and whole, in the order of arrival.
 */
#include <string.h>

#include "regs_common.h"

static struct nb_funnel *to_funnel(struct nb_dev *dev)
{
	return (struct nb_funnel *)dev;
}

static void funnel_write(struct nb_dev *dev, unsigned int offset, uint32_t value)
{
	struct nb_funnel *f = to_funnel(dev);
	uint32_t old = nb_get(dev, TR_CONTROL);

	switch (offset) {
	case TR_CONTROL:
		nb_put(dev, offset, (value & (TR_ACTIVE | TR_ENABLE)) | (old & TR_EMPTY));
		if (old & TR_ENABLE && !(value & TR_ENABLE))
			nb_flushed(dev);
		else if (value & TR_ENABLE && !(old & TR_ENABLE))
			nb_set_empty(dev, true);
		break;
	case TR_FUNNEL_DIS_INPUT:
		nb_put(dev, offset, f->caps.dis_input ? value & ((1U << f->caps.inputs) - 1) : 0);
		break;
	case TR_TS_CONTROL:
		nb_put(dev, offset, nb_ts_write(&f->ts, value));
		break;
	}
}

static void funnel_activate(struct nb_dev *dev)
{
	struct nb_funnel *f = to_funnel(dev);

	nb_put(dev, TR_IMPL, nb_impl(TRCOMP_FUNNEL, f->caps.ver_major, f->caps.ver_minor,
				     f->caps.vendor));
	funnel_write(dev, TR_FUNNEL_DIS_INPUT, nb_undef(dev));
	funnel_write(dev, TR_TS_CONTROL, nb_undef(dev));
	nb_ts_refresh(dev, &f->ts);
}

static void funnel_reset(struct nb_dev *dev)
{
	nb_ts_write(&to_funnel(dev)->ts, 0);
}

static void funnel_refresh(struct nb_dev *dev)
{
	nb_ts_refresh(dev, &to_funnel(dev)->ts);
}

static const struct nb_dev_ops funnel_ops = {
	.write = funnel_write,
	.refresh = funnel_refresh,
	.activate = funnel_activate,
	.reset = funnel_reset,
};

void nb_funnel_init(struct nb_funnel *f, const struct nb_funnel_caps *caps,
		    nb_out_fn out, void *opaque)
{
	unsigned int i;

	memset(f, 0, sizeof(*f));
	nb_dev_init(&f->dev, &funnel_ops, "funnel");
	f->caps = *caps;
	f->out = out;
	f->out_opaque = opaque;
	f->ts.modes = caps->ts_modes & ~(1 << NB_TS_CORE);	/* "only for Trace Encoders" */
	f->ts.width = caps->ts_width;
	f->ts.prescaler = caps->ts_prescale;
	f->ts.faults = &f->dev.faults;
	for (i = 0; i < NB_MAX_INPUTS; i++)
		f->port[i] = (struct nb_funnel_port){ .funnel = f, .index = i };
}

bool nb_funnel_input(void *opaque, const uint8_t *bytes, size_t len)
{
	const struct nb_funnel_port *port = opaque;
	struct nb_funnel *f = port->funnel;

	if (!(nb_get(&f->dev, TR_CONTROL) & TR_ENABLE) || port->index >= f->caps.inputs)
		return false;
	/* "Incoming messages are read from disabled input but discarded" */
	if (nb_get(&f->dev, TR_FUNNEL_DIS_INPUT) >> port->index & 1) {
		f->discarded++;
		return true;
	}
	return f->out(f->out_opaque, bytes, len);
}
