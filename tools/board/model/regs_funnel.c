// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The Trace Funnel, see Trace Control Interface 1.0, chapter "Trace Funnel". The funnel never splits a
 * message. A funnel without a FIFO forwards each message when it arrives. A funnel with a FIFO stores
 * the newest messages until it is flushed or needs room for more messages, and forwards messages in
 * the order of arrival. With caps.reorder, the funnel serves its inputs in turn, as if it had a FIFO
 * for each input, so that messages of one source overtake messages of other sources.
 */
#include <string.h>

#include "regs_common.h"

static struct nb_funnel *to_funnel(struct nb_dev *dev)
{
	return (struct nb_funnel *)dev;
}

/* Header of each message in the FIFO */
struct held {
	uint8_t	len;
	uint8_t	input;
};

static struct held held_at(const struct nb_funnel *f, uint32_t at)
{
	struct held h;

	memcpy(&h, f->fifo + at, sizeof(h));
	return h;
}

/*
 * Return the position in the FIFO of the next message to send. This is the oldest message or, with
 * caps.reorder, the oldest message of the next input in turn.
 */
static uint32_t choose(const struct nb_funnel *f)
{
	unsigned int turn, least = NB_MAX_INPUTS;
	uint32_t at, best = 0;
	struct held h;

	for (at = 0; f->caps.reorder && at < f->held; at += sizeof(h) + h.len) {
		h = held_at(f, at);
		turn = (h.input + NB_MAX_INPUTS - f->next) % NB_MAX_INPUTS;
		if (turn >= least)
			continue;
		least = turn;
		best = at;
	}
	return best;
}

/* Forward the next message. Return false if the output refuses it. */
static bool forward(struct nb_funnel *f)
{
	uint32_t at = choose(f), end;
	struct held h = held_at(f, at);

	if (!f->out(f->out_opaque, f->fifo + at + sizeof(h), h.len))
		return false;
	end = at + sizeof(h) + h.len;
	memmove(f->fifo + at, f->fifo + end, f->held - end);
	f->held -= sizeof(h) + h.len;
	f->next = (h.input + 1) % NB_MAX_INPUTS;
	return true;
}

/* Forward the messages in the FIFO until the output refuses one. Set Empty if none is left. See regs.h. */
void nb_funnel_drain(struct nb_funnel *f)
{
	while (f->held)
		if (!forward(f))
			return;
	nb_flushed(&f->dev);
}

static bool hold(struct nb_funnel *f, unsigned int input, const uint8_t *bytes, size_t len)
{
	struct held h = { .len = len, .input = input };

	while (f->held + sizeof(h) + len > f->caps.fifo)
		if (!f->held || !forward(f))
			return false;
	memcpy(f->fifo + f->held, &h, sizeof(h));
	memcpy(f->fifo + f->held + sizeof(h), bytes, len);
	f->held += sizeof(h) + len;
	nb_set_empty(&f->dev, false);
	return true;
}

static void set_enable(struct nb_funnel *f)
{
	struct nb_dev *dev = &f->dev;

	if (f->caps.dis_input && !nb_written(dev, TR_FUNNEL_DIS_INPUT))
		nb_dev_report(dev, NB_REPORT_UNSET, TR_FUNNEL_DIS_INPUT, 0);
	if (f->caps.ts_modes && !nb_written(dev, TR_TS_CONTROL))
		nb_dev_report(dev, NB_REPORT_UNSET, TR_TS_CONTROL, 0);
	nb_set_empty(dev, !f->held);
}

static void funnel_write(struct nb_dev *dev, unsigned int offset, uint32_t value)
{
	struct nb_funnel *f = to_funnel(dev);
	uint32_t old = nb_get(dev, TR_CONTROL);

	switch (offset) {
	case TR_CONTROL:
		nb_put(dev, offset, (value & (TR_ACTIVE | TR_ENABLE)) | (old & TR_EMPTY));
		if (old & TR_ENABLE && !(value & TR_ENABLE))
			nb_funnel_drain(f);
		else if (value & TR_ENABLE && !(old & TR_ENABLE))
			set_enable(f);
		break;
	case TR_FUNNEL_DIS_INPUT:
		nb_put(dev, offset, f->caps.dis_input ? value & ((1U << f->caps.inputs) - 1) : 0);
		break;
	case TR_TS_CONTROL:
		nb_ts_store(dev, &f->ts, value);
		break;
	}
}

static void funnel_activate(struct nb_dev *dev)
{
	struct nb_funnel *f = to_funnel(dev);

	nb_put(dev, TR_IMPL, nb_impl(TRCOMP_FUNNEL, f->caps.ver_major, f->caps.ver_minor,
				     f->caps.vendor));
	funnel_write(dev, TR_FUNNEL_DIS_INPUT, nb_undef(dev));
	nb_put(dev, TR_TS_CONTROL, nb_ts_write(&f->ts, nb_undef(dev)));
	nb_ts_refresh(dev, &f->ts);
}

static void funnel_reset(struct nb_dev *dev)
{
	nb_ts_write(&to_funnel(dev)->ts, 0);
	to_funnel(dev)->held = 0;
	to_funnel(dev)->next = 0;
}

static void funnel_loaded(struct nb_dev *dev, unsigned int offset)
{
	if (offset == TR_TS_CONTROL)
		nb_ts_loaded(dev, &to_funnel(dev)->ts);
}

static void funnel_refresh(struct nb_dev *dev)
{
	struct nb_funnel *f = to_funnel(dev);

	nb_ts_refresh(dev, &f->ts);
	/* Offer the messages again, because the output may accept messages that it has refused */
	if (f->held && !(nb_get(dev, TR_CONTROL) & TR_ENABLE))
		nb_funnel_drain(f);
}

static const struct nb_dev_ops funnel_ops = {
	.write = funnel_write,
	.loaded = funnel_loaded,
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
	if (f->caps.fifo > sizeof(f->fifo))
		f->caps.fifo = sizeof(f->fifo);
	f->out = out;
	f->out_opaque = opaque;
	f->ts.modes = caps->ts_modes & ~(1 << NB_TS_CORE);	/* only encoders support NB_TS_CORE */
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
	/* A disabled input accepts messages and discards them */
	if (nb_get(&f->dev, TR_FUNNEL_DIS_INPUT) >> port->index & 1) {
		f->discarded++;
		return true;
	}
	if (NB_UNLIKELY(f->caps.fifo))
		return hold(f, port->index, bytes, len);
	return f->out(f->out_opaque, bytes, len);
}
