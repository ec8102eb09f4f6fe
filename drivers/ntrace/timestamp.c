// SPDX-License-Identifier: GPL-2.0-only
/*
 * The timestamp unit, in an encoder or a funnel. Trace Control Interface,
 * chapter "Timestamp Unit".
 */
#include <linux/iopoll.h>

#include "component.h"

/*
 * Limit of the wait for trTsActive if it is unknown whether there is a timestamp unit. "Releasing
 * components from reset [...] may take time".
 */
#define NTRACE_TS_PROBE_US	20000
/* Limit of the wait for trTsActive with interrupts off */
#define NTRACE_TS_WAKE_US	2000

static bool ntrace_ts_is_active(const struct ntrace_comp *comp)
{
	return ntrace_read(comp, TR_TS_CONTROL) & TR_TS_ACTIVE;
}

/**
 * ntrace_ts_probe - find out the capabilities of a timestamp unit
 * @comp: The component, whose Active bit is 1 and whose Enable bit is 0
 * @ts: Filled in; without modes if the component does not have a timestamp unit
 */
void ntrace_ts_probe(struct ntrace_comp *comp, struct ntrace_ts *ts)
{
	u32 keep = TR_TS_ACTIVE;
	unsigned int mode;
	bool active;

	ts->modes = 0;
	ts->width = 0;
	ts->prescale = 0;
	/* Ignore a timeout, because trTsActive of a unit without its own reset stays 1 */
	ntrace_write(comp, TR_TS_CONTROL, 0);
	read_poll_timeout(ntrace_ts_is_active, active, !active, 20, NTRACE_TS_PROBE_US, false,
			  comp);
	ntrace_write(comp, TR_TS_CONTROL, keep);
	if (read_poll_timeout(ntrace_ts_is_active, active, active, 20, NTRACE_TS_PROBE_US, false,
			      comp))
		return;
	ntrace_write(comp, TR_TS_CONTROL, keep);
	ts->modes = ntrace_try_values(comp, TR_TS_CONTROL, keep, TR_TS_MODE);
	ts->modes &= GENMASK(TR_TS_MODE_SHARED, TR_TS_MODE_EXTERNAL);
	ts->width = FIELD_GET(TR_TS_WIDTH, ntrace_read(comp, TR_TS_CONTROL));
	if (!ts->modes)
		return;

	/* Only the internal modes have a prescaler */
	for (mode = TR_TS_MODE_INTERNAL_SYSTEM; mode <= TR_TS_MODE_INTERNAL_CORE; mode++)
		if (ts->modes & BIT(mode))
			ts->prescale |= ntrace_try_values(comp, TR_TS_CONTROL,
							  keep | FIELD_PREP(TR_TS_MODE, mode),
							  TR_TS_PRESCALE);
	ts->prescale |= BIT(0);
}

/* Let the counter run */
void ntrace_ts_count(struct ntrace_comp *comp, unsigned int mode, unsigned int prescale)
{
	u32 fields = FIELD_PREP(TR_TS_MODE, mode) | FIELD_PREP(TR_TS_PRESCALE, prescale);
	bool active;

	if (!ntrace_ts_is_active(comp)) {
		ntrace_write(comp, TR_TS_CONTROL, TR_TS_ACTIVE);
		if (read_poll_timeout_atomic(ntrace_ts_is_active, active, active, 1,
					     NTRACE_TS_WAKE_US, false, comp))
			return;
	}
	ntrace_write(comp, TR_TS_CONTROL, TR_TS_ACTIVE | TR_TS_COUNT | fields);
}

/*
 * Maximum number of reads of a counter. If the register is a counter, its lower half wraps at most
 * once during these reads.
 */
#define NTRACE_TS_TRIES		4

/* Read a counter whose lower half is at @offset, and its upper half in the next register */
u64 ntrace_ts_counter(const struct ntrace_comp *comp, unsigned int offset)
{
	u32 high, low, again = ntrace_read(comp, offset + 4);
	unsigned int i = 0;

	do {
		high = again;
		low = ntrace_read(comp, offset);
		again = ntrace_read(comp, offset + 4);
	} while (high != again && ++i < NTRACE_TS_TRIES);

	return (u64)high << 32 | low;
}
