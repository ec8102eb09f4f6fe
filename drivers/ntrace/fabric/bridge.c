// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ATB bridge gives the trace of its input a trace id (Trace Control Interface, chapter "ATB
 * Bridge"). It holds nothing back, so the driver keeps it enabled, and the encoder alone decides
 * when there is trace.
 */
#include <linux/idr.h>

#include "fabric.h"

/* ATB reserves 0 and the ids from 0x70 on. */
#define NTRACE_TRACE_ID_LAST	0x6f

static DEFINE_IDA(ntrace_trace_ids);

/*
 * After a reset or a loss of power, all fields are undefined. The id can change only while the
 * bridge is disabled.
 */
static int ntrace_bridge_revive(struct ntrace_comp *comp)
{
	u32 id = FIELD_PREP(TR_ATB_BRIDGE_ID, comp->trace_id);

	comp->control = TR_CONTROL_ACTIVE | id;
	ntrace_write(comp, TR_CONTROL, comp->control);
	if ((ntrace_read(comp, TR_CONTROL) & TR_ATB_BRIDGE_ID) != id) {
		ntrace_comp_err(comp, "%s at %pa: trAtbBridgeID does not take %u",
				comp->ops->name, &comp->addr, comp->trace_id);
		return -EIO;
	}
	return ntrace_comp_enable(comp);
}

static void ntrace_bridge_free(struct ntrace_comp *comp)
{
	ida_free(&ntrace_trace_ids, comp->trace_id);
}

/* May sleep. -ENOSPC: there are more sources than ids */
static int ntrace_bridge_setup(struct ntrace_comp *comp)
{
	int id = ida_alloc_range(&ntrace_trace_ids, 1, NTRACE_TRACE_ID_LAST, GFP_KERNEL);
	int ret;

	if (id < 0) {
		dev_err(comp->dev, "no trace id is left: there are %u\n", NTRACE_TRACE_ID_LAST);
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
