// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The funnel of SiFive's version 0 with its SBA sink, see sifive.h.
 *
 * The base, the limit and the write pointer of the sink share one register with the upper half of their
 * addresses. So the write pointer wraps at the end of an area of 4 GiB to the start of this area.
 */
#include <string.h>

#include "regs_common.h"
#include "sifive.h"

#define WORD		8
#define POINTER_MASK	(~(WORD - 1U))
#define HIGH_MASK	0x3ffU		/* upper half of an address, which has 42 bits */
#define IDLE		0xff
#define IMPL		0x00010080U	/* value of tfImpl for an SBA sink of 64 bits */

static struct nb_sf_funnel *to_funnel(struct nb_dev *dev)
{
	return (struct nb_sf_funnel *)dev;
}

/* ---- Write messages of encoders to memory ---- */

static void put_word(struct nb_sf_funnel *funnel)
{
	struct nb_dev *dev = &funnel->dev;
	uint32_t control = nb_get(dev, TR_CONTROL), wp = nb_get(dev, SF_SINK_WP);
	uint64_t addr = (uint64_t)nb_get(dev, SF_SINK_BASE_HIGH) << 32 | (wp & POINTER_MASK);

	funnel->n = 0;
	if (dev->faults.bus_error || !funnel->mem_write ||
	    !funnel->mem_write(funnel->mem_opaque, addr, funnel->word, WORD)) {
		funnel->bus_errors++;
		control |= SF_SINK_ERROR;
	}
	if ((wp & POINTER_MASK) == nb_get(dev, SF_SINK_LIMIT)) {
		wp = nb_get(dev, SF_SINK_BASE) | SF_WRAPPED;
		if (control & SF_STOP_ON_WRAP)
			control &= ~TR_ENABLE;
	} else {
		wp += WORD;
	}
	nb_put(dev, SF_SINK_WP, wp);
	nb_put(dev, TR_CONTROL, control);
	if (!(control & TR_ENABLE))
		nb_set_empty(dev, true);
}

bool nb_sf_funnel_input(void *opaque, const uint8_t *bytes, size_t len)
{
	struct nb_sf_port *port = opaque;
	struct nb_sf_funnel *funnel = port->funnel;
	uint32_t control = nb_get(&funnel->dev, TR_CONTROL);

	if (!(control & TR_ACTIVE) && port->te)
		nb_put(&port->te->dev, TR_CONTROL,
		       nb_get(&port->te->dev, TR_CONTROL) | SF_SINK_ERROR);
	if (!(control & TR_ENABLE)) {
		funnel->dropped++;
		return true;
	}
	funnel->bytes += len;
	while (len-- && nb_get(&funnel->dev, TR_CONTROL) & TR_ENABLE) {
		funnel->word[funnel->n++] = *bytes++;
		if (funnel->n == WORD)
			put_word(funnel);
	}
	nb_set_empty(&funnel->dev, !funnel->n);
	return true;
}

/* Write the incomplete word. "Setting tfEnable to 0x0 will flush any partially filled trace words to the sink" */
static void flush(struct nb_sf_funnel *funnel)
{
	if (!funnel->n)
		return;
	memset(funnel->word + funnel->n, IDLE, WORD - funnel->n);
	put_word(funnel);
}

/* ---- Registers ---- */

static void check_enable(struct nb_sf_funnel *funnel)
{
	struct nb_dev *dev = &funnel->dev;
	uint32_t base = nb_get(dev, SF_SINK_BASE), limit = nb_get(dev, SF_SINK_LIMIT);
	uint32_t wp = nb_get(dev, SF_SINK_WP) & POINTER_MASK;
	unsigned int offset;

	for (offset = SF_SINK_BASE; offset <= SF_SINK_WP; offset += 4)
		if (!nb_written(dev, offset))
			nb_dev_report(dev, NB_REPORT_UNSET, offset, 0);
	if (base > limit || wp < base || wp > limit)
		nb_dev_report(dev, NB_REPORT_RANGE, SF_SINK_WP, wp);
}

static void write_control(struct nb_sf_funnel *funnel, uint32_t value)
{
	struct nb_dev *dev = &funnel->dev;
	uint32_t old = nb_get(dev, TR_CONTROL);
	uint32_t now = nb_with(value & (TR_ACTIVE | TR_ENABLE | SF_STOP_ON_WRAP), SF_SINK, SF_SINK_SBA);
	bool was = old & TR_ENABLE, is = now & TR_ENABLE;

	now |= (old & SF_SINK_ERROR & ~value) | (old & TR_EMPTY);
	if (!was && is)
		check_enable(funnel);
	if (was && !is) {
		flush(funnel);
		/* Set the error bit if the flush has caused a bus error */
		now |= nb_get(dev, TR_CONTROL) & SF_SINK_ERROR & ~value;
	}
	nb_put(dev, TR_CONTROL, now);
	if (was && !is)
		nb_flushed(dev);
}

/* Write tsControl. tsType is fixed to a counter of the bus clock. */
static void write_ts(struct nb_sf_funnel *funnel, uint32_t value)
{
	uint32_t own = value & (TR_TS_ACTIVE | TR_TS_COUNT | TR_TS_RESET | TR_TS_PRESCALE);

	nb_ts_write(&funnel->ts, nb_with(own, TR_TS_MODE, NB_TS_SYSTEM));
	nb_put(&funnel->dev, TR_TS_CONTROL, nb_with(funnel->ts.control, TR_TS_MODE, NB_TS_SYSTEM));
}

static void funnel_write(struct nb_dev *dev, unsigned int offset, uint32_t value)
{
	struct nb_sf_funnel *funnel = to_funnel(dev);

	if (offset == TR_CONTROL) {
		write_control(funnel, value);
		return;
	}
	if (offset == TR_TS_CONTROL) {
		write_ts(funnel, value);
		return;
	}
	if (offset < SF_SINK_BASE || offset > SF_SINK_WP)
		return;		/* the register is read-only or does not exist */
	if (nb_get(dev, TR_CONTROL) & TR_ENABLE) {
		nb_dev_report(dev, NB_REPORT_ENABLED, offset, value);
		return;
	}
	if (offset == SF_SINK_BASE_HIGH)
		value &= HIGH_MASK;
	else
		value &= POINTER_MASK | (offset == SF_SINK_WP ? SF_WRAPPED : 0);
	nb_put(dev, offset, value);
}

static void funnel_activate(struct nb_dev *dev)
{
	nb_put(dev, TR_IMPL, IMPL);
	write_ts(to_funnel(dev), 0);
}

/* Reset the funnel, which drops the incomplete word. */
static void funnel_reset(struct nb_dev *dev)
{
	struct nb_sf_funnel *funnel = to_funnel(dev);

	funnel->n = 0;
	nb_ts_write(&funnel->ts, 0);
}

static void funnel_refresh(struct nb_dev *dev)
{
	uint64_t now;

	if (!(nb_get(dev, TR_CONTROL) & TR_ACTIVE))
		return;
	now = nb_ts_now(&to_funnel(dev)->ts);
	nb_put(dev, SF_TS_LOWER, now);
	nb_put(dev, SF_TS_UPPER, now >> 32);
}

static bool funnel_holds(struct nb_dev *dev)
{
	return to_funnel(dev)->n;
}

static const struct nb_dev_ops funnel_ops = {
	.control_reset = SF_SINK_SBA << 28,
	.write = funnel_write,
	.refresh = funnel_refresh,
	.holds = funnel_holds,
	.activate = funnel_activate,
	.reset = funnel_reset,
};

void nb_sf_funnel_init(struct nb_sf_funnel *funnel)
{
	unsigned int i;

	memset(funnel, 0, sizeof(*funnel));
	nb_dev_init(&funnel->dev, &funnel_ops, "funnel");
	funnel->ts.modes = 1 << NB_TS_SYSTEM;
	funnel->ts.width = SF_TS_WIDTH;
	funnel->ts.prescaler = true;
	funnel->ts.faults = &funnel->dev.faults;
	for (i = 0; i < NB_MAX_INPUTS; i++)
		funnel->port[i].funnel = funnel;
}

void nb_sf_funnel_end(struct nb_sf_funnel *funnel)
{
	if (nb_get(&funnel->dev, TR_CONTROL) & TR_ENABLE)
		nb_dev_report(&funnel->dev, NB_REPORT_LEFT, TR_CONTROL, nb_get(&funnel->dev, TR_CONTROL));
}
