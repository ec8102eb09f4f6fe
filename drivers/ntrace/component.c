// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations that all trace components have in common.
 *
 * Trace Control Interface, chapters "Reset and Discovery", "Enabling and
 * Disabling" and "Versioning of Components".
 */
#include <linux/delay.h>
#include <linux/iopoll.h>

#include "component.h"

/* Maximum time in microseconds to wait for a power-up, which "may take an arbitrarily long time" */
#define NTRACE_RESET_TIMEOUT_US		100000
/*
 * Maximum time in microseconds to drain a full FIFO, with a margin. It is short because some
 * callers wait with interrupts off.
 */
#define NTRACE_ENABLE_TIMEOUT_US	2000

static void ntrace_comp_say(struct irq_work *work)
{
	struct ntrace_comp *comp = container_of(work, struct ntrace_comp, say);

	dev_err(comp->dev, "%s\n", comp->said);
}

/* Initialise the members of a component, before any other function is called for it */
void ntrace_comp_init(struct ntrace_comp *comp, const struct ntrace_comp_ops *ops,
		      struct device *dev, void __iomem *base, phys_addr_t addr)
{
	comp->ops = ops;
	comp->dev = dev;
	comp->base = base;
	comp->addr = addr;
	raw_spin_lock_init(&comp->lock);
	init_irq_work(&comp->say, ntrace_comp_say);
}

/**
 * ntrace_comp_err - mark a component as unusable until a reset succeeds
 * @comp: The component
 * @fmt: Reason for the log, which is logged once, not for each later attempt
 *
 * Context: Any. The scheduler may call this while it holds locks that a console needs, so an
 * irq_work prints the message later.
 */
void ntrace_comp_err(struct ntrace_comp *comp, const char *fmt, ...)
{
	va_list args;

	if (comp->stuck)
		return;
	va_start(args, fmt);
	vsnprintf(comp->said, sizeof(comp->said), fmt, args);
	va_end(args);
	comp->stuck = true;
	irq_work_queue(&comp->say);
}

static int ntrace_comp_timed_out(struct ntrace_comp *comp, u32 mask, u32 want,
				 u32 got, unsigned int us)
{
	ntrace_comp_err(comp,
			"%s at %pa: %sControl bits 0x%x did not become 0x%x within %u us (reads 0x%08x)",
			comp->ops->name, &comp->addr, comp->ops->prefix,
			mask, want, us, got);
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

/*
 * Poll tr??Control until the bits in @mask are @want. On -ETIMEDOUT, do not mark the component as
 * stuck, because the caller may know another reason.
 */
int ntrace_comp_poll(const struct ntrace_comp *comp, u32 mask, u32 want)
{
	u32 val;

	return readl_poll_timeout_atomic(comp->base + TR_CONTROL, val, (val & mask) == want,
					 1, NTRACE_ENABLE_TIMEOUT_US);
}

/* Wait for bits of tr??Control; interrupts may be off. Most hardware answers at the first read. */
int ntrace_comp_wait(struct ntrace_comp *comp, u32 mask, u32 want)
{
	u32 val = ntrace_read(comp, TR_CONTROL);

	if (likely((val & mask) == want) || !ntrace_comp_poll(comp, mask, want))
		return 0;
	val = ntrace_read(comp, TR_CONTROL);
	return ntrace_comp_timed_out(comp, mask, want, val, NTRACE_ENABLE_TIMEOUT_US);
}

static bool ntrace_comp_has_stopped(const struct ntrace_comp *sink)
{
	return sink && !(ntrace_read(sink, TR_CONTROL) & TR_CONTROL_ENABLE);
}

/**
 * ntrace_comp_flush - wait until a component before a sink has sent all its trace
 * @comp: The component; Enable was written as 0
 * @sink: The sink of its path, or NULL if the sink does not stop by itself
 *
 * A sink may stop by itself at the end of its window at any time. It then accepts no more trace,
 * and the trace in the components before it cannot be sent.
 *
 * Return: 0, 1 if the component is disabled but holds trace that the sink does not accept, or
 * -ETIMEDOUT
 */
int ntrace_comp_flush(struct ntrace_comp *comp, const struct ntrace_comp *sink)
{
	u32 mask = TR_CONTROL_ENABLE | TR_CONTROL_EMPTY, val;

	if (readl_poll_timeout_atomic(comp->base + TR_CONTROL, val,
				      (val & mask) == TR_CONTROL_EMPTY ||
				      ntrace_comp_has_stopped(sink),
				      1, NTRACE_ENABLE_TIMEOUT_US))
		return ntrace_comp_timed_out(comp, mask, TR_CONTROL_EMPTY, val,
					     NTRACE_ENABLE_TIMEOUT_US);
	if ((val & mask) == TR_CONTROL_EMPTY)
		return 0;
	/*
	 * The sink has stopped, so it takes no more messages from this component. The component
	 * is empty only if it had already sent all its messages.
	 */
	return ntrace_comp_wait(comp, TR_CONTROL_ENABLE, 0) ?:
	       !(ntrace_read(comp, TR_CONTROL) & TR_CONTROL_EMPTY);
}

/**
 * ntrace_comp_set - write a register and verify the value
 * @comp: The component
 * @name: Name of the register
 * @offset: Its offset
 * @val: The value
 * @mask: Bits that must be equal to those of @val
 *
 * Chapter "Enabling and Disabling": "Set desired mode and verify if that mode is set (regardless of
 * discovery results)".
 *
 * Context: Any; the component is disabled.
 * Return: 0, or -EIO if the register has another value; the first such value of a component is
 * logged
 */
int ntrace_comp_set(struct ntrace_comp *comp, const char *name, unsigned int offset, u32 val,
		    u32 mask)
{
	u32 is;

	ntrace_write(comp, offset, val);
	is = ntrace_read(comp, offset);
	if (likely(!((is ^ val) & mask)))
		return 0;
	if (!comp->refused) {
		comp->refused = true;
		snprintf(comp->said, sizeof(comp->said),
			 "%s at %pa: %s reads 0x%08x after 0x%08x was written (differing bits 0x%08x)",
			 comp->ops->name, &comp->addr, name, is, val,
			 (is ^ val) & mask);
		irq_work_queue(&comp->say);
	}
	return -EIO;
}

/* Write the bits @keep and @try. Return the bits of @try that the register accepts. */
u32 ntrace_try(const struct ntrace_comp *comp, unsigned int offset, u32 keep, u32 try)
{
	u32 got;

	ntrace_write(comp, offset, keep | try);
	got = ntrace_read(comp, offset) & try;
	ntrace_write(comp, offset, keep);
	return got;
}

/*
 * Return a bitmap of the values that the field @mask accepts. FIELD_PREP() cannot be used, because
 * it requires a constant mask.
 */
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

/*
 * Reset as in chapter "Reset and Discovery". Write 0 to Active, wait, write 1, and wait. The
 * component is then disabled.
 */
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
	return 0;
}

/* Check the version of a component by the rules of chapter "Versioning of Components" */
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
		why = "pre-ratified and refused; the driver supports";
	else
		why = "not compatible and refused; the driver supports";

	dev_printk(major == NTRACE_VER_MAJOR ? KERN_WARNING : KERN_ERR, comp->dev,
		   "%s at %pa: version %u.%u is %s %u.%u (%sImpl 0x%08x)\n",
		   comp->ops->name, &comp->addr, major, minor, why,
		   NTRACE_VER_MAJOR, NTRACE_VER_MINOR,
		   comp->ops->prefix, comp->impl);
	return major == NTRACE_VER_MAJOR ? 0 : -ENODEV;
}

/**
 * ntrace_comp_identify - find out which component of the Trace Control Interface this is
 * @comp: The component, active; its type, impl and ops are set
 * @kinds: All components that the driver knows; the last entry is NULL
 *
 * Return: 0, or -EOPNOTSUPP or -ENODEV if the driver does not support it, which is logged
 */
int ntrace_comp_identify(struct ntrace_comp *comp, const struct ntrace_comp_ops * const *kinds)
{
	comp->impl = ntrace_read(comp, TR_IMPL);
	comp->type = FIELD_GET(TR_IMPL_COMP_TYPE, comp->impl);
	while (*kinds && (*kinds)->type != comp->type)
		kinds++;
	if (!*kinds) {
		dev_err(comp->dev, "component at %pa has unknown type 0x%x (tr??Impl 0x%08x)\n",
			&comp->addr, comp->type, comp->impl);
		return -ENODEV;
	}
	comp->ops = *kinds;
	if (comp->ops->setup)
		return ntrace_comp_check_version(comp);
	dev_err(comp->dev, "%s at %pa is not supported (%sImpl 0x%08x)\n", comp->ops->name,
		&comp->addr, comp->ops->prefix, comp->impl);
	return -EOPNOTSUPP;
}

/**
 * ntrace_comp_recognise - identify a component, with as few changes to it as possible
 * @comp: The component
 *
 * "Accesses to other registers are unspecified when the tr??Active bit is 0". So a component that
 * is not active is activated to read its tr??Impl, and deactivated again if it is not supported.
 * Nothing is written to a component that is active.
 *
 * Return: 0 if the driver supports it, else a negative error, which is logged
 */
int ntrace_comp_recognise(struct ntrace_comp *comp)
{
	bool active = ntrace_read(comp, TR_CONTROL) & TR_CONTROL_ACTIVE;
	int ret = 0;

	if (!active) {
		ntrace_write(comp, TR_CONTROL, TR_CONTROL_ACTIVE);
		ret = ntrace_comp_wait_sleeping(comp, TR_CONTROL_ACTIVE, TR_CONTROL_ACTIVE);
	}
	if (!ret)
		ret = comp->ops->identify(comp);
	if (ret && !active)
		ntrace_write(comp, TR_CONTROL, 0);
	return ret;
}

/* Activate a component after its power was off. Its other registers are undefined. */
int ntrace_comp_activate(struct ntrace_comp *comp)
{
	ntrace_write(comp, TR_CONTROL, TR_CONTROL_ACTIVE);
	comp->control = TR_CONTROL_ACTIVE;
	return ntrace_comp_wait(comp, TR_CONTROL_ACTIVE, TR_CONTROL_ACTIVE);
}

/*
 * Reset a component to drop its trace. Its other registers are undefined afterwards. The caller
 * ensures that it is disabled, which means that no path uses it. ntrace_path_drop_comp() checks
 * this for a funnel, which may serve several paths.
 */
int ntrace_comp_drop(struct ntrace_comp *comp)
{
	int ret;

	ntrace_write(comp, TR_CONTROL, 0);
	ret = ntrace_comp_wait(comp, TR_CONTROL_ACTIVE, 0);
	if (ret)
		return ret;
	return ntrace_comp_activate(comp);
}

/* Stop a component at its removal or at shutdown. It must not write to memory after this. */
void ntrace_comp_quiesce(struct ntrace_comp *comp)
{
	ntrace_comp_disable(comp);
	ntrace_write(comp, TR_CONTROL, 0);
	ntrace_comp_wait(comp, TR_CONTROL_ACTIVE, 0);
}
