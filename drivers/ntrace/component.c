// SPDX-License-Identifier: GPL-2.0-only
/*
 * What all trace components have in common.
 *
 * Trace Control Interface, chapters "Reset and Discovery", "Enabling and
 * Disabling" and "Versioning of Components".
 */
#include <linux/delay.h>
#include <linux/iopoll.h>

#include "ntrace.h"

/* Power-up "may take an arbitrarily long time"; a tool needs a limit */
#define NTRACE_RESET_TIMEOUT_US		100000
/* With interrupts off: what a full FIFO needs to drain, with room to spare */
#define NTRACE_ENABLE_TIMEOUT_US	2000

static const struct {
	unsigned int	type;
	const char	*name;
	const char	*prefix;
} ntrace_types[] = {
	{ TR_COMP_ENCODER,	"trace encoder",	"trTe" },
	{ TR_COMP_FUNNEL,	"trace funnel",		"trFunnel" },
	{ TR_COMP_RAMSINK,	"trace RAM sink",	"trRam" },
	{ TR_COMP_PIBSINK,	"trace PIB sink",	"trPib" },
	{ TR_COMP_ATBBRIDGE,	"trace ATB bridge",	"trAtbBridge" },
};

const char *ntrace_type_name(unsigned int type)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ntrace_types); i++)
		if (ntrace_types[i].type == type)
			return ntrace_types[i].name;
	return "trace component";
}

const char *ntrace_type_prefix(unsigned int type)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ntrace_types); i++)
		if (ntrace_types[i].type == type)
			return ntrace_types[i].prefix;
	return "tr??";
}

/* One message for each component that stops answering, not one for each try */
static int ntrace_comp_timed_out(struct ntrace_comp *comp, u32 mask, u32 want,
				 u32 got, unsigned int us)
{
	if (!comp->stuck)
		dev_err(comp->dev,
			"%s at %pa: %sControl bits 0x%x did not become 0x%x within %u us (reads 0x%08x)\n",
			ntrace_type_name(comp->type), &comp->addr,
			ntrace_type_prefix(comp->type), mask, want, us, got);
	comp->stuck = true;
	return -ETIMEDOUT;
}

static int ntrace_comp_wait_sleeping(struct ntrace_comp *comp, u32 mask, u32 want)
{
	u32 val;

	if (!readl_poll_timeout(comp->base + TR_CONTROL, val, (val & mask) == want,
				20, NTRACE_RESET_TIMEOUT_US))
		return 0;
	return ntrace_comp_timed_out(comp, mask, want, val, NTRACE_RESET_TIMEOUT_US);
}

/* May be called with interrupts off. Most hardware answers at the first read. */
int ntrace_comp_wait(struct ntrace_comp *comp, u32 mask, u32 want)
{
	u32 val = ntrace_read(comp, TR_CONTROL);

	if (likely((val & mask) == want))
		return 0;
	if (!readl_poll_timeout_atomic(comp->base + TR_CONTROL, val, (val & mask) == want,
				       1, NTRACE_ENABLE_TIMEOUT_US))
		return 0;
	return ntrace_comp_timed_out(comp, mask, want, val, NTRACE_ENABLE_TIMEOUT_US);
}

/* Which bits of @try stick when they are written beside @keep */
u32 ntrace_try(const struct ntrace_comp *comp, unsigned int offset, u32 keep, u32 try)
{
	u32 got;

	ntrace_write(comp, offset, keep | try);
	got = ntrace_read(comp, offset) & try;
	ntrace_write(comp, offset, keep);
	return got;
}

/* Bitmap of the values that a field takes; FIELD_PREP() wants constant masks */
u32 ntrace_try_values(const struct ntrace_comp *comp, unsigned int offset, u32 keep, u32 mask)
{
	unsigned int shift = __ffs(mask), v;
	u32 values = 0;

	for (v = 0; v <= mask >> shift; v++) {
		ntrace_write(comp, offset, keep | v << shift);
		if ((ntrace_read(comp, offset) & mask) == v << shift)
			values |= BIT(v);
	}
	ntrace_write(comp, offset, keep);
	return values;
}

/* Chapter "Reset and Discovery": 0, wait, 1, wait; leaves the component disabled */
int ntrace_comp_reset(struct ntrace_comp *comp)
{
	int ret;

	ntrace_write(comp, TR_CONTROL, 0);
	ret = ntrace_comp_wait_sleeping(comp, TR_CONTROL_ACTIVE, 0);
	if (ret)
		return ret;

	ntrace_write(comp, TR_CONTROL, TR_CONTROL_ACTIVE);
	ret = ntrace_comp_wait_sleeping(comp, TR_CONTROL_ACTIVE | TR_CONTROL_ENABLE,
					TR_CONTROL_ACTIVE);
	if (ret)
		return ret;

	comp->control = TR_CONTROL_ACTIVE;
	comp->stuck = false;
	return 0;
}

/* Chapter "Versioning of Components", for software that knows version 1.0 */
static int ntrace_comp_check_version(struct ntrace_comp *comp)
{
	unsigned int major = FIELD_GET(TR_IMPL_VER_MAJOR, comp->impl);
	unsigned int minor = FIELD_GET(TR_IMPL_VER_MINOR, comp->impl);
	const char *why;

	if (major == NTRACE_VER_MAJOR && minor == NTRACE_VER_MINOR)
		return 0;

	if (major == NTRACE_VER_MAJOR)
		why = minor == 15 ? "experimental, used as" : "newer, used as";
	else if (!major)
		why = "pre-ratified and refused; supported is";
	else
		why = "not compatible and refused; supported is";

	dev_printk(major == NTRACE_VER_MAJOR ? KERN_WARNING : KERN_ERR, comp->dev,
		   "%s at %pa: version %u.%u is %s %u.%u (%sImpl 0x%08x)\n",
		   ntrace_type_name(comp->type), &comp->addr, major, minor, why,
		   NTRACE_VER_MAJOR, NTRACE_VER_MINOR,
		   ntrace_type_prefix(comp->type), comp->impl);
	return major == NTRACE_VER_MAJOR ? 0 : -ENODEV;
}

int ntrace_comp_identify(struct ntrace_comp *comp)
{
	comp->impl = ntrace_read(comp, TR_IMPL);
	comp->type = FIELD_GET(TR_IMPL_COMP_TYPE, comp->impl);

	switch (comp->type) {
	case TR_COMP_ENCODER:
	case TR_COMP_FUNNEL:
	case TR_COMP_RAMSINK:
		return ntrace_comp_check_version(comp);
	case TR_COMP_PIBSINK:
	case TR_COMP_ATBBRIDGE:
		dev_err(comp->dev, "%s at %pa is not supported (%sImpl 0x%08x)\n",
			ntrace_type_name(comp->type), &comp->addr,
			ntrace_type_prefix(comp->type), comp->impl);
		return -EOPNOTSUPP;
	default:
		dev_err(comp->dev, "component at %pa has unknown type 0x%x (tr??Impl 0x%08x)\n",
			&comp->addr, comp->type, comp->impl);
		return -ENODEV;
	}
}

/* After its power was off. Its other registers are undefined then. */
int ntrace_comp_activate(struct ntrace_comp *comp)
{
	ntrace_write(comp, TR_CONTROL, TR_CONTROL_ACTIVE);
	comp->control = TR_CONTROL_ACTIVE;
	return ntrace_comp_wait(comp, TR_CONTROL_ACTIVE, TR_CONTROL_ACTIVE);
}

/* Drop what a disabled component still holds. Its other registers are undefined then. */
int ntrace_comp_drop(struct ntrace_comp *comp)
{
	int ret;

	if (ntrace_read(comp, TR_CONTROL) & TR_CONTROL_EMPTY)
		return 0;
	ntrace_write(comp, TR_CONTROL, 0);
	ret = ntrace_comp_wait(comp, TR_CONTROL_ACTIVE, 0);
	if (ret)
		return ret;
	return ntrace_comp_activate(comp);
}

/* For removal and shutdown: nothing may be written to memory after this */
void ntrace_comp_quiesce(struct ntrace_comp *comp)
{
	ntrace_comp_disable(comp, true);
	ntrace_write(comp, TR_CONTROL, 0);
	ntrace_comp_wait(comp, TR_CONTROL_ACTIVE, 0);
}
