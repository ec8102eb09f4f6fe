// SPDX-License-Identifier: GPL-2.0-only
/*
 * The trace funnel, which has several inputs, and optionally a timestamp unit that the encoders and
 * funnels before it share. Trace Control Interface, chapter "Trace Funnel".
 */
#include "funnel.h"

/*
 * Return the best trTsMode. "The top-level Funnel is the source of the timestamp (Internal System
 * or External) and all the Encoders and other Funnels have a Shared timestamp"
 */
static unsigned int ntrace_funnel_best_ts_mode(const struct ntrace_funnel *funnel)
{
	static const u8 order[] = { TR_TS_MODE_EXTERNAL, TR_TS_MODE_INTERNAL_SYSTEM,
				    TR_TS_MODE_SHARED };
	unsigned int i;

	if (funnel->inner && funnel->ts.modes & BIT(TR_TS_MODE_SHARED))
		return TR_TS_MODE_SHARED;
	for (i = 0; i < ARRAY_SIZE(order); i++)
		if (funnel->ts.modes & BIT(order[i]))
			return order[i];
	return TR_TS_MODE_NONE;
}

/* Write all registers, which are undefined after a reset or a loss of power */
void ntrace_funnel_revive(struct ntrace_funnel *funnel)
{
	ntrace_write(&funnel->comp, TR_FUNNEL_DIS_INPUT, funnel->inputs & ~funnel->used);
	if (funnel->ts_mode)
		ntrace_ts_count(&funnel->comp, funnel->ts_mode, 0);
	else
		ntrace_write(&funnel->comp, TR_TS_CONTROL, 0);
}

/*
 * Drop trace that had no room in the window, and keep all settings. The caller holds comp.lock.
 */
int ntrace_funnel_drop(struct ntrace_funnel *funnel)
{
	int ret = ntrace_comp_drop(&funnel->comp);

	if (!ret)
		ntrace_funnel_revive(funnel);
	return ret;
}

/* Find out the capabilities after a reset */
void ntrace_funnel_setup(struct ntrace_funnel *funnel)
{
	ntrace_write(&funnel->comp, TR_FUNNEL_DIS_INPUT, TR_FUNNEL_DIS_INPUT_MASK);
	funnel->inputs = ntrace_read(&funnel->comp, TR_FUNNEL_DIS_INPUT);
	funnel->used = 0;
	ntrace_ts_probe(&funnel->comp, &funnel->ts);
	funnel->ts_mode = ntrace_funnel_best_ts_mode(funnel);
	ntrace_funnel_revive(funnel);
}

/*
 * Enable @input for a path. An input that no path uses stays disabled, because an
 * encoder with several outputs sends its trace to all of them, and the trace must not reach a sink
 * that the event does not use.
 */
static void ntrace_funnel_open(struct ntrace_comp *comp, unsigned int input)
{
	struct ntrace_funnel *funnel = to_ntrace_funnel(comp);
	unsigned long flags;

	raw_spin_lock_irqsave(&funnel->comp.lock, flags);
	funnel->used |= BIT(input);
	ntrace_write(&funnel->comp, TR_FUNNEL_DIS_INPUT, funnel->inputs & ~funnel->used);
	raw_spin_unlock_irqrestore(&funnel->comp.lock, flags);
}

/* Note whether the funnel's output leads to another funnel */
void ntrace_funnel_connect(struct ntrace_funnel *funnel, bool inner)
{
	if (funnel->inner == inner)
		return;
	funnel->inner = inner;
	funnel->ts_mode = ntrace_funnel_best_ts_mode(funnel);
	ntrace_funnel_revive(funnel);
}

static int ntrace_funnel_comp_setup(struct ntrace_comp *comp)
{
	ntrace_funnel_setup(to_ntrace_funnel(comp));
	return 0;
}

static int ntrace_funnel_comp_revive(struct ntrace_comp *comp)
{
	ntrace_funnel_revive(to_ntrace_funnel(comp));
	return 0;
}

static const struct ntrace_reg ntrace_funnel_regs[] = {
	{ TR_FUNNEL_DIS_INPUT,	"trFunnelDisInput" },
	{ TR_TS_CONTROL,	"trTsControl" },
	{ TR_TS_COUNTER_LOW,	"trTsCounterLow" },
	{ TR_TS_COUNTER_HIGH,	"trTsCounterHigh" },
	{ }
};

const struct ntrace_comp_ops ntrace_funnel_comp_ops = {
	.type		= TR_COMP_FUNNEL,
	.name		= "trace funnel",
	.prefix		= "trFunnel",
	.inputs		= TR_FUNNEL_DIS_INPUT_MASK,
	.regs		= ntrace_funnel_regs,
	.setup		= ntrace_funnel_comp_setup,
	.revive		= ntrace_funnel_comp_revive,
	.open		= ntrace_funnel_open,
	.quiesce	= ntrace_comp_quiesce,
};
