/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A trace component, the operations of each kind of component, its registers, and its timestamp
 * unit
 */
#ifndef NTRACE_COMPONENT_H
#define NTRACE_COMPONENT_H

#include <linux/bitfield.h>
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/io.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "regs.h"

/* Version of the Trace Control Interface for which this driver is written */
#define NTRACE_VER_MAJOR	1
#define NTRACE_VER_MINOR	0

/*
 * Maximum number of components on a path, which are an encoder, funnels (usually two levels) and a
 * sink
 */
#define NTRACE_PATH_MAX		8

/**
 * enum ntrace_comp_state - user of a component
 * @NTRACE_COMP_NEW: No user; the registers are not set up
 * @NTRACE_COMP_FOREIGN: A debugger, because the component was enabled when it was found
 * @NTRACE_COMP_READY: This driver, which restores the registers after a loss of power
 */
enum ntrace_comp_state {
	NTRACE_COMP_NEW,
	NTRACE_COMP_FOREIGN,
	NTRACE_COMP_READY,
};

/* Clock of the registers, and clock that the timestamp counts */
enum { NTRACE_CLOCK_BUS, NTRACE_CLOCK_TIMESTAMP, NTRACE_NR_CLOCKS };

struct clk;
struct ntrace_comp;

/**
 * struct ntrace_reg - a register that the file "registers" in debugfs shows
 * @offset: Offset; a read has no side effect
 * @name: Name in the specification, or NULL after the last register
 */
struct ntrace_reg {
	unsigned int	offset;
	const char	*name;
};

struct reset_control;

/**
 * struct ntrace_comp_ops - properties and operations of a kind of component
 * @type: Value of tr??ComponentType, or another number for a component without that field
 * @name: Name for messages
 * @prefix: Prefix of its register names in the specification
 * @is_sink: Trace ends in this component
 * @foreign: The component has no tr??Control and no reset; claim tags identify its user
 * @stays_on: A link that is enabled from its set-up until its removal
 * @inputs: Bitmap of the inputs that the device tree may name; 0 if the component has one input,
 *	whose number does not matter
 * @regs: Registers to show in addition to tr??Control and tr??Impl, or NULL
 * @identify: Determine comp->type and comp->impl, and whether the driver supports the component.
 *	May set comp->ops to other ops, in which @identify is NULL.
 * @setup: Determine the capabilities after a reset; may sleep. NULL if the driver does not
 *	support the component.
 * @revive: Write all registers except those of a path, after a reset or a loss of power
 * @open: Prepare the input for a path that leads into it, or NULL
 * @quiesce: Stop the component, so that it writes nothing to memory after this
 * @free: Undo @setup, or NULL
 */
struct ntrace_comp_ops {
	unsigned int	type;
	const char	*name;
	const char	*prefix;
	bool		is_sink;
	bool		foreign;
	bool		stays_on;
	u16		inputs;
	const struct ntrace_reg *regs;
	int		(*identify)(struct ntrace_comp *comp);
	int		(*setup)(struct ntrace_comp *comp);
	int		(*revive)(struct ntrace_comp *comp);
	void		(*open)(struct ntrace_comp *comp, unsigned int input);
	void		(*quiesce)(struct ntrace_comp *comp);
	void		(*free)(struct ntrace_comp *comp);
};

/**
 * struct ntrace_comp - a trace component
 * @ops: Kind of component
 * @dev: The platform device
 * @base: Its 4 KiB of registers
 * @addr: Physical address of the registers, for messages
 * @type: Type, from @ops
 * @impl: Value of tr??Impl, or of DEVID of a CoreSight component
 * @trace_id: Value of trAtbBridgeID, if it is an ATB bridge
 * @control: Value that was last written to tr??Control
 * @stuck: The component did not respond, and is not used until a reset succeeds
 * @prompt: When Enable was last set, it already was 1 at the first read
 * @state: User of the component
 * @cpus: CPUs whose trace passes through it, or all CPUs if the device tree names none
 * @powered: Runtime PM has resumed it, so that its registers can be accessed if it serves an
 *	online CPU. Written with @lock held.
 * @clocks: Optional clocks, which run while @powered
 * @reset: Optional reset line, released while the driver is bound
 * @lock: Serialises @powered and the restoration of registers; for a funnel, also @users and
 *	all accesses to registers
 * @users: Number of started paths through it
 * @say: Work that prints the text in @said when printing is allowed
 * @said: Reason why it is stuck, or the setting that it refused
 * @refused: A setting that it refused has been logged
 * @node: Entry in ntrace_comps
 * @debug: Its directory in debugfs
 */
struct ntrace_comp {
	const struct ntrace_comp_ops *ops;
	struct device		*dev;
	void __iomem		*base;
	phys_addr_t		addr;
	unsigned int		type;
	u32			impl;
	u8			trace_id;
	u32			control;
	bool			stuck;
	bool			prompt;
	enum ntrace_comp_state	state;
	struct cpumask		cpus;
	bool			powered;
	struct clk		*clocks[NTRACE_NR_CLOCKS];
	struct reset_control	*reset;
	raw_spinlock_t		lock;
	unsigned int		users;
	struct irq_work		say;
	char			said[160];
	bool			refused;
	struct list_head	node;
	struct dentry		*debug;
};

/*
 * component.c
 *
 * These accessors use the _relaxed functions, because they need no barriers. Accesses to one
 * component stay in order, and the driver reads each change of tr??Control back before it changes
 * tr??Control of the next component. ntrace_ramsink_program() and ntrace_session_collect() have the
 * barriers between accesses to registers and to the memory of the trace.
 */
static inline u32 ntrace_read(const struct ntrace_comp *comp, unsigned int offset)
{
	return readl_relaxed(comp->base + offset);
}

static inline void ntrace_write(const struct ntrace_comp *comp, unsigned int offset, u32 val)
{
	writel_relaxed(val, comp->base + offset);
}

void ntrace_comp_init(struct ntrace_comp *comp, const struct ntrace_comp_ops *ops,
		      struct device *dev, void __iomem *base, phys_addr_t addr);
__printf(2, 3) void ntrace_comp_err(struct ntrace_comp *comp, const char *fmt, ...);
int ntrace_comp_reset(struct ntrace_comp *comp);
int ntrace_comp_recognise(struct ntrace_comp *comp);
int ntrace_comp_identify(struct ntrace_comp *comp, const struct ntrace_comp_ops * const *kinds);
int ntrace_comp_flush(struct ntrace_comp *comp, const struct ntrace_comp *sink);
int ntrace_comp_poll(const struct ntrace_comp *comp, u32 mask, u32 want);
int ntrace_comp_wait(struct ntrace_comp *comp, u32 mask, u32 want);
int ntrace_comp_set(struct ntrace_comp *comp, const char *name, unsigned int offset, u32 val,
		    u32 mask);
u32 ntrace_try(const struct ntrace_comp *comp, unsigned int offset, u32 keep, u32 try);
u32 ntrace_try_values(const struct ntrace_comp *comp, unsigned int offset, u32 keep, u32 mask);
int ntrace_comp_drop(struct ntrace_comp *comp);
int ntrace_comp_activate(struct ntrace_comp *comp);
void ntrace_comp_quiesce(struct ntrace_comp *comp);

static inline int ntrace_comp_enable(struct ntrace_comp *comp)
{
	comp->control |= TR_CONTROL_ENABLE;
	ntrace_write(comp, TR_CONTROL, comp->control);
	comp->prompt = ntrace_read(comp, TR_CONTROL) & TR_CONTROL_ENABLE;
	if (likely(comp->prompt))
		return 0;
	return ntrace_comp_wait(comp, TR_CONTROL_ENABLE, TR_CONTROL_ENABLE);
}

/*
 * Start to disable and flush the component. Return true if it is disabled and empty at the first
 * read.
 */
static inline bool ntrace_comp_disable_fast(struct ntrace_comp *comp)
{
	comp->control &= ~(TR_CONTROL_ENABLE | TR_TE_INST_TRACING);
	ntrace_write(comp, TR_CONTROL, comp->control);
	return likely((ntrace_read(comp, TR_CONTROL) & (TR_CONTROL_ENABLE | TR_CONTROL_EMPTY)) ==
		      TR_CONTROL_EMPTY);
}

/* Disable the component, and wait until it is empty */
static inline int ntrace_comp_disable(struct ntrace_comp *comp)
{
	if (ntrace_comp_disable_fast(comp))
		return 0;
	return ntrace_comp_wait(comp, TR_CONTROL_ENABLE | TR_CONTROL_EMPTY, TR_CONTROL_EMPTY);
}

/**
 * struct ntrace_ts - capabilities of a timestamp unit
 * @modes: Bitmap of trTsMode
 * @prescale: Bitmap of trTsPrescale
 * @width: Value of trTsWidth
 */
struct ntrace_ts {
	u8	modes;
	u8	prescale;
	u8	width;
};

/*
 * Return true for a trTsMode in which the timestamp unit uses its own counter, which has a
 * prescaler
 */
static inline bool ntrace_ts_is_internal(unsigned int mode)
{
	return mode == TR_TS_MODE_INTERNAL_SYSTEM || mode == TR_TS_MODE_INTERNAL_CORE;
}

/* timestamp.c */
void ntrace_ts_probe(struct ntrace_comp *comp, struct ntrace_ts *ts);
void ntrace_ts_count(struct ntrace_comp *comp, unsigned int mode, unsigned int prescale);
u64 ntrace_ts_counter(const struct ntrace_comp *comp, unsigned int offset);

#endif /* NTRACE_COMPONENT_H */
