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

#include "route.h"
#include "topology.h"

static struct dentry *ntrace_debug_root;

static void ntrace_debug_print(struct seq_file *s, const struct ntrace_comp *comp,
			       unsigned int offset, const char *name)
{
	seq_printf(s, "0x%03x 0x%08x %s\n", offset, ntrace_read(comp, offset), name);
}

/*
 * Show the registers of a component. "Accesses to other registers are unspecified when the
 * tr??Active bit is 0"
 */
static void ntrace_debug_all(struct seq_file *s, const struct ntrace_comp *comp)
{
	const struct ntrace_reg *reg = comp->ops->regs;
	char name[32];

	if (!comp->ops->foreign) {
		snprintf(name, sizeof(name), "%sControl", comp->ops->prefix);
		ntrace_debug_print(s, comp, TR_CONTROL, name);
		if (!(ntrace_read(comp, TR_CONTROL) & TR_CONTROL_ACTIVE))
			return;
		snprintf(name, sizeof(name), "%sImpl", comp->ops->prefix);
		ntrace_debug_print(s, comp, TR_IMPL, name);
	}
	for (; reg && reg->name; reg++)
		ntrace_debug_print(s, comp, reg->offset, reg->name);
}

static int registers_show(struct seq_file *s, void *unused)
{
	struct ntrace_comp *comp = s->private;
	int ret = -ENODEV;

	if (ntrace_power_get(comp))
		return ret;
	scoped_guard(ntrace_awake) {
		/* Keep other code from resetting the component while its registers are read */
		guard(mutex)(&ntrace_mutex);
		if (ntrace_has_power(comp)) {
			ntrace_debug_all(s, comp);
			ret = 0;
		}
	}
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

	guard(mutex)(&ntrace_mutex);
	seq_printf(s, "type %s\naddress %pa\n", comp->ops->name, &comp->addr);
	if (comp->type == TR_COMP_ENCODER)
		ntrace_debug_encoder(s, to_ntrace_encoder(comp));
	else if (comp->ops->is_sink)
		ntrace_debug_sink(s, to_ntrace_sink(comp));
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
