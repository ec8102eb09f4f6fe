// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that describe a component, so that users can report hardware that no developer has.
 *
 *	/sys/kernel/debug/ntrace/DEVICE/registers	offset, value and name of each register
 *	/sys/kernel/debug/ntrace/DEVICE/caps		capabilities that the driver found
 *
 * Only registers whose reads have no side effect are read, so trRamData and RRD are excluded.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "fabric/coresight.h"
#include "fabric/fabric.h"
#include "power.h"
#include "route.h"
#include "topology.h"

static struct dentry *ntrace_debug_root;

struct ntrace_debug_reg {
	unsigned int	offset;
	const char	*name;
};

static const struct ntrace_debug_reg ntrace_encoder_regs[] = {
	{ TR_TE_INST_FEATURES,		"trTeInstFeatures" },
	{ TR_TE_INST_FILTERS,		"trTeInstFilters" },
	{ TR_TE_DATA_CONTROL,		"trTeDataControl" },
	{ TR_TE_DATA_FILTERS,		"trTeDataFilters" },
	{ TR_TS_CONTROL,		"trTsControl" },
	{ TR_TS_COUNTER_LOW,		"trTsCounterLow" },
	{ TR_TS_COUNTER_HIGH,		"trTsCounterHigh" },
	{ TR_TE_TRIG_DBG_CONTROL,	"trTeTrigDbgControl" },
	{ TR_TE_TRIG_EXT_IN_CONTROL,	"trTeTrigExtInControl" },
	{ TR_TE_TRIG_EXT_OUT_CONTROL,	"trTeTrigExtOutControl" },
	{ }
};

/* SiFive's version 0, whose sink is in the encoder or in the funnel */
static const struct ntrace_debug_reg ntrace_sifive_regs[] = {
	{ 0x010,	"SinkBase" },
	{ 0x014,	"SinkBaseHigh" },
	{ 0x018,	"SinkLimit" },
	{ 0x01c,	"SinkWP" },
	{ 0x020,	"SinkRP" },
	{ 0x040,	"tsControl" },
	{ 0x044,	"tsLower" },
	{ 0x048,	"tsUpper" },
	{ }
};

static const struct ntrace_debug_reg ntrace_funnel_regs[] = {
	{ TR_FUNNEL_DIS_INPUT,	"trFunnelDisInput" },
	{ TR_TS_CONTROL,	"trTsControl" },
	{ TR_TS_COUNTER_LOW,	"trTsCounterLow" },
	{ TR_TS_COUNTER_HIGH,	"trTsCounterHigh" },
	{ }
};

static const struct ntrace_debug_reg ntrace_ramsink_regs[] = {
	{ TR_RAM_START_LOW,	"trRamStartLow" },
	{ TR_RAM_START_HIGH,	"trRamStartHigh" },
	{ TR_RAM_LIMIT_LOW,	"trRamLimitLow" },
	{ TR_RAM_LIMIT_HIGH,	"trRamLimitHigh" },
	{ TR_RAM_WP_LOW,	"trRamWPLow" },
	{ TR_RAM_WP_HIGH,	"trRamWPHigh" },
	{ TR_RAM_RP_LOW,	"trRamRPLow" },
	{ TR_RAM_RP_HIGH,	"trRamRPHigh" },
	{ }
};

/* Registers of a funnel, and registers of all CoreSight components */
static const struct ntrace_debug_reg ntrace_csfunnel_regs[] = {
	{ CS_FUNNEL_CTRL,	"CTRL" },
	{ CS_FUNNEL_PRIORITY,	"PRIORITY" },
	{ CS_CLAIMCLR,		"CLAIMCLR" },
	{ CS_AUTHSTATUS,	"AUTHSTATUS" },
	{ CS_DEVID,		"DEVID" },
	{ CS_DEVTYPE,		"DEVTYPE" },
	{ }
};

static const struct ntrace_debug_reg ntrace_tmc_regs[] = {
	{ TMC_RSZ,		"RSZ" },
	{ TMC_STS,		"STS" },
	{ TMC_RRP,		"RRP" },
	{ TMC_RWP,		"RWP" },
	{ TMC_CTL,		"CTL" },
	{ TMC_MODE,		"MODE" },
	{ TMC_BUFWM,		"BUFWM" },
	{ TMC_FFCR,		"FFCR" },
	{ CS_CLAIMCLR,		"CLAIMCLR" },
	{ CS_AUTHSTATUS,	"AUTHSTATUS" },
	{ CS_DEVID,		"DEVID" },
	{ CS_DEVTYPE,		"DEVTYPE" },
	{ }
};

static const struct ntrace_debug_reg *ntrace_debug_regs(const struct ntrace_comp *comp)
{
	static const struct ntrace_debug_reg none[] = { { } };

	switch (comp->type) {
	case TR_COMP_ENCODER:
		return to_ntrace_encoder((struct ntrace_comp *)comp)->ops ? ntrace_sifive_regs :
									     ntrace_encoder_regs;
	case NTRACE_COMP_SBA_FUNNEL:
		return ntrace_sifive_regs;
	case TR_COMP_FUNNEL:
		return ntrace_funnel_regs;
	case TR_COMP_RAMSINK:
		return ntrace_ramsink_regs;
	case NTRACE_COMP_CSFUNNEL:
		return ntrace_csfunnel_regs;
	case NTRACE_COMP_ETF:
	case NTRACE_COMP_ETR:
		return ntrace_tmc_regs;
	default:
		return none;
	}
}

static void ntrace_debug_print(struct seq_file *s, const struct ntrace_comp *comp,
			       unsigned int offset, const char *name)
{
	seq_printf(s, "0x%03x 0x%08x %s\n", offset, ntrace_read(comp, offset), name);
}

/* Show the filters and comparators that the driver uses. SiFive's encoder of version 0 has none. */
static void ntrace_debug_filters(struct seq_file *s, const struct ntrace_encoder *enc)
{
	unsigned long filters = enc->caps.filters, comps = enc->caps.comparators;
	const struct ntrace_comp *comp = &enc->comp;
	char name[32];
	unsigned int i;

	for_each_set_bit(i, &filters, TR_TE_FILTER_MAX) {
		snprintf(name, sizeof(name), "trTeFilter%uControl", i);
		ntrace_debug_print(s, comp, TR_TE_FILTER_CONTROL(i), name);
		snprintf(name, sizeof(name), "trTeFilter%uMatchInst", i);
		ntrace_debug_print(s, comp, TR_TE_FILTER_MATCH_INST(i), name);
	}
	for_each_set_bit(i, &comps, TR_TE_COMP_MAX) {
		snprintf(name, sizeof(name), "trTeComp%uControl", i);
		ntrace_debug_print(s, comp, TR_TE_COMP_CONTROL(i), name);
	}
}

/*
 * Show all registers of a component. "Accesses to other registers are unspecified when the
 * tr??Active bit is 0"
 */
static void ntrace_debug_all(struct seq_file *s, const struct ntrace_comp *comp)
{
	const struct ntrace_debug_reg *reg = ntrace_debug_regs(comp);
	char name[32];

	if (!comp->ops->foreign) {
		snprintf(name, sizeof(name), "%sControl", comp->ops->prefix);
		ntrace_debug_print(s, comp, TR_CONTROL, name);
		if (!(ntrace_read(comp, TR_CONTROL) & TR_CONTROL_ACTIVE))
			return;
		snprintf(name, sizeof(name), "%sImpl", comp->ops->prefix);
		ntrace_debug_print(s, comp, TR_IMPL, name);
	}
	for (; reg->name; reg++)
		ntrace_debug_print(s, comp, reg->offset, reg->name);
	if (comp->type == TR_COMP_ENCODER)
		ntrace_debug_filters(s, to_ntrace_encoder((struct ntrace_comp *)comp));
}

static int registers_show(struct seq_file *s, void *unused)
{
	struct ntrace_comp *comp = s->private;
	int ret = -ENODEV;

	if (ntrace_power_get(comp))
		return ret;
	ntrace_keep_awake();
	/* Keep the component from being reset */
	mutex_lock(&ntrace_mutex);
	if (ntrace_has_power(comp)) {
		ntrace_debug_all(s, comp);
		ret = 0;
	}
	mutex_unlock(&ntrace_mutex);
	ntrace_let_sleep();
	ntrace_power_put(comp);
	return ret;
}
DEFINE_SHOW_ATTRIBUTE(registers);

static void ntrace_debug_encoder(struct seq_file *s, const struct ntrace_encoder *enc)
{
	const struct ntrace_caps *caps = &enc->caps;

	seq_printf(s, "cpu %u\n", enc->cpu);
	seq_printf(s, "config 0x%llx\nfixed 0x%llx\n", caps->config, caps->fixed);
	seq_printf(s, "modes 0x%x\n", caps->modes);
	seq_printf(s, "sync_modes 0x%x\nsync_max 0x%x\n", caps->sync_modes, caps->sync_max);
	seq_printf(s, "ts_modes 0x%x\nts_prescale 0x%x\nts_width %u\n", caps->ts_modes,
		   caps->ts_prescale, caps->ts_width);
	seq_printf(s, "implicit_return_mode %u\n", caps->ir_mode);
	seq_printf(s, "src_bits %u\nsrc_fixed %u\n", caps->src_bits, caps->src_fixed);
	seq_printf(s, "privileges 0x%x\n", caps->priv);
	seq_printf(s, "filters 0x%x\ncomparators 0x%x\n", caps->filters, caps->comparators);
	seq_printf(s, "latches 0x%x\nexcludes 0x%x\n", caps->latches, caps->excludes);
	seq_printf(s, "filter_comparators %u\n", caps->comps);
	seq_printf(s, "trig_in 0x%x\ntrig_out 0x%x\n", caps->trig_in, caps->trig_out);
}

static void ntrace_debug_sink(struct seq_file *s, const struct ntrace_sink *sink)
{
	static const char * const names[] = {
		[TR_RAM_MODE_SRAM] = "sram", [TR_RAM_MODE_SMEM] = "smem",
	};
	const struct ntrace_ram_area *area;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		area = &sink->areas[i];
		if (!area->there)
			continue;
		seq_printf(s, "%s min 0x%llx max 0x%llx", names[i], area->min, area->max);
		seq_printf(s, " align %u start_align %u\n", area->align, area->start_align);
	}
}

static int caps_show(struct seq_file *s, void *unused)
{
	struct ntrace_comp *comp = s->private;

	mutex_lock(&ntrace_mutex);
	seq_printf(s, "type %s\naddress %pa\n", comp->ops->name, &comp->addr);
	if (comp->type == TR_COMP_ENCODER)
		ntrace_debug_encoder(s, to_ntrace_encoder(comp));
	else if (comp->ops->is_sink)
		ntrace_debug_sink(s, to_ntrace_sink(comp));
	mutex_unlock(&ntrace_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(caps);

/* Create the files of a component. Errors are ignored, because nothing depends on these files. */
void ntrace_debugfs_add(struct ntrace_comp *comp)
{
	comp->debug = debugfs_create_dir(dev_name(comp->dev), ntrace_debug_root);
	debugfs_create_file("registers", 0400, comp->debug, comp, &registers_fops);
	debugfs_create_file("caps", 0400, comp->debug, comp, &caps_fops);
}

/* Remove the files of a component, and wait for readers */
void ntrace_debugfs_remove(struct ntrace_comp *comp)
{
	debugfs_remove(comp->debug);
}

void ntrace_debugfs_init(void)
{
	ntrace_debug_root = debugfs_create_dir("ntrace", NULL);
}

void ntrace_debugfs_exit(void)
{
	debugfs_remove(ntrace_debug_root);
}
