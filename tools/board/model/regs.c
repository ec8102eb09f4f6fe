// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Common parts of all components of the RISC-V Trace Control Interface 1.0, see chapters "Trace
 * Component Register Map", "Reset and Discovery", "Enabling and Disabling" and "Timestamp Unit".
 */
#include <string.h>

#include "regs_common.h"

static const char *const report_text[NB_REPORT_MAX] = {
	[NB_REPORT_INACTIVE]	= "register accessed while the component is not active",
	[NB_REPORT_ENABLED]	= "setting written while the component is enabled or not empty",
	[NB_REPORT_UNALIGNED]	= "access does not have 32 aligned bits",
	[NB_REPORT_UNSET]	= "enabled although a register was not set and is undefined after reset",
	[NB_REPORT_RANGE]	= "enabled with a write pointer or buffer out of range",
	[NB_REPORT_LEFT]	= "left enabled at the end, so that it may write to memory in use",
	[NB_REPORT_LINK_LEFT]	= "left enabled at the end; the next kernel will think that a debugger uses it",
	[NB_REPORT_POWER]	= "lost its power while it was enabled",
	[NB_REPORT_LOCKED]	= "written to while its software lock is closed",
	[NB_REPORT_OFF]		= "register accessed without power or clock, or in reset; the access faults",
};

const char *nb_report_text(enum nb_report what)
{
	return what < NB_REPORT_MAX ? report_text[what] : "unknown";
}

void nb_dev_report(struct nb_dev *dev, enum nb_report what, unsigned int offset, uint32_t value)
{
	if (dev->report)
		dev->report(dev->opaque, dev, what, offset, value);
}

uint32_t nb_get(const struct nb_dev *dev, unsigned int offset)
{
	return dev->shadow[offset / 4];
}

void nb_put(struct nb_dev *dev, unsigned int offset, uint32_t value)
{
	if (dev->shadow[offset / 4] == value)
		return;
	dev->shadow[offset / 4] = value;
	if (dev->changed)
		dev->changed(dev->opaque, dev, offset, value);
}

bool nb_written(const struct nb_dev *dev, unsigned int offset)
{
	return dev->written[offset / 32] >> offset / 4 % 8 & 1;
}

uint32_t nb_field(uint32_t value, uint32_t mask)
{
	return (value & mask) / (mask & -mask);
}

uint32_t nb_with(uint32_t value, uint32_t mask, uint32_t field)
{
	return (value & ~mask) | (field * (mask & -mask) & mask);
}

/* Return the value of a field that "may not reset", which is random, or 0 if nb_dev.undef is 0. */
uint32_t nb_undef(struct nb_dev *dev)
{
	uint32_t x = dev->undef;

	if (!x)
		return 0;
	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	dev->undef = x;
	return x;
}

/* Return true for about one in nb_faults.stuck calls. The caller then lets the component not respond. */
static bool gets_stuck(struct nb_dev *dev)
{
	if (!dev->faults.stuck)
		return false;
	if (!dev->chance)
		dev->chance = dev->faults.seed ^ 0x9e3779b9;
	dev->chance = dev->chance * 1664525 + 1013904223;
	return !((dev->chance >> 8) % dev->faults.stuck);
}

void nb_set_empty(struct nb_dev *dev, bool empty)
{
	uint32_t control = nb_get(dev, TR_CONTROL);

	if (empty && (dev->faults.not_empty || dev->jammed || dev->empty_left ||
		      (dev->ops->holds && dev->ops->holds(dev))))
		empty = false;
	nb_put(dev, TR_CONTROL, empty ? control | TR_EMPTY : control & ~TR_EMPTY);
}

/* Set Empty after Enable changed from 1 to 0 and all trace was flushed. Empty may follow with a delay. */
void nb_flushed(struct nb_dev *dev)
{
	dev->empty_left = dev->empty_delay;
	dev->jammed |= gets_stuck(dev);
	nb_set_empty(dev, true);
}

/* Reset a component. "When component is held in reset, tr??Enable must be reset to 0 as well" */
static void deactivate(struct nb_dev *dev)
{
	unsigned int i;

	if (nb_get(dev, TR_CONTROL) & TR_ACTIVE && dev->ops->reset)
		dev->ops->reset(dev);
	memset(dev->written, 0, sizeof(dev->written));
	dev->empty_left = 0;
	dev->ts_active_left = 0;
	dev->enable_left = 0;
	dev->jammed = false;
	for (i = 4; i < 4096; i += 4)
		nb_put(dev, i, 0);
	nb_put(dev, TR_CONTROL, TR_EMPTY | dev->ops->control_reset);
}

void nb_dev_power_off(struct nb_dev *dev)
{
	uint32_t control = nb_get(dev, TR_CONTROL);

	if (dev->ops->foreign) {
		dev->ops->reset(dev);
		return;
	}
	if (control & TR_ENABLE)
		nb_dev_report(dev, NB_REPORT_POWER, TR_CONTROL, control);
	deactivate(dev);
	dev->control = 0;
	dev->active_left = 0;
}

/* Set Active. "This write will reset most of other enable/mode bits in this register" */
static void activate(struct nb_dev *dev)
{
	dev->activations++;
	nb_put(dev, TR_CONTROL, TR_ACTIVE | TR_EMPTY);
	dev->ops->activate(dev);
	dev->ops->write(dev, TR_CONTROL, TR_ACTIVE);
}

static void active_follows(struct nb_dev *dev)
{
	if (dev->faults.active_stuck)
		return;
	if (dev->control & TR_ACTIVE)
		activate(dev);
	else
		deactivate(dev);
}

/* Write Enable. If enable_delay is set, Enable changes and takes effect after this number of loads. */
static void write_enable(struct nb_dev *dev, uint32_t value)
{
	uint32_t now = nb_get(dev, TR_CONTROL) & TR_ENABLE;

	if (now == (value & TR_ENABLE))
		dev->enable_left = 0;
	else if (!dev->enable_left)
		dev->enable_left = dev->enable_delay;
	dev->ops->write(dev, TR_CONTROL, dev->enable_left ? (value & ~TR_ENABLE) | now : value);
}

static void write_control(struct nb_dev *dev, uint32_t value)
{
	bool active = nb_get(dev, TR_CONTROL) & TR_ACTIVE;

	dev->control = value;
	if (active && value & TR_ACTIVE) {
		dev->active_left = 0;
		write_enable(dev, value);
		return;
	}
	if (!active && !(value & TR_ACTIVE)) {
		dev->active_left = 0;
		return;
	}
	dev->active_left = gets_stuck(dev) ? ~0U : dev->active_delay;
	if (!dev->active_left)
		active_follows(dev);
}

void nb_dev_write(struct nb_dev *dev, unsigned int offset, uint32_t value)
{
	if (offset & 3 || offset >= 4096) {
		nb_dev_report(dev, NB_REPORT_UNALIGNED, offset, value);
		return;
	}
	if (dev->ops->foreign) {
		dev->ops->write(dev, offset, value);
	} else if (offset == TR_CONTROL) {
		write_control(dev, value);
	} else if (!(nb_get(dev, TR_CONTROL) & TR_ACTIVE)) {
		nb_dev_report(dev, NB_REPORT_INACTIVE, offset, value);
	} else {
		dev->written[offset / 32] |= 1 << offset / 4 % 8;
		dev->ops->write(dev, offset, value);
	}
	if (dev->changed)
		dev->changed(dev->opaque, dev, offset, nb_get(dev, offset));
}

bool nb_dev_access(struct nb_dev *dev, unsigned int offset, unsigned int size)
{
	if (size == 4 && !(offset & 3))
		return true;
	nb_dev_report(dev, NB_REPORT_UNALIGNED, offset, size);
	return false;
}

void nb_dev_loaded(struct nb_dev *dev, unsigned int offset)
{
	if (offset & 3 || offset >= 4096) {
		nb_dev_report(dev, NB_REPORT_UNALIGNED, offset, 0);
		return;
	}
	if (dev->ops->foreign)
		return;
	if (offset != TR_CONTROL) {
		if (!(nb_get(dev, TR_CONTROL) & TR_ACTIVE))
			nb_dev_report(dev, NB_REPORT_INACTIVE, offset, 0);
		else if (dev->ops->loaded)
			dev->ops->loaded(dev, offset);
		return;
	}
	if (dev->active_left && !--dev->active_left)
		active_follows(dev);
	if (dev->enable_left && !--dev->enable_left)
		dev->ops->write(dev, TR_CONTROL, dev->control);
	if (dev->empty_left && !--dev->empty_left)
		nb_set_empty(dev, true);
}

uint32_t nb_dev_read(struct nb_dev *dev, unsigned int offset)
{
	uint32_t value;

	if (dev->ops->refresh)
		dev->ops->refresh(dev);
	value = offset < 4096 ? nb_get(dev, offset & ~3U) : 0;
	nb_dev_loaded(dev, offset);
	return value;
}

void nb_dev_refresh(struct nb_dev *dev)
{
	if (dev->ops->refresh)
		dev->ops->refresh(dev);
}

void nb_dev_init(struct nb_dev *dev, const struct nb_dev_ops *ops, const char *name)
{
	memset(dev, 0, sizeof(*dev));
	dev->ops = ops;
	dev->name = name;
	dev->shadow[TR_CONTROL / 4] = ops->foreign ? 0 : TR_EMPTY | ops->control_reset;
}

uint32_t nb_impl(unsigned int type, unsigned int major, unsigned int minor, unsigned int vendor)
{
	return (major & 15) | (minor & 15) << 4 | type << 8 | vendor << 24;
}

/* ---- Timestamp Unit of an encoder or funnel ---- */

static uint64_t ts_raw(const struct nb_ts *ts, unsigned int mode)
{
	if (mode == NB_TS_CORE)
		return ts->core_cycles ? *ts->core_cycles : 0;
	return ts->clock ? ts->clock(ts->clock_opaque) : 0;
}

static unsigned int ts_shift(const struct nb_ts *ts)
{
	return 2 * nb_field(ts->control, TR_TS_PRESCALE);	/* the prescaler divides by 1, 4, 16 or 64 */
}

uint64_t nb_ts_now(const struct nb_ts *ts)
{
	unsigned int mode = nb_field(ts->control, TR_TS_MODE);
	uint64_t now = 0, mask = (1ULL << ts->width) - 1;

	if (ts->faults && ts->faults->clock_stopped)
		return ts->stopped & mask;
	if (mode == NB_TS_EXTERNAL)
		now = ts_raw(ts, mode);
	else if (mode == NB_TS_SHARED)
		now = ts->shared ? nb_ts_now(ts->shared) : ts_raw(ts, mode);
	else if (mode == NB_TS_SYSTEM || mode == NB_TS_CORE)
		now = ts->control & TR_TS_COUNT ?
			(ts_raw(ts, mode) - ts->base) >> ts_shift(ts) : ts->stopped;
	return now & mask;
}

static bool ts_counts(uint32_t control)
{
	unsigned int mode = nb_field(control, TR_TS_MODE);

	return mode == NB_TS_SYSTEM || mode == NB_TS_CORE;
}

uint32_t nb_ts_legal(const struct nb_ts *ts, uint32_t value)
{
	uint32_t legal = value & (TR_TS_ACTIVE | TR_TS_MODE);

	if (!ts->modes)
		return 0;
	if (!(value & TR_TS_ACTIVE))
		return nb_with(0, TR_TS_WIDTH, ts->width);
	if (!(ts->modes >> nb_field(value, TR_TS_MODE) & 1))
		legal &= ~TR_TS_MODE;
	if (ts->modes & (1 << NB_TS_SYSTEM | 1 << NB_TS_CORE)) {
		legal |= value & TR_TS_COUNT;
		if (ts->prescaler)
			legal |= value & TR_TS_PRESCALE;
	}
	if (ts->modes & 1 << NB_TS_CORE)
		legal |= value & TR_TS_RUN_IN_DEBUG;
	if (ts->encoder)
		legal |= value & TR_TS_ENABLE;
	return nb_with(legal, TR_TS_WIDTH, ts->width);
}

/*
 * Write trTsControl. Writing 1 to trTsReset resets the counter. The value of the counter does not change when
 * software stops it or changes the prescaler.
 */
uint32_t nb_ts_write(struct nb_ts *ts, uint32_t value)
{
	uint64_t count = ts_counts(ts->control) ? nb_ts_now(ts) : 0;

	ts->control = nb_ts_legal(ts, value);
	if (value & TR_TS_RESET || !(ts->control & TR_TS_ACTIVE))
		count = 0;
	ts->stopped = count;
	if (ts_counts(ts->control))
		ts->base = ts_raw(ts, nb_field(ts->control, TR_TS_MODE)) - (count << ts_shift(ts));
	return ts->control;
}

/* Store to trTsControl. If ts_active_delay is set, trTsActive changes after this number of loads. */
void nb_ts_store(struct nb_dev *dev, struct nb_ts *ts, uint32_t value)
{
	bool waits = dev->ts_active_left || (nb_get(dev, TR_TS_CONTROL) ^ value) & TR_TS_ACTIVE;

	dev->ts_control = value;
	dev->ts_active_left = ts->modes && waits ? dev->ts_active_delay : 0;
	if (!dev->ts_active_left)
		nb_put(dev, TR_TS_CONTROL, nb_ts_write(ts, value));
}

void nb_ts_loaded(struct nb_dev *dev, struct nb_ts *ts)
{
	if (dev->ts_active_left && !--dev->ts_active_left)
		nb_put(dev, TR_TS_CONTROL, nb_ts_write(ts, dev->ts_control));
}

void nb_ts_refresh(struct nb_dev *dev, const struct nb_ts *ts)
{
	uint64_t now;

	if (!ts->modes || !(nb_get(dev, TR_CONTROL) & TR_ACTIVE))
		return;
	now = nb_ts_now(ts);
	nb_put(dev, TR_TS_COUNTER_LOW, now);
	nb_put(dev, TR_TS_COUNTER_HIGH, now >> 32);
}
