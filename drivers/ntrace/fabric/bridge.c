// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ATB bridge gives the trace of its input a trace id (Trace Control Interface, chapter "ATB
 * Bridge"). The bridge does not store trace, so the driver keeps it enabled, and starts and stops
 * only the encoder.
 */
#include <linux/idr.h>

#include "fabric.h"

/* Last trace id. ATB reserves 0, and all ids above this one. */
#define NTRACE_TRACE_ID_LAST	0x6f

static DEFINE_IDA(ntrace_trace_ids);

/*
 * Write all fields, which are undefined after a reset or a loss of power. The id can change only
 * while the bridge is disabled.
 */
static int ntrace_bridge_revive(struct ntrace_comp *comp)
{
	u32 id = FIELD_PREP(TR_ATB_BRIDGE_ID, comp->trace_id);

	comp->control = TR_CONTROL_ACTIVE | id;
	ntrace_write(comp, TR_CONTROL, comp->control);
	if ((ntrace_read(comp, TR_CONTROL) & TR_ATB_BRIDGE_ID) != id) {
		ntrace_comp_err(comp, "%s at %pa: trAtbBridgeID cannot be set to %u",
				comp->ops->name, &comp->addr, comp->trace_id);
		return -EIO;
	}
	return ntrace_comp_enable(comp);
}

static void ntrace_bridge_free(struct ntrace_comp *comp)
{
	ida_free(&ntrace_trace_ids, comp->trace_id);
}

/* Set up a bridge. May sleep. Return -ENOSPC if there are more sources than ids. */
static int ntrace_bridge_setup(struct ntrace_comp *comp)
{
	int id = ida_alloc_range(&ntrace_trace_ids, 1, NTRACE_TRACE_ID_LAST, GFP_KERNEL);
	int ret;

	if (id < 0) {
		dev_err(comp->dev, "no trace ID is left, because all %u are in use\n",
			NTRACE_TRACE_ID_LAST);
		return id;
	}
	comp->trace_id = id;
	ret = ntrace_bridge_revive(comp);
	if (ret)
		ntrace_bridge_free(comp);
	return ret;
}

const struct ntrace_comp_ops ntrace_bridge_comp_ops = {
	.type		= TR_COMP_ATBBRIDGE,
	.name		= "trace ATB bridge",
	.prefix		= "trAtbBridge",
	.stays_on	= true,
	.setup		= ntrace_bridge_setup,
	.revive		= ntrace_bridge_revive,
	.quiesce	= ntrace_comp_quiesce,
	.free		= ntrace_bridge_free,
};
