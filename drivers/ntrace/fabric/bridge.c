// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ATB bridge gives the trace of its input a trace id (Trace Control Interface, chapter "ATB
 * Bridge"). It holds nothing back, so the driver keeps it enabled, and the encoder alone decides
 * when there is trace.
 */
#include <linux/idr.h>

#include "../ntrace.h"

/* ATB reserves 0 and the ids from 0x70 on. */
#define NTRACE_TRACE_ID_LAST	0x6f

static DEFINE_IDA(ntrace_trace_ids);

/*
 * After a reset or a loss of power, all fields are undefined. The id can change only while the
 * bridge is disabled.
 */
int ntrace_bridge_revive(struct ntrace_bridge *bridge)
{
	struct ntrace_comp *comp = &bridge->comp;
	u32 id = FIELD_PREP(TR_ATB_BRIDGE_ID, bridge->id);

	comp->control = TR_CONTROL_ACTIVE | id;
	ntrace_write(comp, TR_CONTROL, comp->control);
	if ((ntrace_read(comp, TR_CONTROL) & TR_ATB_BRIDGE_ID) != id) {
		ntrace_comp_err(comp, "%s at %pa: trAtbBridgeID does not take %u",
				ntrace_type_name(comp->type), &comp->addr, bridge->id);
		return -EIO;
	}
	return ntrace_comp_enable(comp);
}

/* May sleep. -ENOSPC: there are more sources than ids */
int ntrace_bridge_setup(struct ntrace_bridge *bridge)
{
	int id = ida_alloc_range(&ntrace_trace_ids, 1, NTRACE_TRACE_ID_LAST, GFP_KERNEL);
	int ret;

	if (id < 0) {
		dev_err(bridge->comp.dev, "no trace id is left: there are %u\n",
			NTRACE_TRACE_ID_LAST);
		return id;
	}
	bridge->id = id;
	ret = ntrace_bridge_revive(bridge);
	if (ret)
		ntrace_bridge_free(bridge);
	return ret;
}

void ntrace_bridge_free(struct ntrace_bridge *bridge)
{
	ida_free(&ntrace_trace_ids, bridge->id);
}
